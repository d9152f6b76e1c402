"""Legal problems that are as badly behaved as possible.

    from homotopy import Homotopy
    from homotopy.testing import hostile_problems

    for problem in itertools.islice(hostile_problems(0), 300):
        path = Homotopy(problem.model).trace()
        assert path.certify().ok, problem.name

Everything that has ever gone wrong is drawn at random, several things at a time: rows that are
equal, opposite, zero or 1e-6 to 1e-14 apart; integer grids, one-hot columns, symmetry, rank one;
features and targets from 1e-8 to 1e8, far from 0, and in mixed units; weights over six decades
and 0; C from 1e-6 to 1e6; one row, two, fewer rows than columns; sparse input; bounds that never
bind, corners at infinity, several border columns, walls, slanted pieces, near-singular or zero Q.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Iterator
from typing import Any

import attrs

from homotopy.model import LossModel
from homotopy.registry import installed_plugins, load_plugin
from homotopy.testing.draw import Draw
from homotopy.testing.programs import PROGRAMS


@attrs.frozen(eq=False)
class HostileProblem:
    """One problem, ready to trace.

    Attributes
    ----------
    seed : int
        ``hostile_problem(seed)`` makes the same problem again.
    name : str
        What it is, and everything that is ugly about it.
    model : LossModel
    given : dict
        The numbers it was made from, for an independent check: "plugin" with the arguments of a
        plugin, or the quadratic form of a program as "Q" or as "features" (Q = features
        features^T).
    """

    seed: int
    name: str
    model: LossModel = attrs.field(repr=False)
    given: dict[str, Any] = attrs.field(repr=False)


def hostile_problem(seed: int) -> HostileProblem:
    """Return the problem with this seed; most come from the installed plugins that implement
    `LossModel.hostile`."""
    draw, plugins = Draw(seed), _offering(installed_plugins())
    if plugins and draw.chance(0.6):
        name, model, given = draw.pick(*plugins).hostile(draw)
    else:
        name, model, given = draw.pick(*PROGRAMS)(draw)
    return HostileProblem(seed, name, model, given)


@functools.cache
def _offering(names: tuple[str, ...]) -> list[type[LossModel]]:
    """Return the plugins that draw hostile problems; skip those that fail to load."""
    found = []
    for name in names:
        with contextlib.suppress(Exception):
            plugin = load_plugin(name)
            # Only if the class defines it itself: the arguments of a subclass may differ.
            if "hostile" in vars(plugin):
                found.append(plugin)
    return found


def hostile_problems(seed: int = 0) -> Iterator[HostileProblem]:
    """Yield ``hostile_problem(seed)``, ``hostile_problem(seed + 1)``, ... without end."""
    return map(hostile_problem, itertools.count(seed))
