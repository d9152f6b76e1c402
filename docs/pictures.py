"""The pictures of theory and intervals, drawn from the library's objects while the site is built.

python docs/pictures.py      draw them all into docs/pictures/, and the two that are committed:
                             docs/_static/boundary.png (start page and README) and polyline.png
"""

from __future__ import annotations

import runpy
import shutil
import tempfile
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

from homotopy import Homotopy, Jump, Knot
from homotopy.drawing import PALETTE
from homotopy_plugins import (
    ConditionalConformal,
    ConformalSVR,
    HingeRamp,
    HuberRamp,
    LADRamp,
    Lasso,
)

HERE = Path(__file__).resolve().parent
BLUE, ORANGE, GREEN, GREY = PALETTE[0], PALETTE[1], PALETTE[2], "#8A8A8A"


def traced_points(pieces, low, high):
    """The polyline of one coordinate as (kind, u, alpha): `pieces` at a plain number t."""
    corners = [low, *(number(piece.position) for piece in pieces[1::2]), high]
    drawn, ends = [], []
    for k, slope in enumerate(pieces[::2]):
        u = np.array(corners[k : k + 2])
        ends.append(number(slope.value) - number(slope.curvature) * u)
        drawn.append((slope, u, ends[-1]))
    for k, corner in enumerate(pieces[1::2]):
        u = np.full(2, corners[k + 1])
        drawn.append((corner, u, np.array([ends[k][1], ends[k + 1][0]])))
    return drawn


def number(value, i=0):
    value = np.ravel(np.asarray(value, dtype=float))
    return float(value[i] if value.size > 1 else value[0])


def draw_polyline(ax, pieces, low, high, floor=-1.4, ceiling=1.4, width=2.6, fade=1.0):
    """Slopes blue, knots orange, jumps dashed; walls leave the picture."""
    for piece, u, alpha in traced_points(pieces, low, high):
        alpha = np.clip(alpha, 2 * floor, 2 * ceiling)
        if isinstance(piece, Jump):
            if np.ptp(alpha):
                ax.plot(u, alpha, color=GREY, lw=1.4, ls=(0, (2, 2)), alpha=fade, zorder=1)
            continue
        colour = ORANGE if isinstance(piece, Knot) else BLUE
        ax.plot(u, alpha, color=colour, lw=width, alpha=fade, zorder=2)


def loss(pieces, grid):
    """Minus the integral of alpha over u: the loss up to a constant."""
    alpha = np.zeros_like(grid)
    corners = [number(piece.position) for piece in pieces[1::2]]
    for k, slope in enumerate(pieces[::2]):
        here = np.searchsorted(corners, grid, side="right") == k
        alpha[here] = number(slope.value) - number(slope.curvature) * grid[here]
    value = -np.append(0.0, np.cumsum(0.5 * (alpha[1:] + alpha[:-1]) * np.diff(grid)))
    return value - value.min()


def plain(ax, xlabel="", ylabel=""):
    ax.spines[["top", "right"]].set_visible(False)
    ax.set(xticks=[], yticks=[])
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)


# ---------------------------------------------------------------------- the polylines


def polylines() -> plt.Figure:
    """Four losses, and below each the graph of minus its derivative."""
    two, one = np.array([[0.0], [1.0]]), np.array([[1.0]])
    hinge = HingeRamp(two, [0, 1], C=1.0, s=-0.5)
    losses = {
        "hinge": (hinge.polyline(1.0), (-1.6, 2.0)),
        "hinge-ramp": (hinge.polyline(0.2), (-1.6, 2.0)),
        "LAD-ramp": (LADRamp(one, [0.0], C=1.0, s=1.0).polyline(0.2), (-1.9, 1.9)),
        "Huber-ramp": (HuberRamp(one, [0.0], C=1.6, delta=0.6, s=1.1).polyline(0.2), (-1.9, 1.9)),
    }
    figure, axes = plt.subplots(
        2, 5, figsize=(9, 4.2), sharex="col", layout="constrained", height_ratios=(1, 1.25)
    )
    for column, (name, (pieces, (low, high))) in zip(axes.T, losses.items(), strict=False):
        grid = np.linspace(low, high, 600)
        column[0].plot(grid, loss(pieces, grid), color="black", lw=2)
        column[0].set_title(name)
        draw_polyline(column[1], pieces, low, high)
    lasso = Lasso(np.eye(1), [1.0]).polyline(0.7)
    top, bottom = axes[:, 4]
    top.set_axis_off()
    top.text(0.5, 0.35, "lasso: $\\alpha$ is the\ncoefficient itself", ha="center", va="center",
             transform=top.transAxes)  # fmt: skip
    draw_polyline(bottom, lasso, -0.6, 2.6, floor=-1.3, ceiling=1.3)
    bottom.set_xlim(-0.6, 2.6)
    for ax in axes[0, :4]:
        plain(ax)
    for ax in axes[1]:
        ax.axhline(0.0, color="0.8", lw=0.8, zorder=0)
        ax.set_ylim(-1.35, 1.35)
        plain(ax, "u")
    axes[0, 0].set_ylabel("loss L")
    axes[1, 0].set_ylabel("$\\alpha = -L'(u)$")
    legend = {"slope": (BLUE, "-"), "knot": (ORANGE, "-"), "jump": (GREY, (0, (2, 2)))}
    lines = [plt.Line2D([], [], color=c, lw=2.4, ls=s) for c, s in legend.values()]
    figure.legend(lines, list(legend), loc="outside lower center", ncols=3, frameon=False)
    return figure


# ---------------------------------------------------------------------- C-step


def crescents():
    rng = np.random.default_rng(7)
    angle, upper = rng.uniform(0.0, np.pi, 60), np.arange(60) < 30
    X = np.where(
        upper[:, None],
        np.stack([np.cos(angle), np.sin(angle)], axis=1),
        np.stack([1.0 - np.cos(angle), 0.4 - np.sin(angle)], axis=1),
    )
    X += 0.15 * rng.standard_normal(X.shape)
    y = np.where(upper, 1.0, -1.0)
    y[::7] *= -1.0
    return X, y


def c_step() -> plt.Figure:
    """alpha in straight lines between break-points; one sample on its polyline, piece by piece."""
    X, y = crescents()
    path = Homotopy(HingeRamp(X, y, C=1.0, gamma=1.0, s=0.0, fit_intercept=True)).trace()
    points = path.breakpoints
    alpha = path.alpha(points)
    # The sample that is on most pieces, of those the one that moves most.
    pieces = np.array([path.pieces(t) for t in points])
    kinds = np.array([np.unique(column).size for column in pieces.T])
    order = np.lexsort((-np.ptp(alpha, axis=0), -kinds))
    chosen = order[0]
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(9, 3.8), layout="constrained", width_ratios=(1.3, 1)
    )
    for t in points:
        left.axvline(t, color="0.9", lw=0.8, zorder=0)
    for k, i in enumerate(order[:5]):
        left.plot(points, alpha[:, i], color=PALETTE[k], lw=2.6 if i == chosen else 1.4)
    left.set_xlim(*path.traced)
    left.set(xlabel="θ, in the direction of travel", ylabel="α of five samples")
    left.set_title("straight lines between break-points (grey)")
    left.spines[["top", "right"]].set_visible(False)
    u = path.response(points)[:, chosen]
    low, high = min(u.min(), -0.3) - 0.3, max(u.max(), 1.0) + 0.5
    for t, fade in ((1.0, 0.25), (0.5, 0.5), (0.0, 1.0)):
        draw_polyline(right, path.model.polyline(t), low, high, fade=fade)
        if t < 1.0:
            right.text(low, t * path.model.C + 0.02, f"θ = {t:g}", color=BLUE, fontsize=9)
    right.plot(u, alpha[:, chosen], ".-", color="black", lw=1.0, ms=6, zorder=3)
    for k, name in ((0, "start"), (-1, "end")):
        right.annotate(name, (u[k], alpha[k, chosen]), xytext=(6, 6), textcoords="offset points")
    right.set(xlabel="u of the thick one", ylabel="its α")
    right.set_title("its point (u, α) keeps to the polyline")
    right.spines[["top", "right"]].set_visible(False)
    return figure


# ---------------------------------------------------------------------- D-step


def d_step() -> plt.Figure:
    """One sample, so that the objective can be drawn: before, at and after a jump."""
    target, C, theta = 3.0, 2.0, 0.2
    model = LADRamp([[1.0]], [target], C=C, kernel="linear", path="s", theta=theta, s_stop=0.5)
    path = Homotopy(model).trace()
    jump = path.jumps[0]
    old, new = (float(path.response(jump.t, side)[0]) for side in ("before", "after"))
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(9, 3.8), layout="constrained", width_ratios=(1.25, 1)
    )
    grid = np.linspace(-0.4, 3.3, 1500)
    for lift, t, colour, u in (
        (1.2, 1.6, GREY, old),
        (0.6, jump.t, "black", old),
        (0.0, 0.6, BLUE, new),
    ):
        value = 0.5 * grid**2 + loss(model.polyline(t), grid) + lift
        left.plot(grid, value, color=colour, lw=2.0)
        left.plot(u, np.interp(u, grid, value), "o", ms=10, color=colour, zorder=3)
        left.text(grid[-1] + 0.05, value[-1], f"s = {t:g}", color=colour, va="center")
    at = 0.5 * grid**2 + loss(model.polyline(jump.t), grid) + 0.6
    bend = {"arrowstyle": "->", "connectionstyle": "arc3,rad=0.3", "color": ORANGE, "lw": 1.8}
    ends = [(u, float(np.interp(u, grid, at)) + 0.12) for u in (new, old)]
    left.annotate("", ends[0], xytext=ends[1], arrowprops=bend)
    left.plot(new, ends[0][1] - 0.12, "o", ms=10, mfc="white", mec="black", zorder=3)
    left.set_title("the objective: at s = 1 the hollow on the right is gone")
    left.set_xlim(grid[0], grid[-1] + 0.7)
    plain(left, "u", "objective (curves moved apart)")

    draw_polyline(right, model.polyline(jump.t), -0.4, 2.7)
    for mu, name in ((1.0, "μ = 1"), (0.5, "μ = ½")):
        height = theta * C + mu * (C - theta * C)
        right.plot([-0.4, target - jump.t], [height, height], color=BLUE, lw=1.4, ls="--")
        right.text(-0.4, height + 0.05, name, color=BLUE)
    right.text(-0.4, theta * C + 0.05, "μ = 0", color=BLUE)
    right.plot([-0.2, 2.5], [-0.2, 2.5], color="0.75", lw=1.0, zorder=0)
    right.text(1.35, 1.0, "u = Qα", color="0.45")
    right.annotate("", (new, new), xytext=(old, old), arrowprops={"arrowstyle": "->", "lw": 2})
    right.plot(old, old, "o", ms=10, color="black")
    right.plot(new, new, "o", ms=10, mfc="white", mec="black", zorder=4)
    right.set_title("the lifted branch comes down, μ from 1 to 0")
    right.set_ylim(-0.2, 2.5)
    plain(right, "u", "α")
    return figure


# ---------------------------------------------------------------------- intervals


def intervals() -> plt.Figure:
    """Jackknife+ bands; one cut-off for all rows against one that follows the noise."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(-3.0, 3.0, 120))
    y = np.sin(1.5 * x) + 0.3 * rng.standard_normal(120)
    grid = np.linspace(-3.0, 3.0, 301)
    machine = ConformalSVR(C=3.0, gamma=1.0, confidence_level=[0.8, 0.9])
    middle, band = machine.fit_conformalize(x[:, None], y).predict_interval(grid[:, None])
    # Solid colours, the wider band first: the legend then shows what is seen.
    for j, shade, name in ((1, "#CFE3F1", "90 %"), (0, "#8ABBDC", "80 %")):
        left.fill_between(grid, band[:, 0, j], band[:, 1, j], color=shade, lw=0, label=name)
    left.plot(grid, middle, color=BLUE, lw=2)
    left.plot(x, y, ".", color=GREY, ms=4)
    left.legend(frameon=False, loc="upper right", ncols=2)
    left.set(title="ConformalSVR: jackknife+", ylim=(-2.2, 2.7))

    x = np.sort(rng.uniform(-3.0, 3.0, 400))
    score = np.abs((0.15 + 0.25 * (x + 3.0) ** 1.2 / 3.0) * rng.standard_normal(400))
    cut = ConditionalConformal(gamma=0.5, penalty=1e-3).fit(x[:, None], score)
    split = np.sort(score)[int(np.ceil(0.9 * 401)) - 1]
    right.plot(x, score, ".", color=GREY, ms=4)
    right.axhline(split, color=ORANGE, lw=2, ls="--", label="split: one for all rows")
    right.plot(
        grid, cut.cutoff(grid[:, None]), color=BLUE, lw=2, label="conditional: exact at every x"
    )
    right.legend(frameon=False, loc="upper left")
    right.set(title="ConditionalConformal: 90 % cut-off of |y − f(x)|", ylim=(0.0, None))
    plain(left, "x", "y")
    plain(right, "x", "|y − f(x)|")
    return figure


def thumbnail() -> plt.Figure:
    """For examples without a picture of their own."""
    figure, ax = plt.subplots(figsize=(4.0, 2.8), layout="constrained")
    hinge = HingeRamp(np.array([[0.0], [1.0]]), [0, 1], C=1.0, s=-0.5)
    draw_polyline(ax, hinge.polyline(0.2), -1.6, 2.0, width=5)
    ax.set_axis_off()
    return figure


PICTURES: dict[str, Callable[[], plt.Figure]] = {
    "polylines": polylines,
    "c_step": c_step,
    "d_step": d_step,
    "intervals": intervals,
}


def draw_missing(folder: Path) -> None:
    """Draw what is not there or older than this file."""
    folder.mkdir(exist_ok=True)
    for name, draw in PICTURES.items():
        file = folder / f"{name}.svg"
        if not file.exists() or file.stat().st_mtime < Path(__file__).stat().st_mtime:
            figure = draw()
            figure.savefig(file)
            plt.close(figure)


def draw_committed() -> None:
    """The picture that README shows is what an example saves."""
    thumbnail().savefig(HERE / "_static" / "polyline.png", dpi=100)
    with tempfile.TemporaryDirectory() as scratch, chdir(scratch):
        runpy.run_path(str(HERE.parent / "examples" / "robust_classification.py"))
        shutil.copy("out/robust_classification.png", HERE / "_static" / "boundary.png")


if __name__ == "__main__":
    draw_missing(HERE / "pictures")
    draw_committed()
