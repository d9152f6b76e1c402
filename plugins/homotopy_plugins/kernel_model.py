"""What the kernel machines share: checked data, the Gram operator, the kernel expansion."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.linalg
import scipy.sparse as sp

from homotopy import DataError, DenseGram, Gram, KernelGram, LinearGram, LossModel, ModelError
from homotopy_plugins.kernel_functions import KERNELS, kernel_function, kernel_rows

__all__ = ["KernelModel"]

Array = npt.NDArray[np.float64]

# A kernel matrix with an eigenvalue below minus this part of the largest is indefinite.
INDEFINITE = 1e-8
# Rows on which definiteness of a kernel without a guarantee is tested beforehand.
TESTED_ROWS = 2000


class KernelModel(LossModel):
    """``f(x) = sum_i alpha_i sign_i K(x_i, x) + b`` with checked inputs.

    Subclasses call `_prepare` with the sign of each coordinate (labels for classification, ones
    for regression) and declare their polyline.
    """

    def _prepare(
        self,
        X: Any,
        *,
        sign: Array,
        C: float,
        kernel: Any,
        gamma: float | None,
        degree: int,
        coef0: float,
        fit_intercept: bool,
        sample_weight: npt.ArrayLike | None,
        cache_size: float,
    ) -> None:
        name = type(self).__name__
        self.C = positive(C, "C", name)
        self.kernel = kernel
        if not callable(kernel) and kernel not in KERNELS:
            raise ModelError(
                f"{name}: kernel must be one of {', '.join(KERNELS)} or a callable, got {kernel!r}"
            )
        self.X = X
        features = X.shape[1]
        self.gamma = 1.0 / features if gamma is None else positive(gamma, "gamma", name)
        if not isinstance(degree, int | np.integer) or degree < 1:
            raise ModelError(f"{name}: degree must be a positive integer, got {degree!r}")
        self.degree = int(degree)
        self.coef0 = _finite(coef0, "coef0", name)
        self.fit_intercept = bool(fit_intercept)
        self.sample_weight = _weights(sample_weight, sign.size, name)
        self._sign = sign
        self._function = None
        if kernel != "precomputed":
            self._function = kernel_function(
                kernel, gamma=self.gamma, degree=self.degree, coef0=self.coef0
            )
        self.cache_size = positive(cache_size, "cache_size", name)
        self.gram = self._build_gram(name)
        if self.fit_intercept:
            self.border = sign[:, None].copy()

    @property
    def cost(self) -> Array:
        """``C * sample_weight``, one value a sample."""
        weighted: Array = self.C * self.sample_weight
        return weighted

    def _build_gram(self, name: str) -> Gram:
        X, sign = self.X, self._sign
        if self.kernel == "precomputed":
            return DenseGram(_checked_kernel_matrix(X, name) * np.outer(sign, sign))
        if self.kernel == "linear":
            return LinearGram(sp.diags(sign) @ X if sp.issparse(X) else X * sign[:, None])
        assert self._function is not None
        function = self._function
        if self.kernel == "sigmoid" or callable(self.kernel):
            some = np.linspace(0, sign.size - 1, min(sign.size, TESTED_ROWS)).astype(int)
            block = function(X[some], X[some])
            _check_definite(_check_symmetric(block, name), name)

        rows = kernel_rows(self.kernel, function, self.gamma, X)

        def columns(index: npt.NDArray[np.int64]) -> Array:
            block = rows(X[index])
            block *= sign
            block *= sign[index, None]
            return block

        return KernelGram(columns, self._diagonal(), self.cache_size)

    def _diagonal(self) -> Array:
        assert self._function is not None
        n = self._sign.size
        if self.kernel == "rbf":
            return np.ones(n)
        step = 256
        blocks = [self.X[k : k + step] for k in range(0, n, step)]
        return np.concatenate([np.diagonal(self._function(b, b)) for b in blocks])

    def decision_function(self, X: Any, alpha: Array, intercept: Any) -> Array:
        """``f(x) = sum_i alpha_i sign_i K(x_i, x) + b``; X is K(new, train) if precomputed."""
        name = type(self).__name__
        new = check_rows(X, name)
        expected = self._sign.size if self.kernel == "precomputed" else self.X.shape[1]
        if new.shape[1] != expected:
            what = "training samples" if self.kernel == "precomputed" else "features"
            raise DataError(
                f"{name}: X has {new.shape[1]} columns, the model has {expected} {what}"
            )
        used = np.flatnonzero(alpha)
        weights = alpha[used] * self._sign[used]
        if self.kernel == "linear":
            w = np.asarray(self.X[used].T @ weights)
            return np.asarray(new @ w + intercept)
        if self.kernel == "precomputed":
            columns = new[:, used]
            return np.asarray(columns @ weights + intercept)
        assert self._function is not None
        step = max(1, 20_000_000 // max(used.size, 1))
        parts = [
            self._function(new[k : k + step], self.X[used]) @ weights
            for k in range(0, new.shape[0], step)
        ]
        return np.asarray(np.concatenate(parts) + intercept)


def check_rows(X: Any, name: str) -> Any:
    """X as a float array or CSR matrix of finite values with at least one row and column."""
    if sp.issparse(X):
        rows: Any = sp.csr_matrix(X, dtype=float)
        values = rows.data
    else:
        try:
            rows = np.array(X, dtype=float)
        except (TypeError, ValueError):
            raise DataError(
                f"{name}: X must be numeric; encode text and categories first"
            ) from None
        values = rows
    if rows.ndim != 2:
        raise DataError(
            f"{name}: X must be two-dimensional (samples, features), got shape {rows.shape}"
        )
    if rows.shape[0] == 0 or rows.shape[1] == 0:
        raise DataError(f"{name}: X is empty, shape {rows.shape}")
    if not np.all(np.isfinite(values)):
        if sp.issparse(rows):
            raise DataError(f"{name}: X holds values that are not finite; impute or drop them")
        i, j = np.argwhere(~np.isfinite(rows))[0]
        raise DataError(
            f"{name}: X[{i}, {j}] is {rows[i, j]}; impute or drop rows that are not finite"
        )
    return rows


def check_length(y: Array, n: int, what: str, name: str) -> None:
    if y.ndim != 1 or y.size != n:
        raise DataError(f"{name}: X has {n} rows but {what} has shape {y.shape}")


def positive(value: Any, what: str, name: str) -> float:
    number = _number(value, what, name)
    if not (np.isfinite(number) and number > 0.0):
        raise ModelError(f"{name}: {what} must be positive and finite, got {value!r}")
    return number


def _number(value: Any, what: str, name: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ModelError(f"{name}: {what} must be a number, got {value!r}") from None


def _finite(value: Any, what: str, name: str) -> float:
    number = _number(value, what, name)
    if not np.isfinite(number):
        raise ModelError(f"{name}: {what} must be finite, got {value!r}")
    return number


def _weights(weights: npt.ArrayLike | None, n: int, name: str) -> Array:
    if weights is None:
        return np.ones(n)
    try:
        array = np.array(weights, dtype=float)
    except (TypeError, ValueError):
        raise DataError(f"{name}: sample_weight must be numeric, got {weights!r}") from None
    check_length(array, n, "sample_weight", name)
    bad = np.flatnonzero(~np.isfinite(array) | (array < 0.0))
    if bad.size:
        raise DataError(
            f"{name}: sample_weight[{bad[0]}] is {array[bad[0]]}; weights must be finite and "
            "not negative"
        )
    if not np.any(array):
        raise DataError(f"{name}: every sample_weight is 0; nothing is left to fit")
    return array


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


def _checked_kernel_matrix(K: Any, name: str) -> Array:
    if sp.issparse(K):
        K = K.toarray()
    if K.shape[0] != K.shape[1]:
        raise DataError(f"{name}: a precomputed kernel must be square, got shape {K.shape}")
    return _check_definite(_check_symmetric(K, name), name)
