"""What a plugin declares.

Subclass `LossModel`, set `gram`, `span` (and `border` for unpenalised directions) and write
`polyline`.  That is a whole plugin; every other method has a default.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from homotopy import kernels
from homotopy.affine import Affine
from homotopy.errors import DataError, ModelError
from homotopy.gram import Gram, with_rows
from homotopy.polyline import Jump, Knot, Polylines, Slope

__all__ = ["LossModel", "Problem"]

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

    def evaluator(self, X: Any) -> Callable[[Array, Array], Array]:
        """``decision_function`` at the same new data for many points of a path.

        The answer takes alphas (n, k) and border multipliers (m, k) and returns the values (N, k).
        By default `decision_function` is called for one column after the other.
        """

        def values(alphas: Array, bs: Array) -> Array:
            columns = zip(alphas.T, bs.T, strict=True)
            return np.stack(
                [
                    self.decision_function(X, np.ascontiguousarray(a), intercept(b))
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


def intercept(b: Array) -> Any:
    """b as users see it: a float with one border column (0.0 with none), else an array."""
    if b.size == 0:
        return 0.0
    return float(b[0]) if b.size == 1 else b


@attrs.frozen(eq=False)
class Problem:
    """A model checked and compiled: what the engine works on."""

    model: LossModel
    gram: Gram
    border: Array
    target0: Array
    target1: Array
    polylines: Polylines
    start: float
    stop: float
    _kinds: list[npt.NDArray[np.int8]] = attrs.field(factory=list, init=False, repr=False)

    @classmethod
    def compile(cls, model: LossModel) -> Problem:
        """Check everything a model declares; raise `ModelError` before any work is done."""
        name = type(model).__name__
        gram = getattr(model, "gram", None)
        if not isinstance(gram, Gram):
            raise ModelError(
                f"{name}: gram must be a Gram (DenseGram, KernelGram, LinearGram), got {gram!r}"
            )
        n = gram.size
        if n == 0:
            raise ModelError(f"{name}: the model has no coordinates")
        if not np.all(np.isfinite(gram.diag)) or np.any(gram.diag < 0.0):
            raise ModelError(
                f"{name}: the diagonal of gram must be finite and not negative; a quadratic form "
                "must be positive semidefinite"
            )
        try:
            start, stop = (float(v) for v in model.span)
        except (AttributeError, TypeError, ValueError):
            given = getattr(model, "span", None)
            raise ModelError(f"{name}: span must be a pair (start, stop), got {given!r}") from None
        if np.isnan(start) or not np.isfinite(stop):
            raise ModelError(
                f"{name}: span must run from a number or an infinity to a finite number, "
                f"got ({start:g}, {stop:g})"
            )
        border = _border(model.border, n, name)
        target = Affine.of(model.border_target)
        m = border.shape[1]
        for part in (target.const, target.rate):
            if part.shape not in ((), (m,)) or not np.all(np.isfinite(part)):
                raise ModelError(
                    f"{name}: border_target must be a finite number or one for each of the {m} "
                    f"border columns, got {part}"
                )
        polylines = Polylines.compile(model.polyline(Affine.parameter()), n)
        polylines.check(start, stop)
        moving = np.any(polylines.slope1) or np.any(polylines.corner1[:, ~polylines.jump])
        if not np.isfinite(start) and (moving or np.any(target.rate)):
            raise ModelError(
                f"{name}: span starts at {start:g} but slopes, knots or border_target move with "
                f"{model.parameter}; an infinite start needs a model where only jumps move"
            )
        return cls(
            model=model,
            gram=with_rows(gram),
            border=border,
            target0=np.array(np.broadcast_to(target.const, (m,))),
            target1=np.array(np.broadcast_to(target.rate, (m,))),
            polylines=polylines,
            start=start,
            stop=stop,
        )

    def kinds_within(self, start: float, stop: float) -> npt.NDArray[np.int8]:
        """The kind of each corner strictly between two t of the span."""
        if self._kinds:
            return self._kinds[0]
        kinds = self.polylines.kinds_between(start, stop)
        if start != stop:
            self._kinds.append(kinds)
        return kinds

    def kinds_at(self, t: float) -> npt.NDArray[np.int8]:
        """The kind of each corner at t; at an end of the span a jump may have no height."""
        ends = [v for v in (self.start, self.stop) if np.isfinite(v)]
        near = 1e-12 * max(abs(ends[0] - ends[-1]), abs(self.stop))
        if self._kinds and min(abs(t - v) for v in ends) > near:
            return self._kinds[0]
        return self.polylines.at(t).kind

    def target(self, t: float) -> Array:
        """e(t)."""
        moving = np.where(self.target1 == 0.0, 0.0, t)
        return np.asarray(self.target0 + self.target1 * moving)

    def objective(self, t: float, alpha: Array, b: Array, u: Array) -> float:
        """``1/2 |w|^2 + sum_i L_i(u_i; t) + e^T b`` with ``|w|^2 = alpha^T (u - B b)``."""
        origin = np.full(self.gram.size, self.model.loss_origin(t), dtype=float)
        lines = self.polylines
        tables = (lines.slope0, lines.slope1, lines.corner0, lines.corner1, lines.curvature)
        loss = float(kernels.total_loss(*tables, float(t), u, origin))
        norm = float(alpha @ (u - self.border @ b))
        linear = float(self.target(t) @ b)
        return 0.5 * norm + loss + linear + self.model.objective_constant(t)


def _border(border: Any, n: int, name: str) -> Array:
    if border is None:
        return np.zeros((n, 0))
    columns = np.array(border, dtype=float)
    if columns.ndim == 1:
        columns = columns[:, None]
    if columns.ndim != 2 or columns.shape[0] != n:
        raise ModelError(f"{name}: border must have {n} rows, got shape {np.shape(border)}")
    if not np.all(np.isfinite(columns)):
        raise ModelError(f"{name}: border holds values that are not finite")
    if columns.shape[1] and np.linalg.matrix_rank(columns) < columns.shape[1]:
        raise ModelError(
            f"{name}: the {columns.shape[1]} border columns are linearly dependent; drop the "
            "redundant ones"
        )
    return np.ascontiguousarray(columns)
