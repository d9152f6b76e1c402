"""What a plugin declares.

Subclass `LossModel`, set `gram`, `span` (and `border` for unpenalised directions) and write
`polyline`.  That is a whole plugin; every other method has a default.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from homotopy.errors import DataError, ModelError
from homotopy.gram import Gram
from homotopy.model.polyline import Jump, Knot, Slope

__all__ = ["LossModel"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]


class LossModel(ABC):
    """One parametric problem: a quadratic form and one polyline a coordinate.

        min over w, b   1/2 |w|^2 + sum_i L_i(u_i; t) + e(t)^T b,     u_i = <w, phi_i> + B_i b

    with ``w = sum_i alpha_i phi_i``, ``Q_ij = <phi_i, phi_j>``.  At an optimum

        u = Q alpha + B b,     B^T alpha = e(t),     (u_i, alpha_i) on polyline i.

    Attributes
    ----------
    gram : Gram
        The operator Q.
    span : (start, stop)
        The travel of t, in either direction.  ``start`` may be infinite where only jumps move and
        lie beyond every response there; the finite start is then the first t at which a jump
        meets a response (see `resolve_span`).
    parameter : str
        The name of t, for messages and labels.
    border : array (n, m) or None
        B, the unpenalised columns.
    border_target : number, array (m,) or Affine
        e(t); 0 by default.
    validation_loss : str
        The loss of `Path.validation_curve` unless told otherwise; "absolute" by default.
    """

    gram: Gram
    span: tuple[float, float]
    parameter: str = "t"
    border: Array | None = None
    border_target: Any = 0.0
    validation_loss: str = "absolute"

    @abstractmethod
    def polyline(self, t: Any) -> Sequence[Slope | Knot | Jump]:
        """The graph of ``-dL_i``, left to right: Slope, Knot or Jump, Slope, ..., Slope.

        `t` is a symbolic `Affine` when the engine compiles the model and a float when the
        certificate evaluates it; write the method with ordinary arithmetic and both work.  Values
        are numbers, arrays of length n, or affine in t.
        """

    def flips(self, t: float, standing: Index, response: Array) -> Index:
        """Which of the coordinates pressing on a jump corner change side; all of them by default.

        `standing` is never empty and the answer must not be either.
        """
        return standing

    def initial_guess(self) -> Array | None:
        """An approximate alpha at the start, or None to let the engine find one."""
        return None

    def loss_origin(self, t: float) -> Any:
        """The response at which the loss is zero; by default the first knot."""
        for piece in self.polyline(t):
            if isinstance(piece, Knot):
                return piece.position
        return 0.0

    def objective_constant(self, t: float) -> float:
        """What to add so that `Path.objective` is absolute; 0 by default."""
        return 0.0

    def resolve_span(self, start: float) -> tuple[float, float]:
        """The finite span, once the finite `start` of an infinite one is known."""
        return start, self.span[1]

    def decision_function(self, X: Any, alpha: Array, intercept: Any) -> Array:
        """The response at new data; models with a kernel override this."""
        raise ModelError(
            f"{type(self).__name__} has no decision function; override "
            "LossModel.decision_function to evaluate a path on new data"
        )

    def intercept(self, alpha: Array, b: Array) -> Any:
        """What `decision_function` is handed for the border multipliers b: by default b itself, a
        float with one border column (0.0 with none), else an array."""
        if b.size == 0:
            return 0.0
        return float(b[0]) if b.size == 1 else b

    def evaluator(self, X: Any) -> Callable[[Array, Array], Array]:
        """``decision_function`` at the same new data for many points of a path.

        The answer takes alphas (n, k) and border multipliers (m, k) and returns the values (N, k).
        By default `decision_function` is called for one column after the other.
        """

        def values(alphas: Array, bs: Array) -> Array:
            columns = zip(alphas.T, bs.T, strict=True)
            return np.stack(
                [
                    self.decision_function(X, np.ascontiguousarray(a), self.intercept(a, b))
                    for a, b in columns
                ],
                axis=1,
            )

        return values

    def held_out_target(self, y: Any) -> Array:
        """Targets of held-out rows as numbers on the scale of `decision_function`."""
        name = type(self).__name__
        try:
            target = np.array(y, dtype=float)
        except (TypeError, ValueError):
            raise DataError(f"{name}: held-out targets must be numbers") from None
        if target.ndim != 1 or target.size == 0:
            raise DataError(
                f"{name}: held-out targets must be a list of numbers, got shape {target.shape}"
            )
        if not np.all(np.isfinite(target)):
            i = int(np.flatnonzero(~np.isfinite(target))[0])
            raise DataError(f"{name}: held-out target {i} is {target[i]}; targets must be finite")
        return target
