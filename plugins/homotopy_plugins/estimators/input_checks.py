"""What scikit-learn's own checks let through, or refuse in words of NumPy, said plainly.

scikit-learn looks at X, y and the weights first (`validate_data`), and its messages about shapes
are left as they are.  What is added here: missing and infinite values, mixed types, text and dates,
each with its place, its value and the way out.  Nothing here is looked at twice where the data are
finite numbers.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

import numpy as np
import scipy.sparse as sp

from homotopy import DataError, ModelError
from homotopy_plugins.kernels.checks import positive

__all__ = [
    "check_class_weight",
    "clear_about",
    "kernel_width",
    "numeric_targets",
    "plain_targets",
]

# pandas' marks of what is missing, by name: pandas need not be installed.
MISSING = ("NAType", "NaTType")
_IMPUTE = "impute it (SimpleImputer in front of the machine) or drop the row"


def plain_targets(y: Any, name: str, what: str) -> Any:
    """y as it came, but objects that are all numbers as numbers; missing values and mixtures of
    types are refused.  `what` is a label or a target."""
    try:
        values = np.asarray(y) if y is not None and not sp.issparse(y) else None
    except Exception:  # Whatever that is, scikit-learn says what is wrong with it.
        return y
    column = values is not None and (
        values.ndim == 1 or (values.ndim == 2 and values.shape[1] == 1)
    )
    if values is None or values.dtype.kind not in "Of" or not column:
        return y
    if values.dtype.kind == "f" and not np.isnan(values).any():
        return y
    flat = values.ravel().tolist()
    for i, value in enumerate(flat):
        if value is None or type(value).__name__ in MISSING or value != value:
            raise DataError(
                f"{name}: y[{i}] is {_shown(value)}: a row without a {what}; drop such rows first"
            )
    kinds = [_kind(value) for value in flat]
    if all(kind == "number" for kind in kinds):
        plain = np.array(flat).reshape(values.shape)
        # Decimals and integers beyond 64 bits stay objects.
        return plain if plain.dtype != object else plain.astype(np.float64)
    other = next((i for i, kind in enumerate(kinds) if kind != kinds[0]), None)
    if other is not None:
        raise DataError(
            f"{name}: y mixes types: y[0] is {flat[0]!r} and y[{other}] is {flat[other]!r}; give "
            f"every {what} the same type"
        )
    return y


def numeric_targets(y: Any, name: str) -> Any:
    """Targets of a regression as floats; text and dates are refused."""
    if y.dtype.kind in "mM":
        raise DataError(
            f"{name}: y holds dates or durations (y[0] is {y[0]}); give numbers, such as days "
            "since a first one"
        )
    try:
        return y.astype(np.float64)
    except (TypeError, ValueError):
        i, value = next((k, v) for k, v in enumerate(y.tolist()) if not _is_float(v))
        raise DataError(
            f"{name}: y[{i}] is {value!r}, which is not a number; a regression needs numbers"
        ) from None


@contextmanager
def clear_about(values: Any, what: str, name: str) -> Iterator[None]:
    """Errors of a conversion of `values` to floats name the first entry that is text, a date,
    missing or infinite."""
    kind = getattr(getattr(values, "dtype", None), "kind", "O")
    if kind in "mM":
        raise DataError(
            f"{name}: {what} holds dates or durations; give numbers, such as days since a first one"
        )
    try:
        yield
    except (TypeError, ValueError) as error:
        found = None if kind in "biuf" or sp.issparse(values) else _first_without_number(values)
        if found is not None:
            place, value = found
            raise DataError(
                f"{name}: {what}{place} is {value!r}, which is not a number; "
                f"{_way_out(value, what)}"
            ) from error
        found = None if kind == "c" else _first_not_finite(values)
        if found is None:
            raise
        place, value = found
        if np.isnan(value):
            message = f"is NaN, a missing value; {_IMPUTE if what == 'X' else 'drop such rows'}"
        else:
            message = f"is {value}; clip it or drop the row"
        raise DataError(f"{name}: {what}{place} {message}") from error


def check_class_weight(weight: Any, name: str) -> None:
    """Refuse a list, and values that are no weights."""
    if isinstance(weight, list):
        raise ModelError(f"{name}: class_weight must be 'balanced', a dict or None, not a list")
    for label, value in weight.items() if isinstance(weight, dict) else ():
        if not (_kind(value) == "number" and np.isfinite(value) and value >= 0.0):
            raise ModelError(
                f"{name}: class_weight[{label!r}] is {value!r}; weights are finite numbers and "
                "not negative"
            )


def kernel_width(kernel: Any, gamma: Any, X: Any, name: str) -> float | None:
    """gamma as a number; None where the kernel has none."""
    if callable(kernel) or kernel in ("linear", "precomputed"):
        return None
    if isinstance(gamma, str):
        if gamma == "auto":
            return 1.0 / int(X.shape[1])
        if gamma == "scale":
            spread = _variance(X)
            return 1.0 / (int(X.shape[1]) * spread) if spread > 0.0 else 1.0
        raise ModelError(
            f"{name}: gamma must be 'scale', 'auto' or a positive number, got {gamma!r}"
        )
    return positive(gamma, "gamma", name)


def _variance(X: Any) -> float:
    """The variance of all entries; from differences, as squares would cancel."""
    if not sp.issparse(X):
        return float(X.var())
    entries, mean = X.shape[0] * X.shape[1], float(X.mean())
    stored = float(((X.data - mean) ** 2).sum())
    return (stored + float(entries - X.nnz) * mean**2) / float(entries)


def _first_without_number(values: Any) -> tuple[str, Any] | None:
    """Where the first entry that is text, a date or missing stands, and what it is."""
    if hasattr(values, "columns") and hasattr(values, "shape"):
        cells = (
            (f"[{label!r}] in row {i}", value)
            for k, label in enumerate(values.columns)
            for i, value in enumerate(_column(values, k, label))
        )
    else:
        try:
            array = np.asarray(values, dtype=object)
        except ValueError:
            return None
        cells = (
            (f"[{', '.join(map(str, at))}]" if at else "", value)
            for at, value in np.ndenumerate(array)
        )
    for place, value in cells:
        text = isinstance(value, str | bytes) and not _is_float(value)
        if text or type(value).__module__.split(".")[0] in ("pandas", "datetime"):
            return place, value
    return None


def _first_not_finite(values: Any) -> tuple[str, float] | None:
    """Where the first entry that is NaN or infinite stands, and what it is."""
    names = list(values.columns) if hasattr(values, "columns") else None
    try:
        if sp.issparse(values):
            entries = values.tocoo()
            flat = np.flatnonzero(~np.isfinite(entries.data))
            wrong = np.stack([entries.row[flat], entries.col[flat]], axis=1)
            found = entries.data[flat]
        else:
            table = np.asarray(values, dtype=float)
            wrong = np.argwhere(~np.isfinite(table))
            found = table[~np.isfinite(table)]
    except (TypeError, ValueError):
        return None
    if not found.size:
        return None
    at, value = wrong[0].tolist(), float(found[0])
    if names is not None and len(at) > 1:
        return f"[{names[at[1]]!r}] in row {at[0]}", value
    return f"[{', '.join(map(str, at))}]", value


def _column(frame: Any, k: int, label: Any) -> list[Any]:
    """Column k of a frame of pandas, or of another library by its name."""
    if hasattr(frame, "iloc"):
        return list(frame.iloc[:, k].tolist())
    return list(np.asarray(frame[label]).tolist())


def _way_out(value: Any, what: str) -> str:
    if type(value).__name__ in MISSING:
        return "impute it or drop the row"
    if not isinstance(value, str | bytes):
        return "give numbers, such as days since a first date"
    if what == "X":
        return "encode text and categories first (OneHotEncoder, OrdinalEncoder)"
    return "give one number for every row"


def _kind(value: Any) -> str:
    if isinstance(value, numbers.Real | np.bool_ | Decimal):
        return "number"
    return "text" if isinstance(value, str) else type(value).__name__


def _shown(value: Any) -> Any:
    return "NaN" if isinstance(value, float) and value != value else value


def _is_float(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True
