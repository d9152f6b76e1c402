"""Leave out each row in turn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing, nullcontext
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from homotopy.arrays import Array, Index
from homotopy.errors import MissingPackageError, PathError, TraceError
from homotopy.forking.result import evaluator_of
from homotopy.forking.tolerances import FORK_TOLERANCES
from homotopy.path.segments import read_only
from homotopy.progress import progress_bar

if TYPE_CHECKING:
    from homotopy.forking.fork import Fork

__all__ = ["LeftOut", "leave_out"]


Found = tuple[Array, Array, Array]


@attrs.frozen(eq=False)
class LeftOut:
    """The results of leaving out each row in turn; one entry (or row) per entry of `rows`.

    Attributes
    ----------
    rows : int array (k,)
    response : array (k,)
        ``u_i`` at the optimum without row i: f(x_i), or y_i f(x_i) if labels are signs.
    border_multipliers : array (k, m)
        b without row i.
    decision : array (k, N) or None
        The decision function without row i at the N new rows, if requested.
    """

    rows: Index = attrs.field(converter=read_only)
    response: Array = attrs.field(converter=read_only)
    border_multipliers: Array = attrs.field(converter=read_only)
    decision: Array | None = None


def leave_out(fork: Fork, rows: Any, at: Any, n_jobs: int | None, progress: bool) -> LeftOut:
    """Leave out each row in turn; see `Fork.leave_one_out`."""
    rows = _checked_rows(fork, rows)
    now = fork.optimum()
    response, b = now.response[rows].copy(), np.repeat(now.border_multipliers[None], rows.size, 0)
    decision, values = None, None
    if at is not None:
        values = evaluator_of(fork.model, fork.added, at)
        everywhere = values(now.alpha[:, None], now.border_multipliers[:, None])[:, 0]
        decision = np.repeat(everywhere[None], rows.size, axis=0)
    # Removing a row with alpha = 0 changes nothing.
    todo = np.flatnonzero(now.alpha[rows] != 0.0)
    workers = _workers(fork, n_jobs)
    blocks = _blocks(todo, now.alpha.size, at is not None, workers)
    bar = progress_bar("leave one out", todo.size) if progress else None
    with nullcontext() if bar is None else closing(bar):
        for place, found in _results(fork, rows, blocks, at is not None, workers):
            response[place], b[place] = found[0], found[1]
            if decision is not None and values is not None:
                decision[place] = values(found[2].T, found[1].T).T
            if bar is not None:
                bar.update(place.size)
    return LeftOut(rows, response, b, decision)


def _checked_rows(fork: Fork, rows: Any) -> Index:
    n = fork.optimum().alpha.size
    if rows is None:
        return np.delete(np.arange(n), list(fork.held))
    found = np.asarray(rows)
    if found.ndim != 1 or (found.size and found.dtype.kind not in "iu"):
        raise PathError(f"rows must be a list of row numbers, got {rows!r}")
    return np.array([fork.free_row(int(row)) for row in found.tolist()], dtype=np.int64)


def _blocks(todo: Index, n: int, alphas: bool, workers: int) -> list[Index]:
    """Split the rows into blocks small enough for their alphas and for a smooth progress bar; with
    processes, each of which makes its own factor, into at least one block per process."""
    tol = FORK_TOLERANCES
    size = max(tol.fewest, (tol.numbers if alphas else tol.numbers_without) // n)
    count = max(-(-todo.size // min(size, tol.most)), min(workers, todo.size))
    return np.array_split(todo, count) if todo.size else []


def _workers(fork: Fork, n_jobs: int | None) -> int:
    """Return how many processes to use."""
    if n_jobs in (None, 1):
        return 1
    try:
        from joblib import effective_n_jobs  # type: ignore[import-untyped]
    except ImportError:
        raise MissingPackageError(
            "leave_one_out(n_jobs=...) needs joblib; install it or leave n_jobs off"
        ) from None
    if fork.moved:
        raise PathError(
            "leave_one_out(n_jobs=...) begins at the optimum of the path, but rows have been "
            "moved; restore() first, or leave n_jobs off"
        )
    return int(effective_n_jobs(n_jobs))


def _results(
    fork: Fork, rows: Index, blocks: list[Index], alphas: bool, workers: int
) -> Iterator[tuple[Index, Found]]:
    """Yield, for each block, its places and the results for it."""
    if workers == 1 or len(blocks) < 2:
        found: Iterable[Found] = (_block(fork, rows[block], alphas) for block in blocks)
    else:
        from joblib import Parallel, delayed

        place = fork.path, fork.t, fork.side
        jobs = (delayed(_in_process)(*place, rows[block], alphas) for block in blocks)
        found = Parallel(n_jobs=workers, return_as="generator")(jobs)
    yield from zip(blocks, found, strict=True)


def _in_process(path: Any, t: float, side: str, rows: Index, alphas: bool) -> Found:
    return _block(path.fork(t, side), rows, alphas)


def _block(fork: Fork, rows: Index, alphas: bool) -> Found:
    try:
        return fork.hold_each(rows, np.zeros(rows.size), alphas)
    except TraceError as error:
        raise TraceError(
            f"row {getattr(error, 'row', '?')} could not be left out: {error}"
        ) from error
