"""A fitted robust machine as one of scikit-learn's own, with the same decision function.

Everything that knows `sklearn.svm.SVC` and `SVR` (skops, ONNX converters, explainers) then knows
the machine.  A tiny machine is fitted for its shape, so that the object is whole in every version
of scikit-learn, and its solution is replaced.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import LabelBinarizer
from sklearn.svm import SVC

__all__ = ["exported", "exported_classes"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

# A sum over support vectors that is off by more than this, in parts of the largest value, lost its
# digits to cancellation.
AGREE = 1e-13
# Rows on which that is tried at most.
TRIED = 1000


def exported(machine: Any, kind: type, classes: Any, options: dict[str, Any]) -> Any:
    """`machine` as a fitted SVC or SVR; `classes` are those of an SVC."""
    model = machine.path_.model
    options = options | {"C": model.C, "kernel": machine.kernel, "degree": machine.degree}
    options |= {"coef0": machine.coef0, "cache_size": machine.cache_size}
    if model.gamma is not None:
        options["gamma"] = model.gamma
    plain = _tiny(kind(**options), machine, classes)
    support, coef = _solution(machine)
    sign = model.sign[support]
    if kind is SVC:
        # SVC keeps its support vectors class by class.
        order = np.argsort(sign > 0.0, kind="stable")
        support, coef, sign = support[order], coef[order], sign[order]
    vectors = None if machine.kernel == "precomputed" else model.X[support]
    _replace(plain, machine, kind, support, vectors, coef, sign)
    if machine.kernel == "linear" and _cancels(plain, machine):
        # Far from 0 the products of rows are large and their sum is small; w says the same.
        w = machine.coef_
        vectors = sp.csr_matrix(w) if sp.issparse(model.X) else w
        _replace(plain, machine, kind, support[:1], vectors, np.ones(1), np.ones(1))
    return plain


def exported_classes(machine: Any, parts: list[Any]) -> Any:
    """The machines of several classes as a fitted OneVsRestClassifier."""
    many = OneVsRestClassifier(parts[0])
    many.estimators_ = parts
    many.label_binarizer_ = LabelBinarizer(sparse_output=True).fit(machine.classes_)
    if not hasattr(many, "classes_"):
        # Some versions read them off the binarizer.
        many.classes_ = machine.classes_
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(machine, name):
            setattr(many, name, getattr(machine, name))
    return many


def _tiny(plain: Any, machine: Any, classes: Any) -> Any:
    """`plain` fitted to two rows of the machine's."""
    X = machine.path_.model.X
    sparse = machine.kernel != "precomputed" and sp.issparse(X)
    rows: Any = np.eye(2) if machine.kernel == "precomputed" else np.eye(2, X.shape[1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain.fit(
            sp.csr_matrix(rows) if sparse else rows,
            np.array([0.0, 1.0]) if classes is None else classes,
        )
    return plain


def _solution(machine: Any) -> tuple[Index, Array]:
    """The rows that f is a sum over, at least one, and their coefficients."""
    support, coef = machine.support_, machine.dual_coef_[0]
    if machine.projection_ is not None:
        # New rows of the kernel are projected first: the same sum, over every row.
        coef = machine.projection_[:, support] @ coef
        support = np.arange(coef.size)
    if support.size == 0:
        return np.zeros(1, dtype=np.int64), np.zeros(1)
    return support, coef


def _replace(
    plain: Any, machine: Any, kind: type, support: Index, vectors: Any, coef: Array, sign: Array
) -> None:
    n, model = machine.path_.problem.gram.size, machine.path_.model
    plain.n_features_in_ = machine.n_features_in_
    if hasattr(machine, "feature_names_in_"):
        plain.feature_names_in_ = machine.feature_names_in_
    plain.shape_fit_ = (n, machine.n_features_in_)
    plain.support_ = support.astype(np.int32)
    if callable(machine.kernel):
        # libsvm is given the kernel between new rows and these.
        plain._BaseLibSVM__Xfit = model.X
        vectors = None
    if vectors is not None:
        plain.support_vectors_ = (
            vectors if sp.issparse(vectors) else np.array(vectors, dtype=np.float64, order="C")
        )
    if kind is SVC:
        positive = int((sign > 0.0).sum())
        plain._n_support = np.array([support.size - positive, positive], dtype=np.int32)
    else:
        plain._n_support = np.full_like(plain._n_support, support.size)
    row: Any = coef[None, :].astype(np.float64)
    if plain._sparse:
        row = sp.csr_matrix((row[0], np.arange(support.size), [0, support.size]))
    # libsvm counts the first class as positive, scikit-learn the second.
    flip = -1.0 if kind is SVC else 1.0
    plain.dual_coef_, plain._dual_coef_ = row, flip * row
    plain.intercept_ = machine.intercept_.copy()
    plain._intercept_ = flip * machine.intercept_


def _cancels(plain: Any, machine: Any) -> bool:
    X = machine.path_.model.X[:TRIED]
    names, shown = "feature_names_in_", getattr(plain, "feature_names_in_", None)
    if shown is not None:
        delattr(plain, names)
    f = machine._expanded(X)
    found = plain.decision_function(X) if isinstance(plain, SVC) else plain.predict(X)
    if shown is not None:
        plain.feature_names_in_ = shown
    return bool(np.abs(found - f).max() > AGREE * np.abs(f).max())
