"""Paths of a grid of C, on all rows and on parts of them, with their curves on what was left out.

What is done for one kernel width goes along C: starts come from one another, and all models share
the columns of the kernel.  A part of the rows starts from the solution on all of them, with the
samples outside it removed.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from homotopy import ModelError, Path, TraceError, ValidationCurve
from homotopy.analysis.losses import Loss
from homotopy.analysis.validation import held_out_losses
from homotopy_plugins.estimators.proven import Proven, beyond, holds, proven, shortened
from homotopy_plugins.estimators.thresholds import usual_threshold
from homotopy_plugins.models.epsilon_ramp import EpsilonRamp
from homotopy_plugins.models.ramp import RampModel

__all__ = [
    "Begun",
    "FoldCurve",
    "Recipe",
    "Rows",
    "begin_along_c",
    "curves_along_c",
    "first_met",
    "plain_point",
    "standard_error",
]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

# The eps-path leads so far from the narrowest tube to the threshold.
WIDENED = 0.9


@attrs.frozen(eq=False)
class Rows:
    """Training data: X (n, d), or the kernel (n, n) if `precomputed`, y and the weights."""

    X: Any
    y: Any
    weight: Array
    precomputed: bool

    def take(self, rows: Index) -> Rows:
        """Some of the rows as training data of their own."""
        X = self.X[rows]
        X = X[:, rows] if self.precomputed else X
        return Rows(X, self.y[rows], self.weight[rows], self.precomputed)

    def seen_from(self, held: Index, kept: Index) -> Any:
        """X of the rows `held` for a model of the rows `kept`."""
        X = self.X[held]
        return X[:, kept] if self.precomputed else X


@contextmanager
def speaking_as(name: str, kind: type) -> Iterator[None]:
    """Errors of the model name the estimator that the user called."""
    try:
        yield
    except ModelError as error:
        text = str(error)
        if text.startswith(f"{kind.__name__}:"):
            raise type(error)(name + text[len(kind.__name__) :]) from error
        raise


@attrs.frozen(eq=False)
class Recipe:
    """How rows, C and gamma become a model.

    Attributes
    ----------
    name : str
        The estimator, for messages.
    kind : type
        `HingeRamp`, `LADRamp` or `EpsilonRamp`.
    options : dict
        What all models have in common.
    s : float or None
        The threshold of the theta-path or the end of the s-path; None to take the
        `usual_threshold` of the plain fit.
    widest : float or None
        None unless the tube of an `EpsilonRamp` widens: it goes at least so far.  The models are
        then those of the theta-path that leads to its start.
    """

    name: str
    kind: type
    options: dict[str, Any]
    s: float | None
    widest: float | None = None

    def model(self, rows: Rows, C: float, gamma: float | None) -> RampModel:
        with speaking_as(self.name, self.kind):
            model: RampModel = self.kind(
                rows.X, rows.y, C=C, gamma=gamma, sample_weight=rows.weight, **self.options
            )
            return model if self.s is None else model.varied(s=self.s)

    def varied(self, model: RampModel, *, C: float | None = None, s: float) -> RampModel:
        with speaking_as(self.name, self.kind):
            return model.varied(C=C, s=s)

    def trace(self, model: RampModel, start: Array | None, progress: bool = False) -> Proven:
        """The path of `model`, from the plain solution near `start` on, as far as it is proven.

        Where the tube widens there are two legs: outliers lose their pull first, at the narrowest
        tube, and the path begins where that leads.
        """
        found = proven(model, start, progress=progress)
        if self.widest is None:
            return found
        assert isinstance(model, EpsilonRamp)
        begun, theta, told = _led_to(found, model.theta)
        if theta != model.theta:
            model = copy.copy(model)
            model.parameters = model.parameters | {"theta": theta}
        stop = model.epsilon + WIDENED * (model.s - model.epsilon)
        wider = self._widen(model, max(stop, self.widest), begun, progress)
        short = wider.trouble and not holds(wider.path, self.widest)
        if short and model.epsilon < self.widest < stop:
            # Where f is almost constant ties abound; nothing was asked for beyond this point.
            wider = self._widen(model, self.widest, begun, progress)
        return attrs.evolve(wider, begun=told)

    def _widen(self, model: EpsilonRamp, stop: float, begun: Path, progress: bool) -> Proven:
        with speaking_as(self.name, self.kind):
            wider = model.widening(model.epsilon, stop)
        return proven(wider, (begun, model.theta), progress=progress)

    def threshold(self, begun: Path) -> float:
        """s, taken from the residuals of the plain fit if it was not given."""
        if self.s is not None:
            return self.s
        model: Any = begun.model
        return usual_threshold(model, begun.response(begun.traced[0], "before"))


def _led_to(found: Proven, theta: float) -> tuple[Path, float, str]:
    """Where a theta-path leads to: a path, the proven theta on it that is nearest to the one asked
    for, and what is to be said of that."""
    path = found.path
    if holds(path, theta):
        return path, theta, ""
    last = path.traced[1]
    point = beyond(path, theta)
    if point is not None:
        return point, theta, f"{found.told()}; at theta={theta:g} its beginning was solved alone"
    return path, last, f"{found.told()}; outliers weigh theta={last:g} and not {theta:g}"


@attrs.frozen(eq=False)
class Begun:
    """The plain solution on all rows at one C and the threshold of the path that leaves it, or why
    there is none.  `first` is where the path begins, if that was asked for."""

    C: float
    alpha: Array | None
    s: float
    trouble: str = ""
    first: float = np.nan


@attrs.frozen(eq=False)
class FoldCurve:
    """The curve of one fold at one C, or why there is none; with a curve `trouble` is why its path
    is not proven to its end.  `error` is one standard error of its least value, over the rows held
    out, where it was asked for."""

    curve: ValidationCurve | None
    trouble: str
    fit_time: float
    score_time: float
    breakpoints: int
    error: float = np.nan


def begin_along_c(
    recipe: Recipe,
    rows: Rows,
    gamma: float | None,
    costs: Sequence[float],
    *,
    done: Callable[[int], Any] | None = None,
) -> list[Begun]:
    """The plain solutions on all rows, each started from the one before; `done` is told of each."""
    with threadpool_limits(1, user_api="blas"):
        found: list[Begun] = []
        model = recipe.model(rows, costs[0], gamma)
        path: Path | None = None
        for C in costs:
            try:
                path, alpha, s = plain_point(recipe, model.varied(C=C), path)
            except TraceError as error:
                found.append(Begun(C, None, np.nan, f"C={C:g}: {error}"))
            else:
                found.append(Begun(C, alpha, s, first=first_met(path)))
            if done is not None:
                done(1)
        return found


def plain_point(
    recipe: Recipe, model: RampModel, start: Path | Array | None
) -> tuple[Path, Array, float]:
    """The first point of a path, its alpha, and the threshold that follows from it."""
    path = proven(model, start, most=1).path
    return path, path.alpha(path.traced[0], "before"), recipe.threshold(path)


def first_met(path: Path) -> float:
    """Where an s-path meets its first row; the beginning of any other path.

    Rows of weight 0 are left out: they can be far off, and the path passes them without a change.
    """
    first, last = path.traced
    model: Any = path.model
    counted = model.sample_weight > 0.0
    if model.parameter != "s" or np.all(counted):
        return first
    response = path.response(first, "before")
    if model.validation_loss == "zero-one":
        met = float(response[counted].min())
    else:
        met = float(np.abs(model.y - response)[counted].max())
    return min(max(met, min(first, last)), max(first, last))


def curves_along_c(
    recipe: Recipe,
    rows: Rows,
    gamma: float | None,
    begun: Sequence[Begun],
    kept: Index,
    held: Index,
    loss: Loss,
    *,
    with_error: bool = False,
    until: float | None = None,
    progress: bool = False,
    done: Callable[[int], Any] | None = None,
) -> list[FoldCurve]:
    """The paths of the rows `kept` for each C, and their exact curves on the rows `held`, as far as
    the paths are proven, and no farther than `until`; `done` is told of each."""
    with threadpool_limits(1, user_api="blas"):
        model = recipe.model(rows.take(kept), begun[0].C, gamma)
        new, target, weight = rows.seen_from(held, kept), rows.y[held], rows.weight[held]
        found = []
        for k, at in enumerate(begun):
            if done is not None and k:
                done(1)
            if at.alpha is None:
                found.append(FoldCurve(None, at.trouble, 0.0, 0.0, 0))
                continue
            began = time.perf_counter()
            try:
                varied = recipe.varied(model, C=at.C, s=at.s)
                part = recipe.trace(varied, at.alpha[kept], progress)
            except TraceError as error:
                took = time.perf_counter() - began
                found.append(FoldCurve(None, f"C={at.C:g}: {error}", took, 0.0, 0))
                continue
            path, traced = part.path, time.perf_counter()
            curve = path.validation_curve(new, target, loss=loss, sample_weight=weight)
            if until is not None:
                curve = shortened(curve, until, 1.0 if path.span[1] >= path.span[0] else -1.0)
            off = np.nan
            if with_error:
                losses = held_out_losses(path, new, target, *_best(curve, path), loss=loss)
                off = standard_error(losses, weight)
            scored = time.perf_counter()
            told = [part.begun, part.told() if part.trouble else ""]
            trouble = "; ".join(text for text in told if text)
            times = traced - began, scored - traced
            found.append(FoldCurve(curve, trouble, *times, path.breakpoints.size, off))
        if done is not None:
            done(1)
        return found


def _best(curve: ValidationCurve, path: Path) -> tuple[float, str]:
    """Where the curve is least, as a point of its path; what lies before that is its beginning."""
    best, (low, high) = curve.best, sorted(path.traced)
    return (best.t, best.side) if low <= best.t <= high else (path.traced[0], "before")


def standard_error(values: Array, weights: Array | None = None) -> float:
    """One standard error of the (weighted) mean of `values`; 0 where there is one value alone."""
    weights = np.ones(values.size) if weights is None else weights
    count = int((weights > 0.0).sum())
    if count < 2:
        return 0.0
    share = weights / weights.sum()
    return float(np.linalg.norm(share * (values - share @ values)) * np.sqrt(count / (count - 1.0)))
