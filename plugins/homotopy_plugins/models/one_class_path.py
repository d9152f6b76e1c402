"""The one-class support vector machine for every nu.

    min over alpha   1/2 alpha^T K alpha,     0 <= alpha_i <= w_i,     sum_i alpha_i = nu sum_i w_i

    min over f, rho  1/2 |f|^2 + sum_i w_i max(0, rho - f(x_i)) - nu rho sum_i w_i      (its dual)

With ``u = f(x) - rho + unit`` the polyline does not move, the border target does:

    out: w  |  edge: knot at unit  |  in: 0

`unit` is what a short row adds to its own response.  It changes nothing but the numbers that f and
rho are compared with where both ought to be 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Unpack

import numpy as np
import numpy.typing as npt

from homotopy import Affine, Jump, Knot, ModelError, Slope
from homotopy_plugins.kernels.checks import check_rows, finite, flag, span_of
from homotopy_plugins.kernels.kernel_model import KernelModel, KernelOptions

__all__ = ["OneClassPath", "unit_of", "with_intercept"]

Array = npt.NDArray[np.float64]


class OneClassPath(KernelModel):
    """Which rows are unusual, for every nu: at most the fraction nu of the rows lies outside, and
    at least that fraction lies outside or on the edge.

    Parameters
    ----------
    X : array or scipy sparse matrix (n, d)
        Samples; the kernel matrix (n, n) if ``kernel="precomputed"``.
    nu : (start, stop)
        The path of nu, each in (0, 1]; at 1 every row is outside.
    **options
        Of the kernel, see `KernelModel`.  `sample_weight` bounds alpha, and nu is a fraction of
        the whole weight.

    Notes
    -----
    Signs: the decision function is that of scikit-learn's ``OneClassSVM``, ``f(x) - rho`` with
    ``f = sum_i alpha_i K(x_i, .)``: positive is usual; `Path.intercept` is ``-rho``.  Held-out
    labels, for `Path.validation_curve`, are +1 (usual) and -1.
    """

    parameter = "nu"
    validation_loss = "zero-one"
    words: ClassVar[Mapping[str, str]] = {
        "out": "outside",
        "edge": "on the boundary",
        "in": "inside",
    }

    def __init__(
        self, X: Any, *, nu: tuple[float, float] = (1.0, 0.01), **options: Unpack[KernelOptions]
    ) -> None:
        name = type(self).__name__
        rows = check_rows(X, name)
        self.span = self._checked_span(nu)
        with_intercept(options, name)
        super().__init__(rows, np.ones(rows.shape[0]), C=1.0, **options)
        self.unit = unit_of(self)
        self.border_target = Affine.parameter() * float(self.sample_weight.sum())

    def _checked_span(self, nu: Any) -> tuple[float, float]:
        name = type(self).__name__
        start, stop = (finite(v, "nu", name) for v in span_of(nu, "nu", name))
        for value in (start, stop):
            if not 0.0 < value <= 1.0:
                raise ModelError(f"{name}: nu must lie in (0, 1], got {value!r}")
        return start, stop

    def _find_centre(self) -> Array | None:
        # The rows are seen from the origin: it makes a difference where that is.
        return None

    def polyline(self, t: Any) -> Sequence[Slope | Knot | Jump]:
        return Slope("out", self.cost), Knot("edge", self.unit), Slope("in", 0.0)

    def objective_constant(self, t: float) -> float:
        return -t * float(self.sample_weight.sum()) * self.unit

    def intercept(self, alpha: Array, b: Array) -> float:
        """``-rho``."""
        return float(b[0]) - self.unit

    def evaluator(self, X: Any) -> Callable[[Array, Array], Array]:
        values = super().evaluator(X)
        return lambda alphas, bs: values(alphas, bs - self.unit)


def unit_of(model: KernelModel) -> float:
    """What a row adds to its own response where rho is least: with alphas ``nu sum_i w_i`` on the
    shortest rows, for the least nu of the path; 1 for 0.

    The unit is added to rho, so it must not be much larger: beside a knot at the mean of all rows,
    rho and the responses of short rows would be rounding.  It need not be below the rounding of
    that mean: near ``nu = 1`` rho is as large, and b keeps its rounding.
    """
    diag, weight = model.gram.diag, model.sample_weight
    order = np.argsort(diag, kind="stable")
    order = order[weight[order] > 0.0]
    filled = np.cumsum(weight[order])
    count = 1 + int(np.searchsorted(filled, min(model.span) * filled[-1]))
    short = np.flatnonzero(diag[order] > 0.0)
    if not short.size:
        return 1.0
    last = min(max(count - 1, int(short[0])), order.size - 1)
    least = float(diag[order[last]] * filled[last]) / (last + 1)
    return max(least, float(np.finfo(np.float64).eps * np.mean(diag * weight)))


def with_intercept(options: KernelOptions, name: str) -> None:
    """Refuse to do without the intercept where it is what the machine is about."""
    if not flag(options.setdefault("fit_intercept", True), "fit_intercept", name):
        raise ModelError(
            f"{name}: fit_intercept=False is not possible; the border is what nu is about"
        )
