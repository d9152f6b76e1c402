"""Trend filtering as a scikit-learn estimator."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Self

import attrs
import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from homotopy import Certificate, DataError, ModelError, Path, ValidationCurve
from homotopy_plugins.estimators.proven import Proven, beyond, common_part, holds, proven, tell
from homotopy_plugins.kernels.checks import check_size, finite, whole
from homotopy_plugins.models.least_squares import not_negative
from homotopy_plugins.models.trend_filter import TrendFilter

__all__ = ["TrendFilterRegressor"]

Array = npt.NDArray[np.float64]

RULES = ("gcv", "aic", "bic", "cv")
WAY_OUT = "Choose a larger lam (or fraction), or a smaller order"


class TrendFilterRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A function of one variable, of few constant, linear or quadratic pieces (see `TrendFilter`).

    The whole path in lam is traced, and lam is chosen on all of it, not on a grid.

    Parameters
    ----------
    order : {0, 1, 2}
        The degree of the pieces.
    lam : float or {"gcv", "aic", "bic", "cv"}
        The weight of the penalty, or the rule that chooses it.  The first three judge by the
        squared error and the number of knots: "gcv" ``n RSS / (n - df)^2``, "aic"
        ``n log RSS + 2 df``, "bic" ``n log RSS + df log n``, with ``df = knots + order + 1``.  As
        RSS falls with lam while the knots stay, they are least at a break-point.  "cv" holds every
        `cv`-th position out in turn, the two ends excepted, and takes the least of the exact curve
        of the mean squared error.
    fraction : float in [0, 1), optional
        Where the path ends if lam is chosen, as a part of the lam where it begins; see
        `TrendFilter`.
    cv : int
        The number of folds of "cv".

    Attributes
    ----------
    lam_ : float
        The lam of the fit.
    path_ : Path
        The path on all rows; `path_.certify()` proves it.  It is the whole path unless
        `path_.status` says otherwise.
    positions_, signal_ : arrays
        The positions, sorted and each once, and the fit there.
    knots_ : array
        The positions at which one piece ends and another begins.
    criterion_ : array (K, 2) or None
        Break-points, and the value of the rule there ("gcv", "aic", "bic").
    validation_curve_ : ValidationCurve or None
        The exact curve behind "cv".
    certificate_ : Certificate
        The optimality conditions at `lam_`.

    Examples
    --------
    >>> import numpy as np
    >>> from homotopy_plugins import TrendFilterRegressor
    >>> z = np.linspace(0.0, 1.0, 200)
    >>> y = np.abs(z - 0.4) + 0.02 * np.random.default_rng(0).standard_normal(200)
    >>> model = TrendFilterRegressor(order=1, lam="bic").fit(z, y)
    >>> values = model.predict([0.1, 0.4])
    """

    criterion_: Array | None
    validation_curve_: ValidationCurve | None
    certificate_: Certificate
    path_: Path
    # The fit's own point, where that is not one of `path_`.
    _point: Path | None = None

    def __init__(
        self, *, order: int = 1, lam: Any = "gcv", fraction: float | None = None, cv: int = 5
    ) -> None:
        self.order = order
        self.lam = lam
        self.fraction = fraction
        self.cv = cv

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Trace the path and take the function at one lam.

        Parameters
        ----------
        X : array (n,) or (n, 1)
            Positions, in any order; values at one position count as their mean.
        y : array (n,)
        sample_weight : array (n,), optional
        """
        name = type(self).__name__
        given = self._given()
        z = _column(X, name)
        y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        check_consistent_length(z, y)
        weight = _check_sample_weight(sample_weight, z, dtype=np.float64)
        not_negative(weight, "sample_weight", name)
        check_size(y, "y", name)
        used = weight > 0.0
        if not np.any(used):
            raise DataError(f"{name}: every sample_weight is 0; nothing is left to fit")
        z, y, weight = z[used], y[used], weight[used]
        place, where = np.unique(z, return_inverse=True)
        total = np.asarray(np.bincount(where, weight), dtype=float)
        mean = np.bincount(where, weight * y) / total
        within, rows = float(weight @ (y - mean[where]) ** 2), y.size
        part = self._traced(place, mean, total, given)
        path, told = part.path, [part.told()] if part.trouble else []
        self.criterion_ = self.validation_curve_ = None
        if given is not None:
            # Before the beginning of the path nothing changes.
            self._keep_asked(part, min(given, path.traced[0]))
            return self
        if self.lam == "cv":
            self.validation_curve_ = self._cross_validated(place, mean, total, path, told)
            lam = self.validation_curve_.best.t
        else:
            self.criterion_ = self._criterion(path, within, rows)
            lam = float(self.criterion_[np.argmin(self.criterion_[:, 1]), 0])
        if told:
            told.append(f"lam={self.lam!r} was chosen on what is proven")
            tell(name, "; ".join(told), way_out=WAY_OUT)
        self._keep(path, min(lam, path.traced[0]))
        return self

    def _given(self) -> float | None:
        """The value of `lam`, or None where it is to be chosen."""
        name = type(self).__name__
        if not isinstance(self.lam, str):
            return finite(self.lam, "lam", name)
        if self.lam not in RULES:
            raise ModelError(
                f"{name}: lam must be a number or one of {', '.join(RULES)}, got {self.lam!r}"
            )
        if self.lam == "cv" and whole(self.cv, "cv", name) < 2:
            raise ModelError(f"{name}: cv must be at least 2, got {self.cv!r}")
        return None

    def _traced(self, place: Array, values: Array, weight: Array, lam: float | None) -> Proven:
        model = TrendFilter(
            values,
            order=self.order,
            positions=place,
            weights=weight,
            lam=lam,
            fraction=self.fraction,
        )
        return proven(model)

    def _criterion(self, path: Path, within: float, rows: int) -> Array:
        """The rule at every break-point."""
        assert isinstance(path.model, TrendFilter)
        segments, model = path.segments, path.model
        active = np.split(segments.active, segments.offset[1:-1])
        alphas = np.split(segments.alpha_stop, segments.offset[1:-1])
        # What enters or leaves at a break-point is 0 there.
        knots = [np.intersect1d(i, j).size for i, j in pairwise(active)]
        knots = [0, *knots, active[-1].size]
        error = [
            model.squared_error(lam, i, alpha)
            for lam, i, alpha in zip(segments.stop.tolist(), active, alphas, strict=True)
        ]
        error.insert(0, model.squared_error(path.traced[0], active[0][:0], np.empty(0)))
        places = np.append(path.traced[0], segments.stop)
        rss = np.maximum(np.array(error) + within, np.finfo(float).tiny)
        df = np.array(knots) + self.order + 1.0
        if self.lam == "gcv":
            with np.errstate(divide="ignore"):
                value = np.where(df < rows, rows * rss / (rows - df) ** 2, np.inf)
        else:
            value = rows * np.log(rss) + df * (2.0 if self.lam == "aic" else np.log(rows))
        return np.stack([places, value], axis=1)

    def _cross_validated(
        self, place: Array, values: Array, weight: Array, path: Path, told: list[str]
    ) -> ValidationCurve:
        """The mean curve of the folds; what is not proven of their paths goes to `told`."""
        name, inner = type(self).__name__, np.arange(1, place.size - 1)
        if place.size - -(-inner.size // self.cv) < self.order + 2 or inner.size < self.cv:
            raise DataError(
                f"{name}: {place.size} positions are too few for {self.cv} folds of order "
                f"{self.order}; choose lam='gcv', or fewer folds"
            )
        curves = []
        for fold in range(self.cv):
            held = inner[fold :: self.cv]
            kept = np.setdiff1d(np.arange(place.size), held)
            one = self._traced(place[kept], values[kept], weight[kept], path.traced[1])
            if one.trouble:
                told.append(f"fold {fold}: {one.told()}")
            curve = one.path.validation_curve(place[held], values[held], sample_weight=weight[held])
            # Without a knot the function is the same for every larger lam.
            curves.append(attrs.evolve(curve, origin=np.inf))
        return ValidationCurve.mean(common_part(curves))

    def _keep_asked(self, part: Proven, lam: float) -> None:
        """Take over a path at `lam`, or at the nearest to it that is proven."""
        path, name = part.path, type(self).__name__
        if holds(path, lam):
            self._keep(path, lam)
            return
        last = path.traced[1]
        point = beyond(path, lam)
        text = f"lam={lam:g} was asked for, but {part.told()}; "
        if point is None:
            text += f"the fit is that of lam={last:g}, the nearest that is proven"
            tell(name, text, 3, way_out=WAY_OUT)
            self._keep(path, last)
        else:
            # Convex, so that this is the point of the path.
            self._keep(path, lam, point)

    def _keep(self, path: Path, lam: float, point: Path | None = None) -> None:
        self.path_, self.lam_, self._point = path, lam, point
        path = self._standing()
        assert isinstance(path.model, TrendFilter)
        self.positions_ = path.model.positions
        self.signal_ = path.solution(lam)
        # An entry of D x stands for order + 2 positions; the knot is the middle one.
        self.knots_ = self.positions_[_knots(path, lam) + (self.order + 1) // 2]
        self.certificate_ = path.certify(at=lam)

    def _standing(self) -> Path:
        """The path that holds the fit: the point of its own, where there is one."""
        return self.path_ if self._point is None else self._point

    def predict(self, X: Any) -> Array:
        """The function at positions `X`, (N,) or (N, 1); beyond the ends the pieces go on."""
        check_is_fitted(self)
        z = _column(X, type(self).__name__)
        return self._standing().decision_function(z, self.lam_)


def _knots(path: Path, lam: float) -> npt.NDArray[np.int64]:
    """Where D x is not 0: what enters or leaves at lam itself is 0 there."""
    zero = [path.partition(lam, side)["zero"] for side in ("before", "after")]
    return np.setdiff1d(np.arange(path.problem.gram.size), np.concatenate(zero))


def _column(X: Any, name: str) -> Array:
    """Positions as a list of numbers."""
    z = check_array(X, ensure_2d=False, dtype=np.float64, input_name="X")
    if z.ndim == 2 and z.shape[1] == 1:
        z = z[:, 0]
    if z.ndim != 1:
        raise DataError(f"{name}: X must have one column, the positions, got shape {z.shape}")
    check_size(z, "X", name)
    return np.asarray(z)
