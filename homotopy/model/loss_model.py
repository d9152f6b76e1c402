"""What a plugin declares.

Subclass `LossModel`, set `gram`, `span` (and `border` for unpenalised directions) and write
`polyline`.  That is a whole plugin; every other method has a default.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from homotopy.gram import Gram
from homotopy.model.polyline import Jump, Knot, Slope
from homotopy.model.residual import Residual

__all__ = ["LossModel"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]


class LossModel(ABC):
    """One parametric problem: a quadratic form and one polyline per coordinate.

        min over w, b   1/2 |w|^2 + sum_i L_i(u_i; t) + e(t)^T b,     u_i = <w, phi_i> + B_i b

    with ``w = sum_i alpha_i phi_i``, ``Q_ij = <phi_i, phi_j>``.  At an optimum

        u = Q alpha + B b,     B^T alpha = e(t),     (u_i, alpha_i) on polyline i.

    The same conditions, read from alpha, are those of

        min over alpha  1/2 alpha^T Q alpha + sum_i H_i(alpha_i; t),     B^T alpha = e(t)

    where ``-H_i'`` is the polyline read sideways: a quadratic program in its own variables, with
    bounds (slopes), prices (knots) and kinks.  A model says by `unknown` which of the two it means.

    How the words of the field are written here:

    =====================  ======================================================================
    partition              the named pieces of `polyline`: every coordinate is on one of them
    KKT conditions         `polyline` (each coordinate is on it) and `border` (``B^T alpha = e``)
    boundary rules         the corners: where a coordinate goes from one piece to the next
    jump rules             `Jump`, a corner where no local optimum can stand, and `flips`
    C-step                 follows slopes and knots while nothing jumps
    D-step                 at a `Jump` changes side and finds the new local optimum
    =====================  ======================================================================

    What predicts on new data derives from `Predictor` as well.

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
    unknown : {"w", "alpha"}
        What is minimised over, "w" by default.  It decides what `Path.objective` is, nothing else:
        the two problems have the same solutions, and objectives that sum to zero.
    """

    gram: Gram
    span: tuple[float, float]
    parameter: str = "t"
    border: Array | None = None
    border_target: Any = 0.0
    unknown: str = "w"

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

    def solution(self, t: float, alpha: Array, b: Array) -> Array:
        """The unknown as the author of the model writes it, for `Path.solution`: x, beta, weights;
        alpha by default.  It must be affine in (alpha, b) for fixed t."""
        return alpha

    def loss_origin(self, t: float) -> Any:
        """The response at which each loss is zero, or None: where it is least.

        A loss that falls for ever (alpha never 0) has no least value; `Path.objective` then asks
        for an origin, unless alpha is the unknown.
        """
        return None

    def objective_constant(self, t: float) -> float:
        """What to add to get the objective as the author writes it; 0 by default."""
        return 0.0

    def residuals(self, t: Array, alpha: Array, b: Array) -> Mapping[str, Residual]:
        """How far the solution is off the problem as its author states it, by name of condition.

        The certificate calls it at many points at once (`t` has one entry, `alpha` and `b` have one
        row for each) and reports every name as a separate check.  None by default: then the
        polylines and the border are the problem.  A model that transforms the problem stated by its
        user measures here in the original numbers: what is right to rounding in alpha may be far
        off in x.  Like polylines, these must hold all along a segment if they hold at both of its
        ends.
        """
        return {}

    def no_optimum(self, t: float) -> str | None:
        """Why there is no optimum beyond `t`, where the trace found none, in the words of the model
        (``"infeasible from t=0.4 on: rows 3 and 7 contradict each other"``); None by default."""
        return None

    def resolve_span(self, start: float) -> tuple[float, float]:
        """The finite span, once the finite `start` of an infinite one is known."""
        return start, self.span[1]

    @classmethod
    def hostile(cls, draw: Any) -> tuple[str, LossModel, dict[str, Any]]:
        """A legal problem of this class that is as ugly as `draw` (`homotopy.testing.Draw`) makes
        it, for `homotopy.testing.hostile_problem`: its name, the model and what it is made of.
        Plugins without this method are not drawn."""
        raise NotImplementedError(f"{cls.__name__} draws no hostile problems")

    def intercept(self, alpha: Array, b: Array) -> Any:
        """What `decision_function` is handed for the border multipliers b: by default b itself, a
        float with one border column (0.0 with none), else an array."""
        if b.size == 0:
            return 0.0
        return float(b[0]) if b.size == 1 else b
