"""The homotopy parameters that every ramp loss has."""

from __future__ import annotations

from typing import Any

from homotopy import ModelError

__all__ = ["ramp_parameters"]


def ramp_parameters(path: Any, theta: Any, name: str) -> tuple[str, float]:
    """Check the choice of path and the outlier weight in [0, 1]."""
    if path not in ("theta", "s"):
        raise ModelError(f"{name}: path must be 'theta' or 's', got {path!r}")
    try:
        weight = float(theta)
    except (TypeError, ValueError):
        raise ModelError(f"{name}: theta must be a number, got {theta!r}") from None
    if not 0.0 <= weight <= 1.0:
        raise ModelError(f"{name}: theta must lie in [0, 1], got {theta!r}")
    return str(path), weight
