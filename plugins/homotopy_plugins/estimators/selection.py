"""Robust machines that choose C, gamma and robustness by cross-validation along exact paths.

Each fold's loss is known for every value of the path parameter (`Path.validation_curve`), so the
folds' curves are averaged exactly and the best value is found, not searched for; only C and gamma
are on a grid.  The work is cut by gamma and fold and goes through joblib.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Sequence
from typing import Any, Self

import attrs
import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs  # type: ignore[import-untyped]
from scipy.stats import rankdata
from sklearn.base import is_classifier
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import check_cv
from sklearn.utils.parallel import Parallel, delayed

from homotopy import DataError, ModelError, TraceError, ValidationCurve
from homotopy.analysis.losses import Loss
from homotopy.gram import MEMORY
from homotopy.wording import counted
from homotopy_plugins.estimators.folds import (
    Begun,
    FoldCurve,
    Rows,
    begin_along_c,
    curves_along_c,
    standard_error,
)
from homotopy_plugins.estimators.machine import (
    Classifies,
    Regresses,
    RobustMachine,
    checked_rule,
    chosen_point,
)
from homotopy_plugins.estimators.proven import Proven, common_part, shortened, tell
from homotopy_plugins.estimators.robustness import Scale
from homotopy_plugins.estimators.showing import shown
from homotopy_plugins.kernels.checks import positive

__all__ = ["RobustSVCCV", "RobustSVRCV", "Watched"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]
Split = tuple[Index, Index]

DEFAULT_COSTS = (0.01, 0.1, 1.0, 10.0, 100.0)


@attrs.frozen
class Found:
    """Where the curve of a cell is least, as a robustness; NaN where there is no curve."""

    t: float = np.nan
    robustness: float = np.nan
    interval: tuple[float, float] = (np.nan, np.nan)


@attrs.frozen(eq=False)
class Cell:
    """One C and gamma: where its curve over the path is least, and what the folds say there."""

    C: float
    gamma: Any
    width: float | None
    begun: Begun
    folds: list[FoldCurve]
    curve: ValidationCurve | None

    def found(self) -> Found:
        """Where the curve is least, on the scale of the path on all rows."""
        if self.curve is None:
            return Found()
        best, begun = self.curve.best, self.begun
        if self.curve.parameter == "theta":
            scale = Scale("theta", 1.0, 0.0)
        elif self.curve.parameter == "s":
            scale = Scale("s", begun.first, begun.s)
        else:
            scale = Scale.widening(self.curve.traced[0], begun.s)
        first, last = best.interval
        return Found(
            best.t, scale.robustness(best.t), (scale.robustness(first), scale.robustness(last))
        )

    def scores(self) -> Array:
        """The folds' scores at the best point, larger is better; NaN where a trace failed."""
        if self.curve is None:
            return np.full(len(self.folds), np.nan)
        best = self.curve.best
        values = [np.nan if f.curve is None else f.curve(best.t, best.side) for f in self.folds]
        return np.asarray(score(np.array(values), self.curve.loss))


def _is_list(values: Any) -> bool:
    # An array without dimensions claims that it can be iterated over.
    scalar = isinstance(values, str) or getattr(values, "ndim", 1) == 0
    return isinstance(values, Iterable) and not scalar


def score(loss: Any, name: str) -> Any:
    """Larger is better, as everywhere in scikit-learn: accuracy, or minus the mean loss."""
    return 1.0 - loss if name == "zero-one" else -loss


class Watched(Parallel):  # type: ignore[misc]
    """joblib with a progress bar, on every backend: not all of them hand out results one by one.

    A job moves the bar by `size` steps.
    """

    def __init__(self, bar: Any, size: int = 1, **options: Any) -> None:
        super().__init__(**options)
        self._bar, self._size, self._shown = bar, size, 0

    def print_progress(self) -> None:
        if self._bar is not None:
            self._bar.update(self._size * (self.n_completed_tasks - self._shown))
            self._shown = self.n_completed_tasks


class GridOfPaths(RobustMachine):
    """Chooses C and gamma on a grid and the robustness exactly, then fits on all rows."""

    Cs: Any
    gammas: Any
    cv: Any
    loss: str
    rule: str
    n_jobs: int | None

    # Set by `fit`.
    C_: float
    gamma_: Any
    best_index_: int
    best_score_: float
    best_params_: dict[str, Any]
    cv_results_: dict[str, Any]
    validation_curves_: list[ValidationCurve | None]
    validation_curve_: ValidationCurve
    fold_curves_: list[ValidationCurve]
    standard_error_: float
    n_splits_: int
    refit_time_: float

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Choose on the folds, then trace the path of the best C and gamma on all rows.

        Parameters
        ----------
        X : array or sparse matrix (n, d); the kernel matrix (n, n) if ``kernel="precomputed"``
        y : array (n,)
        sample_weight : array (n,), optional
            Weights of the loss, in the fits and in the scores.
        groups : array (n,), optional
            For splitters that keep groups together.
        """
        rows = self._checked_rows(X, y, sample_weight)
        if not self._several():
            return self._fit_rows(rows, groups)
        self._grid()
        # One split for all classes; folds go through joblib, not classes.
        self._fit_several(rows, None, cv=self._splits(rows, groups))
        parts: list[Any] = self.estimators_
        self.C_ = np.array([part.C_ for part in parts])  # type: ignore[assignment]
        self.gamma_ = [part.gamma_ for part in parts]
        self.best_score_ = np.array([part.best_score_ for part in parts])  # type: ignore[assignment]
        self.best_params_ = [part.best_params_ for part in parts]  # type: ignore[assignment]
        return self

    def _fit_rows(self, rows: Rows, groups: Any = None) -> Self:
        costs, gammas = self._grid()
        checked_rule(self.rule, type(self).__name__)
        splits = self._splits(rows, groups)
        cells = self._examine(rows, costs, gammas, splits, self._loss_on(rows, self.loss))
        self._tabulate(cells)
        best = cells[self.best_index_]
        assert best.curve is not None
        began = time.perf_counter()
        recipe = self._recipe()
        model = recipe.varied(recipe.model(rows, best.C, best.width), s=best.begun.s)
        part = self._traced(recipe, model, best.begun.alpha)
        path, best = part.path, self._on_proven(best, part)
        assert best.curve is not None
        self.standard_error_ = standard_error(best.scores())
        self._keep(path, *chosen_point(best.curve, path, self.rule, self.standard_error_))
        self.refit_time_ = time.perf_counter() - began
        self.best_params_ = self.best_params_ | {"robustness": self.robustness_}
        self.C_, self.gamma_ = best.C, best.gamma
        self.validation_curve_ = best.curve
        self.fold_curves_ = [fold.curve for fold in best.folds if fold.curve is not None]
        return self

    def _on_proven(self, cell: Cell, part: Proven) -> Cell:
        """A cell whose curve goes no farther than the path on all rows is proven."""
        path, curve = part.path, cell.curve
        told = [part.begun, part.told(self.path) if part.trouble else ""]
        if any(told):
            chosen = f"robustness of C={cell.C:g} was chosen on what is proven"
            tell(type(self).__name__, "; ".join([t for t in told if t] + [chosen]), 3)
        if part.trouble and curve is not None:
            sign = 1.0 if path.span[1] >= path.span[0] else -1.0
            curve = shortened(curve, path.traced[1], sign)
        return attrs.evolve(cell, curve=curve)

    # ------------------------------------------------------------------ what is examined

    def _grid(self) -> tuple[list[float], list[Any]]:
        name = type(self).__name__
        if not _is_list(self.Cs):
            raise ModelError(f"{name}: Cs must be a list of positive numbers, got {self.Cs!r}")
        costs = sorted({positive(C, "each of Cs", name) for C in self.Cs})
        if not _is_list(self.gammas):
            raise ModelError(
                f"{name}: gammas must be a list of positive numbers, 'scale' or 'auto', "
                f"got {self.gammas!r}"
            )
        given = list(self.gammas)
        gammas = [gamma for k, gamma in enumerate(given) if gamma not in given[:k]]
        if not costs or not gammas:
            raise ModelError(f"{name}: Cs and gammas must hold at least one value each")
        if callable(self.kernel) or self.kernel in ("linear", "precomputed"):
            gammas = gammas[:1]
        return costs, gammas

    def _splits(self, rows: Rows, groups: Any) -> list[Split]:
        splitter = check_cv(self.cv, rows.y, classifier=is_classifier(self))
        try:
            splits = [
                (np.asarray(kept), np.asarray(held))
                for kept, held in splitter.split(rows.X, rows.y, groups)
            ]
        except TypeError as error:
            raise ModelError(
                f"{type(self).__name__}: cv must be an integer, a splitter or a list of pairs of "
                f"indices (train, test), got {self.cv!r} ({error})"
            ) from error
        for k, (kept, held) in enumerate(splits):
            self._check_fold(k, rows, kept)
            if not np.any(rows.weight[held]):
                raise DataError(
                    f"{type(self).__name__}: every row held out by fold {k} has sample_weight 0; "
                    "use fewer folds or shuffle the rows"
                )
        return splits

    def _check_fold(self, k: int, rows: Rows, kept: Index) -> None:
        """Refuse a fold that cannot be trained on."""
        if not np.any(rows.weight[kept]):
            raise DataError(
                f"{type(self).__name__}: every row that fold {k} trains on has sample_weight 0; "
                "use fewer folds or shuffle the rows"
            )

    def _examine(
        self,
        rows: Rows,
        costs: list[float],
        gammas: list[Any],
        splits: list[Split],
        loss: Loss,
    ) -> list[Cell]:
        """Every path of every fold, gamma by gamma, along C."""
        recipe = self._recipe()
        widths = [self._width(gamma, rows.X) for gamma in gammas]
        total = len(widths) * (1 + len(splits)) * len(costs)
        machines = counted(len(costs) * len(widths), "machine")
        what = f"{type(self).__name__}: {machines}, {counted(len(splits), 'fold')}"
        with shown(self.verbose, what, total) as bar:
            # In this process every path moves the bar, elsewhere every job.
            here = bar is not None and effective_n_jobs(self.n_jobs) == 1
            told = {"done": bar.update} if here else {}
            watched = None if here else bar
            size = len(costs)
            begun = self._run(
                watched,
                size,
                [delayed(begin_along_c)(recipe, rows, w, costs, **told) for w in widths],
            )
            found = self._run(
                watched,
                size,
                [
                    delayed(curves_along_c)(recipe, rows, w, begun[g], kept, held, loss, **told)
                    for g, w in enumerate(widths)
                    for kept, held in splits
                ],
            )
        return [
            self._cell(
                costs[c],
                gammas[g],
                w,
                begun[g][c],
                [found[g * len(splits) + k][c] for k in range(len(splits))],
            )
            for g, w in enumerate(widths)
            for c in range(len(costs))
        ]

    def _run(self, bar: Any, size: int, jobs: Sequence[Any]) -> list[Any]:
        results: list[Any] = Watched(bar, size, n_jobs=self.n_jobs)(jobs)
        return results

    def _cell(
        self, C: float, gamma: Any, width: float | None, begun: Begun, folds: list[FoldCurve]
    ) -> Cell:
        for k, fold in enumerate(folds):
            if fold.curve is None:
                warnings.warn(
                    f"{type(self).__name__}: fold {k} failed, C={C:g} with gamma={gamma} is left "
                    f"out: {fold.trouble}",
                    FitFailedWarning,
                    stacklevel=4,
                )
        curves = common_part([fold.curve for fold in folds if fold.curve is not None])
        merged = ValidationCurve.mean(curves) if len(curves) == len(folds) else None
        cut = [k for k, fold in enumerate(folds) if fold.trouble]
        if merged is not None and cut:
            tell(
                type(self).__name__,
                f"C={C:g} with gamma={gamma} is judged up to {self.path}={merged.traced[1]:g} "
                f"only: fold {cut[0]}{' and others' if cut[1:] else ''}: {folds[cut[0]].trouble}",
                4,
            )
        return Cell(C, gamma, width, begun, folds, merged)

    # ------------------------------------------------------------------ what came out

    def _tabulate(self, cells: list[Cell]) -> None:
        scores = np.array([cell.scores() for cell in cells])
        mean = np.array(
            [np.nan if c.curve is None else score(c.curve.minimum, c.curve.loss) for c in cells]
        )
        if np.all(np.isnan(mean)):
            raise TraceError(
                f"{type(self).__name__}: no C could be traced on every fold; the first trouble: "
                f"{next(f.trouble for c in cells for f in c.folds if f.trouble)}"
            )
        rank = rankdata(np.where(np.isnan(mean), np.inf, -mean), method="min").astype(np.int32)
        fit = np.array([[f.fit_time for f in c.folds] for c in cells])
        scoring = np.array([[f.score_time for f in c.folds] for c in cells])
        found = [c.found() for c in cells]
        params = [
            {"C": c.C, "gamma": c.gamma, "robustness": at.robustness}
            for c, at in zip(cells, found, strict=True)
        ]
        results: dict[str, Any] = {
            "mean_fit_time": fit.mean(axis=1),
            "std_fit_time": fit.std(axis=1),
            "mean_score_time": scoring.mean(axis=1),
            "std_score_time": scoring.std(axis=1),
        }
        for key in ("C", "gamma", "robustness"):
            values = [p[key] for p in params]
            mixed = any(isinstance(v, str) for v in values)
            results[f"param_{key}"] = np.ma.masked_array(values, dtype=object if mixed else float)
        results["params"] = params
        for k in range(scores.shape[1]):
            results[f"split{k}_test_score"] = scores[:, k]
        results |= {
            "mean_test_score": mean,
            "std_test_score": scores.std(axis=1),
            "rank_test_score": rank,
            "robustness_from": np.array([at.interval[0] for at in found]),
            "robustness_to": np.array([at.interval[1] for at in found]),
            self.path: np.array([at.t for at in found]),
            "threshold": np.array([c.begun.s for c in cells]),
            "mean_breakpoints": np.array(
                [np.mean([f.breakpoints for f in c.folds]) for c in cells]
            ),
        }
        self.cv_results_ = results
        self.validation_curves_ = [c.curve for c in cells]
        self.n_splits_ = scores.shape[1]
        self.best_index_ = int(np.nanargmax(mean))
        self.best_score_ = float(mean[self.best_index_])
        self.best_params_ = params[self.best_index_]


class RobustSVCCV(GridOfPaths, Classifies):
    """`RobustSVC` with C, gamma and robustness chosen by cross-validation.

    Parameters
    ----------
    Cs : sequence of float
        The grid of C.
    gammas : sequence of float, "scale" or "auto"
        The grid of gamma.
    cv : int, splitter, iterable of (train, test) or None
        As in `GridSearchCV`; 5 stratified folds by default.
    loss : {"zero-one", "hinge"}
        What is least on the rows held out.
    rule : {"best", "one-standard-error"}
        How robustness is chosen on the curve of the best C and gamma: where it is least, or at the
        first point, counted from the plain machine, that is within one standard error (over the
        folds) of that; see `RobustSVC`.  C and gamma are those of the least value either way.
    n_jobs : int or None
        Processes, through joblib: any backend of `joblib.parallel_config` does the same.
    verbose : bool or int
        Whether to show a progress bar over the machines of the grid and their folds, and one of
        the last path; without tqdm a line before and after each.
    kernel, degree, coef0, fit_intercept, path, theta, s, class_weight,
    decision_function_shape, tol, cache_size
        As in `RobustSVC`.

    Attributes
    ----------
    C_, gamma_, robustness_, t_
        What was chosen; `t_` is the robustness as a value of theta, s or epsilon.  Ties go to the
        smaller C, and to the middle of the widest best interval.
    cv_results_ : dict of arrays
        One entry a pair of C and gamma, as in `GridSearchCV`, each at the best robustness of the
        pair.  Scores (accuracy, or minus the mean loss) count rows with their weights, those of
        `class_weight` included: with "balanced" they are balanced accuracies.
        `robustness_from` and `robustness_to` bound the interval of equally good values, the column
        named after the path (`theta`, `s` or `epsilon`) is the best point as a value of its
        parameter, `threshold` the s of the theta-path or the end of the s-path.
    best_index_, best_score_, best_params_, n_splits_, refit_time_
        As in `GridSearchCV`; `RobustSVC` with these and the same `kernel`, `path` and so on is the
        machine that was fitted.  `best_score_` is the best score there is, whatever `rule` takes.
    validation_curves_ : list of ValidationCurve
        The folds' mean loss for every robustness, one for each pair.
    validation_curve_ : ValidationCurve
        That of the best pair.
    fold_curves_ : list of ValidationCurve
        The curves of the folds whose mean that is.
    standard_error_ : float
        One standard error of its least value, over the folds.
    path_, outliers_, outlier_path_, certificate_, classes_, support_, n_support_, support_vectors_,
    dual_coef_, intercept_, coef_, n_features_in_, feature_names_in_
        As in `RobustSVC`, for the machine fitted on all rows.
    estimators_ : list of RobustSVCCV
        With more than two classes only: the search of each class against the rest, on the same
        folds.  What was chosen (``C_``, ``gamma_``, ``robustness_``) and ``best_score_`` and
        ``best_params_`` then have an entry for each; everything else of a search is theirs.
    """

    def __init__(
        self,
        *,
        Cs: Any = DEFAULT_COSTS,
        gammas: Any = ("scale",),
        cv: Any = None,
        loss: str = "zero-one",
        rule: str = "best",
        kernel: Any = "rbf",
        degree: int = 3,
        coef0: float = 0.0,
        fit_intercept: bool = True,
        path: str = "theta",
        theta: float = 0.0,
        s: float = 0.0,
        class_weight: Any = None,
        decision_function_shape: str = "ovr",
        tol: float = 1e-8,
        cache_size: float = MEMORY,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.Cs = Cs
        self.gammas = gammas
        self.cv = cv
        self.loss = loss
        self.rule = rule
        self.kernel = kernel
        self.degree = degree
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.path = path
        self.theta = theta
        self.s = s
        self.class_weight = class_weight
        self.decision_function_shape = decision_function_shape
        self.tol = tol
        self.cache_size = cache_size
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_fold(self, k: int, rows: Rows, kept: Index) -> None:
        super()._check_fold(k, rows, kept)
        left = np.unique(rows.y[kept][rows.weight[kept] > 0.0])
        if left.size < 2:
            raise DataError(
                f"{type(self).__name__}: fold {k} trains on one class ({left[0]}); use a "
                "stratified splitter, fewer folds, or shuffle the rows"
            )


class RobustSVRCV(GridOfPaths, Regresses):
    """`RobustSVR` with C, gamma and robustness chosen by cross-validation.

    Parameters
    ----------
    loss : {"truncated", "absolute", "squared"}
        What is least on the rows held out, as in `RobustSVR`.
    Cs, gammas, cv, rule, n_jobs, verbose
        As in `RobustSVCCV`; the folds of an integer `cv` are not shuffled.
    kernel, degree, coef0, epsilon, fit_intercept, path, theta, s, tol, cache_size
        As in `RobustSVR`.

    Attributes
    ----------
    As in `RobustSVCCV`, without `classes_`.
    """

    def __init__(
        self,
        *,
        Cs: Any = DEFAULT_COSTS,
        gammas: Any = ("scale",),
        cv: Any = None,
        loss: str = "truncated",
        rule: str = "best",
        kernel: Any = "rbf",
        degree: int = 3,
        coef0: float = 0.0,
        epsilon: float = 0.0,
        fit_intercept: bool = True,
        path: str = "theta",
        theta: float = 0.0,
        s: float | None = None,
        tol: float = 1e-8,
        cache_size: float = MEMORY,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.Cs = Cs
        self.gammas = gammas
        self.cv = cv
        self.loss = loss
        self.rule = rule
        self.kernel = kernel
        self.degree = degree
        self.coef0 = coef0
        self.epsilon = epsilon
        self.fit_intercept = fit_intercept
        self.path = path
        self.theta = theta
        self.s = s
        self.tol = tol
        self.cache_size = cache_size
        self.n_jobs = n_jobs
        self.verbose = verbose
