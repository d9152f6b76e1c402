"""How many threads linear algebra uses."""

from __future__ import annotations

import functools
import threading
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from threadpoolctl import ThreadpoolController

from homotopy.gram import Gram

__all__ = ["one_thread"]

# Above this many coordinates, products are long enough to gain from several threads.
MANY = 20_000


@functools.cache
def _libraries() -> list[Any]:
    """Return the BLAS libraries of this process."""
    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


class _OneThread:
    """A limit shared by traces in several Python threads; the last one to finish lifts it."""

    def __init__(self) -> None:
        self._lock, self._inside = threading.Lock(), 0
        # The libraries whose number of threads was changed, with what it was.
        self._before: list[tuple[Any, int]] = []

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                found = [(library, library.num_threads) for library in _libraries()]
                self._before = [
                    (library, count) for library, count in found if count not in (None, 1)
                ]
                for library, _ in self._before:
                    library.set_num_threads(1)
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                for library, count in self._before:
                    library.set_num_threads(count)


_ONE_THREAD = _OneThread()


def one_thread(model: Any, many: int = MANY) -> AbstractContextManager[Any]:
    """Limit BLAS to one thread, unless vectors are long: threads would wait for each other."""
    gram = getattr(model, "gram", None)
    if not isinstance(gram, Gram) or gram.size > many:
        return nullcontext()
    return _ONE_THREAD
