"""The fingerprint that identifies a model.

A path is a function of the numbers a model declares, so all of them are hashed: every entry of
every table, unrounded.  Nothing computed from them is hashed, because products differ in the last
bits between BLAS libraries.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from homotopy.arrays import Array
from homotopy.errors import ModelError
from homotopy.model import Problem
from homotopy.path.tolerances import PATH_TOLERANCES

__all__ = ["Fingerprint"]


# Numbers converted to canonical form at a time.
AT_A_TIME = 1 << 20


@attrs.frozen(eq=False)
class Fingerprint:
    """A digest of everything that determines a path.

    Attributes
    ----------
    digest : str
        A hash of polylines, border, target, span, parameter and the inputs of Q (`Gram.inputs`).
        0.0 and -0.0 hash alike, and so does a sparse matrix in any storage format.
    products : array (n,) or (0,)
        ``Q v`` for a fixed vector v, compared up to rounding, if Q is made from a function (which
        cannot be hashed); else empty.
    """

    digest: str
    products: Array

    @classmethod
    def of(cls, problem: Problem) -> Fingerprint:
        """Compute the fingerprint of a compiled model."""
        lines, inputs = problem.polylines, problem.gram.inputs()
        known = [value for value in inputs if not callable(value)]
        digest = _Digest()
        for value in (
            problem.model.parameter,
            problem.start,
            problem.stop,
            lines.jump,
            *(lines.slope0, lines.slope1, lines.corner0, lines.corner1, lines.curvature),
            *(problem.border, problem.target0, problem.target1),
            problem.gram.size,
            *known,
        ):
            digest.feed(value)
        if len(known) == len(inputs):
            return cls(digest.text(), np.empty(0))
        return cls(digest.text(), problem.gram.matvec(_probe(problem.gram.size)))

    def fits(self, problem: Problem) -> bool:
        """Whether this is the fingerprint of `problem`."""
        other = Fingerprint.of(problem)
        if self.digest != other.digest or self.products.shape != other.products.shape:
            return False
        if not self.products.size:
            return True
        length = np.sqrt(problem.gram.diag)
        terms = length * float(length @ np.abs(_probe(length.size)))
        return bool(
            np.all(np.abs(self.products - other.products) <= PATH_TOLERANCES.product * terms)
        )


def _probe(size: int) -> Array:
    return np.asarray(np.cos(np.arange(size, dtype=float)))


class _Digest:
    """A hash of values of several kinds; each is preceded by its kind and its size."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def text(self) -> str:
        return self._hash.hexdigest()

    def feed(self, value: Any) -> None:
        """Hash a string, a number, an array or a sparse matrix."""
        if value is None:
            self._note("none")
        elif isinstance(value, str):
            text = value.encode("utf-8", "surrogatepass")
            self._note("text", len(text))
            self._hash.update(text)
        elif sp.issparse(value):
            self._sparse(value)
        else:
            self._array(np.asarray(value))

    def _note(self, kind: str, *sizes: int) -> None:
        self._hash.update(kind.encode() + struct.pack(f"<{len(sizes) + 1}q", len(sizes), *sizes))

    def _array(self, array: npt.NDArray[Any]) -> None:
        if array.dtype.kind in "biu":
            self._note("whole", *array.shape)
            self._pour(array, lambda part: part.astype("<i8"))
        elif array.dtype.kind == "f":
            self._note("real", *array.shape)
            # Adding 0.0 turns -0.0 into 0.0.
            self._pour(array, lambda part: (part.astype(float) + 0.0).astype("<f8"))
        else:
            raise ModelError(
                f"gram.inputs: expected strings, numbers, arrays and functions, got {array!r}"
            )

    def _pour(self, array: npt.NDArray[Any], canonical: Callable[[Any], Any]) -> None:
        flat = array.reshape(-1)
        for k in range(0, flat.size, AT_A_TIME):
            self._hash.update(canonical(flat[k : k + AT_A_TIME]).tobytes())

    def _sparse(self, matrix: Any) -> None:
        rows = sp.csr_matrix(matrix, copy=True)
        rows.sum_duplicates()
        rows.eliminate_zeros()
        self._note("sparse", *rows.shape)
        for part in (rows.indptr, rows.indices, rows.data):
            self._array(part)
