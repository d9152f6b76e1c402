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
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


class _OneThread:
    """A limit shared by traces in several Python threads; the last one to finish lifts it."""

    def __init__(self) -> None:
        self._lock, self._inside = threading.Lock(), 0
        self._limit: AbstractContextManager[Any] = nullcontext()

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._limit = _controller().limit(limits=1, user_api="blas")
                self._limit.__enter__()
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._limit.__exit__(None, None, None)


_ONE_THREAD = _OneThread()


def one_thread(model: Any, many: int = MANY) -> AbstractContextManager[Any]:
    """Limit BLAS to one thread, unless vectors are long: threads would wait for each other."""
    gram = getattr(model, "gram", None)
    if not isinstance(gram, Gram) or gram.size > many:
        return nullcontext()
    return _ONE_THREAD
