"""Pictures of a path and of its validation curve.

matplotlib is imported when a function is called, never before: install ``homotopy-qp[plot]``.
Every function draws on `ax` (a new figure if None) and returns it.  The t axis runs in the
direction of travel, so a path from 1 to 0 also reads from left to right.

At a jump a curve breaks: both one-sided values get an open circle, and a thin dashed line joins
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from homotopy.analysis.validation import ValidationCurve
from homotopy.arrays import Array, Index
from homotopy.drawing import (
    GREY,
    LINED_JUMPS,
    PALETTE,
    VISIBLE,
    axes_for,
    curve_points,
    finish_axes,
)
from homotopy.errors import PathError
from homotopy.path import Path
from homotopy.progress import told

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_alpha", "plot_objective", "plot_partition", "plot_validation"]


# How many curves a picture of alpha shows by default; fewer if there are many jumps.
CURVES = len(PALETTE)
CURVES_AMONG_JUMPS = 4
# Curves that differ by at most this fraction of their size are drawn once.
ALIKE = 1e-6
# The height of a label, as a fraction of the height of the picture.
LABEL = 0.055
# Points at which the objective, quadratic between break-points, is sampled.
SAMPLES = 400


def plot_alpha(
    path: Path, indices: Sequence[int] | Index | None = None, ax: Axes | None = None
) -> Axes:
    """Draw alpha against t, exact at every break-point and linear between them.

    Parameters
    ----------
    path : Path
    indices : sequence of int, optional
        The coordinates to draw.  By default the distinct curves of largest total variation: at
        most 8, or 4 on a path with many jumps.
    ax : matplotlib Axes, optional

    Returns
    -------
    Axes
    """
    ax = axes_for(ax, "plot_alpha")
    points = path.breakpoints
    before, after = path.alpha(points, "before"), path.alpha(points, "after")
    crowded = len(path.jumps) > LINED_JUMPS
    if indices is None:
        chosen = _most_moving(before, after, CURVES_AMONG_JUMPS if crowded else CURVES)
    else:
        chosen = _checked(indices, after.shape[1])
    size = float(max(np.ptp(before[:, chosen]), np.ptp(after[:, chosen]))) if chosen.size else 0.0
    _line_jumps(ax, path)
    labels = []
    for i, color in zip(chosen.tolist(), _colors(chosen.size), strict=True):
        _broken_curve(ax, points, before[:, i], after[:, i], color, VISIBLE * size)
        labels.append((float(after[-1, i]), f"{i}", color))
    finish_axes(ax, path.model.parameter, path.traced, "alpha")
    _label_ends(ax, labels, "index")
    return ax


def plot_objective(path: Path, ax: Axes | None = None) -> Axes:
    """Draw the full, non-convex objective against t; it drops at every jump that moves u."""
    ax = axes_for(ax, "plot_objective")
    points = path.breakpoints
    shares = np.abs(np.diff(points))
    shares = shares / shares.sum() if shares.sum() > 0.0 else shares
    counts = (SAMPLES * shares).astype(int)
    # Each value takes a product with Q.
    total, objective = 2 * points.size + int(counts.sum()), _Objective(path)
    before, after = objective(points, total, "before"), objective(points, total)
    t_all, values = [], []
    for k in range(points.size - 1):
        inner = np.linspace(points[k], points[k + 1], 2 + int(counts[k]))[1:-1]
        t_all.append(np.concatenate([[points[k]], inner, [points[k + 1], np.nan]]))
        inside = objective(inner, total)
        values.append(np.concatenate([[after[k]], inside, [before[k + 1], np.nan]]))
    color = PALETTE[0]
    _line_jumps(ax, path)
    if t_all:
        ax.plot(np.concatenate(t_all), np.concatenate(values), color=color, linewidth=1.8)
    size = float(np.ptp(np.concatenate([before, after])))
    _mark_breaks(ax, points, before, after, color, VISIBLE * size)
    finish_axes(ax, path.model.parameter, path.traced, "objective")
    return ax


def plot_partition(path: Path, ax: Axes | None = None) -> Axes:
    """Draw how many coordinates are on each piece of the polyline, stacked, against t."""
    ax = axes_for(ax, "plot_partition")
    points = path.breakpoints
    middles = 0.5 * (points[:-1] + points[1:]) if points.size > 1 else points
    partitions = []
    for k, t in enumerate(middles.tolist()):
        partitions.append(path.partition(t))
        told(k + 1, middles.size)
    names = list(partitions[0])
    counts = np.array([[p[name].size for name in names] for p in partitions], dtype=float).T
    edges = np.repeat(points, 2)[1:-1] if points.size > 1 else points + np.array([-0.5, 0.5])
    heights = np.repeat(counts, 2, axis=1)
    colors = _colors(len(names))
    ax.stackplot(edges, heights, colors=colors, edgecolor="white", linewidth=0.4, alpha=0.8)
    top = np.cumsum(heights, axis=0)
    labels = []
    for k, name in enumerate(names):
        if heights[k].any():
            text = path.model.piece_name(name) + ("" if heights[k, -1] else " (none left)")
            labels.append((float(top[k, -1] - 0.5 * heights[k, -1]), text, colors[k]))
    finish_axes(ax, path.model.parameter, path.traced, f"{path.model.noun}s on each piece")
    ax.set_ylim(0.0, float(top[-1].max()))
    _label_ends(ax, labels, "piece")
    return ax


def plot_validation(curve: ValidationCurve, ax: Axes | None = None) -> Axes:
    """Draw the mean loss on held-out rows against t, exact everywhere, and mark its minimum."""
    ax = axes_for(ax, "plot_validation")
    best = curve.best
    first, last = best.interval
    if first != last:
        ax.axvspan(first, last, color=PALETTE[2], alpha=0.15, linewidth=0.0)
    t, value = curve_points(curve)
    whole = np.isfinite(value)
    ax.plot(t[whole], value[whole], color=PALETTE[0], linewidth=0.5, alpha=0.5)
    ax.plot(t, value, color=PALETTE[0], linewidth=1.6, solid_joinstyle="round")
    ax.plot([best.t], [best.value], "o", color=PALETTE[2], markersize=6.0, zorder=3, clip_on=False)
    left = abs(best.t - curve.traced[0]) < abs(best.t - curve.traced[1])
    ax.annotate(
        f"least {best.value:.4g} at {curve.parameter} = {best.t:.3g}",
        (best.t, best.value),
        xytext=(6 if left else -6, -6),
        textcoords="offset points",
        ha="left" if left else "right",
        va="top",
        color=PALETTE[2],
    )
    ax.margins(y=0.12)
    finish_axes(ax, curve.parameter, curve.traced, f"{curve.loss} loss on held-out rows")
    return ax


# ---------------------------------------------------------------------- reading


class _Objective:
    """The objective at one t after another, which tells how far it is."""

    def __init__(self, path: Path) -> None:
        self.path, self.done = path, 0

    def __call__(self, points: Array, total: int, side: str = "after") -> Array:
        values = np.empty(points.size)
        for k, t in enumerate(points.tolist()):
            values[k] = self.path.objective(t, side)
            self.done += 1
            told(self.done, total)
        return values


def _most_moving(before: Array, after: Array, most: int) -> Index:
    """Return the `most` coordinates of largest total variation; of equal curves only the first."""
    travel = np.abs(before[1:] - after[:-1]).sum(axis=0) + np.abs(after - before).sum(axis=0)
    chosen: list[int] = []
    for i in np.argsort(-travel, kind="stable").tolist():
        same = ALIKE * max(float(np.abs(after[:, i]).max()), float(np.abs(before[:, i]).max()))
        if chosen and travel[i] == 0.0:
            break
        if all(
            np.abs(after[:, i] - after[:, j]).max() > same
            or np.abs(before[:, i] - before[:, j]).max() > same
            for j in chosen
        ):
            chosen.append(i)
        if len(chosen) == most:
            break
    return np.array(sorted(chosen), dtype=np.int64)


def _checked(indices: Sequence[int] | Index, n: int) -> Index:
    chosen = np.atleast_1d(np.asarray(indices))
    if chosen.ndim != 1 or (chosen.size and chosen.dtype.kind not in "iu"):
        raise PathError(f"plot_alpha: indices must be a sequence of integers, got {indices!r}")
    wrong = chosen[(chosen < -n) | (chosen >= n)]
    if wrong.size:
        raise PathError(
            f"plot_alpha: index {wrong[0]} is out of range; the path has {n} coordinates"
        )
    return np.asarray(chosen % n if chosen.size else chosen, dtype=np.int64)


# ---------------------------------------------------------------------- drawing


def _colors(count: int) -> list[str]:
    return [PALETTE[k % len(PALETTE)] for k in range(count)]


def _line_jumps(ax: Axes, path: Path) -> None:
    """Draw a faint vertical line at every jump, if there are only a few."""
    for jump in path.jumps if len(path.jumps) <= LINED_JUMPS else ():
        ax.axvline(jump.t, color=GREY, linewidth=0.5, alpha=0.35, zorder=0)


def _broken_curve(
    ax: Axes, points: Array, before: Array, after: Array, color: str, least: float
) -> None:
    """Draw a piecewise linear curve, broken where its two one-sided values differ."""
    t, value = np.repeat(points, 2)[1:-1], np.stack([after[:-1], before[1:]], axis=1).ravel()
    gaps = 2 * np.flatnonzero(np.abs(after[1:] - before[1:]) > least) + 2
    t, value = np.insert(t, gaps, np.nan), np.insert(value, gaps, np.nan)
    ax.plot(t, value, color=color, linewidth=1.6, solid_joinstyle="round")
    _mark_breaks(ax, points, before, after, color, least)


def _mark_breaks(
    ax: Axes, points: Array, before: Array, after: Array, color: str, least: float
) -> None:
    """Draw open circles on both sides of every break, joined by a thin dashed line."""
    if points.size == 1:
        ax.plot(points, after, "o", color=color, markersize=4.0)
    broken = np.flatnonzero(np.abs(after - before) > least)
    if broken.size == 0:
        return
    ax.vlines(
        points[broken],
        np.minimum(before, after)[broken],
        np.maximum(before, after)[broken],
        colors=color,
        linestyles="dashed",
        linewidth=0.8,
    )
    both = np.repeat(points[broken], 2)
    ends = np.stack([before[broken], after[broken]], axis=1).ravel()
    style: dict[str, Any] = {"markerfacecolor": "white", "markersize": 4.0, "clip_on": False}
    ax.plot(both, ends, "o", color=color, markeredgewidth=1.1, zorder=3, **style)


def _label_ends(ax: Axes, labels: list[tuple[float, str, str]], heading: str) -> None:
    """Name each curve at its right end; move labels apart where they would overlap."""
    if not labels:
        return
    low, high = ax.get_ylim()
    gap = LABEL * (high - low)
    order = sorted(range(len(labels)), key=lambda k: labels[k][0])
    places = np.array([labels[k][0] for k in order])
    for k in range(1, places.size):
        places[k] = max(places[k], places[k - 1] + gap)
    # Labels have only been pushed up so far.  The heading keeps the top; move the others down.
    ceiling = high - gap
    for k in range(places.size - 1, -1, -1):
        places[k] = ceiling = min(places[k], ceiling)
        ceiling -= gap
    inside = ax.get_yaxis_transform()
    for place, k in zip(places.tolist(), order, strict=True):
        value, text, color = labels[k]
        ax.plot([1.0, 1.025], [value, place], transform=inside, color=color, lw=0.8, clip_on=False)
        ax.text(1.03, place, text, transform=inside, color=color, va="center", ha="left")
    ax.text(1.03, float(places[-1]) + gap, heading, transform=inside, color=GREY, va="center")
    ax.set_ylim(low, high)
