"""Many small jobs: a bar that tells the time left, a limit of time, Ctrl-C between any two."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import attrs
from joblib import effective_n_jobs  # type: ignore[import-untyped]
from sklearn.utils.parallel import Parallel, delayed

from homotopy.progress import progress_bar

__all__ = ["Job", "Jobs", "job"]

BAR = "{desc} {percentage:3.0f}%|{bar}| {elapsed}, {remaining} left"
# With several processes, jobs are sent out in batches of this many per process; the clock is
# read between batches.
ROUNDS = 2
# From so many rows on, making something of the answers takes a second or more.
MANY = 5000


@attrs.frozen(eq=False)
class Job:
    """A call, about how long it takes beside the others, and whether it is made though time is
    up."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    cost: float
    needed: bool


def job(
    function: Callable[..., Any], *arguments: Any, cost: float = 1.0, needed: bool = False
) -> Job:
    return Job(function, arguments, cost, needed)


@attrs.define(eq=False)
class Jobs:
    """How jobs are run.

    Attributes
    ----------
    n_jobs : int or None
        As for joblib.
    verbose : bool
        Show a bar.
    until : float or None
        By ``time.perf_counter()``: jobs that are not needed are not begun after it.
    skipped : int
        How many were not begun.
    """

    n_jobs: int | None
    verbose: bool
    until: float | None
    skipped: int = 0

    def run(self, jobs: Sequence[Job]) -> list[Any]:
        """The results in order; None for what was not begun."""
        total = sum(one.cost for one in jobs)
        with progress_bar("audit", total) if self.verbose else nullcontext() as bar:
            if bar is not None:
                bar.bar_format = BAR
            return self._rounds(jobs, bar)

    @contextmanager
    def afterwards(self, what: str, n: int, steps: int) -> Iterator[Callable[[], object]]:
        """A bar for what is made of the results of `n` rows, if there are many; call what it yields
        after each of its steps."""
        if not self.verbose or n < MANY:
            yield lambda: None
            return
        with progress_bar(what, steps) as bar:
            yield lambda: bar.update(1)

    def _rounds(self, jobs: Sequence[Job], bar: Any) -> list[Any]:
        workers = int(effective_n_jobs(self.n_jobs))
        size = 1 if workers == 1 else ROUNDS * workers
        results: list[Any] = []
        with Parallel(n_jobs=self.n_jobs) if workers > 1 else nullcontext() as pool:
            for begin in range(0, len(jobs), size):
                part = jobs[begin : begin + size]
                late = self.until is not None and time.perf_counter() > self.until
                due = [one for one in part if one.needed or not late]
                self.skipped += len(part) - len(due)
                if pool is None:
                    done = [one.function(*one.arguments) for one in due]
                else:
                    calls = [delayed(one.function)(*one.arguments) for one in due]
                    done = pool(calls) if calls else []
                by_job = {id(one): result for one, result in zip(due, done, strict=True)}
                results += [by_job.get(id(one)) for one in part]
                if bar is not None:
                    bar.update(sum(one.cost for one in part))
        return results
