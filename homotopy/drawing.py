"""What pictures share: colours, axes, and curves that break where the path does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from homotopy.analysis import ValidationCurve
from homotopy.arrays import Array, Bools
from homotopy.errors import MissingPackageError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "GREY",
    "LINED_JUMPS",
    "PALETTE",
    "VISIBLE",
    "axes_for",
    "curve_points",
    "finish_axes",
    "sampled",
]


# The Okabe-Ito palette, readable with any colour vision, without its yellow, too pale for a line.
PALETTE = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#000000",
    "#8C8C8C",
)
GREY = "#6E6E6E"
# Up to this many jumps, each gets a vertical line.
LINED_JUMPS = 12
# A change below this fraction of the range of a curve is invisible and is not marked.
VISIBLE = 5e-3


def axes_for(ax: Axes | None, who: str) -> Axes:
    """Return `ax`, or the axes of a new figure; `who` is named if matplotlib is missing."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise MissingPackageError(f"{who} needs matplotlib; install homotopy-qp[plot]") from None
    if ax is None:
        _, ax = plt.subplots(figsize=(7.0, 4.2), layout="constrained")
    return ax


def finish_axes(ax: Axes, parameter: str, traced: tuple[float, float], what: str) -> None:
    """Label the axes, and let t run in the direction of travel."""
    start, stop = traced
    if start != stop:
        ax.set_xlim(start, stop)
    ax.set_xlabel(f"{parameter} (the path runs from left to right)")
    ax.set_ylabel(what)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


def sampled(curve: ValidationCurve, count: int) -> tuple[Array, Array, Bools]:
    """Return t and value at `count` places of every piece of a curve (one row for each), and which
    of them are needed to draw it: a line needs its ends only."""
    c0, c1, c2 = curve.coefficients.T[:, :, None]
    w = np.linspace(0.0, 1.0, count)
    t = curve.start[:, None] + w * (curve.stop - curve.start)[:, None]
    return t, c0 + w * (c1 + w * c2), (c2 != 0.0) | (w == 0.0) | (w == 1.0)


def curve_points(curve: ValidationCurve) -> tuple[Array, Array]:
    """Return the t and values through which to draw a curve, with NaN where it breaks."""
    t, value, needed = sampled(curve, 17)
    size = float(np.ptp(value[:, [0, -1]]))
    breaks = np.flatnonzero(np.abs(value[1:, 0] - value[:-1, -1]) > VISIBLE * size)
    at = needed.sum(axis=1).cumsum()[breaks]
    return np.insert(t[needed], at, np.nan), np.insert(value[needed], at, np.nan)
