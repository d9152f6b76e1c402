"""How the core is compiled: everything within `run`, in one go."""

from __future__ import annotations

from pathlib import Path as FilePath

from homotopy.compilation import OUTER, PART, SUM, digest, options, reference
from homotopy.gram import products

__all__ = ["OUTER", "PART", "SUM", "source_digest"]


def source_digest() -> str:
    """A name for the present source of the core."""
    files = sorted(FilePath(__file__).parent.glob("*.py"))
    others = [FilePath(str(module.__file__)) for module in (products, options, reference)]
    return digest([*files, *others])
