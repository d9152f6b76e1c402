"""Tasks of compiled code besides following a route: moving the rows of a fork from a base, and
following the legs of a sequence.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from homotopy.tracker.records import documented, records
from homotopy.tracker.state import CORNER, SLOPE

__all__ = ["Base", "Legs", "legs_of", "no_base", "no_legs"]

JOBS = documented("""
value        real   where the alpha of the row goes
shift        real   the initial shift of the polyline of a row that is released
row          whole  the row that moves
begun        whole  whether its move has begun
piece        whole  the piece onto which it is released; -1 if it is held
actives      whole  of the base: how many coordinates are in the factor
dependents   whole  of the base: how many are dependent
logged       whole  where the log of changes since the base begins
""")
LEG = documented("""
bound        real   the largest error at its ends, relative to what the certificate allows
strain       real   the largest fraction of a response that may have been rounding
broken       real   the largest break of a response at an exchange, over its corner tolerance
segments     whole  segments recorded before it
entries      whole  active alphas recorded before it
logged       whole  changes of piece recorded before it
steps        whole  steps made before it
pivots       whole  pivots made before it
exchanges    whole  exchanges of dependent coordinates before it
slides       whole  slides of b before it
refined      whole  corrections before it
""")
PLAN = documented("""
leg          whole  the present leg
count        whole  how many legs there are
interval     whole  steps after which u is recomputed
""")


class Base(NamedTuple):
    """The point to which a fork returns (`homotopy.tracker.forking`), its factor and polylines, and
    the move to be made."""

    u: Any
    alpha: Any
    w: Any
    b: Any
    piece: Any
    place: Any
    dependent: Any
    miss: Any
    factor: Any
    half: Any
    index: Any
    slope: Any
    corner: Any
    jobs: Any


def no_base() -> Base:
    """Return an empty base."""
    real, whole, table = np.zeros(0), np.zeros(0, np.int64), np.zeros((0, 0))
    reals = dict.fromkeys(("u", "alpha", "w", "b", "miss"), real)
    wholes = dict.fromkeys(("piece", "place", "dependent", "index"), whole)
    tables = dict.fromkeys(("factor", "half"), table)
    polylines = {"slope": SLOPE, "corner": CORNER}
    empty = {name: records(np.zeros((0, 0), kind)) for name, kind in polylines.items()}
    return Base(**reals, **wholes, **tables, **empty, jobs=records(np.zeros(1, JOBS)))


class Legs(NamedTuple):
    """A sequence of paths (`homotopy.tracker.legs`): the corners (legs + 1, n, K) and targets
    (legs + 1, m) at the ends of the legs, the usual size of a corner on each, its first pieces
    (legs, n), the counts at its beginning (`LEG`; also after the last leg), and the plan."""

    corner: Any
    target: Any
    scale: Any
    piece: Any
    mark: Any
    plan: Any


def legs_of(corner: Any, target: Any, scale: Any, interval: int) -> Legs:
    """Return the legs between these corners and targets, with empty pieces and marks."""
    count, n = max(len(corner) - 1, 0), corner.shape[1]
    plan = records(np.zeros(1, PLAN))
    plan.count, plan.interval = count, interval
    pieces, marks = np.zeros((count, n), np.int64), records(np.zeros(count + 1, LEG))
    return Legs(corner, target, scale, pieces, marks, plan)


def no_legs() -> Legs:
    """Return an empty sequence."""
    return legs_of(np.zeros((0, 0, 0)), np.zeros((0, 0)), np.zeros(0), 0)
