"""Robust support vector machines as scikit-learn estimators.

`RobustSVC` and `RobustSVR` are used like scikit-learn's `SVC` and `SVR`.  What they add is one
number, `robustness`: a point of the path from the plain machine to one that outliers cannot pull.
``robustness="auto"`` chooses it on rows held out, exactly, from the whole path.
"""

from __future__ import annotations

import copy
import warnings
from abc import ABCMeta, abstractmethod
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state, compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from homotopy import (
    Certificate,
    DataError,
    Homotopy,
    ModelError,
    Path,
    Stays,
    TraceError,
    Truncated,
    ValidationCurve,
)
from homotopy.gram import MEMORY
from homotopy.validation import Loss
from homotopy_plugins.audit import Fits, table
from homotopy_plugins.folds import (
    SPREADS,
    Begun,
    Recipe,
    Rows,
    curves_along_c,
    plain_point,
    spread,
    weighted_median,
)
from homotopy_plugins.hinge_ramp import HingeRamp
from homotopy_plugins.kernel_model import KernelModel, finite, nearest_definite, positive
from homotopy_plugins.lad_ramp import LADRamp
from homotopy_plugins.ramp import ramp_parameters

__all__ = ["RobustSVC", "RobustSVR"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

# A value so near to the start of a path, in parts of its size, is the start.
AT_START = 1e-10


class RobustMachine(BaseEstimator, metaclass=ABCMeta):  # type: ignore[misc]
    """What the robust estimators share: checked data, a path, and the machine at one t of it."""

    _kind: type[KernelModel]
    # What `audit` calls the target and how well it is met, and whether the least of that (1) or
    # the largest (-1) is worst.
    _called: tuple[str, str]
    _worst_first: float

    # Set by the constructors.
    kernel: Any
    degree: int
    coef0: float
    fit_intercept: bool
    path: str
    theta: float
    s: float | None
    tol: float
    cache_size: float
    verbose: bool

    # Set by `fit`.
    projection_: Array | None
    path_: Path
    outlier_path_: Stays
    robustness_: float
    outliers_: Index
    support_: Index
    dual_coef_: Array
    intercept_: Array
    certificate_: Certificate

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    # ------------------------------------------------------------------ before the fit

    @abstractmethod
    def _checked_targets(self, y: Any) -> Any:
        """y as the model takes it."""

    @abstractmethod
    def _weighted(self, y: Any, weight: Array) -> Array:
        """The weights of the rows, those that come with labels included."""

    @abstractmethod
    def _loss_on(self, rows: Rows, name: Any) -> Loss:
        """The loss on rows held out by its name."""

    @abstractmethod
    def _check_s(self, s: float) -> None:
        """Refuse a threshold that no s-path comes to."""

    @abstractmethod
    def _farther(self, s: float, other: float) -> float:
        """Which of two thresholds an s-path meets later."""

    def __sklearn_is_fitted__(self) -> bool:
        # Set last; a trace that was interrupted leaves a path and no machine.
        return hasattr(self, "certificate_")

    def _checked_rows(self, X: Any, y: Any, sample_weight: Any) -> Rows:
        """Everything that can be wrong with the data and the path is refused here."""
        for fitted in [n for n in vars(self) if n.endswith("_") and not n.startswith("_")]:
            # Nothing of an earlier fit outlives the beginning of another.
            delattr(self, fitted)
        name, pairwise = type(self).__name__, self.kernel == "precomputed"
        X, y = validate_data(self, X, y, dtype=np.float64, accept_sparse=_sparse(pairwise))
        y = self._checked_targets(y)
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64)
        if np.any(weight < 0.0):
            i = int(np.flatnonzero(weight < 0.0)[0])
            raise DataError(
                f"{name}: Negative values in sample_weight: sample_weight[{i}] is {weight[i]:g}"
            )
        if not np.any(weight):
            raise DataError(f"{name}: every sample_weight is 0; nothing is left to fit")
        weight = self._weighted(y, weight)
        ramp_parameters(self.path, self.theta, name)
        positive(self.tol, "tol", name)
        self.projection_ = None
        if pairwise:
            if X.shape[0] != X.shape[1]:
                raise DataError(f"{name}: a precomputed kernel must be square, got shape {X.shape}")
            X, self.projection_ = nearest_definite(X, name)
        return Rows(X, y, weight, pairwise)

    def _recipe(self) -> Recipe:
        options = {
            "kernel": self.kernel,
            "degree": self.degree,
            "coef0": self.coef0,
            "fit_intercept": self.fit_intercept,
            "path": self.path,
            "theta": self.theta,
            "cache_size": self.cache_size,
        }
        return Recipe(type(self).__name__, self._kind, options, self.s)

    def _width(self, gamma: Any, X: Any) -> float | None:
        """gamma as a number; None where the kernel has none."""
        if callable(self.kernel) or self.kernel in ("linear", "precomputed"):
            return None
        if isinstance(gamma, str):
            if gamma == "auto":
                return 1.0 / int(X.shape[1])
            if gamma == "scale":
                spread = X.multiply(X).mean() - X.mean() ** 2 if sp.issparse(X) else X.var()
                return 1.0 / (int(X.shape[1]) * float(spread)) if spread > 0.0 else 1.0
            raise ModelError(
                f"{type(self).__name__}: gamma must be 'scale', 'auto' or a positive number, "
                f"got {gamma!r}"
            )
        return positive(gamma, "gamma", type(self).__name__)

    # ------------------------------------------------------------------ the machine at one t

    def _traced(self, model: KernelModel, start: Array | None) -> Path:
        """The whole path; where it does not come to its end, what there is of it is kept."""
        try:
            path = Homotopy(model).trace(start=start, progress=bool(self.verbose))
        except TraceError as error:
            if isinstance(error.path, Path):
                self.path_ = error.path
            error.add_note("Scaled features (StandardScaler) or a smaller C may help.")
            raise
        if not path.complete:
            self.path_ = path
            raise KeyboardInterrupt(f"{type(self).__name__}: interrupted; path_ holds {path!r}")
        return path

    def _keep(self, path: Path, t: float, side: str | None = None) -> None:
        """Take over a path and become its machine at `t`."""
        model: Any = path.model
        self.path_ = path
        self.outlier_path_ = path.stays(*model.outlier_pieces)
        self._become(t, side)

    def _become(self, t: float, side: str | None = None) -> None:
        path, model = self.path_, self.path_.model
        assert isinstance(model, HingeRamp | LADRamp)
        self.robustness_ = float(t)
        (start, stop), declared = path.traced, path.problem.start
        ahead = not np.isfinite(declared) and np.sign(declared) * (t - start) > 0.0
        if ahead or abs(t - start) <= AT_START * max(abs(start), abs(stop)):
            # At the start, before the first jump, nobody is an outlier: the plain machine.
            t, side = start, "before"
        side = side or "after"
        alpha = path.alpha(t, side)
        self.support_ = np.flatnonzero(alpha)
        self.dual_coef_ = (alpha * model.sign)[None, self.support_]
        self.intercept_ = np.array([path.intercept(t, side)])
        pairwise = self.kernel == "precomputed"
        self.support_vectors_ = np.empty((0, 0)) if pairwise else model.X[self.support_]
        self.__dict__.pop("coef_", None)
        if self.kernel == "linear":
            self.coef_ = np.asarray(self.dual_coef_ @ self.support_vectors_)
        parts = path.partition(t, side)
        called = np.sort(np.concatenate([parts[name] for name in model.outlier_pieces]))
        # At weight 1 an outlier is charged like any other row, and is none.
        weight = t if self.path == "theta" else self.theta
        self.outliers_ = called if weight < 1.0 else called[:0]
        self.certificate_ = path.certify(self.tol, at=t)
        if not self.certificate_.ok:
            warnings.warn(
                f"{type(self).__name__}: the optimality conditions hold to "
                f"{self.certificate_.worst:.1e} only (tol={self.tol:g}); scale the features or "
                "choose a smaller C",
                ConvergenceWarning,
                stacklevel=4,
            )

    def at(self, robustness: float) -> Self:
        """This machine at another point of its path, without fitting again.

        Parameters
        ----------
        robustness : float
            A value of theta or s inside the traced span.  Its first value is the plain machine, and
            so is every value before that on the s-path.
        """
        check_is_fitted(self)
        other = copy.copy(self)
        other._become(finite(robustness, "robustness", type(self).__name__))
        if "robustness" in self.get_params(deep=False):
            other.set_params(robustness=robustness)
        return other

    # ------------------------------------------------------------------ after the fit

    def _values(self, X: Any) -> Array:
        """f at new rows."""
        check_is_fitted(self)
        sparse = _sparse(self.kernel == "precomputed")
        X = validate_data(self, X, dtype=np.float64, accept_sparse=sparse, reset=False)
        if self.projection_ is not None:
            X = X @ self.projection_
        model = self.path_.model
        assert isinstance(model, KernelModel)
        return np.asarray(model.expand(X, self.support_, self.dual_coef_[0]) + self.intercept_[0])

    @abstractmethod
    def _met(self, response: Array) -> Array:
        """Margins or sizes of the residuals of the training rows."""

    def audit(self, top: int | None = 20) -> Any:
        """The training rows that the path finds most suspicious, worst first.

        Ranked by their margin (the size of their residual) on average over the whole path, at 101
        even values of it.

        Parameters
        ----------
        top : int or None
            How many rows; None for all.

        Returns
        -------
        pandas.DataFrame, or a structured array where pandas is not installed
            row; label (target); margin (residual, without its sign): mean over the path, at its
            start and at its end; first, the value of theta or s at which the row first becomes an
            outlier, NaN if it never does; share, the part of the path on which it is one.
        """
        check_is_fitted(self)
        whole = isinstance(top, int | np.integer) and not isinstance(top, bool)
        if top is not None and not (whole and top >= 1):
            raise ModelError(
                f"{type(self).__name__}: audit: top must be a positive integer or None, got {top!r}"
            )
        fits, stays = Fits.along(self.path_, self._met), self.outlier_path_
        rows = np.argsort(self._worst_first * fits.mean, kind="stable")[:top]
        target, met = self._called
        return table(
            {
                "row": rows,
                target: self._training_targets()[rows],
                f"{met}_mean": fits.mean[rows],
                f"{met}_start": fits.start[rows],
                f"{met}_end": fits.end[rows],
                "first": stays.first[rows],
                "share": stays.share[rows],
            }
        )

    @abstractmethod
    def _training_targets(self) -> Any:
        """The targets as they were given."""


class Classifies(ClassifierMixin, RobustMachine):  # type: ignore[misc]
    """The part of a robust classifier that does not depend on how its point was chosen."""

    _kind = HingeRamp
    _called = ("label", "margin")
    _worst_first = 1.0
    class_weight: Any
    classes_: Any

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _checked_targets(self, y: Any) -> Any:
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        name = type(self).__name__
        if self.classes_.size == 1:
            raise DataError(
                f"{name}: y has one class ({self.classes_[0]}); a classifier needs two classes"
            )
        if self.classes_.size > 2:
            raise DataError(
                "Only binary classification is supported. The type of the target is "
                f"{type_of_target(y)}. For {self.classes_.size} classes wrap {name} in "
                "sklearn.multiclass.OneVsRestClassifier"
            )
        return y

    def _weighted(self, y: Any, weight: Array) -> Array:
        name = type(self).__name__
        finite(self.s, "s", name)
        total = np.asarray(weight * compute_sample_weight(self.class_weight, y))
        left = np.unique(y[total > 0.0])
        if left.size < 2:
            kept = f"only class {left[0]} is" if left.size else "no class is"
            raise DataError(
                f"{name}: {kept} left where rows of sample_weight or class_weight 0 are taken out; "
                "a classifier needs two classes"
            )
        return total

    def _loss_on(self, rows: Rows, name: Any) -> Loss:
        return _one_of(("zero-one", "hinge"), name, type(self).__name__)

    def _check_s(self, s: float) -> None:
        if s > 1.0:
            raise ModelError(
                f"{type(self).__name__}: robustness={s:g} lies outside the span of the s-path: s "
                "must be at most 1 (the threshold lies left of the margin)"
            )

    def _farther(self, s: float, other: float) -> float:
        return max(s, other)

    def _met(self, response: Array) -> Array:
        return response

    def _training_targets(self) -> Any:
        model: Any = self.path_.model
        return self.classes_[(model.y > 0.0).astype(int)]

    def decision_function(self, X: Any) -> Array:
        """f(x); positive for ``classes_[1]``."""
        return self._values(X)

    def predict(self, X: Any) -> Any:
        """The class of each row of X."""
        positive_class = self._values(X) > 0.0
        return self.classes_[positive_class.astype(int)]


class Regresses(RegressorMixin, RobustMachine):  # type: ignore[misc]
    """The part of a robust regression that does not depend on how its point was chosen."""

    _kind = LADRamp
    _called = ("target", "residual")
    _worst_first = -1.0

    def _checked_targets(self, y: Any) -> Any:
        return y.astype(np.float64)

    def _weighted(self, y: Any, weight: Array) -> Array:
        return weight

    def _loss_on(self, rows: Rows, name: Any) -> Loss:
        chosen = _one_of(("truncated", "absolute", "squared"), name, type(self).__name__)
        if chosen != "truncated":
            return chosen
        distance = np.abs(rows.y - weighted_median(rows.y, rows.weight))
        cap = SPREADS * spread(distance, rows.weight)
        # Most targets are equal: there is no scale to cut at.
        return Truncated(cap) if cap > 0.0 else "absolute"

    def _check_s(self, s: float) -> None:
        if s <= 0.0:
            raise ModelError(
                f"{type(self).__name__}: robustness={s:g} lies outside the span of the s-path: s "
                "must be positive (rows with larger residuals are outliers)"
            )

    def _farther(self, s: float, other: float) -> float:
        return min(s, other)

    def _met(self, response: Array) -> Array:
        return np.asarray(np.abs(self._training_targets() - response))

    def _training_targets(self) -> Any:
        model: Any = self.path_.model
        return model.y

    def predict(self, X: Any) -> Array:
        """f at each row of X."""
        return self._values(X)


class OnePoint(RobustMachine):
    """Fits at one C and one gamma; `robustness` is given, or chosen on rows held out."""

    C: float
    gamma: Any
    robustness: Any
    loss: str
    validation_fraction: float
    random_state: Any
    validation_curve_: ValidationCurve | None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Trace the path and take the machine at `robustness`.

        Parameters
        ----------
        X : array or sparse matrix (n, d); the kernel matrix (n, n) if ``kernel="precomputed"``
        y : array (n,)
        sample_weight : array (n,), optional
            Weights of the loss, in the fit and in the choice of "auto".
        """
        rows = self._checked_rows(X, y, sample_weight)
        asked, loss = self._asked(), self._loss_on(rows, self.loss)
        gamma, recipe = self._width(self.gamma, rows.X), self._recipe()
        model = recipe.model(rows, self.C, gamma)
        start, s = None, recipe.s
        if s is None:
            start, s = plain_point(recipe, model, None)[1:]
        if asked is not None and self.path == "s":
            # The path goes at least as far as is asked for.
            s = self._farther(s, asked)
        path = self._traced(recipe.varied(model, s=s), start)
        if asked is None:
            self._keep(path, *self._choose(recipe, rows, gamma, path, s, loss))
        else:
            self._keep(path, asked)
        return self

    def _asked(self) -> float | None:
        """The value of `robustness`, or None for "auto"."""
        name, value = type(self).__name__, self.robustness
        self.validation_curve_ = None
        if isinstance(value, str):
            if value != "auto":
                raise ModelError(f"{name}: robustness must be a number or 'auto', got {value!r}")
            part = finite(self.validation_fraction, "validation_fraction", name)
            if not 0.0 < part < 1.0:
                raise ModelError(
                    f"{name}: validation_fraction must lie between 0 and 1, got {part!r}"
                )
            return None
        number = finite(value, "robustness", name)
        if self.path == "theta" and not 0.0 <= number <= 1.0:
            raise ModelError(
                f"{name}: robustness={number:g} lies outside the span of the theta-path, from 1 "
                "(plain) to 0 (outliers have no pull)"
            )
        if self.path == "s":
            self._check_s(number)
        return number

    def _choose(
        self, recipe: Recipe, rows: Rows, gamma: float | None, path: Path, s: float, loss: Loss
    ) -> tuple[float, str]:
        """Where the exact curve on rows held out is least."""
        start = path.traced[0]
        held = self._held_out(rows)
        if held.size == 0:
            warnings.warn(
                f"{type(self).__name__}: too few rows to hold some out for robustness='auto'; "
                "the plain machine is fitted. Give robustness a value",
                stacklevel=3,
            )
            return start, "before"
        kept = np.setdiff1d(np.arange(rows.weight.size), held)
        begun = Begun(self.C, path.alpha(start, "before"), s)
        found = curves_along_c(recipe, rows, gamma, [begun], kept, held, loss)[0]
        if found.curve is None:
            self.path_ = path
            raise TraceError(f"{type(self).__name__}: rows held out: {found.trouble}")
        self.validation_curve_ = found.curve
        return chosen_point(found.curve, path)

    @abstractmethod
    def _strata(self, rows: Rows) -> list[Index]:
        """Rows that count, in groups of which each must be on both sides of a split."""

    def _held_out(self, rows: Rows) -> Index:
        """The same part of every group, at least one row and never all of them."""
        random = check_random_state(self.random_state)
        held = []
        for group in self._strata(rows):
            if group.size < 2:
                return np.empty(0, dtype=np.int64)
            size = round(self.validation_fraction * group.size)
            held.append(random.permutation(group)[: min(max(size, 1), group.size - 1)])
        return np.sort(np.concatenate(held))


def chosen_point(curve: ValidationCurve, path: Path) -> tuple[float, str]:
    """The best t of a curve, and its side, for the path on all rows."""
    best = curve.best
    if best.t == curve.traced[0]:
        # The plain machine is best: that of this path too.
        return path.traced[0], "before"
    return best.t, best.side


def _one_of(names: tuple[str, ...], given: Any, who: str) -> str:
    if given not in names:
        raise ModelError(f"{who}: loss must be one of {', '.join(names)}, got {given!r}")
    return str(given)


def _sparse(pairwise: bool) -> Any:
    return False if pairwise else "csr"


class RobustSVC(OnePoint, Classifies):
    """Support vector classification that wrong labels cannot pull.

    The hinge loss of a row whose margin ``y f(x)`` is below a threshold s rises with the weight
    theta only (see `HingeRamp`).  At theta = 1 this is `sklearn.svm.SVC`; at theta = 0 such a row
    has no pull at all.  The whole path between is traced, exactly, and the machine is taken at one
    point of it.

    Parameters
    ----------
    C, kernel, degree, gamma, coef0, class_weight
        As in `sklearn.svm.SVC`.
    fit_intercept : bool
        Whether f has an intercept, as `SVC` always does.
    path : {"theta", "s"}
        What moves: the weight theta of outliers from 1 to 0, or the threshold s from below every
        margin up to `s`.
    robustness : float or "auto"
        The value of theta (1 is plain, 0 the most robust) or s.  "auto" chooses it where the loss
        on rows held out is least; it is known for every value, not on a grid.
    theta : float in [0, 1]
        The weight of outliers on the s-path.
    s : float, at most 1
        The threshold on the theta-path; how far the s-path goes.
    loss : {"zero-one", "hinge"}
        What "auto" makes least on the rows held out.
    validation_fraction : float
        The part of the rows of each class that "auto" holds out; the machine itself is fitted on
        all rows.
    random_state : int, RandomState or None
        Which rows are held out; 0 by default, so that fits can be repeated.
    tol : float
        To what the optimality conditions must hold at the fitted point, relative to their terms; a
        `ConvergenceWarning` says if they do not.  The path is exact, so that this is a check and
        no stopping rule.
    cache_size : float
        Megabytes for kernel columns.
    verbose : bool
        Show a progress bar of the trace.

    Attributes
    ----------
    robustness_ : float
        The point of the path.
    path_ : Path
        The whole path on all rows; `path_.certify()` proves it.
    outliers_ : array of int
        Training rows that the machine treats as outliers.
    outlier_path_ : Stays
        For every training row where on the path it is one, and where it first becomes one.
    validation_curve_ : ValidationCurve or None
        The exact curve behind "auto".
    certificate_ : Certificate
        The optimality conditions at `robustness_`.
    projection_ : array (n, n) or None
        A precomputed kernel need not be positive semidefinite: its negative part is left out, with
        a warning, by multiplying rows K(x, training rows) with this matrix.
    classes_, support_, support_vectors_, dual_coef_, intercept_, coef_ (linear kernel),
    n_features_in_, feature_names_in_
        As in `sklearn.svm.SVC`.

    Two classes only: for more, wrap it in `sklearn.multiclass.OneVsRestClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from homotopy_plugins import RobustSVC
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> y[:20] = 1 - y[:20]
    >>> machine = RobustSVC(C=10.0, robustness=0.0).fit(X, y)
    >>> suspects = machine.audit(top=20)
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        fit_intercept: bool = True,
        path: str = "theta",
        robustness: Any = "auto",
        theta: float = 0.0,
        s: float = 0.0,
        class_weight: Any = None,
        loss: str = "zero-one",
        validation_fraction: float = 0.25,
        random_state: Any = 0,
        tol: float = 1e-8,
        cache_size: float = MEMORY,
        verbose: bool = False,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.path = path
        self.robustness = robustness
        self.theta = theta
        self.s = s
        self.class_weight = class_weight
        self.loss = loss
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.tol = tol
        self.cache_size = cache_size
        self.verbose = verbose

    def _strata(self, rows: Rows) -> list[Index]:
        return [np.flatnonzero((rows.y == c) & (rows.weight > 0.0)) for c in self.classes_]


class RobustSVR(OnePoint, Regresses):
    """Kernel regression that outliers cannot pull.

    Absolute residuals beyond a threshold s are charged with the weight theta only (see `LADRamp`).
    At theta = 1 this is `sklearn.svm.SVR` with ``epsilon=0``; at theta = 0 a row with a larger
    residual has no pull at all.

    Parameters
    ----------
    C, kernel, degree, gamma, coef0
        As in `sklearn.svm.SVR`; there is no `epsilon`.
    fit_intercept : bool
        Whether f has an intercept, as `SVR` always does.
    path : {"theta", "s"}
        What moves: the weight theta of outliers from 1 to 0, or the threshold s from above every
        residual down to `s`.
    robustness : float or "auto"
        The value of theta (1 is plain, 0 the most robust) or s.  "auto" chooses it where the loss
        on rows held out is least; it is known for every value, not on a grid.
    theta : float in [0, 1]
        The weight of outliers on the s-path.
    s : float, positive, or None
        The threshold on the theta-path; how far the s-path goes.  None takes twice the spread of
        the plain fit's residuals (their median over 0.6745), or half of the largest if that is
        less.
    loss : {"truncated", "absolute", "squared"}
        What "auto" makes least on the rows held out.  Some of those are outliers too: "truncated"
        charges no more for a row than twice the spread of y (the median distance from its median
        over 0.6745).
    validation_fraction, random_state, tol, cache_size, verbose
        As in `RobustSVC`.

    Attributes
    ----------
    robustness_, path_, outliers_, outlier_path_, validation_curve_, certificate_, projection_
        As in `RobustSVC`.
    support_, support_vectors_, dual_coef_, intercept_, coef_ (linear kernel), n_features_in_,
    feature_names_in_
        As in `sklearn.svm.SVR`.
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        fit_intercept: bool = True,
        path: str = "theta",
        robustness: Any = "auto",
        theta: float = 0.0,
        s: float | None = None,
        loss: str = "truncated",
        validation_fraction: float = 0.25,
        random_state: Any = 0,
        tol: float = 1e-8,
        cache_size: float = MEMORY,
        verbose: bool = False,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.path = path
        self.robustness = robustness
        self.theta = theta
        self.s = s
        self.loss = loss
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.tol = tol
        self.cache_size = cache_size
        self.verbose = verbose

    def _strata(self, rows: Rows) -> list[Index]:
        return [np.flatnonzero(rows.weight > 0.0)]
