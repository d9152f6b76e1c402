"""Wording shared by messages."""

from __future__ import annotations

__all__ = ["counted"]


def counted(number: int, noun: str) -> str:
    """``1 jump``, ``2 jumps``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
