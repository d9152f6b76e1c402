"""Pictures of the robust estimators, in scikit-learn's manner.

``SomeDisplay.from_estimator(machine)`` collects what is drawn and draws it; the data are its
attributes, and `plot` draws them again, on another `ax` or in another way.  After it `ax_` and
`figure_` are there.  matplotlib is imported when something is drawn, never before: install
``homotopy-qp[plot]``.

The robustness runs from left to right: 0, the plain machine, is at the left, 1 at the right.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from homotopy import Best, DataError, ModelError, ValidationCurve
from homotopy.drawing import GREY, LINED_JUMPS, PALETTE, axes_for, curve_points, finish_axes
from homotopy_plugins.estimators.machine import Classifies, RobustMachine
from homotopy_plugins.estimators.robustness import Scale
from homotopy_plugins.estimators.several import refuse_several
from homotopy_plugins.kernels.checks import check_top

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["OutlierPathDisplay", "RobustBoundaryDisplay", "RobustnessCurveDisplay"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

# Up to this many strips, each has the number of its row beside it and a gap to the next.
NAMED_ROWS = 40
# Room around the points of a boundary, in parts of their range.
MARGIN = 0.08
LIGHT = "#D9D9D9"


def robust_machine(estimator: Any, who: str) -> RobustMachine:
    """The fitted robust machine that `estimator` is, or ends in."""
    last = getattr(estimator, "best_estimator_", estimator)
    last = last[-1] if hasattr(last, "steps") else last
    if not isinstance(last, RobustMachine):
        raise ModelError(
            f"{who}: draws a RobustSVC, RobustSVR, RobustSVCCV or RobustSVRCV, or a pipeline that "
            f"ends in one, got {type(last).__name__}"
        )
    check_is_fitted(last)
    refuse_several(last, who)
    return last


class Display:
    """What the displays share: where they were drawn."""

    ax_: Axes
    figure_: Figure

    def _begin(self, ax: Axes | None) -> Axes:
        ax = axes_for(ax, type(self).__name__)
        self.ax_, self.figure_ = ax, ax.figure  # type: ignore[assignment]
        return ax


def _label(value: Any) -> str:
    return f"label {value:g}" if isinstance(value, float) else f"label {value}"


# ---------------------------------------------------------------------- outliers along the path


class OutlierPathDisplay(Display):
    """Which training rows are outliers, and where on the path.

    One strip for each row that ever is one, drawn where it is; the row that is one for longest is
    at the top (of two alike, the one that is fitted worse at the end).  Colours tell the given
    label, or on which side of f the target lies.  Up to 40 strips have the number of their row
    beside them; more are drawn without gaps, those of one colour together.  Ticks on the upper edge
    are jumps of the path, a dashed line marks the machine that was chosen.  Along theta strips
    appear as the pull of outliers fades: at robustness 0 they pull like any other row.

    Parameters
    ----------
    parameter : str
        What the axis is called.
    traced : (float, float)
        The path: robustness 0 and the largest that is proven, 1 as a rule.
    rows : array of int
        The rows that ever are outliers, most suspicious first.
    place, start, stop : arrays
        Every strip: its place in `rows`, from which robustness, to which.
    group : array of int
        Of every strip, an index into `groups`.
    groups : sequence of str
        What the colours mean.
    jumps : array
        Every robustness at which the path jumps.
    chosen : float, optional
        The robustness of the machine.
    n_rows : int, optional
        How many rows there are in all.
    fading : bool
        Whether robustness is the pull that outliers have lost, as along theta; strips then have
        their colour in full where nothing is left of it.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    strips_ : matplotlib PolyCollection
    """

    def __init__(
        self,
        *,
        parameter: str,
        traced: tuple[float, float],
        rows: Index,
        place: Index,
        start: Array,
        stop: Array,
        group: Index,
        groups: Sequence[str],
        jumps: Array,
        chosen: float | None = None,
        n_rows: int | None = None,
        fading: bool = False,
    ) -> None:
        self.parameter = parameter
        self.traced = traced
        self.rows = rows
        self.place = place
        self.start = start
        self.stop = stop
        self.group = group
        self.groups = groups
        self.jumps = jumps
        self.chosen = chosen
        self.n_rows = n_rows
        self.fading = fading

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, top: int | None = None, ax: Axes | None = None
    ) -> Self:
        """Draw the outliers of a fitted robust estimator, or of a pipeline that ends in one.

        Parameters
        ----------
        estimator : RobustSVC, RobustSVR, RobustSVCCV, RobustSVRCV or a pipeline
        top : int, optional
            Only this many rows, the most suspicious; all that ever are outliers by default.
        ax : matplotlib Axes, optional
        """
        machine = robust_machine(estimator, cls.__name__)
        check_top(top, cls.__name__)
        path, stays = machine.path_, machine.outlier_path_
        model: Any = path.model
        met = machine._worst_first * machine._met(path.response(path.traced[1]))
        ever = np.unique(stays.row)
        rows = ever[np.lexsort((met[ever], -stays.share[ever]))][:top]
        if isinstance(machine, Classifies):
            groups = [_label(label) for label in machine.classes_]
            kinds = [(stays, (model.y > 0.0).astype(int))]
        else:
            groups = ["target above f", "target below f"]
            sides = [path.occupancy(piece) for piece in model.outlier_pieces]
            kinds = [(side, np.full(model.y.size, k)) for k, side in enumerate(sides)]
        rank = np.full(model.y.size, -1)
        rank[rows] = np.arange(rows.size)
        shown = [(s, of, rank[s.row] >= 0) for s, of in kinds]
        scale = Scale.of(path)
        return cls(
            parameter=scale.label(),
            traced=(0.0, scale.robustness(path.traced[1])),
            rows=rows,
            place=np.concatenate([rank[s.row[k]] for s, _, k in shown]),
            start=scale.robustness(np.concatenate([s.start[k] for s, _, k in shown])),
            stop=scale.robustness(np.concatenate([s.stop[k] for s, _, k in shown])),
            group=np.concatenate([of[s.row[k]] for s, of, k in shown]),
            groups=groups,
            jumps=scale.robustness(np.array([jump.t for jump in path.jumps])),
            chosen=machine.robustness_,
            n_rows=int(model.y.size),
            fading=scale.parameter == "theta",
        ).plot(ax=ax)

    def plot(
        self, ax: Axes | None = None, *, colors: Sequence[str] | None = None, jumps: bool = True
    ) -> Self:
        """Draw the strips.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A new figure by default.
        colors : sequence of str, optional
            One for each of `groups`.
        jumps : bool
            Whether jumps are marked.
        """
        new = ax is None
        ax = self._begin(ax)
        from matplotlib.collections import PolyCollection
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        colors = PALETTE[: len(self.groups)] if colors is None else list(colors)
        named = self.rows.size <= NAMED_ROWS
        if new and named:
            self.figure_.set_figheight(max(4.2, 1.4 + 0.15 * self.rows.size))
        self.strips_ = PolyCollection(
            list(self._corners(named)),
            facecolors=[colors[k] for k in self.group],
            edgecolors="none",
            # Neighbours without a gap must not let the background shine through.
            antialiaseds=named,
        )
        ax.add_collection(self.strips_)
        self._name_rows(ax, named)
        if self.fading:
            self._veil(ax)
        used = np.unique(self.group)
        handles: list[Any] = [Patch(facecolor=colors[k], label=self.groups[k]) for k in used]
        if jumps and self.jumps.size:
            self._mark_jumps(ax)
            text = "1 jump" if self.jumps.size == 1 else f"{self.jumps.size:,} jumps"
            tick: dict[str, Any] = {"marker": "|", "markersize": 8.0, "linestyle": "none"}
            handles.append(Line2D([], [], color=GREY, label=text, **tick))
        if self.chosen is not None:
            low, high = sorted(self.traced)
            at = min(max(self.chosen, low), high)
            style: dict[str, Any] = {"color": "black", "linewidth": 1.4, "linestyle": (0, (4, 3))}
            text = f"chosen: robustness {self.chosen:.3g}"
            ax.axvline(at, clip_on=False, **style)
            handles.append(Line2D([], [], label=text, **style))
        finish_axes(ax, self.parameter, self.traced, self._heading(named))
        ax.set_xlabel(self.parameter)
        ax.legend(
            handles=handles,
            loc="lower left",
            bbox_to_anchor=(0.0, 1.04),
            ncols=len(handles),
            frameon=False,
            borderaxespad=0.0,
            columnspacing=1.4,
            handlelength=1.5,
        )
        return self

    def _corners(self, named: bool) -> Array:
        """The rectangle of every strip, (strips, 4, 2)."""
        first, last = self.traced
        # What comes at the very end, or on a path of one point, is still to be seen.
        least = 0.004 * (last - first) if last != first else 0.5
        short = np.abs(self.stop - self.start) < abs(least)
        begin = np.where(short & (self.start == last), last - least, self.start)
        end = np.where(short, begin + least, self.stop)
        half = 0.38 if named else 0.5
        place = self.place if named else self._by_colour()
        low, high = place - half, place + half
        x = np.stack([begin, end, end, begin], axis=1)
        return np.stack([x, np.stack([low, low, high, high], axis=1)], axis=2)

    def _by_colour(self) -> Index:
        """Places of the strips where rows of one colour stand together, each in their order."""
        colour = np.zeros(self.rows.size, dtype=np.int64)
        colour[self.place[::-1]] = self.group[::-1]
        place = np.empty(self.rows.size, dtype=np.int64)
        place[np.argsort(colour, kind="stable")] = np.arange(self.rows.size)
        return np.asarray(place[self.place])

    def _heading(self, named: bool) -> str:
        of = "" if self.n_rows is None else f" of {self.n_rows:,}"
        count = f"{self.rows.size:,}{of} rows"
        return f"row ({count})" if named else f"{count}, each colour sorted"

    def _name_rows(self, ax: Axes, named: bool) -> None:
        count = self.rows.size
        ax.set_ylim(max(count, 1) - 0.5, -0.5)
        if count == 0:
            ax.set_yticks([])
            where: dict[str, Any] = {"transform": ax.transAxes, "ha": "center"}
            ax.text(0.5, 0.5, "no row is ever an outlier", color=GREY, **where)
        elif named:
            size = 9.0 if count <= 25 else 8.0
            ax.set_yticks(range(count), [f"{row}" for row in self.rows], fontsize=size)
            ax.tick_params(axis="y", length=0.0)

    def _veil(self, ax: Axes) -> None:
        """What is behind the strips, drawn over them as far as their rows have kept their pull."""
        from matplotlib.colors import to_rgb

        low, high = sorted(self.traced)
        veil = np.ones((1, 256, 4))
        veil[0, :, :3] = to_rgb(ax.get_facecolor())
        veil[0, :, 3] = np.linspace(1.0 - low, 1.0 - high, 256)
        bottom, top = ax.get_ylim()
        limits, zorder = (low, high, bottom, top), self.strips_.get_zorder() + 0.1
        ax.imshow(veil, extent=limits, aspect="auto", interpolation="bilinear", zorder=zorder)

    def _mark_jumps(self, ax: Axes) -> None:
        """A tick on the upper edge for each, and a thin line where they are few."""
        at = np.unique(self.jumps)
        edge = ax.get_xaxis_transform()
        ax.vlines(at, 1.005, 1.03, transform=edge, colors=GREY, linewidth=0.7, clip_on=False)
        for t in at if at.size <= LINED_JUMPS else ():
            ax.axvline(t, color="white", linewidth=0.8)
            ax.axvline(t, color=GREY, linewidth=0.8, linestyle=":")


# ---------------------------------------------------------------------- the curve behind a choice


class RobustnessCurveDisplay(Display):
    """The loss on held-out rows for every point of the path, exact, and what is chosen on it.

    For the estimators that cross-validate the curve is the mean of their folds.  A dot marks where
    it is least, the shade all points that are as good; the dotted line is one standard error above
    that, and a diamond the simplest machine below it.

    Parameters
    ----------
    curve : ValidationCurve
        The mean over the folds, or the curve of the rows held out, over the path's own parameter.
    scale : Scale
        The values of that parameter at robustness 0 and 1.
    folds : sequence of ValidationCurve
        The curves of the folds, if there are any.
    error : float, optional
        One standard error of the least value.
    chosen : float, optional
        The robustness of the machine.
    rule : {"best", "one-standard-error"}
        How it was chosen.
    of_folds : bool
        Whether the curve is a mean over folds.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    line_ : matplotlib Line2D
        The thick curve.
    fold_lines_ : list of Line2D
    """

    def __init__(
        self,
        *,
        curve: ValidationCurve,
        scale: Scale,
        folds: Sequence[ValidationCurve] = (),
        error: float | None = None,
        chosen: float | None = None,
        rule: str = "best",
        of_folds: bool = False,
    ) -> None:
        self.of_folds = of_folds
        self.curve = curve
        self.scale = scale
        self.folds = folds
        self.error = error
        self.chosen = chosen
        self.rule = rule

    @classmethod
    def from_estimator(cls, estimator: Any, *, folds: bool = False, ax: Axes | None = None) -> Self:
        """Draw the curve behind a fitted robust estimator, or a pipeline that ends in one.

        Parameters
        ----------
        estimator : RobustSVC or RobustSVR with ``robustness="auto"``, RobustSVCCV, RobustSVRCV
        folds : bool
            Whether the curves of the single folds are drawn behind their mean, thin and grey.  They
            lie far apart as a rule, which makes the mean look flat.
        ax : matplotlib Axes, optional
        """
        machine: Any = robust_machine(estimator, cls.__name__)
        if machine.validation_curve_ is None:
            raise ModelError(
                f"{cls.__name__}: this {type(machine).__name__} was fitted at a given point "
                f"(robustness={machine.robustness_:g}) and has no curve; fit it with "
                "robustness='auto'"
            )
        return cls(
            curve=machine.validation_curve_,
            scale=Scale.of(machine.path_),
            folds=getattr(machine, "fold_curves_", ()) if folds else (),
            error=machine.standard_error_,
            chosen=machine.robustness_,
            rule=machine.rule,
            of_folds=hasattr(machine, "fold_curves_"),
        ).plot(ax=ax)

    def plot(
        self, ax: Axes | None = None, *, color: str = PALETTE[0], one_standard_error: bool = True
    ) -> Self:
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A new figure by default.
        color : str
            Of the thick curve.
        one_standard_error : bool
            Whether the point of that rule and its height are drawn.
        """
        ax = self._begin(ax)
        curve, best = self.curve, self.curve.best
        self.fold_lines_ = [
            ax.plot(*self._points(fold), color=LIGHT, linewidth=0.8, zorder=1)[0]
            for fold in self.folds
        ]
        first, last = self.scale.robustness(np.array(best.interval))
        if first != last:
            ax.axvspan(first, last, color=PALETTE[2], alpha=0.18, linewidth=0.0, zorder=0)
        t, value = self._points(curve)
        whole = np.isfinite(value)
        ax.plot(t[whole], value[whole], color=color, linewidth=0.5, alpha=0.5)
        self.line_ = ax.plot(t, value, color=color, linewidth=2.0)[0]
        self.line_.set_label("mean of the folds" if self.of_folds else "rows held out")
        if self.fold_lines_:
            self.fold_lines_[0].set_label(f"each of {len(self.folds)} folds")
        shown = one_standard_error and self.error is not None
        limit = best.value + (self.error or 0.0)
        if shown:
            ax.axhline(
                limit,
                color=PALETTE[1],
                linewidth=1.2,
                linestyle=":",
                label=f"one standard error above ({self.error:.2g})",
            )
        self._mark(ax, best, "least", "o", PALETTE[2], self.rule == "best")
        if shown:
            simplest = curve.latest(limit) if curve.parameter == "eps" else curve.earliest(limit)
            taken = self.rule == "one-standard-error"
            self._mark(ax, simplest, "simplest below", "D", PALETTE[1], taken)
        ax.margins(y=0.08)
        finish_axes(ax, "", (0.0, 1.0), f"loss on held-out rows ({curve.loss})")
        ax.set_xlabel(self.scale.label())
        ax.legend(
            loc="lower left",
            bbox_to_anchor=(0.0, 1.03),
            ncols=2,
            frameon=False,
            borderaxespad=0.0,
            columnspacing=1.2,
            handlelength=1.5,
            fontsize=9.0,
        )
        return self

    def _points(self, curve: ValidationCurve) -> tuple[Array, Array]:
        """A curve over robustness; what lies before the path on all rows begins is left of 0."""
        t, value = curve_points(curve)
        if self.scale.start == self.scale.end:
            return np.where(np.isfinite(t), 0.0, np.nan), value
        return self.scale.along(t), value

    def _mark(self, ax: Axes, at: Best, what: str, marker: str, color: str, chosen: bool) -> None:
        place = self.scale.robustness(at.t)
        text = f"{what}: {at.value:.4g} at robustness {place:.3g}"
        if chosen and self.chosen is not None:
            text += " (chosen)"
        style: dict[str, Any] = {"markeredgecolor": "white", "clip_on": False, "zorder": 4}
        size = 9.0 if marker == "o" else 7.5
        ax.plot([place], [at.value], marker, markersize=size, color=color, label=text, **style)


# ---------------------------------------------------------------------- boundaries in the plane


class RobustBoundaryDisplay(Display):
    """The boundary between two classes in a plane, at several points of the path.

    Points are training rows, their label told by shape and colour; a ring marks those that the
    chosen machine treats as outliers.  Lines are where f = 0: solid and black for the chosen
    machine, the others broken, from grey to purple along the path.

    Parameters
    ----------
    xx0, xx1 : arrays (m, m)
        A grid of the plane.
    values : list of arrays (m, m)
        f on the grid, one for each of `robustness`.
    robustness : list of float
        The points of the path, from 0 (plain) to 1.
    names : list of str
        What the legend says of each.
    points : array (n, 2)
    labels : array (n,)
    outliers : array of int
        Rows to be ringed.
    chosen : int, optional
        Which of `values` is the machine's own.
    feature_names : (str, str)

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    contours_ : list of matplotlib contour sets
        Of those that cross the plane.
    """

    def __init__(
        self,
        *,
        xx0: Array,
        xx1: Array,
        values: Sequence[Array],
        robustness: Sequence[float],
        names: Sequence[str],
        points: Array,
        labels: Any,
        outliers: Index,
        chosen: int | None = None,
        feature_names: Sequence[str] = ("feature 0", "feature 1"),
    ) -> None:
        self.xx0 = xx0
        self.xx1 = xx1
        self.values = values
        self.robustness = robustness
        self.names = names
        self.points = points
        self.labels = labels
        self.outliers = outliers
        self.chosen = chosen
        self.feature_names = feature_names

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        *,
        robustness: Sequence[float] | None = None,
        grid_resolution: int = 200,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the boundaries of a classifier that was fitted on two features.

        Parameters
        ----------
        estimator : RobustSVC, RobustSVCCV or a pipeline that ends in one
        X : array (n, 2), optional
            The training rows as they were given; those that the machine keeps by default.  A
            pipeline needs them, since its machine has only seen what became of them.
        robustness : sequence of float in [0, 1], optional
            Points of the path; by default its start (0, the plain machine), the chosen one and its
            end.
        grid_resolution : int
            Points of the grid along each axis.
        ax : matplotlib Axes, optional
        """
        name = cls.__name__
        machine = robust_machine(estimator, name)
        if not isinstance(machine, Classifies):
            raise ModelError(
                f"{name}: draws the boundary of a classifier, got {type(machine).__name__}"
            )
        points, before, names = _plane(estimator, machine, X, name)
        chosen = machine.robustness_
        # A path may be proven for a part of its way only.
        last = Scale.of(machine.path_).robustness(machine.path_.traced[1])
        words: dict[float, list[str]] = {}
        for r, word in ((0.0, "plain"), (chosen, "chosen"), (last, "end")):
            words.setdefault(r, []).append(word)
        asked = list(words) if robustness is None else [float(r) for r in robustness]
        resolution = int(grid_resolution)
        xx0, xx1 = np.meshgrid(*(_range(column, resolution) for column in points.T))
        grid = before(np.stack([xx0.ravel(), xx1.ravel()], axis=1))
        machines = [machine if r == chosen else machine.at(r) for r in asked]
        values = [one.decision_function(grid).reshape(xx0.shape) for one in machines]
        return cls(
            xx0=xx0,
            xx1=xx1,
            values=values,
            robustness=asked,
            names=[
                f"robustness {r:.3g}" + (f" ({', '.join(words[r])})" if r in words else "")
                for r in asked
            ],
            points=points,
            labels=machine._training_targets(),
            outliers=machine.outliers_,
            chosen=asked.index(chosen) if chosen in asked else None,
            feature_names=names,
        ).plot(ax=ax)

    def plot(self, ax: Axes | None = None, *, point_size: float | None = None) -> Self:
        """Draw points and boundaries.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A new figure by default.
        point_size : float, optional
            Area of a point; smaller the more there are by default.
        """
        ax = self._begin(ax)
        from matplotlib.lines import Line2D

        size = (
            float(np.clip(9000.0 / len(self.points), 6.0, 36.0))
            if point_size is None
            else point_size
        )
        handles: list[Any] = []
        classes = np.unique(self.labels)
        for label, color, marker in zip(classes, (PALETTE[5], PALETTE[4]), ("o", "^"), strict=True):
            of = self.labels == label
            handles.append(
                ax.scatter(
                    self.points[of, 0],
                    self.points[of, 1],
                    s=size,
                    c=color,
                    marker=marker,
                    linewidths=0.0,
                    label=f"{_label(label)} ({int(of.sum()):,})",
                )
            )
        if self.outliers.size:
            handles.append(
                ax.scatter(
                    self.points[self.outliers, 0],
                    self.points[self.outliers, 1],
                    s=2.2 * size + 14.0,
                    facecolors="none",
                    edgecolors="black",
                    linewidths=0.9,
                    label=f"outlier ({self.outliers.size:,})",
                )
            )
        self.contours_ = []
        styles = ("dashed", "dashdot", "dotted", (0, (6, 2, 1, 2, 1, 2)))
        others = [k for k in range(len(self.values)) if k != self.chosen]
        shades = dict(zip(others, _shades(len(others)), strict=True))
        for k, (value, text) in enumerate(zip(self.values, self.names, strict=True)):
            solid = k == self.chosen
            color = "black" if solid else shades[k]
            style: Any = "solid" if solid else styles[others.index(k) % len(styles)]
            width = 2.2 if solid else 1.8
            crosses = bool(value.min() < 0.0 < value.max())
            if crosses:
                drawn: dict[str, Any] = {"colors": [color], "linestyles": [style]}
                self.contours_.append(
                    ax.contour(self.xx0, self.xx1, value, [0.0], linewidths=width, **drawn)
                )
            none = "" if crosses else ": none here"
            line = {"color": color, "linestyle": style, "linewidth": width, "label": text + none}
            handles.append(Line2D([], [], **line))
        ax.set_xlabel(self.feature_names[0])
        ax.set_ylabel(self.feature_names[1])
        for side in ("top", "right"):
            ax.spines[side].set_visible(False)
        ax.legend(
            handles=handles,
            loc="upper left",
            bbox_to_anchor=(1.02, 1.0),
            frameon=False,
            borderaxespad=0.0,
        )
        return self


def _plane(estimator: Any, machine: Any, X: Any, who: str) -> tuple[Array, Any, list[str]]:
    """The training rows in the plane that is drawn, what is done to a row before the machine sees
    it, and the names of the two features."""
    outer = getattr(estimator, "best_estimator_", estimator)
    steps = outer[:-1] if hasattr(outer, "steps") and len(outer.steps) > 1 else None
    seen_by = machine if steps is None else outer
    if machine.kernel == "precomputed":
        raise ModelError(f"{who}: a precomputed kernel has no plane to draw in")
    if X is None and steps is not None:
        raise ModelError(f"{who}: a pipeline keeps no rows as they were given; pass them as X")
    given = getattr(X, "columns", getattr(seen_by, "feature_names_in_", None))
    rows = machine.path_.model.X if X is None else X
    points = np.asarray(rows.toarray() if sp.issparse(rows) else rows, dtype=float)
    if points.ndim != 2 or points.shape[1] != 2:
        raise DataError(
            f"{who}: draws two features, got {'x'.join(map(str, points.shape))}; fit the machine "
            "on two columns, or on two components (PCA)"
        )
    if points.shape[0] != machine.path_.model.y.size:
        raise DataError(
            f"{who}: X has {points.shape[0]} rows, but the machine was fitted on "
            f"{machine.path_.model.y.size}; pass the training rows"
        )
    names = ["feature 0", "feature 1"] if given is None else [str(name) for name in given]

    def before(grid: Array) -> Any:
        if steps is None:
            return grid
        if hasattr(X, "columns"):
            grid = type(X)(grid, columns=X.columns)
        return steps.transform(grid)

    return points, before, names


def _shades(count: int) -> list[Any]:
    """From grey to a dark purple: neither is the colour of a point."""
    ends = np.array([[0.55, 0.55, 0.55], [0.48, 0.10, 0.55]])
    weight = np.linspace(0.0, 1.0, max(count, 2))[:count, None]
    return [tuple(c) for c in (1.0 - weight) * ends[0] + weight * ends[1]]


def _range(values: Array, count: int) -> Array:
    low, high = float(values.min()), float(values.max())
    room = MARGIN * (high - low) or 1.0
    return np.linspace(low - room, high + room, count)
