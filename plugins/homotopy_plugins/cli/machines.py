"""A fitted machine in a file: what predicts, and nothing that could be executed.

The file is an archive of plain arrays (support vectors, their weights, the intercept) and a header
in JSON (kernel, classes, how columns became numbers); see `homotopy.path.files`.
"""

from __future__ import annotations

import json
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

import homotopy
from homotopy import PathError
from homotopy.path.files import Archive, packed, refusing, replace_file
from homotopy.path.storage import BYTE, REAL, WHOLE, written
from homotopy_plugins.cli.encoding import Encoding
from homotopy_plugins.kernels.functions import KERNELS, kernel_function

__all__ = ["Machine"]

Array = npt.NDArray[np.float64]

FORMAT = "machine 1"
WHAT = "a machine of 'homotopy select'"
# Bytes of the header at most.
MOST = 1 << 26
# Entries of a block of the kernel, as everywhere else.
BLOCK = 20_000_000


@attrs.frozen(eq=False)
class Machine:
    """``f(x) = sum_i weights_i K(vectors_i, x) + intercept``.

    Attributes
    ----------
    kind : str
        The estimator it was.
    target : str
        What is predicted.
    classes : list or None
        The two labels, the one with f > 0 last; None for regression.
    kernel : dict
        "kernel", "gamma", "degree", "coef0".
    encoding : Encoding
        How columns become numbers.
    vectors : array or sparse matrix (m, d)
        Support vectors; of a linear kernel one, the normal.
    weights : array (m,)
    chosen : dict
        How it was chosen, to be shown.
    """

    kind: str
    target: str
    classes: list[Any] | None
    kernel: dict[str, Any]
    encoding: Encoding
    vectors: Any
    weights: Array
    intercept: float
    chosen: dict[str, Any]

    @classmethod
    def of(cls, fitted: Any, target: str, encoding: Encoding, chosen: dict[str, Any]) -> Machine:
        """That of a fitted `RobustSVC`, `RobustSVR` or their searches."""
        model = fitted.path_.model
        linear = fitted.kernel == "linear"
        classes = getattr(fitted, "classes_", None)
        return cls(
            kind=type(fitted).__name__,
            target=target,
            classes=None if classes is None else classes.tolist(),
            kernel={
                "kernel": str(fitted.kernel),
                "gamma": float(model.gamma),
                "degree": int(model.degree),
                "coef0": float(model.coef0),
            },
            encoding=encoding,
            vectors=fitted.coef_ if linear else fitted.support_vectors_,
            weights=np.ones(1) if linear else fitted.dual_coef_[0],
            intercept=float(fitted.intercept_[0]),
            chosen=chosen,
        )

    def values(self, X: Any) -> Array:
        """f at the rows of X."""
        if self.kernel["kernel"] == "linear":
            return np.asarray(X @ np.asarray(self.vectors)[0] + self.intercept)
        function = kernel_function(**self.kernel)
        out = np.empty(X.shape[0])
        step = max(1, BLOCK // max(self.vectors.shape[0], 1))
        for k in range(0, X.shape[0], step):
            out[k : k + step] = function(X[k : k + step], self.vectors) @ self.weights
        return out + self.intercept

    def predict(self, values: Array) -> Any:
        """What f says: a class, or the number itself."""
        if self.classes is None:
            return values
        return np.array(self.classes)[(values > 0.0).astype(int)]

    # ------------------------------------------------------------------ files

    def save(self, file: str) -> None:
        """Write it; the file is whole or as it was."""
        header = {
            "format": FORMAT,
            "version": homotopy.__version__,
            "kind": self.kind,
            "target": self.target,
            "classes": self.classes,
            "kernel": self.kernel,
            "encoding": self.encoding.to_json(),
            "intercept": self.intercept.hex(),
            "chosen": self.chosen,
        }
        arrays: dict[str, Any] = {"weights": (self.weights, REAL)}
        if sp.issparse(self.vectors):
            rows = sp.csr_matrix(self.vectors)
            arrays |= {
                "data": (rows.data, REAL),
                "indices": (rows.indices, WHOLE),
                "indptr": (rows.indptr, WHOLE),
            }
        else:
            arrays["vectors"] = (self.vectors, REAL)
        members = {
            name: np.ascontiguousarray(array, dtype=kind) for name, (array, kind) in arrays.items()
        }
        replace_file(file, packed({"header": written(header)} | members))

    @classmethod
    def load(cls, file: str) -> Machine:
        """Read one; nothing in the file is believed or executed."""
        with refusing(file, WHAT), Archive(file) as archive:
            header = json.loads(archive.read("header", BYTE, MOST).tobytes().decode())
            if not isinstance(header, dict) or header.get("format") != FORMAT:
                found = header.get("format") if isinstance(header, dict) else None
                if isinstance(found, int):
                    raise PathError(
                        f"{file}: not {WHAT} but a path; 'homotopy certify' and 'homotopy plot' "
                        "read it"
                    )
                raise PathError(f"{file}: not {WHAT} (format {found!r})")
            machine = cls(
                kind=str(header["kind"]),
                target=str(header["target"]),
                classes=_classes(header["classes"]),
                kernel=_kernel(header["kernel"]),
                encoding=Encoding.from_json(header["encoding"]),
                vectors=_vectors(archive, len(Encoding.from_json(header["encoding"]).names)),
                weights=archive.read("weights", REAL),
                intercept=float.fromhex(header["intercept"]),
                chosen=dict(header["chosen"]),
            )
            machine._check()
            return machine

    def _check(self) -> None:
        numbers = self.vectors.data if sp.issparse(self.vectors) else self.vectors
        if self.weights.shape != (self.vectors.shape[0],):
            raise ValueError("its weights are not those of its vectors")
        known = np.all(np.isfinite(np.asarray(numbers))) and np.all(np.isfinite(self.weights))
        if not (known and np.isfinite(self.intercept)):
            raise ValueError("it holds numbers that are not finite")


def _classes(given: Any) -> list[Any] | None:
    if given is None:
        return None
    if not (isinstance(given, list) and len(given) == 2):
        raise ValueError(f"classes must be two, got {given!r}")
    if not all(isinstance(label, str | int | float) for label in given):
        raise ValueError("classes must be words or numbers")
    return given


def _kernel(given: Any) -> dict[str, Any]:
    if given["kernel"] not in KERNELS or given["kernel"] == "precomputed":
        raise ValueError(f"unknown kernel {given['kernel']!r}")
    return {
        "kernel": given["kernel"],
        "gamma": float(given["gamma"]),
        "degree": int(given["degree"]),
        "coef0": float(given["coef0"]),
    }


def _vectors(archive: Archive, width: int) -> Any:
    if "vectors" in archive.names:
        vectors = archive.read("vectors", REAL)
        if vectors.ndim != 2 or vectors.shape[1] != width:
            raise PathError(f"its vectors have shape {vectors.shape} and not {width} columns")
        return vectors
    parts = archive.read("data", REAL), archive.read("indices", WHOLE)
    bounds = archive.read("indptr", WHOLE)
    rows = sp.csr_matrix((*parts, bounds), shape=(bounds.size - 1, width))
    rows.check_format(full_check=True)
    return rows
