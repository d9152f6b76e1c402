"""The two homotopy parameters that every ramp loss has."""

from __future__ import annotations

from typing import Any

import numpy as np

from homotopy import ModelError

__all__ = ["ramp_parameters"]


def ramp_parameters(path: Any, theta: Any, s: Any, name: str) -> tuple[str, float, float]:
    """Check the choice of path, the outlier weight in [0, 1] and the finite threshold."""
    if path not in ("theta", "s"):
        raise ModelError(f"{name}: path must be 'theta' or 's', got {path!r}")
    values = []
    for value, what in ((theta, "theta"), (s, "s")):
        try:
            values.append(float(value))
        except (TypeError, ValueError):
            raise ModelError(f"{name}: {what} must be a number, got {value!r}") from None
    weight, threshold = values
    if not 0.0 <= weight <= 1.0:
        raise ModelError(f"{name}: theta must lie in [0, 1], got {theta!r}")
    if not np.isfinite(threshold):
        raise ModelError(f"{name}: s must be finite, got {s!r}")
    return str(path), weight, threshold
