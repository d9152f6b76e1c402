"""What a plugin declares.

Subclass `LossModel`, set `gram`, `span` (and `border` if some directions are unpenalised) and write
`polyline`.  That is a complete plugin; every other method has a default.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from homotopy.arrays import Array, Index
from homotopy.gram import Gram
from homotopy.model.polyline import Jump, Knot, Slope
from homotopy.model.residual import Residual


class LossModel(ABC):
    """A parametric problem: a quadratic form Q and one polyline per coordinate.

        min over w, b   1/2 |w|^2 + sum_i L_i(u_i; t) + e(t)^T b,     u_i = <w, phi_i> + B_i b

    where ``w = sum_i alpha_i phi_i`` and ``Q_ij = <phi_i, phi_j>``.  At an optimum

        u = Q alpha + B b,     B^T alpha = e(t),     (u_i, alpha_i) lies on polyline i.

    The same conditions are the optimality conditions of

        min over alpha  1/2 alpha^T Q alpha + sum_i H_i(alpha_i; t),     B^T alpha = e(t)

    where ``-H_i'`` is the polyline with its axes swapped: a quadratic program in alpha whose bounds
    are the slopes and whose linear terms are the knots.  Set `unknown` to say which of the two
    problems the model means.

    The usual terms, and where they appear in a model:

    =====================  ======================================================================
    partition              the named pieces of `polyline`; every coordinate is on one of them
    KKT conditions         `polyline` (each coordinate lies on it) and `border` (``B^T alpha = e``)
    boundary rules         the corners, where a coordinate moves from one piece to the next
    jump rules             `Jump`, a corner that no local optimum can occupy, and `flips`
    C-step                 follows slopes and knots as long as nothing jumps
    D-step                 changes side at a `Jump` and finds the new local optimum
    =====================  ======================================================================

    A model that predicts on new data derives from `Predictor` instead.

    Attributes
    ----------
    gram : Gram
        The operator Q.
    span : (start, stop)
        The interval of t, traced from start to stop; either may be the larger.  ``start`` may be
        infinite if only jumps move and they lie beyond every response there.  The path then begins
        at the first t at which a jump meets a response (see `resolve_span`).
    parameter : str
        The name of t in messages and labels.
    border : array (n, m) or None
        B, the unpenalised columns.
    border_target : number, array (m,) or Affine
        e(t); 0 by default.
    unknown : {"w", "alpha"}
        The variable of the minimisation, "w" by default.  It only decides what `Path.objective`
        returns: both problems have the same solutions, and their objectives add up to zero.
    bounded_below : bool
        Whether the objective is bounded below at every t, whatever the data, so that there always
        is an optimum; False by default (not known).  A trace then never says that there is none.
    noun : str
        What a coordinate is to a user, for pages and pictures ("row"); "coordinate" by default.
    """

    gram: Gram
    span: tuple[float, float]
    parameter: str = "t"
    border: Array | None = None
    border_target: Any = 0.0
    unknown: str = "w"
    bounded_below: bool = False
    noun: str = "coordinate"

    @abstractmethod
    def polyline(self, t: Any) -> Sequence[Slope | Knot | Jump]:
        """Return the graph of ``-dL_i``, left to right: Slope, Knot or Jump, Slope, ..., Slope.

        `t` is a symbolic `Affine` when the engine compiles the model and a float when the
        certificate evaluates it.  Use ordinary arithmetic and both work.  Each value is a number,
        an array of length n, or affine in t.
        """

    def flips(self, t: float, standing: Index, response: Array) -> Index:
        """Return which of the coordinates pressing on a jump change side; by default all do.

        `standing` is never empty, and the result must not be empty either.
        """
        return standing

    def initial_guess(self) -> Array | None:
        """Return an approximate alpha at the start, or None to let the engine find one."""
        return None

    def solution(self, t: float, alpha: Array, b: Array) -> Array:
        """Return the unknown in the author's own variables (x, beta, weights), for
        `Path.solution`; alpha by default.  It must be affine in (alpha, b) for fixed t."""
        return alpha

    def loss_origin(self, t: float) -> Any:
        """Return the response at which each loss is zero, or None for the minimum of each loss.

        A loss that decreases without bound (alpha never 0) has no minimum.  `Path.objective` then
        needs an origin, unless alpha is the unknown.
        """
        return None

    def objective_constant(self, t: float) -> float:
        """Return the constant that completes the author's objective; 0 by default."""
        return 0.0

    def residuals(self, t: Array, alpha: Array, b: Array) -> Mapping[str, Residual]:
        """Return the violations of the problem as its author states it, by name of condition.

        The certificate calls this at many points at once (one entry of `t`, one row of `alpha` and
        `b` per point) and reports each name as a separate check.  Empty by default: the polylines
        and the border then define the problem.  A model that transforms its user's problem should
        measure in the user's variables here, because an alpha that is accurate to rounding can
        still give an inaccurate x.  Like the polylines, a condition that holds at both ends of a
        segment must hold all along it.
        """
        return {}

    def no_optimum(self, t: float) -> str | None:
        """Explain, in the terms of the model, why no optimum was found beyond `t`
        (``"infeasible from t=0.4 on: rows 3 and 7 contradict each other"``); None by default."""
        return None

    def table(self) -> Any:
        """Return the table (array or sparse matrix) whose columns are the coordinates, or None, the
        default.  The error of a failed trace names columns that are far from 0 there, or in the
        features of `gram`."""
        return None

    def coordinate_name(self, i: int) -> str:
        """Name a coordinate in the terms of the model (``"row 1 of A"``); its number by
        default."""
        return str(i)

    def piece_name(self, name: str) -> str:
        """Name a piece of the polyline in the terms of the model, for pages and pictures (``"O"``:
        "outlier"); its own name by default."""
        return name

    def resolve_span(self, start: float) -> tuple[float, float]:
        """Return the finite span, once the finite `start` of an infinite span is known."""
        return start, self.span[1]

    @classmethod
    def hostile(cls, draw: Any) -> tuple[str, LossModel, dict[str, Any]]:
        """Draw a legal but badly behaved problem of this class from `homotopy.testing.Draw`, for
        `homotopy.testing.hostile_problem`: its name, the model and the data it was made from.
        Plugins without this method are skipped."""
        raise NotImplementedError(f"{cls.__name__} draws no hostile problems")

    def intercept(self, alpha: Array, b: Array) -> Any:
        """Return what `decision_function` receives for the border multipliers b: by default b
        itself, a float for one border column, 0.0 for none, else an array."""
        if b.size == 0:
            return 0.0
        return float(b[0]) if b.size == 1 else b
