"""A model checked and compiled."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from homotopy.arrays import Array, Index
from homotopy.errors import ModelError
from homotopy.gram import Gram, with_rows
from homotopy.model.affine import Affine, cannot_hold
from homotopy.model.loss_model import LossModel
from homotopy.model.polyline import Polylines
from homotopy.model.tolerances import MODEL_TOLERANCES

Codes = npt.NDArray[np.int8]


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
    # The kinds computed last, with the ends of their interval: at most one entry.
    _kinds: list[tuple[float, float, Codes]] = attrs.field(factory=list, init=False, repr=False)

    @classmethod
    def compile(cls, model: LossModel) -> Problem:
        """Check everything a model declares; raise `ModelError` before any work is done."""
        name = type(model).__name__
        gram = getattr(model, "gram", None)
        if not isinstance(gram, Gram):
            raise ModelError(
                f"{name}: gram must be a Gram (DenseGram, KernelGram, LinearGram), got "
                f"{_told(gram)}"
            )
        n = gram.size
        if n == 0:
            raise ModelError(f"{name}: the model has no coordinates")
        negative = gram.semidefinite and np.any(gram.diag < 0.0)
        if not np.all(np.isfinite(gram.diag)) or negative:
            raise ModelError(
                f"{name}: the diagonal of gram must be finite and not negative; a quadratic form "
                "must be positive semidefinite (or say DenseGram(..., semidefinite=False))"
            )
        if model.unknown not in ("w", "alpha"):
            raise ModelError(f"{name}: unknown must be 'w' or 'alpha', got {model.unknown!r}")
        border = _border(model.border, n, name)
        moving = _moving_parts(model, border.shape)
        polylines, start = moving["polylines"], moving["start"]
        if not gram.semidefinite and (model.unknown != "alpha" or polylines.jump.any()):
            raise ModelError(
                f"{name}: gram is not positive semidefinite, which needs a model that is minimised "
                "over alpha (unknown = 'alpha') and whose polylines fall everywhere (no Jump)"
            )
        moves = np.any(polylines.slope1) or np.any(polylines.corner1[:, ~polylines.jump])
        if not np.isfinite(start) and (moves or np.any(moving["target1"])):
            raise ModelError(
                f"{name}: span starts at {start:g} but slopes, knots or border_target move with "
                f"{model.parameter}; an infinite start needs a model where only jumps move"
            )
        return cls(model=model, gram=with_rows(gram), border=border, **moving)

    def moved(self, model: LossModel) -> Problem | None:
        """Return `model` compiled with this problem's gram and border (which it must share), or
        None; pieces must have the same names, and the start must be finite."""
        own = self.model
        if (
            type(model) is not type(own)
            or model.gram is not own.gram
            or model.border is not own.border
            or model.unknown != own.unknown
        ):
            return None
        moving = _moving_parts(model, self.border.shape)
        if moving["polylines"].names != self.polylines.names or not np.isfinite(moving["start"]):
            return None
        return attrs.evolve(self, model=model, **moving)

    def kinds_within(self, start: float, stop: float) -> Codes:
        """Return the kind of each corner strictly between two t (or at t, if they are equal)."""
        if start == stop:
            return self.polylines.at(start).kind
        kinds = self._known_kinds(start, stop)
        if kinds is None:
            kinds = self.polylines.kinds_between(start, stop)
            self._kinds[:] = [(min(start, stop), max(start, stop), kinds)]
        return kinds

    def _known_kinds(self, start: float, stop: float) -> Codes | None:
        """Return the cached kinds if their interval contains this one.  Heights are affine in t
        and keep their sign inside that interval, so the kinds are the same."""
        for low, high, kinds in self._kinds:
            if low <= min(start, stop) and max(start, stop) <= high:
                return kinds
        return None

    def kinds_at(self, t: float) -> Codes:
        """Return the kind of each corner at t; at an end of the span a jump may have height 0."""
        ends = [v for v in (self.start, self.stop) if np.isfinite(v)]
        near = MODEL_TOLERANCES.end * max(abs(ends[0] - ends[-1]), abs(self.stop))
        inside = min(abs(t - v) for v in ends) > near
        kinds = self._known_kinds(t, t) if inside else None
        return self.polylines.at(t).kind if kinds is None else kinds

    def target(self, t: float) -> Array:
        """Return e(t)."""
        if not self.target1.any():
            return self.target0.copy()
        moving = np.where(self.target1 == 0.0, 0.0, t)
        return np.asarray(self.target0 + self.target1 * moving)

    def origin(self, t: float) -> Array:
        """Return the response at which each loss is zero: as the model declares, else its minimum.

        An origin at a corner is set to exactly that corner: beside a slope of 1e12, a rounding
        error would be a large loss."""
        snap = self.polylines.at(t)
        declared = self.model.loss_origin(t)
        if declared is None:
            return snap.lowest()[0]
        origin = np.full(self.gram.size, declared, dtype=float)
        corner = snap.corner
        with np.errstate(invalid="ignore"):
            same = np.abs(corner - origin[:, None]) <= MODEL_TOLERANCES.origin * np.abs(corner)
        rows, columns = np.nonzero(same & np.isfinite(corner))
        origin[rows] = corner[rows, columns]
        return origin

    def response(self, alpha: Array, b: Array) -> Array:
        """Return ``u = Q alpha + B b``: one row for each row of alpha, if there are several."""
        if alpha.ndim == 1:
            return np.asarray(self.gram.matvec(alpha) + self.border @ b)
        rows = alpha.reshape(-1, self.gram.size)
        along = self.gram.matmat(np.ascontiguousarray(rows.T)).T
        u = along + b.reshape(rows.shape[0], self.border.shape[1]) @ self.border.T
        return np.asarray(u).reshape(alpha.shape)

    def objective(self, t: float, alpha: Array, b: Array, u: Array) -> float:
        """Return ``1/2 |w|^2 + sum_i L_i(u_i; t) + e^T b`` with ``|w|^2 = alpha^T (u - B b)``, or
        its negative, the objective in alpha, if alpha is the unknown."""
        norm = float(alpha @ (u - self.border @ b))
        linear = float(self.target(t) @ b)
        loss = self.polylines.at(t).loss(u, self.origin(t))
        return self.sign * (0.5 * norm + loss + linear) + self.model.objective_constant(t)

    @property
    def sign(self) -> float:
        """1 if w is the unknown, -1 if alpha is: the two objectives are dual."""
        return -1.0 if self.model.unknown == "alpha" else 1.0

    def unanchored(self, t: float) -> Index:
        """Return the coordinates whose loss is unbounded below and has no declared origin."""
        if self.model.unknown == "alpha" or self.model.loss_origin(t) is not None:
            return np.empty(0, np.int64)
        return np.flatnonzero(~self.polylines.at(t).lowest()[1])


def _moving_parts(model: LossModel, shape: tuple[int, int]) -> dict[str, Any]:
    """Return, checked, what may differ between models that share their gram and a border of this
    shape: the span, the border target and the polylines."""
    name, (n, m) = type(model).__name__, shape
    start, stop = _span(model, name)
    target0, target1 = _target(model.border_target, m, name)
    polylines = Polylines.compile(_symbolic(model), n)
    polylines.check(start, stop, model.parameter)
    if np.isfinite(start):
        polylines = polylines.cleared_at(start)
    _check_losses(model, stop, n, name)
    return {
        "start": start,
        "stop": stop,
        "target0": target0,
        "target1": target1,
        "polylines": polylines,
    }


def _symbolic(model: LossModel) -> Any:
    """Evaluate the polyline at the symbolic t.  If it stores t in an array of plain numbers, NumPy
    hides our error behind its own; raise ours again."""
    try:
        return model.polyline(Affine.parameter())
    except (TypeError, ValueError) as error:
        if isinstance(error.__cause__, ModelError):
            cannot_hold()
        raise


def _check_losses(model: LossModel, t: float, n: int, name: str) -> None:
    """Refuse an unusable origin or constant before the trace, not after it."""
    origin, constant = model.loss_origin(t), model.objective_constant(t)
    if origin is not None and np.shape(origin) not in ((), (n,)):
        raise ModelError(
            f"{name}: loss_origin must return a number or one value for each of the {n} "
            f"coordinates, got shape {np.shape(origin)}"
        )
    if np.ndim(constant):
        raise ModelError(
            f"{name}: objective_constant must return a number, got shape {np.shape(constant)}"
        )


def _span(model: LossModel, name: str) -> tuple[float, float]:
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
    return start, stop


def _target(given: Any, m: int, name: str) -> tuple[Array, Array]:
    """Return the constants and the rates of e."""
    try:
        target = Affine.of(given)
    except ModelError:
        raise ModelError(
            f"{name}: border_target must be a number, numbers or an Affine, got {given!r}"
        ) from None
    for part in (target.const, target.rate):
        if part.shape not in ((), (m,)) or not np.all(np.isfinite(part)):
            raise ModelError(
                f"{name}: border_target must be a finite number or one for each of the {m} "
                f"border columns, got {part}"
            )
    if not m and (np.any(target.const) or target.moves):
        raise ModelError(f"{name}: border_target is given, but the model has no border")
    const, rate = (np.array(np.broadcast_to(v, (m,))) for v in (target.const, target.rate))
    return const, rate


def _told(gram: Any) -> str:
    """What was given for gram, in a few words."""
    shape = getattr(gram, "shape", None)
    if shape is None:
        return f"a {type(gram).__name__}" if isinstance(gram, list | tuple) else repr(gram)
    way = "; wrap it, self.gram = DenseGram(...)" if len(shape) == 2 else ""
    return f"an array of shape {shape}{way}"


def _border(border: Any, n: int, name: str) -> Array:
    if border is None:
        return np.zeros((n, 0))
    if isinstance(border, Affine) and border.moves:
        raise ModelError(f"{name}: border must not move with t; only border_target may")
    columns = np.array(border, dtype=float)
    if columns.ndim == 1:
        columns = columns[:, None]
    if columns.ndim != 2 or columns.shape[0] != n:
        raise ModelError(f"{name}: border must have {n} rows, got shape {np.shape(border)}")
    if not np.all(np.isfinite(columns)):
        raise ModelError(f"{name}: border holds values that are not finite")
    if not np.all(np.any(columns, axis=0)):
        raise ModelError(f"{name}: a border column is zero; drop it")
    # (One column that is not zero is independent.)
    if columns.shape[1] > 1 and np.linalg.matrix_rank(columns) < columns.shape[1]:
        raise ModelError(
            f"{name}: the {columns.shape[1]} border columns are linearly dependent; drop the "
            "redundant ones"
        )
    return np.ascontiguousarray(columns)
