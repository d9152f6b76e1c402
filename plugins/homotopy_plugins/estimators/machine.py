"""What the robust estimators share: checked data, a path, and the machine at one t of it.

`RobustMachine` holds what is common to all, `Classifies` and `Regresses` what labels and targets
ask for; how the point of the path is chosen is in `svm` and `selection`.
"""

from __future__ import annotations

import copy
import warnings
from abc import ABCMeta, abstractmethod
from collections.abc import Sequence
from typing import Any, Self

import attrs
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import r2_score
from sklearn.svm import SVC, SVR
from sklearn.utils import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from homotopy import (
    Certificate,
    DataError,
    ModelError,
    Occupancy,
    Path,
    TraceError,
    TraceInterrupted,
    Truncated,
    ValidationCurve,
)
from homotopy.analysis.losses import Loss
from homotopy.report import Report
from homotopy_plugins.estimators.audit import Fits, out_of_fold_fits, table
from homotopy_plugins.estimators.export import exported, exported_classes
from homotopy_plugins.estimators.folds import Recipe, Rows
from homotopy_plugins.estimators.forks import Flips, PlainMachine, flips
from homotopy_plugins.estimators.input_checks import (
    check_class_weight,
    clear_about,
    kernel_width,
    numeric_targets,
    plain_targets,
)
from homotopy_plugins.estimators.proven import Proven, beyond, holds, tell
from homotopy_plugins.estimators.robustness import Asked, Scale, read
from homotopy_plugins.estimators.scales import warn_if_unscaled
from homotopy_plugins.estimators.several import (
    against_the_rest,
    check_shape,
    check_weights,
    refuse_several,
)
from homotopy_plugins.estimators.showing import bars, shown
from homotopy_plugins.estimators.thresholds import spread, weighted_median
from homotopy_plugins.kernels.checks import check_size, check_top, finite, positive
from homotopy_plugins.kernels.kernel_model import nearest_definite
from homotopy_plugins.models.epsilon_ramp import EpsilonRamp
from homotopy_plugins.models.hinge_ramp import HingeRamp
from homotopy_plugins.models.lad_ramp import LADRamp
from homotopy_plugins.models.ramp import RampModel, ramp_parameters

__all__ = ["Classifies", "Regresses", "RobustMachine", "checked_rule", "chosen_point"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

# A value so near to the start of a path, in parts of its size, is the start.
AT_START = 1e-10
# The truncated loss charges no more for a row that is held out than this many spreads of y.
CAP = 2.0
# How "auto" and the folds choose a point of their curve.
RULES = ("best", "one-standard-error")


class RobustMachine(PlainMachine, BaseEstimator, metaclass=ABCMeta):  # type: ignore[misc]
    """What the robust estimators share: checked data, a path, and the machine at one t of it."""

    _kind: type[RampModel]
    # What `path` may be.
    _paths: tuple[str, ...] = ("theta", "s")
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
    outlier_path_: Occupancy
    robustness_: float
    t_: float
    outliers_: Index
    support_: Index
    n_support_: Index
    dual_coef_: Array
    intercept_: Array
    certificate_: Certificate
    # The machine's own point, where that is not one of `path_`.
    _point: Path | None = None

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

    def _several(self) -> bool:
        """Whether there is a machine for each of several classes."""
        return False

    def _fit_several(self, rows: Rows, n_jobs: int | None, **options: Any) -> Self:
        """Fit a machine for every class, against the rest."""
        raise NotImplementedError

    @abstractmethod
    def _fit_rows(self, rows: Rows) -> Self:
        """Fit one path to rows that are checked."""

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
        y = plain_targets(y, name, self._called[0])
        with clear_about(X, "X", name):
            X, y = validate_data(self, X, y, dtype=np.float64, accept_sparse=_sparse(pairwise))
        y = self._checked_targets(y)
        check_size(X.data if sp.issparse(X) else X, "X", name)
        with clear_about(sample_weight, "sample_weight", name):
            weight = _check_sample_weight(sample_weight, X, dtype=np.float64)
        if np.any(weight < 0.0):
            i = int(np.flatnonzero(weight < 0.0)[0])
            raise DataError(
                f"{name}: Negative values in sample_weight: sample_weight[{i}] is {weight[i]:g}"
            )
        if not np.any(weight):
            raise DataError(f"{name}: every sample_weight is 0; nothing is left to fit")
        weight = self._weighted(y, weight)
        ramp_parameters(self.path, self.theta, name, self._paths)
        positive(self.tol, "tol", name)
        warn_if_unscaled(X, getattr(self, "feature_names_in_", None), self.kernel, name, 3)
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
        return kernel_width(self.kernel, gamma, X, type(self).__name__)

    # ------------------------------------------------------------------ the machine at one t

    def _traced(self, recipe: Recipe, model: RampModel, start: Array | None) -> Proven:
        """The path as far as it is proven."""
        what = f"{type(self).__name__}: the path of {model.gram.size} rows"
        try:
            with shown(self.verbose, what):
                return recipe.trace(model, start, progress=bars(self.verbose))
        except (TraceError, TraceInterrupted) as error:
            if isinstance(error, TraceError):
                error.add_note("Scaled features (StandardScaler) or a smaller C may help.")
                if recipe.widest is not None:
                    error.add_note("A smaller s ends the epsilon-path earlier.")
            if isinstance(error.path, Path):
                self.path_ = error.path
                error.add_note(f"path_ holds {error.path!r}")
            raise

    def _keep_asked(self, part: Proven, asked: Asked) -> None:
        """Take over a path and become its machine at the point asked for, or the nearest to it
        that is proven."""
        path, told, point = part.path, part.begun, None
        used = t = asked.on(path)
        if not holds(path, t):
            last = path.traced[1]
            point = beyond(path, t)
            number = Scale.of(path).robustness(t)
            text = f"robustness={number:.6g} ({self.path}={t:g}) was asked for, but "
            text += f"{part.told(self.path)}; "
            if point is None:
                used = last
                text += f"the machine is that of {self.path}={last:g}, the nearest that is proven"
            else:
                text += (
                    f"the machine at {self.path}={t:g} was solved and certified on its own, and "
                    "may be another local optimum than the path would lead to"
                )
            told = "; ".join(filter(None, [told, text]))
        if told:
            tell(type(self).__name__, told, 3)
        self._keep(path, used, point=point)
        self.robustness_ = asked.called(self.robustness_)

    def _keep(
        self, path: Path, t: float, side: str | None = None, point: Path | None = None
    ) -> None:
        """Take over a path and become its machine at `t`, or that of a `point` of its own."""
        model: Any = path.model
        self.path_, self._point = path, point
        self.outlier_path_ = path.occupancy(*model.outlier_pieces)
        self._become(t, side)

    def _own_point(self, t: float) -> Path | None:
        """The path of the point `t` alone, if that is where the machine was solved."""
        point = self._point
        return point if point is not None and point.traced[0] == t else None

    def _become(self, t: float, side: str | None = None) -> None:
        point = self._own_point(t)
        path = self.path_ if point is None else point
        model = path.model
        assert isinstance(model, RampModel)
        self.t_, self.robustness_ = float(t), Scale.of(self.path_).robustness(t)
        (start, stop), declared = path.traced, path.problem.start
        ahead = not np.isfinite(declared) and np.sign(declared) * (t - start) > 0.0
        near = abs(t - start) <= AT_START * max(abs(start), abs(stop))
        if point is None and (ahead or near):
            # At the start, before the first jump, no row is an outlier: the plain machine.
            t, side = start, "before"
        side = side or "after"
        alpha = path.alpha(t, side)
        self.support_ = np.flatnonzero(alpha)
        self.n_support_ = self._support_sizes(model)
        self.dual_coef_ = (alpha * model.sign)[None, self.support_]
        self.intercept_ = np.array([path.intercept(t, side)])
        pairwise = self.kernel == "precomputed"
        self.support_vectors_ = np.empty((0, 0)) if pairwise else model.X[self.support_]
        self.__dict__.pop("coef_", None)
        if self.kernel == "linear":
            self.coef_ = np.asarray(self.dual_coef_ @ model.centred(self.support_vectors_))
        parts = path.partition(t, side)
        called = np.sort(np.concatenate([parts[name] for name in model.outlier_pieces]))
        # At weight 1 an outlier is charged like any other row, and is none.
        weight = t if self.path == "theta" else model.theta
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

    def _support_sizes(self, model: RampModel) -> Index:
        """How many support vectors there are, of each class where there are classes."""
        return np.array([self.support_.size])

    def at(self, robustness: Any) -> Self:
        """This machine at another point of its path, without fitting again.

        Parameters
        ----------
        robustness : float in [0, 1] or dict
            How far along the path: 0 is its beginning (the plain machine along theta and s), 1 its
            end.  A dict gives the parameter of the path instead: ``{"theta": 0.3}``, ``{"s": -1}``.
        """
        check_is_fitted(self)
        other = self._moved(read(robustness, self.path, type(self).__name__))
        if "robustness" in self.get_params(deep=False):
            other.set_params(robustness=robustness)
        return other

    def _moved(self, asked: Asked) -> Self:
        other = copy.copy(self)
        # What a machine says of itself leads back to it to the last digit.
        own = asked.robustness is not None and asked.robustness == self.robustness_
        other._become(self.t_ if own else asked.on(self.path_))
        other.robustness_ = asked.called(other.robustness_)
        return other

    # ------------------------------------------------------------------ after the fit

    def _values(self, X: Any) -> Array:
        """f at new rows."""
        return self._expanded(self._new_rows(X))

    def _expanded(self, X: Any) -> Array:
        """f at rows that are checked."""
        model = self.path_.model
        assert isinstance(model, RampModel)
        return np.asarray(model.expand(X, self.support_, self.dual_coef_[0]) + self.intercept_[0])

    def _new_rows(self, X: Any) -> Any:
        """New rows, checked, as the model takes them."""
        check_is_fitted(self)
        sparse = _sparse(self.kernel == "precomputed")
        with clear_about(X, "X", type(self).__name__):
            X = validate_data(self, X, dtype=np.float64, accept_sparse=sparse, reset=False)
        if self.projection_ is not None:
            X = X @ self.projection_
        return X

    @abstractmethod
    def _met(self, response: Array) -> Array:
        """Margins or sizes of the residuals of the training rows."""

    def audit(self, top: int | None = 20, *, out_of_fold: bool = False, cv: Any = 5) -> Any:
        """The training rows that a path finds most suspicious, worst first.

        Ranked by their margin (the size of their residual) on average over the path along s, at
        101 even values of it, whatever path was fitted: along s rows become outliers one after
        another, which tells more about them than a common weight does.  `homotopy_plugins.audit`
        asks other machines too, and tells how many rows are wrong.

        Parameters
        ----------
        top : int or None
            How many rows; None for all.
        out_of_fold : bool
            Whether each row is looked at by paths that were traced without it.
        cv : int, splitter or list of splits
            The folds of that.

        Returns
        -------
        pandas.DataFrame, or a structured array where pandas is not installed
            row; label (target); margin (residual, without its sign): mean over the path, at its
            start and at its end; first, the value of s at which the row first becomes an outlier,
            NaN if it never does; share, the part of the path on which it is one.
        """
        check_is_fitted(self)
        refuse_several(self, "audit")
        check_top(top, f"{type(self).__name__}: audit")
        model: Any = self.path_.model
        recipe = self._recipe()
        options = recipe.options | {"path": "s"}
        recipe = attrs.evolve(recipe, options=options, s=model.s, widest=None)
        if out_of_fold:
            rows = Rows(model.X, model.y, model.sample_weight, self.kernel == "precomputed")
            fits = out_of_fold_fits(recipe, rows, model.C, model.gamma, cv)
        else:
            path = self.path_
            if self.path != "s":
                part = recipe.trace(model.along("s"), None, progress=bars(self.verbose))
                path = part.path
                if part.trouble:
                    tell(type(self).__name__, f"audit: {part.told()}; rows are judged by that part")
            fits = Fits.along(path, self._met)
        order = np.argsort(self._worst_first * fits.mean, kind="stable")[:top]
        target, met = self._called
        return table(
            {
                "row": order,
                target: self._training_targets()[order],
                f"{met}_mean": fits.mean[order],
                f"{met}_start": fits.start[order],
                f"{met}_end": fits.end[order],
                "first": fits.first[order],
                "share": fits.share[order],
            }
        )

    def report(
        self,
        title: str | None = None,
        *,
        X: Any = None,
        X_names: Sequence[Any] | None = None,
        row_names: Sequence[Any] | None = None,
        top: int = 200,
        certify: bool | int = True,
    ) -> Report:
        """The machine as one self-contained HTML page with a slider over its path.

        It shows the objective, the loss on held-out rows and who is an outlier at every value of
        robustness, the jumps, the suspected rows with their features, labels and margins (targets
        and residuals), the decision boundary of two features (the fitted curve of one), and the
        certificate in plain words.

        Parameters
        ----------
        title : str, optional
        X : array, sparse matrix or DataFrame (n, any), optional
            The rows as they are to be shown, where the machine was fitted on something made of
            them (scaled, say); what it was fitted on by default.
        X_names : sequence of str, optional
            What the columns of X are called; their names in a DataFrame by default.
        row_names : sequence (n,), optional
            What the rows are called; their numbers, from 0, by default.
        top : int
            How many suspected rows are shown at most.
        certify : bool or int
            Whether the whole path is certified for the page; a number looks at about this many
            places only.

        Returns
        -------
        Report
            ``.write_html(file)``, ``.open()``, ``.html``; it shows itself in a notebook.
        """
        from homotopy_plugins.estimators.report import machine_report

        check_is_fitted(self)
        refuse_several(self, "report")
        return machine_report(
            self, title, X=X, X_names=X_names, row_names=row_names, top=top, certify=certify
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
    decision_function_shape: str
    classes_: Any
    # Where there are more than two classes: the machine of each, against the rest.
    estimators_: list[Any]

    def __getattr__(self, name: str) -> Any:
        # Called for what is not there: some attributes belong to one path.
        parts = self.__dict__.get("estimators_")
        if parts and name.endswith("_") and not name.startswith("_") and hasattr(parts[0], name):
            raise AttributeError(
                f"{type(self).__name__}: {name} belongs to one path, but {len(parts)} classes have "
                f"a machine each; take estimators_[k].{name}, in the order of classes_"
            )
        hint = ""
        if name in ("predict_proba", "predict_log_proba"):
            hint = "; wrap it in sklearn.calibration.CalibratedClassifierCV for probabilities"
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{hint}")

    def __sklearn_is_fitted__(self) -> bool:
        return "estimators_" in vars(self) or super().__sklearn_is_fitted__()

    def _several(self) -> bool:
        return bool(self.classes_.size > 2)

    def _support_sizes(self, model: RampModel) -> Index:
        sign = model.sign[self.support_]
        return np.array([np.count_nonzero(sign < 0.0), np.count_nonzero(sign > 0.0)])

    def _fit_several(self, rows: Rows, n_jobs: int | None, **options: Any) -> Self:
        # The weights of the classes are in those of the rows.
        options = {"class_weight": None} | options
        parts = against_the_rest(self, rows, n_jobs, options)
        self._take_parts(parts)
        return self

    def _take_parts(self, parts: list[Any]) -> None:
        self.estimators_ = parts
        for name in ("validation_curve_", "standard_error_"):
            # Each machine has its own; see `__getattr__`.
            self.__dict__.pop(name, None)
        self.robustness_ = np.array([part.robustness_ for part in parts])  # type: ignore[assignment]
        self.t_ = np.array([part.t_ for part in parts])  # type: ignore[assignment]
        self.outliers_ = np.unique(np.concatenate([part.outliers_ for part in parts]))
        self.intercept_ = np.concatenate([part.intercept_ for part in parts])
        if self.kernel == "linear":
            self.coef_ = np.vstack([part.coef_ for part in parts])

    def _moved(self, asked: Asked) -> Self:
        if "estimators_" not in vars(self):
            return super()._moved(asked)
        other = copy.copy(self)
        other._take_parts([part._moved(asked) for part in self.estimators_])
        return other

    def _checked_targets(self, y: Any) -> Any:
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        name = type(self).__name__
        if self.classes_.size == 1:
            raise DataError(
                f"{name}: y has one class ({self.classes_[0]}); a classifier needs two classes"
            )
        check_shape(self.decision_function_shape, self.classes_.size, name)
        return y

    def _weighted(self, y: Any, weight: Array) -> Array:
        name = type(self).__name__
        finite(self.s, "s", name)
        check_class_weight(self.class_weight, name)
        total = np.asarray(weight * compute_sample_weight(self.class_weight, y))
        left = np.unique(y[total > 0.0])
        if left.size < 2:
            kept = f"only class {left[0]} is" if left.size else "no class is"
            raise DataError(
                f"{name}: {kept} left where rows of sample_weight or class_weight 0 are taken out; "
                "a classifier needs two classes"
            )
        if self._several():
            check_weights(y, total, self.classes_, name)
        return total

    def _loss_on(self, rows: Rows, name: Any) -> Loss:
        return _one_of(("zero-one", "hinge"), name, type(self).__name__)

    def _check_s(self, s: float) -> None:
        if s > 1.0:
            raise ModelError(
                f"{type(self).__name__}: robustness={{'s': {s:g}}} lies outside the s-path: s "
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
        """f(x); positive for ``classes_[1]``.

        With more than two classes (n, classes): the f of each, against the rest.
        """
        X = self._new_rows(X)
        if "estimators_" in vars(self):
            return np.column_stack([part._expanded(X) for part in self.estimators_])
        return self._expanded(X)

    def to_svc(self) -> Any:
        """This machine as a fitted `sklearn.svm.SVC` with the same decision function.

        It is a copy without the path and the training rows (a callable kernel needs those), for
        whatever knows scikit-learn: skops, converters to ONNX, explainers.  More than two classes
        give a fitted ``OneVsRestClassifier`` of SVCs.  An outlier without pull is no support vector
        of it, so `fit` would not find this machine again.  Values agree to the rounding of the sum
        over support vectors, 1e-12 of the largest value or better unless rows lie so far from 0
        that the sum itself loses digits.

        Returns
        -------
        sklearn.svm.SVC or sklearn.multiclass.OneVsRestClassifier
        """
        check_is_fitted(self)
        if "estimators_" in vars(self):
            # Those of scikit-learn are fitted to 0 and 1.
            parts = [exported(part, SVC, np.array([0, 1]), {}) for part in self.estimators_]
            return exported_classes(self, parts)
        return exported(self, SVC, self.classes_, {"class_weight": self.class_weight})

    def loo_score(self) -> float:
        """The accuracy on the training rows, each predicted by the machine without it; see
        `loo_decision`."""
        found = self.classes_[(self.loo_decision() > 0.0).astype(int)]
        label, weight = self._loo_targets()
        right = label == found
        return float(np.average(right, weights=weight))

    def flips(self, X: Any) -> Flips:
        """Which predictions at the rows X hang on one training row: without it the machine would
        say the other class.  Of the plain machine only (``robustness=0`` on the theta-path)."""
        fork = self._plain_fork()
        return flips(fork, self._new_rows(X))

    def predict(self, X: Any) -> Any:
        """The class of each row of X."""
        f = self.decision_function(X)
        return self.classes_[f.argmax(axis=1) if f.ndim == 2 else (f > 0.0).astype(int)]


class Regresses(RegressorMixin, RobustMachine):  # type: ignore[misc]
    """The part of a robust regression that does not depend on how its point was chosen."""

    _kind = LADRamp
    _paths = ("theta", "s", "epsilon")
    _called = ("target", "residual")
    _worst_first = -1.0
    epsilon: float

    def _recipe(self) -> Recipe:
        name, recipe = type(self).__name__, super()._recipe()
        width = finite(self.epsilon, "epsilon", name)
        if width < 0.0:
            raise ModelError(f"{name}: epsilon must not be negative, got {self.epsilon!r}")
        if self.s is not None and not width < positive(self.s, "s", name):
            raise ModelError(
                f"{name}: s must be larger than epsilon (both are distances from y), got "
                f"s={self.s:g} and epsilon={width:g}"
            )
        if width == 0.0 and self.path != "epsilon":
            return recipe
        options = recipe.options | {"epsilon": width}
        if self.path != "epsilon":
            return attrs.evolve(recipe, kind=EpsilonRamp, options=options)
        return attrs.evolve(
            recipe, kind=EpsilonRamp, options=options | {"path": "theta"}, widest=width
        )

    def _checked_targets(self, y: Any) -> Any:
        return numeric_targets(y, type(self).__name__)

    def _weighted(self, y: Any, weight: Array) -> Array:
        return weight

    def _loss_on(self, rows: Rows, name: Any) -> Loss:
        chosen = _one_of(("truncated", "absolute", "squared"), name, type(self).__name__)
        if chosen != "truncated":
            return chosen
        distance = np.abs(rows.y - weighted_median(rows.y, rows.weight))
        cap = CAP * spread(distance, rows.weight)
        # Most targets are equal: there is no scale to cut at.
        return Truncated(cap) if cap > 0.0 else "absolute"

    def _check_s(self, s: float) -> None:
        if s <= self.epsilon:
            least = f"larger than epsilon={self.epsilon:g}" if self.epsilon else "positive"
            raise ModelError(
                f"{type(self).__name__}: robustness={{'s': {s:g}}} lies outside the s-path: s "
                f"must be {least} (rows with larger residuals are outliers)"
            )

    def _farther(self, s: float, other: float) -> float:
        return min(s, other)

    def _met(self, response: Array) -> Array:
        return np.asarray(np.abs(self._training_targets() - response))

    def _training_targets(self) -> Any:
        model: Any = self.path_.model
        return model.y

    def to_svr(self) -> Any:
        """This machine as a fitted `sklearn.svm.SVR` with the same predictions.

        It is a copy without the path and the training rows; see `RobustSVC.to_svc`.

        Returns
        -------
        sklearn.svm.SVR
        """
        check_is_fitted(self)
        width = self.t_ if self.path == "epsilon" else self.epsilon
        return exported(self, SVR, None, {"epsilon": float(width)})

    def loo_score(self) -> float:
        """R^2 of the training rows, each predicted by the machine without it; see
        `loo_decision`."""
        found = self.loo_decision()
        target, weight = self._loo_targets()
        return float(r2_score(target, found, sample_weight=weight))

    def predict(self, X: Any) -> Array:
        """f at each row of X."""
        return self._values(X)


def checked_rule(rule: Any, name: str) -> str:
    """How a point of a curve is chosen."""
    if not (isinstance(rule, str) and rule in RULES):
        raise ModelError(f"{name}: rule must be 'best' or 'one-standard-error', got {rule!r}")
    return str(rule)


def chosen_point(curve: ValidationCurve, path: Path, rule: str, error: float) -> tuple[float, str]:
    """The t of a curve that `rule` takes, and its side, for the path on all rows."""
    if not path.complete and curve.traced[0] == curve.traced[1]:
        # Nothing is known but the beginning.
        return path.traced[0], "before"
    chosen = curve.best
    if rule == "one-standard-error":
        # Outliers come along the path, but support vectors go as a tube widens.
        simplest = curve.latest if curve.parameter == "eps" else curve.earliest
        chosen = simplest(curve.minimum + error)
    past_the_first_jump = curve.start[0] == curve.stop[0] and chosen.side == "after"
    if chosen.t == curve.traced[0] and not past_the_first_jump:
        # The plain machine is chosen: that of this path too.
        return path.traced[0], "before"
    return chosen.t, chosen.side


def _one_of(names: tuple[str, ...], given: Any, who: str) -> str:
    if not (isinstance(given, str) and given in names):
        raise ModelError(f"{who}: loss must be one of {', '.join(names)}, got {given!r}")
    return str(given)


def _sparse(pairwise: bool) -> Any:
    return False if pairwise else "csr"
