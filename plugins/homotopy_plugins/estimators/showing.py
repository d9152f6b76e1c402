"""What `verbose` shows: bars where tqdm is installed, else a line before and one after."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from homotopy import progress

__all__ = ["bars", "shown"]


def bars(verbose: Any) -> bool:
    """Whether progress is asked for and can be drawn, by tqdm or by a program around us."""
    if not verbose:
        return False
    maker = getattr(progress, "_MAKER", None)
    return find_spec("tqdm") is not None or (maker is not None and maker.get() is not None)


@contextmanager
def shown(verbose: Any, what: str, steps: int = 0) -> Iterator[Any]:
    """Show a bar; without tqdm, yield None and print a plain line before and after.

    A trace draws its own bar: `steps` is 0 there, and only the lines are drawn here.
    """
    if bars(verbose):
        if not steps:
            yield None
            return
        with progress.progress_bar(what, steps) as bar:
            yield bar
    elif verbose:
        print(f"{what} ... (install tqdm for a bar)", file=sys.stderr, flush=True)
        began = time.perf_counter()
        yield None
        print(f"{what}: {time.perf_counter() - began:.1f} s", file=sys.stderr, flush=True)
    else:
        yield None
