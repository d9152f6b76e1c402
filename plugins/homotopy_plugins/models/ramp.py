"""The homotopy parameters that every ramp loss has."""

from __future__ import annotations

from typing import Any

from homotopy import ModelError
from homotopy_plugins.kernels.checks import number

__all__ = ["ramp_parameters"]


def ramp_parameters(path: Any, theta: Any, name: str) -> tuple[str, float]:
    """Check the choice of path and the outlier weight in [0, 1]."""
    if not (isinstance(path, str) and path in ("theta", "s")):
        raise ModelError(f"{name}: path must be 'theta' or 's', got {path!r}")
    weight = number(theta, "theta", name)
    if not 0.0 <= weight <= 1.0:
        raise ModelError(f"{name}: theta must lie in [0, 1], got {theta!r}")
    return str(path), weight
