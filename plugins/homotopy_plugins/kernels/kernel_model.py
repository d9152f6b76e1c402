"""What the kernel machines share: checked data, the Gram operator, the kernel expansion."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, Self, TypedDict

import numpy as np
import numpy.typing as npt
import scipy.linalg
import scipy.sparse as sp

from homotopy import DataError, DenseGram, Gram, KernelGram, LinearGram, ModelError, Predictor
from homotopy.gram import MEMORY
from homotopy_plugins.kernels.checks import (
    check_kernel_range,
    check_length,
    check_rows,
    check_scale,
    checked_weights,
    finite,
    flag,
    positive,
    whole,
)
from homotopy_plugins.kernels.functions import KERNELS, Kernel, kernel_function, kernel_rows

__all__ = ["KernelModel", "KernelOptions", "check_definite", "nearest_definite"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

# A kernel matrix with an eigenvalue below minus this fraction of the largest is indefinite.
INDEFINITE = 1e-8
# Negative eigenvalues that are rounding, to double and to single precision.
ROUNDED, SINGLE = 1e-12, 1e-6
# Rows on which definiteness of a kernel without a guarantee is tested beforehand.
TESTED_ROWS = 2000
# A column this many times its spread away from 0 is moved there.
FAR = 10.0


class KernelOptions(TypedDict, total=False):
    """The keyword arguments that every kernel machine takes; see `KernelModel`."""

    kernel: Any
    gamma: float | None
    degree: int
    coef0: float
    fit_intercept: bool
    sample_weight: npt.ArrayLike | None
    cache_size: float


class KernelModel(Predictor):
    """``f(x) = sum_i alpha_i sign_i K(x_i, x) + b`` with checked inputs, for any loss.

    A subclass hands over the rows with the sign of each (labels for classification, ones for
    regression), declares its polyline and its span, and has predictions, kernels, sparse rows,
    weights and an intercept.

    Parameters
    ----------
    X : array or scipy sparse matrix (n, d)
        Samples; the kernel matrix (n, n) if ``kernel="precomputed"``.
    sign : array (n,)
        -1 or +1 for each row.
    C : float
        Weight of the loss against ``1/2 |w|^2``; `cost` is ``C * sample_weight``.
    kernel : {"linear", "rbf", "poly", "sigmoid", "precomputed"} or callable
        A callable takes (X, Z) and returns the matrix of kernel values.
    gamma : float or None
        Kernel width; None is 1/d.
    degree, coef0
        Of the poly and sigmoid kernels.
    fit_intercept : bool
        Whether f has an unpenalised intercept b.
    sample_weight : array (n,), optional
    cache_size : float
        Megabytes for kernel columns; those beyond it are computed again when needed.
    """

    noun = "row"
    # What the pieces of the loss are called on pages and in pictures.
    words: ClassVar[Mapping[str, str]] = {}

    def __init__(
        self,
        X: Any,
        sign: npt.ArrayLike,
        *,
        C: float,
        kernel: Any = "rbf",
        gamma: float | None = None,
        degree: int = 3,
        coef0: float = 0.0,
        fit_intercept: bool = False,
        sample_weight: npt.ArrayLike | None = None,
        cache_size: float = MEMORY,
    ) -> None:
        name = type(self).__name__
        X = check_rows(X, name)
        sign = np.array(sign, dtype=float)
        check_length(sign, X.shape[0], "sign", name)
        self.C = positive(C, "C", name)
        self.kernel = kernel
        if not callable(kernel) and not (isinstance(kernel, str) and kernel in KERNELS):
            raise ModelError(
                f"{name}: kernel must be one of {', '.join(KERNELS)} or a callable, got {kernel!r}"
            )
        self.X = X
        features = X.shape[1]
        self.gamma = 1.0 / features if gamma is None else positive(gamma, "gamma", name)
        self.degree = whole(degree, "degree", name)
        self.coef0 = finite(coef0, "coef0", name)
        self.fit_intercept = flag(fit_intercept, "fit_intercept", name)
        self.sample_weight = checked_weights(sample_weight, sign.size, name)
        self.sign = sign
        self.cache_size = positive(cache_size, "cache_size", name)
        check_kernel_range(kernel, X, name, **self._kernel_options())
        self._function = self._kernel_function()
        self._check_kernel(name)
        self.centre = self._find_centre()
        self.gram = self._build_gram()
        self._check_scale(self.C)
        if self.fit_intercept:
            self.border = sign[:, None].copy()

    def piece_name(self, name: str) -> str:
        return self.words.get(name, name)

    def varied(self, *, C: float | None = None) -> Self:
        """The same model with another C; both share data and columns of the kernel."""
        other = copy.copy(self)
        if C is not None:
            other.C = positive(C, "C", type(self).__name__)
            other._check_scale(other.C)
        return other

    def _check_scale(self, C: float) -> None:
        """Refuse a C whose products with the kernel cannot be computed."""
        # A subclass may have coordinates beyond the rows.
        check_scale(C, self.sample_weight, self.gram.diag[: self.sign.size], type(self).__name__)

    def __copy__(self) -> Self:
        other = object.__new__(type(self))
        other.__dict__ |= self.__dict__
        return other

    def __getstate__(self) -> dict[str, Any]:
        # Functions and kernel columns are made again when needed.
        return {k: v for k, v in self.__dict__.items() if k not in ("gram", "_function")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ |= state
        self._function = self._kernel_function()
        self.gram = self._build_gram()

    def _kernel_function(self) -> Kernel | None:
        if self.kernel == "precomputed":
            return None
        return kernel_function(self.kernel, **self._kernel_options())

    def _kernel_options(self) -> dict[str, Any]:
        return {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}

    @property
    def cost(self) -> Array:
        """``C * sample_weight``, one value per sample."""
        weighted: Array = self.C * self.sample_weight
        return weighted

    def _check_kernel(self, name: str) -> None:
        """Refuse what is not symmetric and positive semidefinite, where that is not certain."""
        X = self.X
        if self.kernel == "precomputed":
            self.X = _checked_kernel_matrix(X, name)
        elif self.kernel == "sigmoid" or callable(self.kernel):
            assert self._function is not None
            n = self.sign.size
            some = np.linspace(0, n - 1, min(n, TESTED_ROWS)).astype(int)
            block = self._function(X[some], X[some])
            check_definite(block, name)

    def _build_gram(self) -> Gram:
        X, sign = self.X, self.sign
        if self.kernel == "precomputed":
            return DenseGram(X * np.outer(sign, sign))
        if self.kernel == "linear":
            X = self.centred(X)
            return LinearGram(sp.diags(sign) @ X if sp.issparse(X) else X * sign[:, None])
        rows = kernel_rows(self.kernel, Z=X, **self._kernel_options())

        def columns(index: npt.NDArray[np.int64]) -> Array:
            block = rows(X[index])
            block *= sign
            block *= sign[index, None]
            return block

        used = {
            "rbf": ("gamma",),
            "poly": ("gamma", "degree", "coef0"),
            "sigmoid": ("gamma", "coef0"),
        }
        options = [] if callable(self.kernel) else [getattr(self, k) for k in used[self.kernel]]
        inputs = (self.kernel, *options, X, sign)
        return KernelGram(columns, self._diagonal(), self.cache_size, inputs=inputs)

    def _find_centre(self) -> Array | None:
        """The middle of the rows, where moving them there changes nothing but the intercept: in
        each column the value nearest to the mean, so that a constant one becomes 0.

        A column far from 0 (a year, a timestamp) would leave few digits for what it varies by.
        """
        if self.kernel != "linear" or not self.fit_intercept:
            return None
        if not sp.issparse(self.X):
            return _middle(self.X)
        # Where there are zeros the column is as wide as it is far away, and stays sparse.
        full = np.flatnonzero(self.X.getnnz(axis=0) == self.sign.size)
        centre = np.zeros(self.X.shape[1])
        centre[full] = _middle(self.X[:, full].toarray())
        return centre

    def centred(self, X: Any) -> Any:
        """Rows of X as the model sees them: from `centre`, where it has one."""
        if self.centre is None:
            return X
        if not sp.issparse(X):
            return X - self.centre
        rows = X.copy()
        rows.data -= self.centre[rows.indices]
        return rows

    def intercept(self, alpha: Array, b: Array) -> float:
        """The intercept of f as users write it, at x = 0; b is that at `centre`."""
        value = float(b[0]) if b.size else 0.0
        if self.centre is None:
            return value
        used = np.flatnonzero(alpha)
        return value - float(self.centre @ self._normal(used, alpha[used] * self.sign[used]))

    def _normal(self, used: Index | slice, weights: Array) -> Array:
        """``sum_i weights_i x_i`` of the linear kernel, from `centre`."""
        sign = self.sign[used] if weights.ndim == 1 else self.sign[used, None]
        return np.asarray(self.gram.features()[used].T @ (sign * weights))

    def _diagonal(self) -> Array:
        assert self._function is not None
        n = self.sign.size
        if self.kernel == "rbf":
            return np.ones(n)
        step = 256
        blocks = [self.X[k : k + step] for k in range(0, n, step)]
        return np.concatenate([np.diagonal(self._function(b, b)) for b in blocks])

    def decision_function(self, X: Any, alpha: Array, intercept: Any) -> Array:
        """``f(x) = sum_i alpha_i sign_i K(x_i, x) + b``; X is K(new, train) if precomputed."""
        used = np.flatnonzero(alpha)
        weights = alpha[used] * self.sign[used]
        return np.asarray(self.expand(self._new_rows(X), used, weights) + intercept)

    def evaluator(self, X: Any) -> Callable[[Array, Array], Array]:
        new = self._new_rows(X)
        n = self.sign.size
        kept: Array | None = None
        fits = 8e-6 * new.shape[0] * n <= self.cache_size
        if fits and self.kernel not in ("linear", "precomputed"):
            kept = np.concatenate([block for _, block in self._blocks(new, self.X)])

        def values(alphas: Array, bs: Array) -> Array:
            weights = alphas * self.sign[:, None]
            if self.kernel == "linear":
                w = self._normal(slice(n), weights)
                f = np.asarray(new @ w)
                bs = bs if self.centre is None else bs - self.centre @ w
            else:
                f = self._product(new, self.X, weights) if kept is None else kept @ weights
            return np.asarray(f + bs[0] if bs.shape[0] else f)

        return values

    def _new_rows(self, X: Any) -> Any:
        name = type(self).__name__
        new = check_rows(X, name)
        expected = self.X.shape[1]
        if new.shape[1] != expected:
            what = "training samples" if self.kernel == "precomputed" else "features"
            raise DataError(
                f"{name}: X has {new.shape[1]} columns, the model has {expected} {what}"
            )
        return new

    def expand(self, new: Any, used: Index, weights: Array) -> Array:
        """``sum_i weights_i K(x_i, x)`` over the rows `used`; weights (m,) or (m, k)."""
        if self.kernel == "precomputed":
            return self._product(new[:, used], self.X, weights)
        if self.kernel == "linear":
            return np.asarray(new @ self._normal(used, weights))
        return self._product(new, self.X[used], weights)

    def _product(self, new: Any, old: Any, weights: Array) -> Array:
        """``K(new, old) @ weights``; `new` holds the kernel itself if it is precomputed."""
        if self.kernel == "precomputed":
            return np.asarray(new @ weights)
        out = np.empty((new.shape[0], *weights.shape[1:]))
        for rows, block in self._blocks(new, old):
            out[rows] = block @ weights
        return out

    def _blocks(self, new: Any, old: Any) -> Iterator[tuple[slice, Array]]:
        """The kernel between new rows and old ones, some new rows at a time."""
        assert self._function is not None
        step = max(1, 20_000_000 // max(old.shape[0], 1))
        for k in range(0, new.shape[0], step):
            yield slice(k, k + step), self._function(new[k : k + step], old)


def _middle(X: Array) -> Array:
    """In each column that is far from 0 the value nearest to the mean, else 0."""
    nearest = np.argmin(np.abs(X - X.mean(axis=0)), axis=0)
    middle = X[nearest, np.arange(X.shape[1])]
    # A column about as wide as it is far away loses no digits, and zeros in it stay zeros.
    return np.where(np.abs(middle) > FAR * X.std(axis=0), middle, 0.0)


def _check_symmetric(K: Array, name: str) -> Array:
    off = float(np.abs(K - K.T).max())
    if off > 1e-8 * float(np.abs(K).max()):
        raise DataError(
            f"{name}: the kernel matrix is not symmetric (entries differ by {off:.3g}); "
            "use (K + K.T) / 2 if that is meant"
        )
    return np.asarray(0.5 * (K + K.T))


def _check_definite(K: Array, name: str) -> Array:
    size = float(np.abs(K).max())
    lift = 0.5 * INDEFINITE * size * K.shape[0]
    try:
        scipy.linalg.cholesky(K + lift * np.eye(K.shape[0]), lower=True)
    except scipy.linalg.LinAlgError:
        values = np.linalg.eigvalsh(K)
        if values[0] < -INDEFINITE * max(values[-1], size):
            raise DataError(
                f"{name}: the kernel matrix is indefinite (eigenvalues from {values[0]:.3g} to "
                f"{values[-1]:.3g}); the problem would have no convex start. Clip its spectrum, "
                "or choose a positive semidefinite kernel"
            ) from None
    return K


def check_definite(K: Array, name: str) -> Array:
    """K, if it is symmetric and positive semidefinite."""
    return _check_definite(_check_symmetric(K, name), name)


def nearest_definite(K: Array, name: str) -> tuple[Array, Array | None]:
    """A kernel matrix without its negative eigenvalues, and the projection that takes them away.

    With ``K = U diag(v) U^T`` the result is ``K P``, ``P = U_+ U_+^T`` over the eigenvectors with
    ``v > 0``; rows K(new, train) become K(new, train) P.  P is None where nothing was negative.
    """
    K = _check_symmetric(K, name)
    lift = ROUNDED * float(np.abs(K).max()) * K.shape[0]
    try:
        scipy.linalg.cholesky(K + lift * np.eye(K.shape[0]), lower=True)
        return K, None
    except scipy.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(K)
    kept = vectors[:, values > 0.0]
    if values[0] < -SINGLE * max(values[-1], 0.0):
        warnings.warn(
            f"{name}: the kernel matrix is indefinite (eigenvalues from {values[0]:.3g} to "
            f"{values[-1]:.3g}); its negative part is left out, in the fit and in predictions",
            stacklevel=5,
        )
    definite = (kept * values[values > 0.0]) @ kept.T
    return 0.5 * (definite + definite.T), kept @ kept.T


def _checked_kernel_matrix(K: Any, name: str) -> Array:
    if sp.issparse(K):
        K = K.toarray()
    if K.shape[0] != K.shape[1]:
        raise DataError(f"{name}: a precomputed kernel must be square, got shape {K.shape}")
    return _without_null_rows(check_definite(K, name))


def _without_null_rows(K: Array) -> Array:
    """K with 0 for diagonal entries that are below 0 by no more than eigenvalues may be, and for
    the rest of their rows where that is rounding too.

    In a centred kernel a row at the mean of all rows has ``K(x, x) = -1e-17``; as K is
    semidefinite, all of such a row is 0.
    """
    size, diagonal = float(np.abs(K).max()), np.diagonal(K)
    below = (diagonal < 0.0) & (diagonal >= -INDEFINITE * size)
    if np.any(below):
        null = below & (np.abs(K).max(axis=1) <= ROUNDED * size)
        K[null], K[:, null] = 0.0, 0.0
        K[below, below] = 0.0
    return K
