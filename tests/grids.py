"""Grids of parameters, thinned: some combinations for every run, all of them in the long one."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import pytest


def thinned(names: str, *levels: Iterable[Any], keep: int = 2) -> pytest.MarkDecorator:
    """Parametrise by all combinations; one in `keep` is quick, the others are long proofs.

    Quick are those whose places in their lists add up to a multiple of `keep`, so that any two
    entries still meet where the further lists are long enough, as two of two are for one in two.
    """
    lists = [list(level) for level in levels]
    found = []
    for places in itertools.product(*(range(len(level)) for level in lists)):
        values = [level[k] for level, k in zip(lists, places, strict=True)]
        marks = () if sum(places) % keep == 0 else pytest.mark.slow
        found.append(pytest.param(*values, marks=marks))
    return pytest.mark.parametrize(names, found)
