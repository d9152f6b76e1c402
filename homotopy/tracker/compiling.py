"""How the core is compiled: as one unit, inside `run`."""

from __future__ import annotations

from pathlib import Path as FilePath

from homotopy.compilation import OUTER, PART, SUM, digest, options, reference
from homotopy.gram import products

__all__ = ["OUTER", "PART", "SUM", "source_digest"]


def source_digest() -> str:
    """Return a digest of the present source of the core."""
    files = sorted(FilePath(__file__).parent.glob("*.py"))
    others = [FilePath(str(module.__file__)) for module in (products, options, reference)]
    return digest([*files, *others])
