"""Robust support vector machines as scikit-learn estimators.

`RobustSVC` and `RobustSVR` are used like scikit-learn's `SVC` and `SVR`.  What they add is one
number, `robustness`: how far to go from the plain machine (0) to one that outliers cannot pull (1).
``robustness="auto"`` chooses it on rows held out, exactly, from the whole path.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import Any, Self

import attrs
import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from homotopy import (
    ModelError,
    ValidationCurve,
)
from homotopy.analysis.losses import Loss
from homotopy.gram import MEMORY
from homotopy_plugins.estimators.folds import (
    Begun,
    Recipe,
    Rows,
    curves_along_c,
    plain_point,
)
from homotopy_plugins.estimators.machine import (
    Classifies,
    Regresses,
    RobustMachine,
    checked_rule,
    chosen_point,
)
from homotopy_plugins.estimators.proven import Proven, tell
from homotopy_plugins.estimators.robustness import Asked, read
from homotopy_plugins.estimators.showing import bars, shown
from homotopy_plugins.kernels.checks import finite

__all__ = ["RobustSVC", "RobustSVR"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]


class OnePoint(RobustMachine):
    """Fits at one C and one gamma; `robustness` is given, or chosen on rows held out."""

    C: float
    gamma: Any
    robustness: Any
    loss: str
    rule: str
    validation_fraction: float
    random_state: Any
    n_jobs: int | None = None
    validation_curve_: ValidationCurve | None
    standard_error_: float | None

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
        if not self._several():
            return self._fit_rows(rows)
        asked = self._asked(3)
        # What is read with a warning is read once.
        given = {} if asked is None or asked.t is None else {"robustness": {self.path: asked.t}}
        return self._fit_several(rows, self.n_jobs, **given)

    def _fit_rows(self, rows: Rows) -> Self:
        recipe, asked, loss = self._recipe(), self._asked(4), self._loss_on(rows, self.loss)
        checked_rule(self.rule, type(self).__name__)
        gamma = self._width(self.gamma, rows.X)
        model = recipe.model(rows, self.C, gamma)
        start, s = None, recipe.s
        if s is None:
            start, s = plain_point(recipe, model, None)[1:]
        if asked is not None and asked.t is not None:
            # The path goes at least as far as is asked for.
            s, recipe = self._as_far_as(asked.t, s, recipe)
        part = self._traced(recipe, recipe.varied(model, s=s), start)
        if asked is None:
            self._keep(part.path, *self._choose(recipe, rows, gamma, part, s, loss))
        else:
            self._keep_asked(part, asked)
        return self

    def _asked(self, stacklevel: int) -> Asked | None:
        """The point that `robustness` names, or None for "auto"."""
        name, value = type(self).__name__, self.robustness
        self.validation_curve_ = self.standard_error_ = None
        if isinstance(value, str):
            if value != "auto":
                raise ModelError(
                    f"{name}: robustness must be a number from 0 to 1, a dict such as "
                    f"{{{self.path!r}: ...}} or 'auto', got {value!r}"
                )
            part = finite(self.validation_fraction, "validation_fraction", name)
            if not 0.0 < part < 1.0:
                raise ModelError(
                    f"{name}: validation_fraction must lie between 0 and 1, got {part!r}"
                )
            return None
        asked = read(value, self.path, name, stacklevel)
        if self.path == "s" and asked.t is not None:
            self._check_s(asked.t)
        return asked

    def _as_far_as(self, asked: float, s: float, recipe: Recipe) -> tuple[float, Recipe]:
        """The end of the path and the recipe, with `asked` on the path."""
        if self.path == "s":
            return self._farther(s, asked), recipe
        if recipe.widest is None:
            return s, recipe
        narrowest = recipe.options["epsilon"]
        if recipe.s is None:
            # Here too a threshold that was not given is no less than twice the tube.
            s = max(s, 2.0 * asked)
        if not narrowest <= asked < s:
            raise ModelError(
                f"{type(self).__name__}: robustness={{'epsilon': {asked:g}}} lies outside the "
                f"epsilon-path, from epsilon={narrowest:g} up to the threshold s={s:g}"
            )
        return s, attrs.evolve(recipe, widest=max(recipe.widest, asked))

    def _choose(
        self, recipe: Recipe, rows: Rows, gamma: float | None, part: Proven, s: float, loss: Loss
    ) -> tuple[float, str]:
        """Where the exact curve on rows held out is least, or low enough."""
        path, name = part.path, type(self).__name__
        start = path.traced[0]
        held = self._held_out(rows)
        if held.size == 0:
            warnings.warn(
                f"{name}: too few rows to hold some out for robustness='auto'; "
                "the plain machine is fitted. Give robustness a value",
                stacklevel=3,
            )
            return start, "before"
        kept = np.setdiff1d(np.arange(rows.weight.size), held)
        begun = Begun(self.C, path.alpha(start, "before"), s)
        until = path.traced[1] if part.trouble else None
        with shown(self.verbose, f"{name}: robustness by {held.size} rows held out"):
            found = curves_along_c(
                recipe,
                rows,
                gamma,
                [begun],
                kept,
                held,
                loss,
                with_error=True,
                until=until,
                progress=bars(self.verbose),
            )[0]
        told = [part.begun, part.told(self.path) if part.trouble else ""]
        told.append(f"rows held out: {found.trouble}" if found.trouble else "")
        if any(told):
            chosen = "robustness='auto' was chosen on what is proven"
            if found.curve is None:
                chosen = "robustness='auto' has nothing to choose on, the first machine is taken"
            tell(name, "; ".join([text for text in told if text] + [chosen]), 3)
        if found.curve is None:
            return start, "before"
        self.validation_curve_, self.standard_error_ = found.curve, found.error
        return chosen_point(found.curve, path, self.rule, found.error)

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
    robustness : float in [0, 1], dict or "auto"
        How far to go along the path: 0 is the plain machine, 1 the end, where outliers have least
        pull.  Along theta it is 1 - theta; along s it is the fraction of the way from where the
        first row becomes an outlier to `s`.  A dict gives the parameter of the path itself,
        ``{"theta": 0.3}`` or ``{"s": -0.5}``.  "auto" chooses the point where the loss on rows held
        out is least; that loss is known at every point, not on a grid.  (Before version 0.2 a
        number was theta or s.)
    theta : float in [0, 1]
        The weight of outliers on the s-path.
    s : float, at most 1
        The threshold on the theta-path; how far the s-path goes.
    loss : {"zero-one", "hinge"}
        What "auto" makes least on the rows held out.
    rule : {"best", "one-standard-error"}
        "best" is the point of the least loss.  "one-standard-error" goes no farther along the path
        than it must: to the first point whose loss is within one standard error of the least.  The
        simplest machine is the plain one, at the start: every outlier is a parameter of its own
        (by how much to shift that row so that it fits), so that fewer of them are simpler.
    validation_fraction : float
        The part of the rows of each class that "auto" holds out; the machine itself is fitted on
        all rows.
    random_state : int, RandomState or None
        Which rows are held out; 0 by default, so that fits can be repeated.
    decision_function_shape : {"ovr", "ovo"}
        As in `sklearn.svm.SVC`: with more than two classes `decision_function` has a column for
        each.  "ovo" is refused for more than two, since there is no machine for each pair.
    n_jobs : int or None
        Processes for the machines of more than two classes, through joblib.
    tol : float
        To what the optimality conditions must hold at the fitted point, relative to their terms; a
        `ConvergenceWarning` says if they do not.  The path is exact, so that this is a check and
        no stopping rule.
    cache_size : float
        Megabytes for kernel columns.
    verbose : bool or int
        Whether to show a progress bar of the path, and one of the path that "auto" chooses on;
        without tqdm a line before and after each.

    Attributes
    ----------
    robustness_ : float
        How far along the path the machine was taken: 0 is plain, 1 the end.
    t_ : float
        The same point as a value of the path's own parameter, theta or s.
    path_ : Path
        The path on all rows; `path_.certify()` proves it.  It is the whole path unless
        `path_.status` says otherwise.
    outliers_ : array of int
        Training rows that the machine treats as outliers.
    outlier_path_ : Occupancy
        For every training row where on the path it is one, and where it first becomes one.
    validation_curve_ : ValidationCurve or None
        The exact curve behind "auto".
    standard_error_ : float or None
        One standard error of its least value, over the rows held out.
    certificate_ : Certificate
        The optimality conditions of the fitted machine.
    projection_ : array (n, n) or None
        A precomputed kernel need not be positive semidefinite: its negative part is left out, with
        a warning, by multiplying rows K(x, training rows) with this matrix.
    classes_, support_, n_support_, support_vectors_, dual_coef_, intercept_, coef_ (linear kernel),
    n_features_in_, feature_names_in_
        As in `sklearn.svm.SVC`.

    estimators_ : list of RobustSVC
        With more than two classes only: the machine of each class, which tells it (True) from the
        rest (False), in the order of `classes_`.  `robustness_`, `t_`, `intercept_` and `coef_`
        then have an entry for each, and `outliers_` are the rows that any of them treats as an
        outlier.  What belongs to one path (`path_`, `support_`, `audit`, `report`, displays) is
        theirs.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from homotopy_plugins import RobustSVC
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> y[:20] = 1 - y[:20]
    >>> machine = RobustSVC(C=10.0, robustness=1.0).fit(X, y)
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
        decision_function_shape: str = "ovr",
        loss: str = "zero-one",
        rule: str = "best",
        validation_fraction: float = 0.25,
        random_state: Any = 0,
        n_jobs: int | None = None,
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
        self.decision_function_shape = decision_function_shape
        self.loss = loss
        self.rule = rule
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.tol = tol
        self.cache_size = cache_size
        self.verbose = verbose

    def _strata(self, rows: Rows) -> list[Index]:
        return [np.flatnonzero((rows.y == c) & (rows.weight > 0.0)) for c in self.classes_]


class RobustSVR(OnePoint, Regresses):
    """Kernel regression that outliers cannot pull.

    Residuals up to `epsilon` cost nothing; those beyond a threshold s are charged with the weight
    theta only (see `EpsilonRamp`, and `LADRamp` where epsilon is 0).  At theta = 1 this is
    `sklearn.svm.SVR` with the same `epsilon`; at theta = 0 a row with a larger residual than s has
    no pull at all.

    Parameters
    ----------
    C, kernel, degree, gamma, coef0
        As in `sklearn.svm.SVR`.
    epsilon : float, not negative
        Half the width of the tube in which residuals cost nothing, as in `SVR`, but 0 unless given
        (there it is 0.1, whatever the scale of y).  The first point of the epsilon-path.
    fit_intercept : bool
        Whether f has an intercept, as `SVR` always does.
    path : {"theta", "s", "epsilon"}
        What moves: the weight theta of outliers from 1 to 0; the threshold s from above every
        residual down to `s`; or, with outliers at the weight `theta` from the start, the tube,
        from `epsilon` nine tenths of the way to the threshold `s`.
    robustness : float in [0, 1], dict or "auto"
        How far to go along the path, as in `RobustSVC`: 0 is the plain machine, 1 the end, where
        outliers have least pull.  Along s it is the fraction of the way from the largest residual
        down to `s`.  Along epsilon, where outliers have the weight `theta` all the way, it is the
        fraction of the way from the narrowest tube (0) to the widest (1): a wider tube ignores more
        of the rows near f, so it too lets single rows pull less.  A dict gives the parameter
        itself: ``{"theta": 0.3}``, ``{"s": 2.5}`` or ``{"epsilon": 0.2}``.
    theta : float in [0, 1]
        The weight of outliers where it does not move.
    s : float larger than `epsilon`, or None
        The threshold, a distance from y; how far the s-path goes.  None takes three times the
        spread of the plain fit's residuals, or nine tenths of the largest one if that is less, but
        no less than twice `epsilon`.  The spread is the median of the absolute residuals over
        0.6745, without rows that the fit passes through: the standard deviation of normal ones.
    loss : {"truncated", "absolute", "squared"}
        What "auto" makes least on the rows held out.  Some of those are outliers too: "truncated"
        charges no more for a row than twice the spread of y (the median distance from its median
        over 0.6745).
    rule : {"best", "one-standard-error"}
        As in `RobustSVC`.  On the epsilon-path the widest tube is the simplest, with the fewest
        support vectors, and "one-standard-error" takes the last point that is low enough.
    validation_fraction, random_state, tol, cache_size, verbose
        As in `RobustSVC`.

    Attributes
    ----------
    robustness_, t_, path_, outliers_, outlier_path_, validation_curve_, standard_error_,
    certificate_, projection_
        As in `RobustSVC`.
    support_, n_support_, support_vectors_, dual_coef_, intercept_, coef_ (linear kernel),
    n_features_in_, feature_names_in_
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
        epsilon: float = 0.0,
        fit_intercept: bool = True,
        path: str = "theta",
        robustness: Any = "auto",
        theta: float = 0.0,
        s: float | None = None,
        loss: str = "truncated",
        rule: str = "best",
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
        self.epsilon = epsilon
        self.fit_intercept = fit_intercept
        self.path = path
        self.robustness = robustness
        self.theta = theta
        self.s = s
        self.loss = loss
        self.rule = rule
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.tol = tol
        self.cache_size = cache_size
        self.verbose = verbose

    def _strata(self, rows: Rows) -> list[Index]:
        return [np.flatnonzero(rows.weight > 0.0)]
