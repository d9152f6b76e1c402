"""Progress bars, where tqdm is installed."""

from __future__ import annotations

from typing import Any

from homotopy.errors import MissingPackageError

__all__ = ["progress_bar"]

BAR = "{desc} {percentage:3.0f}%|{bar}| {elapsed}"


def progress_bar(name: str, total: float) -> Any:
    """A tqdm bar with one more method: ``update_to(part)`` sets it to a part of the whole."""
    try:
        from tqdm.auto import tqdm
    except ImportError:
        raise MissingPackageError(
            "a progress bar needs tqdm; install homotopy-qp[progress] or leave it off "
            "(progress=False, verbose=False)"
        ) from None

    class Bar(tqdm):  # type: ignore[misc]
        def update_to(self, part: float) -> None:
            self.update(part * self.total - self.n)

    return Bar(total=total, desc=name, bar_format=BAR)
