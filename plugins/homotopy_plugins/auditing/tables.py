"""Raw tables as numbers: what `audit` makes of columns of any kind, and what it says about them.

Scikit-learn's own encoders do the work: medians for missing numbers, one column for each category.
Whatever was filled in, left out or turned into something else is told in a note, because an answer
about rows is only worth as much as what was looked at.
"""

from __future__ import annotations

import re
import warnings
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import (
    MaxAbsScaler,
    OneHotEncoder,
    QuantileTransformer,
    StandardScaler,
)
from sklearn.utils import _safe_indexing

from homotopy import DataError

__all__ = ["Table", "as_numbers", "listed", "written_amounts"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

# Of a column of categories no more than this many are told apart; the rarest share one column.
CATEGORIES = 20
# A column of words in which more than this part of the rows is unique is a name or a text.
UNIQUE = 0.5
# A sparse table of at most this many entries is made dense: features can then be bent to a normal
# distribution.
DENSE = 2 * 10**7
# An amount with a sign of a currency, separators of thousands, or brackets for "less than 0".
AMOUNT = re.compile(
    r"(?P<sign>[-+(]?\s*[$€£¥]?\s*-?)(?P<number>\d{1,3}(?:,\d{3})+(?:\.\d*)?|\d+(?:\.\d*)?|\.\d+)"
    r"\s*[$€£¥%]?\)?"
)
# Quantiles by which features are bent.
QUANTILES = 1000


@attrs.frozen(eq=False)
class Table:
    """A table as given and as numbers.

    Attributes
    ----------
    given : object
        As the caller holds it, for pipelines that do their own encoding.
    numbers : array or sparse matrix (n, d)
        Encoded and filled in, on the scale of the caller.
    views : dict of str to array or sparse matrix
        The same, scaled for kernels: "standard", and where it can be had "normal", each feature
        bent to a normal distribution.
    sources : tuple of (str, column)
        The columns that are looked at, by name, as given.
    index : object
        The caller's pandas index, or None.
    notes : tuple of str
        What was filled in, left out or turned into something else.
    """

    given: Any
    numbers: Any
    views: dict[str, Any]
    sources: tuple[tuple[str, Any], ...]
    index: Any
    notes: tuple[str, ...]

    @property
    def size(self) -> int:
        return int(self.numbers.shape[0])

    def rows(self, rows: Index, raw: bool) -> Any:
        """Some of the rows: as given, or as numbers."""
        return _safe_indexing(self.given, rows) if raw else self.numbers[rows]

    @classmethod
    def of(cls, X: Any) -> Table:
        notes: list[str] = []
        index = X.index if _is_frame(X) else None
        if sp.issparse(X):
            numbers: Any = sp.csr_matrix(X, dtype=np.float64)
            given: Any = numbers
            if not np.all(np.isfinite(numbers.data)):
                raise DataError("audit: X is sparse and has entries that are not finite numbers")
            if numbers.shape[0] * numbers.shape[1] <= DENSE:
                numbers = numbers.toarray()
            sources: list[tuple[str, Any]] = []
        else:
            given = X if _is_frame(X) else _two_dimensional(X)
            numbers, sources = _encoded(_columns(given), notes)
        if numbers.shape[1] == 0:
            raise DataError(
                "audit: X has no column that tells rows apart; " + " ".join(notes)
                if notes
                else "audit: X has no columns"
            )
        return cls(given, numbers, _views(numbers), tuple(sources), index, tuple(notes))


def listed(names: Any, most: int = 5, said: bool = False) -> str:
    """A few names, and how many more there are; in quotes, unless that is done (`said`)."""
    names = [repr(str(n)) if isinstance(n, str) and not said else str(n) for n in names]
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def _is_frame(X: Any) -> bool:
    return hasattr(X, "iloc") and hasattr(X, "columns")


def _two_dimensional(X: Any) -> Any:
    if hasattr(X, "to_pandas"):
        return X.to_pandas()
    given = np.asarray(X)
    if given.dtype.names is not None:
        raise DataError(
            "audit: X is a structured array; give a pandas DataFrame or a plain two-dimensional "
            "array"
        )
    if given.ndim != 2:
        raise DataError(
            f"audit: X must be a table, rows by columns, got an array of shape {given.shape}"
            + ("; one column is X.reshape(-1, 1)" if given.ndim == 1 else "")
        )
    return given


def _columns(given: Any) -> list[tuple[Any, Any]]:
    """Names and values, one pair for each column; a name may occur twice."""
    if _is_frame(given):
        return [(name, given.iloc[:, k]) for k, name in enumerate(given.columns)]
    return [(f"column {k}", given[:, k]) for k in range(given.shape[1])]


def _encoded(
    columns: list[tuple[Any, Any]], notes: list[str]
) -> tuple[Array, list[tuple[str, Any]]]:
    """The columns as numbers, and those of them that are looked at."""
    made: list[Array] = []
    sources: list[tuple[str, Any]] = []
    filled, dropped, names, times, sums = [], [], [], [], []
    for name, values in columns:
        number, moment = as_numbers(values)
        if number is None:
            number = written_amounts(values)
            if number is not None:
                sums.append(name)
        if number is not None:
            if moment:
                times.append(name)
            infinite = np.isinf(number)
            if infinite.any():
                raise DataError(
                    f"audit: column {str(name)!r} of X is infinite in row "
                    f"{int(np.flatnonzero(infinite)[0])}; replace it by a number or by NaN"
                )
            gaps = np.isnan(number)
            if gaps.all() or (np.ptp(number[~gaps]) == 0.0 and not gaps.any()):
                dropped.append(name)
                continue
            if gaps.any():
                filled.append((name, int(gaps.sum())))
                imputer = SimpleImputer(strategy="median", add_indicator=True)
                made.append(imputer.fit_transform(number[:, None]))
            else:
                made.append(number[:, None])
            sources.append((str(name), number if sums[-1:] == [name] else values))
            continue
        words, gaps = _as_words(values)
        if gaps.any():
            filled.append((name, int(gaps.sum())))
        kinds = np.unique(words).size
        if kinds == 1:
            dropped.append(name)
        elif kinds > CATEGORIES and kinds > UNIQUE * words.size:
            names.append(name)
        else:
            encoder = OneHotEncoder(
                max_categories=CATEGORIES, drop="if_binary", sparse_output=False
            )
            made.append(encoder.fit_transform(words[:, None]))
            sources.append((str(name), values))
    notes += _told(filled, times, dropped, names, sums)
    rows = len(columns[0][1]) if columns else 0
    return np.hstack(made).astype(np.float64) if made else np.empty((rows, 0)), sources


def _told(
    filled: list[tuple[Any, int]],
    times: list[Any],
    dropped: list[Any],
    names: list[Any],
    sums: list[Any],
) -> list[str]:
    """What was done to columns, in words."""
    notes = []
    if filled:
        told = listed([f"{str(name)!r} ({count})" for name, count in filled], said=True)
        notes.append(
            f"Missing numbers were filled in with the median of their column, and missing words "
            f"became a category of their own: {told}."
        )
    if times:
        notes.append(f"Dates were read as days since 1970: {listed(times)}.")
    if dropped:
        notes.append(f"Columns with a single value were left out: {listed(dropped)}.")
    if names:
        notes.append(f"Columns of names or free text were left out: {listed(names)}.")
    if sums:
        notes.append(f"Amounts with signs and separators were read as numbers: {listed(sums)}.")
    return notes


def as_numbers(values: Any) -> tuple[Array | None, bool]:
    """A column as floats with NaN for what is missing, or None if it holds words; whether it holds
    dates."""
    kind = getattr(values, "dtype", np.dtype(object))
    plain = getattr(kind, "kind", "O")
    if plain == "M" or plain == "m" or "datetime" in str(kind):
        if hasattr(values, "dt"):
            if getattr(values.dt, "tz", None) is not None:
                values = values.dt.tz_convert("UTC").dt.tz_localize(None)
            values = values.to_numpy(
                dtype="datetime64[ns]" if "datetime" in str(kind) else "timedelta64[ns]"
            )
        moments = np.asarray(values)
        day = moments.astype(f"{moments.dtype.kind}8[ns]").astype(np.int64) / 86400e9
        return np.where(np.isnat(moments), np.nan, day), True
    if plain == "c":
        raise DataError("audit: X holds complex numbers; give real and imaginary parts as columns")
    if str(kind) in ("category", "string", "str") or plain in "SU":
        return None, False
    if plain in "fiub":
        if hasattr(values, "to_numpy"):
            return values.to_numpy(dtype=np.float64, na_value=np.nan), False
        return np.asarray(values, dtype=np.float64), False
    entries = np.asarray(values, dtype=object)
    gaps = np.array([_missing(v) for v in entries], dtype=bool)
    if all(isinstance(v, int | float | np.number | np.bool_) for v in entries[~gaps]):
        number = np.full(entries.size, np.nan)
        number[~gaps] = entries[~gaps].astype(np.float64)
        return number, False
    return None, False


def written_amounts(values: Any) -> Array | None:
    """Amounts as people write them ("$1,234.50", "12 %", "(3.00)") as numbers with NaN for what is
    missing; None if any entry is something else, or all are plain words or categories."""
    if str(getattr(values, "dtype", "")) == "category":
        return None
    entries = np.asarray(values, dtype=object)
    out = np.full(entries.size, np.nan)
    signs = False
    for i, entry in enumerate(entries):
        if _missing(entry) or not str(entry).strip():
            continue
        found = AMOUNT.fullmatch(str(entry).strip())
        if found is None:
            return None
        number = float(found["number"].replace(",", ""))
        out[i] = -number if "-" in found["sign"] or found["sign"].startswith("(") else number
        # Plain numbers are read elsewhere.
        signs = signs or any(sign in str(entry) for sign in "$€£¥%(,")
    return out if signs else None


def _as_words(values: Any) -> tuple[npt.NDArray[np.object_], npt.NDArray[np.bool_]]:
    entries = np.asarray(values, dtype=object)
    gaps = np.array([_missing(v) for v in entries], dtype=bool)
    words = np.array(["missing" if gap else f"= {v}" for gap, v in zip(gaps, entries, strict=True)])
    return words.astype(object), gaps


def _missing(value: Any) -> bool:
    """None, NaN, NaT and pandas' NA: nothing else differs from itself or refuses to say."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        return type(value).__name__ == "NAType"


def _views(numbers: Any) -> dict[str, Any]:
    if sp.issparse(numbers):
        return {"standard": MaxAbsScaler().fit_transform(numbers)}
    with warnings.catch_warnings():
        # Columns that are nearly constant, or far from zero: scaled as well as can be.
        warnings.simplefilter("ignore")
        standard = StandardScaler().fit_transform(numbers)
        bent = QuantileTransformer(
            n_quantiles=min(QUANTILES, numbers.shape[0]),
            output_distribution="normal",
            random_state=0,
        )
        return {"standard": standard, "normal": bent.fit_transform(numbers)}
