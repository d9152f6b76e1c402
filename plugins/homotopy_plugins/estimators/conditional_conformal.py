"""Conformal cut-offs that hold conditionally: for every group, for every weighting of a class.

Let S be a conformity score, such as the absolute residual of any regression.  Split conformal
prediction takes one quantile of the scores of calibration rows for all new rows, and covers on
average only.  Here the quantile is a function of x,

    q(x) = basis(x) . beta + g(x),

fitted to the n calibration rows *and* the new row at the score that it might have [1]_:

    min over beta, g   1/(n+1) sum_i rho(S_i - q(x_i)) + penalty/2 |g|^2

with the pinball loss rho of the level.  The cut-off of x is the largest S that is still below the q
fitted to it.  Then coverage is right in every group that `basis` tells apart, and, up to a term
that can be estimated, under every shift of x that the kernel's class can describe.

As S grows, so does the alpha of the new row, until it is at the end of its polyline: from then on S
is above q.  So the cut-off is the response of a new row whose alpha has been pushed to that end, a
few break-points from the optimum without it (`homotopy.Fork`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.linalg
import scipy.optimize
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from homotopy import (
    DataError,
    Fork,
    Homotopy,
    Jump,
    KernelGram,
    Knot,
    LinearGram,
    LossModel,
    ModelError,
    NewRow,
    Path,
    Slope,
    TraceError,
)
from homotopy_plugins.estimators.conformal import checked_levels
from homotopy_plugins.estimators.input_checks import clear_about, kernel_width
from homotopy_plugins.kernels.checks import check_rows, finite, positive, whole
from homotopy_plugins.kernels.functions import kernel_function
from homotopy_plugins.kernels.kernel_model import check_definite

__all__ = ["ConditionalConformal"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]
Ends = tuple[float, float]

# What of a row of the basis may be left unexplained by others and still be rounding.
EXPLAINED = 1e-9
NAME = "ConditionalConformal"


class Quantile(LossModel):
    """Quantile regression of scores: a knot at each, slopes `ends` beside it.

    Parameters
    ----------
    rows : array (n, d)
        What the kernel takes.
    options : dict or None
        Of `kernel_function`; None where there is no kernel.
    """

    def __init__(
        self, rows: Any, options: dict[str, Any] | None, border: Array, score: Array, ends: Ends
    ) -> None:
        self.rows, self.options, self.border = rows, options, border
        self.score, self.ends, self.span = score, ends, (0.0, 0.0)
        self._build()

    def _build(self) -> None:
        if self.options is None:
            self.gram = LinearGram(np.zeros((self.score.size, 1)))
            return
        self.function = kernel_function(**self.options)
        if callable(self.options["kernel"]):
            check_definite(self.function(self.rows, self.rows), NAME)
        self.gram = KernelGram(self._columns, self.diagonal(self.rows))

    def __getstate__(self) -> dict[str, Any]:
        # Functions and kernel columns are made again when needed.
        return {k: v for k, v in self.__dict__.items() if k not in ("gram", "function")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ |= state
        self._build()

    def _columns(self, index: Index) -> Array:
        return self.function(self.rows[index], self.rows)

    def diagonal(self, rows: Any) -> Array:
        """The kernel of each row with itself."""
        assert self.options is not None
        if self.options["kernel"] == "rbf":
            return np.ones(rows.shape[0])
        alone = (rows[[i]] for i in range(rows.shape[0]))
        return np.array([self.function(row, row)[0, 0] for row in alone])

    def polyline(self, t: Any) -> Sequence[Slope | Knot | Jump]:
        up, down = self.ends
        return Slope("above", up), Knot("E", self.score), Slope("below", down)


class ConditionalConformal(BaseEstimator):  # type: ignore[misc]
    """Cut-offs for conformity scores of any model, exact for each new row.

    Parameters
    ----------
    confidence_level : float
    basis : callable, optional
        X -> array (n, m): functions that need no penalty, over whose groups coverage is to be
        right: indicators, an intercept, features.  The intercept alone by default.
    kernel : {"rbf", "poly", "linear"}, callable or None
        Of the part g, positive semidefinite; None for `basis` alone.
    gamma, degree, coef0
        Of the kernel, as in `sklearn.svm.SVR`; to be chosen on other rows.
    penalty : float, positive
        The weight of ``|g|^2 / 2`` against the mean loss.
    randomize : bool
        Whether cut-offs are drawn so that coverage is exactly the level, not at least: each is then
        the response at an alpha drawn between the ends, and may be minus infinity (an empty set).
    random_state : int, RandomState or None
        Of `randomize`; 0 by default, so that cut-offs can be repeated.

    Attributes
    ----------
    path_ : Path
        The quantile without a new row, a path of one point.
    kept_ : int array
        The columns of `basis` that do not follow from the others on the calibration rows.

    References
    ----------
    .. [1] Gibbs, Cherian, Candes (2025), Conformal prediction with conditional guarantees.

    Examples
    --------
    >>> import numpy as np
    >>> from homotopy_plugins import ConditionalConformal
    >>> rng = np.random.default_rng(0)
    >>> X = rng.integers(0, 2, size=(200, 1)).astype(float)
    >>> scores = np.abs(rng.normal(size=200)) * (1 + X[:, 0])
    >>> groups = lambda X: np.column_stack([X[:, 0] == 0, X[:, 0] == 1])
    >>> cut = ConditionalConformal(basis=groups, kernel=None).fit(X, scores)
    >>> cut.cutoff([[0.0], [1.0]]).shape
    (2,)
    """

    path_: Path
    kept_: Index

    def __init__(
        self,
        *,
        confidence_level: float = 0.9,
        basis: Callable[[Any], Any] | None = None,
        kernel: Any = "rbf",
        gamma: Any = "auto",
        degree: int = 3,
        coef0: float = 0.0,
        penalty: float = 1.0,
        randomize: bool = False,
        random_state: Any = 0,
    ) -> None:
        self.confidence_level = confidence_level
        self.basis = basis
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.penalty = penalty
        self.randomize = randomize
        self.random_state = random_state

    # ------------------------------------------------------------------ fitting

    def fit(self, X: Any, scores: Any) -> Self:
        """The quantile of the scores of calibration rows.

        Parameters
        ----------
        X : array (n, d)
            Rows that the model behind the scores was not fitted to.  With ``kernel=None`` whatever
            `basis` takes.
        scores : array (n,)
            Larger is less usual: ``abs(y - model.predict(X))``, say.
        """
        for fitted in [n for n in vars(self) if n.endswith("_") and not n.startswith("_")]:
            delattr(self, fitted)
        score = _checked_scores(scores)
        n = score.size
        levels = checked_levels(self.confidence_level, NAME)
        if levels.size != 1:
            raise ModelError(f"{NAME}: one confidence_level, got {self.confidence_level!r}")
        level, C = float(levels[0]), 1.0 / (positive(self.penalty, "penalty", NAME) * (n + 1))
        up, down = self._ends = C * level, C * (level - 1.0)
        self._polyline = Slope("above", up), Knot("E", 0.0), Slope("below", down)
        rows = self._numeric(X, n)
        basis = self._basis_of(X, n)
        self.kept_, self._explains = _independent(basis)
        border = np.ascontiguousarray(basis[:, self.kept_])
        model = Quantile(rows, self._kernel_options(rows), border, score, self._ends)
        self.path_ = Homotopy(model).trace()
        return self

    def _numeric(self, X: Any, n: int | None = None) -> Any:
        """X as numbers, where there is a kernel."""
        if self.kernel is None:
            return X
        with clear_about(X, "X", NAME):
            rows = check_rows(X, NAME)
        if n is not None and rows.shape[0] != n:
            raise DataError(f"{NAME}: X has {rows.shape[0]} rows, but there are {n} scores")
        return rows

    def _kernel_options(self, rows: Any) -> dict[str, Any] | None:
        kernel = self.kernel
        if kernel is None:
            return None
        known = isinstance(kernel, str) and kernel in ("linear", "rbf", "poly")
        if not (known or callable(kernel)):
            raise ModelError(
                f"{NAME}: kernel must be linear, rbf, poly, a callable or None, got {kernel!r}"
            )
        width = kernel_width(kernel, self.gamma, rows, NAME)
        return {
            "kernel": kernel,
            "gamma": 1.0 if width is None else width,
            "degree": whole(self.degree, "degree", NAME),
            "coef0": finite(self.coef0, "coef0", NAME),
        }

    def _basis_of(self, X: Any, n: int) -> Array:
        if self.basis is not None and not callable(self.basis):
            raise ModelError(
                f"{NAME}: basis must be a function of X, got {self.basis!r}; "
                "lambda X: X[:, [0]] takes column 0"
            )
        if self.basis is None:
            return np.ones((n, 1))
        # What the basis takes may be a frame; a list is taken for an array, as elsewhere.
        found = np.asarray(self.basis(np.asarray(X) if isinstance(X, list) else X), dtype=float)
        found = found[:, None] if found.ndim == 1 else found
        if found.ndim != 2 or found.shape[0] != n or not np.all(np.isfinite(found)):
            raise DataError(
                f"{NAME}: basis(X) must be a finite number or a row of them for each of {n} rows, "
                f"got shape {found.shape}"
            )
        return found

    # ------------------------------------------------------------------ cut-offs

    def cutoff(self, X: Any) -> Array:
        """The largest score that a new row may have to be within its set: for absolute residuals,
        ``model.predict(X) +- cutoff(X)``.

        Returns
        -------
        array (N,)
            Infinite where the calibration rows cannot rule out any score: too few of them, or none
            of the row's group.  Minus infinity only with `randomize`.
        """
        check_is_fitted(self)
        rows = self._numeric(X)
        count = rows.shape[0] if hasattr(rows, "shape") else len(rows)
        basis = self._basis_of(X, count)
        aims = np.full(count, self._ends[0])
        if self.randomize:
            aims = check_random_state(self.random_state).uniform(*self._ends[::-1], size=count)
        fork = self.path_.fork(0.0)
        columns, own = None, np.zeros(count)
        model = self.path_.model
        assert isinstance(model, Quantile)
        if model.options is not None:
            if rows.shape[1] != model.rows.shape[1]:
                raise DataError(
                    f"{NAME}: X has {rows.shape[1]} columns, the calibration rows "
                    f"{model.rows.shape[1]}"
                )
            columns, own = model.function(rows, model.rows), model.diagonal(rows)
        found = np.empty(count)
        for i in range(count):
            found[i] = self._pushed(
                fork, basis[i], None if columns is None else columns[i], own[i], float(aims[i])
            )
        return found

    def _pushed(
        self, fork: Fork, basis: Array, column: Array | None, diagonal: float, aim: float
    ) -> float:
        """The response of one new row whose alpha is `aim`."""
        known = basis[self.kept_]
        size = float(np.abs(basis).max(initial=0.0))
        if np.abs(basis - known @ self._explains).max(initial=0.0) > EXPLAINED * size:
            # A function of the basis that calibration rows say nothing of fits any score.
            return float(np.copysign(np.inf, aim))
        new = NewRow(
            self._polyline,
            column=column,
            diagonal=diagonal,
            features=np.zeros(1) if column is None else None,
            border=known,
        )
        row = fork.insert_row(new)
        try:
            response = fork.push(row, aim).own_response
        except TraceError as error:
            if not getattr(error, "infeasible", False) and self._balanced(known, aim):
                raise
            return float(np.copysign(np.inf, aim))
        fork.restore()
        return response

    def _balanced(self, basis: Array, aim: float) -> bool:
        """Whether the calibration rows can balance a new row of this alpha (HiGHS)."""
        border, (up, down) = self.path_.problem.border, self._ends
        found = scipy.optimize.linprog(
            np.zeros(border.shape[0]),
            A_eq=border.T / up,
            b_eq=-basis * aim / up,
            bounds=(down, up),
            method="highs",
        )
        return bool(found.status == 0)


def _checked_scores(scores: Any) -> Array:
    with clear_about(scores, "scores", NAME):
        score = np.asarray(scores, dtype=float)
    if score.ndim != 1 or score.size == 0:
        raise DataError(f"{NAME}: scores must be a list of numbers, got shape {score.shape}")
    if not np.all(np.isfinite(score)):
        i = int(np.flatnonzero(~np.isfinite(score))[0])
        raise DataError(f"{NAME}: scores[{i}] is {score[i]}; scores must be finite")
    return score


def _independent(basis: Array) -> tuple[Index, Array]:
    """Columns of which no one follows from the others, and how all follow from these."""
    m = basis.shape[1]
    size = np.abs(basis).max(axis=0)
    scaled = basis / np.where(size > 0.0, size, 1.0)
    triangle, order = scipy.linalg.qr(scaled, mode="r", pivoting=True)
    diagonal = np.abs(np.diagonal(triangle))
    rank = int((diagonal > EXPLAINED * diagonal.max(initial=0.0)).sum())
    if rank == 0:
        raise DataError(f"{NAME}: basis(X) is 0 on all calibration rows; give an intercept")
    kept: Index = np.sort(order[:rank]).astype(np.int64)
    explains: Array = np.linalg.lstsq(basis[:, kept], basis, rcond=None)[0].astype(float)
    return kept, explains.reshape(rank, m)
