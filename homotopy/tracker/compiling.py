"""How the core is compiled: as one unit, inside `run`."""

from __future__ import annotations

from pathlib import Path as FilePath

from homotopy.compilation import OUTER, PART, SHARED, SUM, digest
from homotopy.gram import products

__all__ = ["OUTER", "PART", "SUM", "source_digest"]


def source_digest() -> str:
    """Return a digest of the present source of the core."""
    files = sorted(FilePath(__file__).parent.glob("*.py"))
    return digest([*files, str(products.__file__), *SHARED])
