"""What models and estimators ask of the numbers and the data they are given.

Everything is squared somewhere (lengths, objectives), and products of three are formed (alpha, a
kernel value and alpha again), so that numbers beyond 1e100 or products below 1e-100 are refused
here, with their names, before they become an infinity, a zero or a warning.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from homotopy import DataError, ModelError

__all__ = [
    "LARGEST",
    "TargetError",
    "as_floats",
    "check_kernel_range",
    "check_length",
    "check_rows",
    "check_scale",
    "check_size",
    "check_top",
    "checked_targets",
    "checked_weights",
    "finite",
    "flag",
    "is_whole",
    "matrix",
    "number",
    "positive",
    "span_of",
    "whole",
    "within_reach",
]

Array = npt.NDArray[np.float64]

# The largest size of a number, and of products of three.
LARGEST = 1e100
# The largest degree of a polynomial kernel: beyond it rounding of the base is all that is left.
MOST = 10**6
# exp(-x) is 1 for every smaller x.
SAME = 2.0**-54


def positive(value: Any, what: str, name: str) -> float:
    """`value` as a positive number."""
    given = number(value, what, name)
    if not (np.isfinite(given) and given > 0.0):
        raise ModelError(f"{name}: {what} must be positive and finite, got {value!r}")
    return given


def finite(value: Any, what: str, name: str) -> float:
    """`value` as a finite number."""
    given = number(value, what, name)
    if not np.isfinite(given):
        raise ModelError(f"{name}: {what} must be finite, got {value!r}")
    return given


def within_reach(value: float, what: str, name: str) -> float:
    """`value`, if it can be squared and multiplied by others of its size."""
    if abs(value) > LARGEST:
        raise ModelError(
            f"{name}: {what}={value:g} is beyond what can be computed with; give it a size of at "
            f"most {LARGEST:g}"
        )
    return value


def whole(value: Any, what: str, name: str) -> int:
    """`value` as a positive integer."""
    if not is_whole(value) or value < 1:
        raise ModelError(f"{name}: {what} must be a positive integer, got {value!r}")
    if value > MOST:
        raise ModelError(f"{name}: {what} must be at most {MOST}, got a number of that size")
    return int(value)


def is_whole(value: Any) -> bool:
    """Whether `value` is an integer, and not true or false."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def check_top(top: Any, name: str, or_all: bool = True) -> None:
    """Refuse a number of rows to show that is none; None, for all of them, may be allowed."""
    if (top is None and or_all) or (is_whole(top) and top >= 1):
        return
    allowed = "a positive integer or None" if or_all else "a positive integer"
    raise ModelError(f"{name}: top must be {allowed}, got {top!r}")


def flag(value: Any, what: str, name: str) -> bool:
    """`value` as true or false."""
    if not isinstance(value, bool | np.bool_ | int | np.integer) or value not in (0, 1):
        raise ModelError(f"{name}: {what} must be True or False, got {value!r}")
    return bool(value)


def number(value: Any, what: str, name: str) -> float:
    """`value` as a number, which may be infinite or none."""
    # What float() would also take: texts, truth values and arrays of one.
    other = isinstance(value, str | bytes | bool | np.bool_) or np.ndim(value) > 0
    try:
        if not other:
            return float(value)
    except (TypeError, ValueError):
        pass
    except OverflowError:
        raise ModelError(f"{name}: {what} must be finite, got an integer of that size") from None
    raise ModelError(f"{name}: {what} must be a number, got {value!r}")


def span_of(value: Any, what: str, name: str) -> tuple[Any, Any]:
    """`value` as a pair (start, stop), the two not looked at yet."""
    if isinstance(value, tuple | list | np.ndarray) and len(value) == 2:
        return value[0], value[1]
    raise ModelError(f"{name}: {what} must be a pair (start, stop), got {value!r}")


# ---------------------------------------------------------------------- ranges


def check_kernel_range(
    kernel: Any, X: Any, name: str, *, gamma: float, degree: int, coef0: float
) -> None:
    """Refuse parameters with which every value of a kernel overflows or is the same."""
    if kernel == "rbf":
        largest = _largest_distance(X)
        with np.errstate(over="ignore"):
            exponent = float(np.float64(gamma) * largest)
        if not np.isfinite(exponent):
            raise ModelError(
                f"{name}: gamma={gamma:g} overflows with squared distances up to {largest:.3g} "
                f"between rows of X; about {1.0 / largest:.1g} to {1e4 / largest:.1g} makes sense"
            )
        if largest > 0.0 and exponent < SAME:
            raise ModelError(
                f"{name}: gamma={gamma:g} underflows: squared distances between rows of X are at "
                f"most {largest:.3g}, so that every kernel value rounds to 1; about "
                f"{1.0 / largest:.1g} makes sense, or scale X"
            )
    elif kernel in ("linear", "poly", "sigmoid"):
        _check_products(kernel, X, name, gamma, degree, coef0)


def _check_products(
    kernel: str, X: Any, name: str, gamma: float, degree: int, coef0: float
) -> None:
    """The same for a kernel ``(gamma x.z + coef0)^degree``, or a part of that."""
    if kernel == "linear":
        gamma, degree, coef0, given = 1.0, 1, 0.0, ""
    elif kernel == "sigmoid":
        degree, given = 1, f" with gamma={gamma:g}, coef0={coef0:g}"
    else:
        given = f" with gamma={gamma:g}, degree={degree}, coef0={coef0:g}"
    square = float(_squares(X).max())
    with np.errstate(all="ignore"):
        base = np.float64(gamma) * square + abs(coef0)
        size = degree * float(np.log10(base))
    if np.isnan(size) or size > np.log10(LARGEST):
        raise ModelError(
            f"{name}: the {kernel} kernel overflows{given} on rows of X with |x|^2 up to "
            f"{square:.3g}; scale X{', or choose smaller ones' if given else ''}"
        )
    if size < -np.log10(LARGEST) and np.any(X.data if sp.issparse(X) else X):
        raise ModelError(
            f"{name}: the {kernel} kernel underflows{given} on rows of X with |x|^2 of at most "
            f"{square:.3g}; scale X{', or choose larger ones' if given else ''}"
        )
    if gamma * square < SAME * abs(coef0) and _largest_distance(X) > 0.0:
        raise ModelError(
            f"{name}: gamma={gamma:g} underflows: beside coef0={coef0:g} it leaves nothing of rows "
            f"of X with |x|^2 of at most {square:.3g}, so that every kernel value is the same; "
            "choose a larger gamma, or scale X"
        )


def check_scale(C: float, weight: Array, diag: Array, name: str) -> None:
    """Refuse products ``C * sample_weight * K`` whose squares overflow or vanish."""
    heaviest, some = float(diag.max()), weight[weight > 0.0]
    with np.errstate(over="ignore", under="ignore"):
        high = float(np.float64(C) * some.max() * max(heaviest, 1.0))
        low = float(np.float64(C) * some.min() * min(heaviest or 1.0, 1.0))
    if not np.isfinite(heaviest) or high > LARGEST or low < 1.0 / LARGEST:
        raise ModelError(
            f"{name}: C={C:g} is out of range with sample_weight from {some.min():g} to "
            f"{some.max():g} and kernel values up to {heaviest:g}: products of the three must lie "
            f"between {1.0 / LARGEST:g} and {LARGEST:g}; choose another C, or scale X"
        )


def _largest_distance(X: Any) -> float:
    """A bound of the squared distances between rows: the diagonal of the box around them."""
    low, high = (
        np.asarray(m.toarray() if sp.issparse(m) else m).ravel()
        for m in (X.min(axis=0), X.max(axis=0))
    )
    return float(((high - low) ** 2).sum())


def _squares(X: Any) -> Array:
    if sp.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.asarray(np.einsum("ij,ij->i", X, X))


# ---------------------------------------------------------------------- data


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
    check_size(values, "X", name)
    return rows


def matrix(value: Any, what: str, name: str) -> Array:
    """`value`, dense or sparse, as a dense matrix of finite numbers."""
    try:
        array = np.array(value.toarray() if sp.issparse(value) else value, dtype=float)
    except (TypeError, ValueError):
        raise DataError(f"{name}: {what} must be a matrix of numbers") from None
    if array.ndim != 2:
        raise DataError(f"{name}: {what} must be two-dimensional, got shape {array.shape}")
    if not np.all(np.isfinite(array)):
        i, j = np.argwhere(~np.isfinite(array))[0]
        raise DataError(f"{name}: {what}[{i}, {j}] is {array[i, j]}; it must be finite")
    check_size(array, what, name)
    return array


def check_size(values: Array, what: str, name: str) -> None:
    """Refuse numbers whose squares, and products of these, overflow."""
    largest = float(np.abs(values).max(initial=0.0))
    if largest > LARGEST:
        raise DataError(
            f"{name}: {what} holds numbers of size {largest:g}, too large to compute with; "
            f"scale it so that they are at most {LARGEST:g}"
        )


class TargetError(DataError):
    """A target that a model cannot learn; `wants` says what it learns.

    Attributes
    ----------
    wants : {"two classes", "numbers"}
    """

    def __init__(self, message: str, wants: str) -> None:
        super().__init__(message, wants)
        self.wants = wants

    def __str__(self) -> str:
        return str(self.args[0])


def as_floats(values: Any, what: str, name: str) -> Array:
    """`values` as floats; the first that is no number is named."""
    try:
        return np.array(values, dtype=float)
    except (TypeError, ValueError):
        said = f"{name}: {what} must be numeric, got {_first_strange(values)}"
        raise (TargetError(said, "numbers") if what == "y" else DataError(said)) from None


def _first_strange(values: Any) -> str:
    """The first entry that is no number, with its place."""
    entries = [values] if isinstance(values, str | bytes) else list(np.ravel(values))
    for i, entry in enumerate(entries):
        try:
            float(entry)
        except (TypeError, ValueError):
            shown = repr(entry.item() if isinstance(entry, np.generic) else entry)
            return shown if len(entries) == 1 else f"{shown} at [{i}]"
    return f"{type(values).__name__} of mixed shapes"


def check_length(y: Array, n: int, what: str, name: str) -> None:
    if y.ndim != 1 or y.size != n:
        raise DataError(f"{name}: X has {n} rows but {what} has shape {y.shape}")


def checked_weights(weights: npt.ArrayLike | None, n: int, name: str) -> Array:
    if weights is None:
        return np.ones(n)
    array = as_floats(weights, "sample_weight", name)
    check_length(array, n, "sample_weight", name)
    check_size(array[np.isfinite(array)], "sample_weight", name)
    bad = np.flatnonzero(~np.isfinite(array) | (array < 0.0))
    if bad.size:
        raise DataError(
            f"{name}: sample_weight[{bad[0]}] is {array[bad[0]]}; weights must be finite and "
            "not negative"
        )
    if not np.any(array):
        raise DataError(f"{name}: every sample_weight is 0; nothing is left to fit")
    return array


def checked_targets(y: npt.ArrayLike, n: int, name: str) -> Array:
    """Targets as finite numbers, one per row."""
    targets = as_floats(y, "y", name)
    check_length(targets, n, "y", name)
    bad = np.flatnonzero(~np.isfinite(targets))
    if bad.size:
        raise DataError(f"{name}: y[{bad[0]}] is {targets[bad[0]]}; targets must be finite")
    check_size(targets, "y", name)
    return targets
