"""Raw tables as numbers: what `audit` makes of columns of any kind, and what it says about them.

Columns of texts are read as the command line reads files (`homotopy_plugins.tables`).  Then
scikit-learn's own encoders do the work: medians for missing numbers, one column for each category.
Whatever was filled in, left out or turned into something else is told in a note, because an answer
about rows is only worth as much as what was looked at.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
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
from homotopy_plugins.tables.cells import is_missing
from homotopy_plugins.tables.frames import as_numbers, holds_text, read_columns, with_gaps
from homotopy_plugins.tables.kinds import CATEGORIES, UNIQUE
from homotopy_plugins.wording import close_to, listed, quoted

__all__ = ["Table"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

# A sparse table of at most this many entries is made dense: features can then be bent to a normal
# distribution.
DENSE = 2 * 10**7
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
    def of(cls, X: Any, keep: Sequence[str] = (), missing: frozenset[str] = frozenset()) -> Table:
        """`keep` names columns that are looked at though they may look like names or counters;
        `missing` are words that stand for a gap."""
        notes: list[str] = []
        index = X.index if _is_frame(X) else None
        if sp.issparse(X):
            if missing:
                raise DataError("audit: missing: X is sparse; set these entries yourself")
            numbers: Any = sp.csr_matrix(X, dtype=np.float64)
            given: Any = numbers
            if not np.all(np.isfinite(numbers.data)):
                raise DataError("audit: X is sparse and has entries that are not finite numbers")
            if numbers.shape[0] * numbers.shape[1] <= DENSE:
                numbers = numbers.toarray()
            sources: list[tuple[str, Any]] = []
            _check_kept(keep, [])
        else:
            given = X if _is_frame(X) else _two_dimensional(X)
            columns = _columns(given)
            _check_kept(keep, [str(name) for name, _ in columns])
            columns = [(name, with_gaps(values, missing)) for name, values in columns]
            texts = any(holds_text(values) for _, values in columns)
            if texts:
                columns, said = read_columns(columns, keep, named=_is_frame(given))
                notes += [f"{note[:1].upper()}{note[1:]}." for note in said]
            numbers, sources = _encoded(columns, notes, keep, told=texts)
        if numbers.shape[1] == 0:
            raise DataError(
                "audit: X has no column that tells rows apart; " + " ".join(notes)
                if notes
                else "audit: X has no columns"
            )
        return cls(given, numbers, _views(numbers), tuple(sources), index, tuple(notes))


def _is_frame(X: Any) -> bool:
    return hasattr(X, "iloc") and hasattr(X, "columns")


def _two_dimensional(X: Any) -> Any:
    if hasattr(X, "to_pandas"):
        return X.to_pandas()
    if isinstance(X, str | bytes | os.PathLike):
        raise DataError(
            f"audit: X must be a table, got {X!r}; if that is a file, read it first, for example "
            "with pandas.read_csv"
        )
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


def _check_kept(keep: Sequence[str], names: list[str]) -> None:
    for name in keep:
        if name not in names:
            raise DataError(f"audit: keep: X has no column {name!r}; {close_to(str(name), names)}")


def _encoded(
    columns: list[tuple[Any, Any]], notes: list[str], keep: Sequence[str], told: bool
) -> tuple[Array, list[tuple[str, Any]]]:
    """The columns as numbers, and those of them that are looked at; dates may be `told`
    already."""
    made: list[Array] = []
    sources: list[tuple[str, Any]] = []
    filled, dropped, empty, names, times, shared = [], [], [], [], [], []
    for name, values in columns:
        number, moment = as_numbers(values)
        if number is not None:
            if moment and not told:
                times.append(name)
            infinite = np.isinf(number)
            if infinite.any():
                raise DataError(
                    f"audit: column {str(name)!r} of X is infinite in row "
                    f"{int(np.flatnonzero(infinite)[0])}; replace it by a number or by NaN"
                )
            gaps = np.isnan(number)
            if gaps.all():
                empty.append(name)
                continue
            if np.ptp(number[~gaps]) == 0.0 and not gaps.any():
                dropped.append(name)
                continue
            if gaps.any():
                filled.append((name, int(gaps.sum())))
                imputer = SimpleImputer(strategy="median", add_indicator=True)
                made.append(imputer.fit_transform(number[:, None]))
            else:
                made.append(number[:, None])
            sources.append((str(name), values))
            continue
        words, gaps = _as_words(values)
        if gaps.any():
            filled.append((name, int(gaps.sum())))
        kinds = np.unique(words).size
        if kinds == 1:
            (empty if gaps.all() else dropped).append(name)
        elif kinds > CATEGORIES and kinds > UNIQUE * words.size and str(name) not in keep:
            names.append(name)
        else:
            encoder = OneHotEncoder(
                max_categories=CATEGORIES, drop="if_binary", sparse_output=False
            )
            made.append(encoder.fit_transform(words[:, None]))
            if kinds > CATEGORIES:
                shared.append(f"{str(name)!r} ({kinds:,})")
            sources.append((str(name), values))
    notes += _told(filled, times, shared)
    for what, left in (
        ("Empty columns", empty),
        ("Columns with a single value", dropped),
        ("Columns of names or free text", names),
    ):
        if left:
            notes.append(f"{what} were left out: {_names(left)}.")
    rows = len(columns[0][1]) if columns else 0
    return np.hstack(made).astype(np.float64) if made else np.empty((rows, 0)), sources


def _told(filled: list[tuple[Any, int]], times: list[Any], shared: list[str]) -> list[str]:
    """What was done to columns that are looked at, in words."""
    notes = []
    if filled:
        told = listed([f"{str(name)!r} ({count})" for name, count in filled], 5)
        notes.append(
            f"Missing numbers were filled in with the median of their column, and missing words "
            f"became a category of their own: {told}."
        )
    if times:
        notes.append(f"Dates were read as days since 1970: {_names(times)}.")
    if shared:
        notes.append(
            f"The {CATEGORIES - 1} most frequent categories have a column each, the others share "
            f"one: {listed(shared, 5)}."
        )
    return notes


def _names(names: list[Any]) -> str:
    return listed(map(quoted, names), 5)


def _as_words(values: Any) -> tuple[npt.NDArray[np.object_], npt.NDArray[np.bool_]]:
    entries = np.asarray(values, dtype=object)
    gaps = np.array([is_missing(v) for v in entries], dtype=bool)
    words = np.array(["missing" if gap else f"= {v}" for gap, v in zip(gaps, entries, strict=True)])
    return words.astype(object), gaps


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
