"""Ugly tables for kernel machines, drawn by `homotopy.testing.hostile_problem`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from homotopy import LossModel

if TYPE_CHECKING:
    from homotopy.testing import Draw

__all__ = ["Made", "hostile_table"]

Array = npt.NDArray[np.float64]
Made = tuple[str, LossModel, dict[str, Any]]

KERNELS = ("linear", "linear", "rbf", "rbf", "poly", "precomputed")


def hostile_table(draw: Draw, kind: Any, plugin: str, *, hinge: bool) -> Made:
    """A name, a model of the class `kind` and what it is made of; labels for a `hinge` loss, else
    targets."""
    n, d = draw.count(), draw.pick(1, 2, 3, 5, 12, 100)
    n = max(n, 2) if hinge else n
    X = draw.rows(n, d)
    y = draw.labels(X) if hinge else draw.targets(X)
    kernel, path = draw.pick(*KERNELS), draw.pick("theta", "s")
    options: dict[str, Any] = {
        "C": draw.cost(),
        "kernel": kernel,
        "path": path,
        "theta": 0.0 if path == "theta" else draw.pick(0.0, 0.0, 0.3),
        "fit_intercept": draw.chance(0.6),
        "sample_weight": draw.weights(n),
    }
    options |= _kernel_options(draw, X, kernel)
    if hinge:
        options["s"] = draw.pick(0.0, 0.0, -1.0, 0.5, -0.3, -1e9 if draw.chance(0.2) else -2.0)
    else:
        options |= _thresholds(draw, y, path)
    if kernel == "precomputed":
        X = _matrix(draw, X)
    if kernel != "precomputed" and draw.chance(0.12):
        draw.note("sparse")
        X = sp.csr_matrix(X)
    model = kind(X, y, **options)
    border = ", intercept" if options["fit_intercept"] else ""
    name = draw.described(f"{plugin} along {path}", f"{kernel}, n = {n}, d = {d}{border}")
    return name, model, {"plugin": plugin, "X": X, "y": y, **options}


def _kernel_options(draw: Draw, X: Array, kernel: str) -> dict[str, Any]:
    """gamma by the spread of the rows, or so that the kernel is nearly 0, nearly 1 or huge."""
    if kernel == "rbf":
        square = float(((X - X.mean(axis=0)) ** 2).sum(axis=1).mean()) or 1.0
        by = draw.pick(1.0, 1.0, draw.decade(-4, 4))
        gamma = by / square
        if draw.chance(0.1) and square / X.shape[1] > 1e-8:
            # (With smaller rows a width of 1 / d would be refused.)
            return {"gamma": None}
        if by != 1.0:
            draw.note(f"gamma x {by:g}")
        return {"gamma": gamma}
    if kernel == "poly":
        square = float((X**2).sum(axis=1).mean()) or 1.0
        return {"gamma": 1.0 / square, "degree": draw.pick(2, 3), "coef0": draw.pick(0.0, 1.0)}
    return {}


def _thresholds(draw: Draw, y: Array, path: str) -> dict[str, Any]:
    spread = float(np.ptp(y)) or float(np.abs(y).max()) or 1.0
    if path == "theta":
        return {"s": draw.pick(0.1, 0.3, 1.0, 1e-4) * spread}
    return {"s_stop": draw.pick(None, None, 0.05 * spread, 1e-6 * spread)}


def _matrix(draw: Draw, X: Array) -> Array:
    """A kernel matrix from elsewhere: of low rank, or of another size altogether."""
    span = np.where(X.std(axis=0) > 0.0, X.std(axis=0), 1.0)
    Z = (X - X.mean(axis=0)) / span
    K = Z @ Z.T
    if draw.chance(0.5):
        square = np.diagonal(K)[:, None] + np.diagonal(K)[None, :] - 2.0 * K
        K = np.exp(-np.maximum(square, 0.0) / Z.shape[1])
    if draw.chance(0.3):
        by = draw.decade(-8, 8)
        draw.note(f"kernel x {by:g}")
        K = by * K
    return np.asarray(0.5 * (K + K.T))
