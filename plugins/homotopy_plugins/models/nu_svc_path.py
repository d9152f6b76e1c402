"""nu-support vector classification for every nu.

    min over alpha      1/2 alpha^T Q alpha,     0 <= alpha_i <= w_i,
                        y^T alpha = 0,     sum_i alpha_i = nu sum_i w_i

    min over f, b, rho  1/2 |f|^2 + sum_i w_i max(0, rho - y_i (f(x_i) + b)) - nu rho sum_i w_i

With ``u = y (f(x) + b) - rho + unit`` the polyline does not move, the second border target does:

    L: w  |  E: knot at unit  |  R: 0

`unit` is what a short row adds to its own response.  It changes nothing but the numbers that f and
rho are compared with where both ought to be 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import numpy.typing as npt

from homotopy import Affine, Jump, Knot, ModelError, Slope
from homotopy_plugins.kernels.checks import check_rows, checked_weights, finite, span_of
from homotopy_plugins.kernels.kernel_model import KernelModel, KernelOptions
from homotopy_plugins.kernels.labels import MARGIN, signs_of, two_classes
from homotopy_plugins.models.one_class_path import unit_of, with_intercept

if TYPE_CHECKING:
    from homotopy import Path

__all__ = ["NuSVCPath"]

Array = npt.NDArray[np.float64]

# A nu above the largest by this fraction of it is the largest, rounded.
ROUNDED = 1e-9


class NuSVCPath(KernelModel):
    """The classifier whose fraction nu of margin errors is given instead of C, for every nu.

    nu bounds the fraction of rows inside the margin from above, that of support vectors from below.

    Parameters
    ----------
    X : array or scipy sparse matrix (n, d)
        Samples; the kernel matrix (n, n) if ``kernel="precomputed"``.
    y : array (n,)
        Labels of any two values; the larger (in sorted order) is the positive class.
    nu : (start, stop)
        The path of nu, each positive and at most `largest_nu`; None stands for that.
    **options
        Of the kernel, see `KernelModel`.  `sample_weight` bounds alpha, and nu is a fraction of
        the whole weight.

    Attributes
    ----------
    largest_nu : float
        Twice the weight of the lighter class over the weight of all rows: with a larger nu the two
        equations have no solution.

    Notes
    -----
    Signs: ``f = sum_i alpha_i y_i K(x_i, .) + b`` with y in {-1, +1}; rows with ``y f < rho`` have
    alpha at its bound.  scikit-learn's ``NuSVC`` divides by rho so that the margin is at 1: its
    decision function is ``path.decision_function(X, t) / model.rho(path, t)``, that of the machine
    with ``C = 1 / rho``.  Where the classes cannot be separated, rho and f are 0 for every nu below
    some positive one.
    """

    parameter = "nu"
    validation_loss = "zero-one"
    words = MARGIN

    def __init__(
        self,
        X: Any,
        y: npt.ArrayLike,
        *,
        nu: tuple[float | None, float | None] = (None, 0.05),
        **options: Unpack[KernelOptions],
    ) -> None:
        name = type(self).__name__
        rows = check_rows(X, name)
        self.classes, self.y = two_classes(y, rows.shape[0], name)
        weight = checked_weights(options.get("sample_weight"), self.y.size, name)
        lighter = min(float(weight[self.y > 0.0].sum()), float(weight[self.y < 0.0].sum()))
        if lighter == 0.0:
            raise ModelError(
                f"{name}: all rows of one class have sample_weight 0, so that no nu is feasible"
            )
        self.largest_nu = 2.0 * lighter / float(weight.sum())
        start, stop = (self._checked(v) for v in span_of(nu, "nu", name))
        self.span = start, stop
        with_intercept(options, name)
        super().__init__(rows, self.y, C=1.0, **options)
        self.unit = unit_of(self)
        self.border = np.stack([self.y, np.ones(self.y.size)], axis=1)
        self.border_target = Affine.parameter() * np.array([0.0, float(weight.sum())])

    def _checked(self, nu: Any) -> float:
        if nu is None:
            return self.largest_nu
        name = type(self).__name__
        value = finite(nu, "nu", name)
        if value <= 0.0:
            raise ModelError(f"{name}: nu must be positive, got {nu!r}")
        if value > self.largest_nu * (1.0 + ROUNDED):
            raise ModelError(
                f"{name}: nu={value:g} is infeasible; the largest feasible nu for these classes "
                f"and weights is {self.largest_nu:.9g} (None stands for it)"
            )
        return min(value, self.largest_nu)

    def polyline(self, t: Any) -> Sequence[Slope | Knot | Jump]:
        return Slope("L", self.cost), Knot("E", self.unit), Slope("R", 0.0)

    def rho(self, path: Path, t: float | npt.ArrayLike) -> Any:
        """The margin ``rho`` at t; an array of t is answered with one number for each."""
        return self.unit - path.border_multipliers(t)[..., 1]

    def objective_constant(self, t: float) -> float:
        return -t * float(self.sample_weight.sum()) * self.unit

    def held_out_target(self, y: Any) -> Array:
        """Labels as -1 / +1; those the model was not fitted on are refused."""
        return signs_of(y, self.classes, type(self).__name__)
