"""Every row left out in turn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
import numpy.typing as npt

from homotopy.errors import MissingPackageError, PathError, TraceError
from homotopy.forking.result import evaluator_of
from homotopy.path.segments import read_only
from homotopy.progress import progress_bar

if TYPE_CHECKING:
    from homotopy.forking.fork import Fork

__all__ = ["LeftOut", "leave_out"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

# Numbers of one block of alphas, and rows of it at the least.
NUMBERS, FEWEST = 1_000_000, 16


@attrs.frozen(eq=False)
class LeftOut:
    """Each row left out in turn; every array has one entry (or row) for each of `rows`.

    Attributes
    ----------
    rows : int array (k,)
    response : array (k,)
        ``u_i`` in the optimum without row i: f(x_i), or y_i f(x_i) where labels are signs.
    border_multipliers : array (k, m)
        b without row i.
    decision : array (k, N) or None
        The decision function without row i at the N new rows that were asked for.
    """

    rows: Index = attrs.field(converter=read_only)
    response: Array = attrs.field(converter=read_only)
    border_multipliers: Array = attrs.field(converter=read_only)
    decision: Array | None = None


def leave_out(fork: Fork, rows: Any, at: Any, n_jobs: int | None, progress: bool) -> LeftOut:
    """See `Fork.leave_one_out`."""
    rows = _checked_rows(fork, rows)
    now = fork.optimum()
    response, b = now.response[rows].copy(), np.repeat(now.border_multipliers[None], rows.size, 0)
    decision, values = None, None
    if at is not None:
        values = evaluator_of(fork.model, fork.added, at)
        everywhere = values(now.alpha[:, None], now.border_multipliers[:, None])[:, 0]
        decision = np.repeat(everywhere[None], rows.size, axis=0)
    # Where alpha is 0 nothing changes.
    todo = np.flatnonzero(now.alpha[rows] != 0.0)
    blocks = _blocks(todo, now.alpha.size, at is not None, n_jobs)
    for place, found in _results(fork, rows, blocks, at is not None, n_jobs, progress):
        response[place], b[place] = found[0], found[1]
        if decision is not None and values is not None:
            decision[place] = values(found[2].T, found[1].T).T
    return LeftOut(rows, response, b, decision)


def _checked_rows(fork: Fork, rows: Any) -> Index:
    n = fork.optimum().alpha.size
    if rows is None:
        free = np.ones(n, dtype=bool)
        free[list(fork.held)] = False
        return np.flatnonzero(free)
    found = np.asarray(rows)
    if found.ndim != 1 or (found.size and found.dtype.kind not in "iu"):
        raise PathError(f"rows must be a list of row numbers, got {rows!r}")
    return np.array([fork.free_row(int(row)) for row in found.tolist()], dtype=np.int64)


def _blocks(todo: Index, n: int, alphas: bool, n_jobs: int | None) -> list[Index]:
    size = max(FEWEST, NUMBERS // n) if alphas else max(FEWEST, 100_000 // max(n, 1), 64)
    count = -(-todo.size // size)
    if n_jobs not in (None, 1):
        # Each process makes its own factor: few large blocks.
        count = max(count, 1)
    return np.array_split(todo, count) if todo.size else []


def _results(  # type: ignore[no-untyped-def]
    fork: Fork, rows: Index, blocks: list[Index], alphas: bool, n_jobs: int | None, progress: bool
):
    """For each block its places and what was found there."""
    bar = progress_bar("leave one out", sum(b.size for b in blocks)) if progress else None
    try:
        if n_jobs in (None, 1) or len(blocks) < 2:
            found = (_block(fork, rows[block], alphas) for block in blocks)
        else:
            found = _in_processes(fork, rows, blocks, alphas, n_jobs)
        for block, answer in zip(blocks, found, strict=True):
            yield block, answer
            if bar is not None:
                bar.update(block.size)
    finally:
        if bar is not None:
            bar.close()


def _in_processes(  # type: ignore[no-untyped-def]
    fork: Fork, rows: Index, blocks: list[Index], alphas: bool, n_jobs: int
):
    try:
        from joblib import Parallel, delayed  # type: ignore[import-untyped]
    except ImportError:
        raise MissingPackageError(
            "leave_one_out(n_jobs=...) needs joblib; install it or leave n_jobs off"
        ) from None
    if fork.moved:
        raise PathError(
            "leave_one_out(n_jobs=...) begins at the optimum of the path, but rows have been "
            "moved; restore() first, or leave n_jobs off"
        )
    jobs = (
        delayed(_in_process)(fork.path, fork.t, fork.side, rows[block], alphas) for block in blocks
    )
    return Parallel(n_jobs=n_jobs, return_as="generator")(jobs)


def _in_process(path: Any, t: float, side: str, rows: Index, alphas: bool) -> Any:
    return _block(path.fork(t, side), rows, alphas)


def _block(fork: Fork, rows: Index, alphas: bool) -> tuple[Array, Array, Array]:
    try:
        return fork.hold_each(rows, np.zeros(rows.size), alphas)
    except TraceError as error:
        raise TraceError(
            f"row {getattr(error, 'row', '?')} could not be left out: {error}"
        ) from error
