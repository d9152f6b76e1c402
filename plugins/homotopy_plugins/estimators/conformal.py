"""Kernel regression with intervals: jackknife+, jackknife-minmax and full conformal prediction.

All three ask what the machine would be without one row, or with one more.  From the fitted optimum
each of these is a few break-points (`homotopy.Fork`), so that nothing is fitted n times.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted, validate_data

from homotopy import Certificate, Fork, Homotopy, ModelError, Path, TraceError
from homotopy.gram import MEMORY
from homotopy_plugins.estimators.conformal_sets import (
    Loss,
    needed_rows,
    order_statistic,
    sweep,
)
from homotopy_plugins.estimators.folds import speaking_as
from homotopy_plugins.estimators.input_checks import (
    clear_about,
    kernel_width,
    numeric_targets,
    plain_targets,
)
from homotopy_plugins.estimators.scales import warn_if_unscaled
from homotopy_plugins.kernels.checks import check_size, number, positive
from homotopy_plugins.models.epsilon_ramp import EpsilonRamp
from homotopy_plugins.models.huber_ramp import HuberRamp
from homotopy_plugins.models.pinball_ramp import PinballRamp
from homotopy_plugins.models.regression_ramp import RegressionRamp

__all__ = ["ConformalSVR", "checked_levels"]

Array = npt.NDArray[np.float64]

LOSSES = ("epsilon", "absolute", "quantile", "huber")
METHODS = ("jackknife+", "jackknife-minmax", "full")
# A pipeline would hide `predict_interval`.
SCALED = (
    "Scale first: scaler = StandardScaler().fit(X), then {name}(...).fit(scaler.transform(X), y)"
)
# The piece of residuals below epsilon (delta) in the polylines of `EpsilonRamp` and `HuberRamp`.
INSIDE = 4


class ConformalSVR(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Kernel regression whose intervals cover new targets as often as they say.

    Rows need only be exchangeable (drawn one as the other): nothing is assumed of the noise or of
    the machine being right.  With n rows and the confidence level 1 - a, "full" covers at least
    with probability 1 - a, "jackknife-minmax" too, "jackknife+" at least with 1 - 2a and as a rule
    with 1 - a [1]_.

    Parameters
    ----------
    loss : {"epsilon", "absolute", "quantile", "huber"}
        What residuals cost: nothing up to `epsilon` (`sklearn.svm.SVR`); their size; the pinball
        loss of the quantile `tau`; half their square up to `delta`, then linear.  Ramp losses are
        refused: which of their local optima is found depends on the order of the rows.
    method : {"jackknife+", "jackknife-minmax", "full"}
        "jackknife+": the machines without each row in turn.  "jackknife-minmax" is wider.  "full":
        the machines with the new row at every target that it might have (`predict_set`).
    confidence_level : float or sequence of floats
    C, kernel, degree, gamma, coef0
        As in `sklearn.svm.SVR`.  They, and `epsilon`, `tau`, `delta`, are to be chosen on other
        rows: of "full" the guarantee is lost otherwise.  ("scale" looks at X alone, once; "full"
        refuses it, as the new row would have to be looked at too.)
    epsilon : float, not negative
    tau : float between 0 and 1
    delta : float, positive
    fit_intercept : bool
    tol : float
        To what the optimality conditions must hold (`certificate_`); a check, no stopping rule.
    cache_size : float
        Megabytes for kernel columns, and for the machines without each row; beyond that these are
        found again by every call of `predict_interval`.
    verbose : bool
        Show a progress bar.

    Attributes
    ----------
    path_ : Path
        The machine on all rows, a path of one point; ``path_.fork(path_.traced[0])`` moves rows.
    loo_decision_ : array (n,)
        The prediction of each training row by the machine without it.
    conformity_scores_ : array (n,)
        ``|y - loo_decision_|``.
    confidence_levels_ : array (k,)
    certificate_ : Certificate
    n_features_in_, feature_names_in_

    References
    ----------
    .. [1] Barber, Candes, Ramdas, Tibshirani (2021), Predictive inference with the jackknife+.

    Examples
    --------
    >>> import numpy as np
    >>> from homotopy_plugins import ConformalSVR
    >>> X = np.linspace(0, 6, 80)[:, None]
    >>> y = np.sin(X[:, 0]) + 0.2 * np.random.default_rng(0).normal(size=80)
    >>> machine = ConformalSVR(confidence_level=[0.8, 0.9]).fit_conformalize(X, y)
    >>> prediction, interval = machine.predict_interval([[1.0], [3.0]])
    >>> interval.shape
    (2, 2, 2)
    """

    path_: Path
    loo_decision_: Array
    conformity_scores_: Array
    confidence_levels_: Array
    certificate_: Certificate

    def __init__(
        self,
        *,
        loss: str = "epsilon",
        method: str = "jackknife+",
        confidence_level: float | Sequence[float] = 0.9,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        epsilon: float = 0.1,
        tau: float = 0.5,
        delta: float = 1.0,
        fit_intercept: bool = True,
        tol: float = 1e-8,
        cache_size: float = MEMORY,
        verbose: bool = False,
    ) -> None:
        self.loss = loss
        self.method = method
        self.confidence_level = confidence_level
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.epsilon = epsilon
        self.tau = tau
        self.delta = delta
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.cache_size = cache_size
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    # ------------------------------------------------------------------ fitting

    def fit(self, X: Any, y: Any) -> Self:
        """As `fit_conformalize`."""
        return self.fit_conformalize(X, y)

    def fit_conformalize(self, X: Any, y: Any) -> Self:
        """Fit the machine, and find every machine with one row less.

        Parameters
        ----------
        X : array or sparse matrix (n, d); the kernel matrix (n, n) if ``kernel="precomputed"``
        y : array (n,)
        """
        name = type(self).__name__
        self._check_choices()
        levels = checked_levels(self.confidence_level, name)
        X, y = self._checked_rows(X, y)
        with speaking_as(name, self._kind()):
            model = self._model(X, y)
        try:
            path = Homotopy(model).trace()
            fork = path.fork(path.traced[0])
            self._leave_out(fork)
        except TraceError as error:
            error.add_note("Scaled features (StandardScaler) or a smaller C may help.")
            raise
        self.path_, self.confidence_levels_ = path, levels
        self.conformity_scores_ = np.abs(y - self.loo_decision_)
        self._warn_of_infinite(levels, y.size)
        self.certificate_ = path.certify(positive(self.tol, "tol", name))
        return self

    def _check_choices(self) -> None:
        name = type(self).__name__
        if not (isinstance(self.loss, str) and self.loss in LOSSES):
            if isinstance(self.loss, str) and "ramp" in self.loss:
                raise ModelError(
                    f"{name}: loss={self.loss!r} is not convex. Which of its local optima is found "
                    "depends on the order in which rows come, so that a new row is not treated as "
                    "the others are, and intervals do not cover as often as they say (0.892 where "
                    f"a convex loss had 0.902); choose one of {', '.join(LOSSES)}"
                )
            raise ModelError(f"{name}: loss must be one of {', '.join(LOSSES)}, got {self.loss!r}")
        if not (isinstance(self.method, str) and self.method in METHODS):
            raise ModelError(
                f"{name}: method must be one of {', '.join(METHODS)}, got {self.method!r}"
            )
        if self.method != "full":
            return
        if self.kernel == "precomputed":
            raise ModelError(
                f"{name}: method='full' needs the kernel of a new row with itself, which a "
                "precomputed kernel does not tell; give the kernel as a callable"
            )
        wide = not callable(self.kernel) and self.kernel != "linear"
        if wide and isinstance(self.gamma, str) and self.gamma != "auto":
            raise ModelError(
                f"{name}: method='full' needs gamma as a number, chosen on other rows, got "
                f"{self.gamma!r}: that is computed from the training rows without the new one, but "
                "full conformal prediction must treat all of them alike"
            )

    def _checked_rows(self, X: Any, y: Any) -> tuple[Any, Array]:
        for fitted in [n for n in vars(self) if n.endswith("_") and not n.startswith("_")]:
            # Nothing of an earlier fit outlives the beginning of another.
            delattr(self, fitted)
        name = type(self).__name__
        y = plain_targets(y, name, "target")
        sparse: Any = False if self.kernel == "precomputed" else "csr"
        with clear_about(X, "X", name):
            X, y = validate_data(
                self, X, y, dtype=np.float64, accept_sparse=sparse, ensure_min_samples=2
            )
        check_size(X.data if sp.issparse(X) else X, "X", name)
        names = getattr(self, "feature_names_in_", None)
        warn_if_unscaled(X, names, self.kernel, name, 3, SCALED)
        return X, numeric_targets(y, name)

    def _kind(self) -> type[RegressionRamp]:
        kinds: dict[str, type[RegressionRamp]] = {"epsilon": EpsilonRamp, "huber": HuberRamp}
        return kinds.get(self.loss, PinballRamp)

    def _model(self, X: Any, y: Array) -> RegressionRamp:
        """The convex member of its family, without a threshold, as a path that goes nowhere."""
        name = type(self).__name__
        C = positive(self.C, "C", name)
        options = {
            "kernel": self.kernel,
            "gamma": kernel_width(self.kernel, self.gamma, X, name),
            "degree": self.degree,
            "coef0": self.coef0,
            "fit_intercept": self.fit_intercept,
            "cache_size": self.cache_size,
        }
        if self.loss == "epsilon" and number(self.epsilon, "epsilon", name) != 0.0:
            width = self.epsilon
            return EpsilonRamp(X, y, C=C, epsilon=width, epsilon_start=width, path="eps", **options)
        if self.loss == "huber":
            bend = self.delta
            return HuberRamp(X, y, C=C, delta=bend, delta_start=bend, path="delta", **options)
        # The absolute loss is twice the pinball loss of the median.
        tau, factor = number(self.tau, "tau", name), 1.0
        if self.loss != "quantile":
            tau, factor = 0.5, 2.0
        elif not 0.0 < tau < 1.0:
            raise ModelError(f"{name}: tau must lie between 0 and 1, got {self.tau!r}")
        return PinballRamp(X, y, C=factor * C, tau=tau, tau_stop=tau, path="tau", **options)

    def _leave_out(self, fork: Fork) -> None:
        """`loo_decision_`, and the machines themselves where there is room for them."""
        now = fork.optimum()
        n = now.alpha.size
        used = np.flatnonzero(now.alpha)
        self._machines: tuple[Any, Array, Array] | None = None
        wanted = self.method != "full" and 8e-6 * n * used.size <= self.cache_size
        if wanted and not self.verbose:
            own, b, alpha = fork.hold_each(used, np.zeros(used.size), alphas=True)
            self.loo_decision_ = now.response.copy()
            self.loo_decision_[used] = own
            self._machines = used, alpha, b
        else:
            self.loo_decision_ = fork.leave_one_out(progress=self.verbose).response.copy()

    def _warn_of_infinite(self, levels: Array, n: int) -> None:
        ranks = needed_rows(levels, n)
        short = [level for level, k in zip(levels.tolist(), ranks, strict=True) if k == 0]
        if short:
            # The least n with (1 - level) (n + 1) >= 1.
            least = n
            while not needed_rows(short[:1], least)[0]:
                least += 1
            warnings.warn(
                f"{type(self).__name__}: {n} rows are too few for the confidence level "
                f"{short[0]:g}, which needs {least}: the interval is the whole line",
                stacklevel=3,
            )

    # ------------------------------------------------------------------ predicting

    def _checked_new(self, X: Any) -> Any:
        check_is_fitted(self)
        sparse: Any = False if self.kernel == "precomputed" else "csr"
        with clear_about(X, "X", type(self).__name__):
            return validate_data(self, X, dtype=np.float64, accept_sparse=sparse, reset=False)

    def _fork(self) -> Fork:
        return self.path_.fork(self.path_.traced[0])

    def _predicted(self, X: Any) -> Array:
        return self.path_.decision_function(X, self.path_.traced[0])

    def predict(self, X: Any) -> Array:
        """The machine on all training rows, at each row of X."""
        return self._predicted(self._checked_new(X))

    def predict_interval(self, X: Any) -> tuple[Array, Array]:
        """Predictions and intervals.

        Returns
        -------
        prediction : array (N,)
        interval : array (N, 2, levels)
            Lower and upper ends; infinite where the rows are too few for the level.  Of "full":
            the shortest interval around `predict_set`.
        """
        X = self._checked_new(X)
        if self.method == "full":
            sets = self._sets(X)
            ends = [[(part[0, 0], part[-1, 1]) for part in parts] for parts in sets]
            return self._predicted(X), np.moveaxis(np.array(ends), 1, 2)
        without, score = self._without_each(X), self.conformity_scores_
        interval = np.empty((without.shape[0], 2, self.confidence_levels_.size))
        for j, k in enumerate(needed_rows(self.confidence_levels_, score.size)):
            if self.method == "jackknife-minmax":
                reach = order_statistic(score[None], k, largest=True)[0]
                interval[:, 0, j] = without.min(axis=1) - reach
                interval[:, 1, j] = without.max(axis=1) + reach
            else:
                interval[:, 0, j] = order_statistic(without - score, k, largest=False)
                interval[:, 1, j] = order_statistic(without + score, k, largest=True)
        return self._predicted(X), interval

    def _without_each(self, X: Any) -> Array:
        """The machine without each training row, at each row of X: (N, n)."""
        if self._machines is None:
            left = self._fork().leave_one_out(at=X, progress=self.verbose)
            assert left.decision is not None
            return np.asarray(left.decision.T)
        used, alpha, b = self._machines
        values = np.repeat(self._predicted(X)[:, None], self.conformity_scores_.size, axis=1)
        model: Any = self.path_.model
        values[:, used] = model.evaluator(X)(alpha.T, b.T)
        return values

    def predict_set(self, X: Any) -> list[list[Array]]:
        """The full conformal set of each row of X, exactly: every target y for which the residual
        of (x, y) is among the ``level (n + 1)`` least, in the machine that is fitted to it too.

        Returns
        -------
        list (N) of lists (levels) of arrays (k, 2)
            Disjoint closed intervals, in order.
        """
        if self.method != "full":
            raise ModelError(
                f"{type(self).__name__}: predict_set is for method='full', and this is "
                f"{self.method!r}; ask for predict_interval"
            )
        return self._sets(self._checked_new(X))

    def _sets(self, X: Any) -> list[list[Array]]:
        fork, model = self._fork(), self.path_.model
        assert isinstance(model, RegressionRamp)
        needed, loss, found = needed_rows(self.confidence_levels_, model.y.size), self._ends(), []
        for new in model.new_rows(X, 0.0, self.path_.traced[0]):
            swept = sweep(fork, new, model.y, loss)
            found.append([swept.set_for(k) for k in needed])
        return found

    def _ends(self) -> Loss:
        """The polyline of a new row, as a sweep needs it."""
        model: Any = self.path_.model
        C = model.C
        if isinstance(model, EpsilonRamp):
            return Loss(C, -C, model.epsilon, inside=INSIDE)
        if isinstance(model, HuberRamp):
            end = C * model.delta
            return Loss(end, -end, model.delta, curvature=C, inside=INSIDE)
        return Loss(C * model.tau, C * (model.tau - 1.0))

    def loo_score(self) -> float:
        """R^2 of the training rows, each predicted by the machine without it."""
        check_is_fitted(self)
        model: Any = self.path_.model
        return float(r2_score(model.y, self.loo_decision_))


def checked_levels(levels: Any, name: str) -> Array:
    """Confidence levels as an array."""
    given = [levels] if np.ndim(levels) == 0 else list(levels)
    found = [number(level, "confidence_level", name) for level in given]
    if not found or not all(0.0 < level < 1.0 for level in found):
        raise ModelError(f"{name}: confidence_level must lie between 0 and 1, got {levels!r}")
    return np.array(found)
