"""The result: a path of local optima, exact at every t of its span.

A path keeps, for each segment, the active part of alpha and b at both ends (everything between is
linear), and the log of piece changes; alpha of the other coordinates is the value of their slope.
Memory is O(sum of active-set sizes + events), never n numbers a break-point.
"""

from __future__ import annotations

import enum
import hashlib
import json
import os
import zipfile
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
import numpy.typing as npt

from homotopy.errors import PathError
from homotopy.jump import JumpRecord
from homotopy.model import LossModel, Problem, intercept
from homotopy.report import counted, summary
from homotopy.segments import Segments, locate, nodes

if TYPE_CHECKING:
    from homotopy.certificate import Certificate
    from homotopy.losses import Loss
    from homotopy.stays import Stays
    from homotopy.validation import ValidationCurve

__all__ = ["Path", "Status"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

FORMAT = 1


class Status(enum.Enum):
    """How a trace ended; the value is the sentence a user reads."""

    COMPLETE = "the path reached the end of its span"
    LIMIT = "stopped at max_breakpoints"
    CALLBACK = "stopped by the callback"
    INTERRUPTED = "interrupted by the user"
    FAILED = "stopped by numerical trouble"


_JUMP_ARRAYS = ("t", "before", "after", "rounds", "moved", "steps", "solver", "offset", "flipped")


_ARRAYS = tuple(a.name for a in attrs.fields(Segments)) + tuple(f"jump_{a}" for a in _JUMP_ARRAYS)


@attrs.frozen(eq=False, repr=False)
class Path:
    """A traced path; every method is exact at any t inside the span.

    ``side="after"`` (default) is the value just past t in the direction of travel,
    ``side="before"`` the value just short of it; they differ only at jumps (and, where alpha is
    not unique, at some break-points: then the response is the same).
    """

    model: LossModel
    segments: Segments
    jumps: tuple[JumpRecord, ...]
    status: Status
    span: tuple[float, float]
    counts: dict[str, int]
    problem: Problem = attrs.field(alias="problem")

    def __reduce__(self) -> Any:
        # The problem is compiled again from the model, as after `load`.
        return _restored, tuple(getattr(self, name) for name in _PICKLED)

    # ------------------------------------------------------------------ shape

    @property
    def breakpoints(self) -> Array:
        """All t at which the path bends or jumps, in order of travel, both ends included."""
        return nodes(self.segments.start, self.segments.stop)

    @property
    def traced(self) -> tuple[float, float]:
        """The interval traced, in order of travel; all of `span` if the trace is complete."""
        return float(self.segments.start[0]), float(self.segments.stop[-1])

    @property
    def complete(self) -> bool:
        """Whether the whole span was traced."""
        return self.status is Status.COMPLETE

    def __repr__(self) -> str:
        start, stop = self.traced
        name = self.model.parameter
        return (
            f"<Path of {type(self.model).__name__}: {name} {start:.6g} -> {stop:.6g}, "
            f"{counted(self.breakpoints.size, 'break-point')}, "
            f"{counted(len(self.jumps), 'jump')}; {self.status.value}>"
        )

    def _locate(self, t: float, side: str) -> tuple[int, float]:
        s, name = self.segments, self.model.parameter
        try:
            value = float(t)
        except (TypeError, ValueError):
            raise PathError(f"{name} must be a number, got {t!r}") from None
        start, stop = self.traced
        low, high = min(start, stop), max(start, stop)
        slack = 1e-12 * max(abs(low), abs(high))
        if not low - slack <= value <= high + slack:
            why = "" if self.complete else f" ({self.status.value})"
            raise PathError(
                f"{name}={value:g} lies outside the traced interval [{low:g}, {high:g}]{why}"
            )
        value = min(max(value, low), high)
        sign = 1.0 if stop >= start else -1.0
        return int(locate(s.start, s.stop, sign, value, side)), value

    # ------------------------------------------------------------------ values

    def _alpha_on(self, k: int, t: float) -> Array:
        s = self.segments
        level, rate = self._flat(np.arange(s.first_piece.size), s.pieces(k))
        alpha: Array = level + rate * t
        part = slice(s.offset[k], s.offset[k + 1])
        weight = self._weight(k, t)
        alpha[s.active[part]] = (1.0 - weight) * s.alpha_start[part] + weight * s.alpha_stop[part]
        return alpha

    def _flat(self, rows: Index, piece: Index) -> tuple[Array, Array]:
        """alpha of `rows` on flat slopes as ``level + rate * t``; 0 for those on other pieces."""
        lines, j, flat = self.problem.polylines, piece // 2, piece % 2 == 0
        level = np.where(flat, lines.slope0[rows, j], 0.0)
        return level, np.where(flat, lines.slope1[rows, j], 0.0)

    def _sweep(self) -> Iterator[tuple[Array, Array]]:
        """alpha at both ends of one segment after the other, in the order of travel."""
        s = self.segments
        piece = s.first_piece.copy()
        level, rate = self._flat(np.arange(piece.size), piece)
        for k in range(len(s)):
            new = slice(s.event[k], s.event[k + 1])
            changed = s.changed[new]
            piece[changed] = s.changed_to[new]
            level[changed], rate[changed] = self._flat(changed, piece[changed])
            part = slice(s.offset[k], s.offset[k + 1])
            first, last = level + rate * s.start[k], level + rate * s.stop[k]
            first[s.active[part]], last[s.active[part]] = s.alpha_start[part], s.alpha_stop[part]
            yield first, last

    def _weight(self, k: int, t: float) -> float:
        length = self.segments.stop[k] - self.segments.start[k]
        return float((t - self.segments.start[k]) / length) if length else 0.0

    def _b_on(self, k: int, t: float) -> Array:
        weight = self._weight(k, t)
        s = self.segments
        value: Array = (1.0 - weight) * s.b_start[k] + weight * s.b_stop[k]
        return value

    def alpha(self, t: float, side: str = "after") -> Array:
        """alpha at `t`, shape (n,)."""
        return self._alpha_on(*self._locate(t, side))

    def pieces(self, t: float, side: str = "after") -> Index:
        """The piece of each coordinate at `t`: slope j is 2j, corner j is 2j + 1."""
        return self.segments.pieces(self._locate(t, side)[0])

    def border_multipliers(self, t: float, side: str = "after") -> Array:
        """b at `t`, shape (m,)."""
        return self._b_on(*self._locate(t, side))

    def intercept(self, t: float, side: str = "after") -> Any:
        """b at `t`: a float with one border column (0.0 with none), else an array."""
        return intercept(self.border_multipliers(t, side))

    def response(self, t: float, side: str = "after") -> Array:
        """``u = Q alpha + B b`` at `t`, computed from alpha."""
        k, t = self._locate(t, side)
        alpha = self._alpha_on(k, t)
        u: Array = self.problem.gram.matvec(alpha) + self.problem.border @ self._b_on(k, t)
        return u

    def objective(self, t: float, side: str = "after") -> float:
        """The full, non-convex objective at `t`."""
        k, t = self._locate(t, side)
        alpha, b = self._alpha_on(k, t), self._b_on(k, t)
        u = self.problem.gram.matvec(alpha) + self.problem.border @ b
        return self.problem.objective(t, alpha, b, u)

    def partition(self, t: float, side: str = "after") -> dict[str, Index]:
        """Piece name -> indices of the coordinates on it."""
        k, t = self._locate(t, side)
        piece = self.segments.pieces(k)
        names = self.problem.polylines.names
        return {name: np.flatnonzero(piece == p) for p, name in enumerate(names) if name}

    def decision_function(self, X: Any, t: float, side: str = "after") -> Array:
        """The fitted function at new data (models with a kernel)."""
        k, t = self._locate(t, side)
        return self.model.decision_function(X, self._alpha_on(k, t), intercept(self._b_on(k, t)))

    def validation_curve(
        self, X: Any, y: Any, *, loss: Loss | None = None, sample_weight: Any = None
    ) -> ValidationCurve:
        """The mean loss on held-out rows for *every* t of the path, exactly.

        Every held-out value f(x; t) is piecewise linear in t, so the loss is known everywhere and
        not on a grid: each sign change is located, the least value is least.  (The model's
        `decision_function` must be affine in alpha and b, as a kernel expansion is.)

        Parameters
        ----------
        X, y
            Held-out rows, as `decision_function` takes them, and their targets or labels.
        loss : {"zero-one", "hinge", "absolute", "squared"} or Truncated(cap), optional
            "zero-one" (the part of rows with a wrong sign; f = 0 counts as negative) is piecewise
            constant in t, "hinge", "absolute" and `homotopy.Truncated` (absolute up to a cap)
            piecewise linear, "squared" piecewise quadratic.  The default is the model's:
            "zero-one" for classification, else "absolute".
        sample_weight : array (N,), optional
        """
        from homotopy.validation import validation_curve

        return validation_curve(self, X, y, loss=loss, sample_weight=sample_weight)

    def stays(self, *names: str) -> Stays:
        """When each coordinate is on one of the named pieces; see `Stays`."""
        from homotopy.stays import stays

        return stays(self, names)

    def certify(self, tol: float = 1e-8, *, at: npt.ArrayLike | None = None) -> Certificate:
        """Check the path from alpha and the data alone; see `Certificate`.

        With `at` (one t or several) only the optimality conditions at those t are checked, on both
        sides, which takes a product or two.
        """
        from homotopy.certificate import certify

        return certify(self, tol, at)

    def summary(self) -> str:
        """A readable account: span, break-points, jumps."""
        return summary(self)

    # ------------------------------------------------------------------ files

    def save(self, file: str | os.PathLike[str]) -> None:
        """Write the path (not the data) to an ``.npz`` file; `load` restores it exactly."""
        header = {
            "format": FORMAT,
            "model": type(self.model).__name__,
            "parameter": self.model.parameter,
            "status": self.status.name,
            "span": [v.hex() for v in self.span],
            "counts": self.counts,
            "fingerprint": fingerprint(self.problem),
        }
        arrays = {a.name: getattr(self.segments, a.name) for a in attrs.fields(Segments)}
        jumps = self.jumps
        arrays |= {
            "jump_t": np.array([j.t for j in jumps]),
            "jump_before": np.array([j.objective_before for j in jumps]),
            "jump_after": np.array([j.objective_after for j in jumps]),
            "jump_rounds": np.array([j.rounds for j in jumps], dtype=np.int64),
            "jump_moved": np.array([j.moved for j in jumps], dtype=bool),
            "jump_steps": np.array([j.steps for j in jumps], dtype=np.int64),
            "jump_solver": np.array([j.solver for j in jumps], dtype="U16"),
            "jump_offset": np.cumsum([0] + [j.flipped.size for j in jumps]),
            "jump_flipped": np.concatenate(
                [j.flipped for j in jumps] or [np.empty(0, dtype=np.int64)]
            ),
        }
        text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
        with open(file, "wb") as stream:
            np.savez_compressed(stream, header=text, **arrays)

    @classmethod
    def load(cls, file: str | os.PathLike[str], model: LossModel) -> Path:
        """Read a path saved by `save`; `model` must be the one that was traced."""
        try:
            with zipfile.ZipFile(file):
                pass  # np.load would take a bare array or try to unpickle
            with np.load(file, allow_pickle=False) as stored:
                data = {name: stored[name] for name in stored.files}
            header = json.loads(data.pop("header").tobytes().decode())
        except FileNotFoundError:
            raise PathError(f"{os.fspath(file)}: no such file") from None
        except (KeyError, ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
            raise PathError(f"{os.fspath(file)}: not a saved path ({error})") from None
        if header.get("format") != FORMAT:
            raise PathError(
                f"{os.fspath(file)}: format {header.get('format')!r}; this version reads {FORMAT}"
            )
        missing = sorted(set(_ARRAYS) - set(data))
        if missing:
            raise PathError(f"{os.fspath(file)}: not a whole saved path, {missing[0]!r} is missing")
        problem = Problem.compile(model)
        if header["fingerprint"] != fingerprint(problem):
            raise PathError(
                f"{os.fspath(file)} was traced with another model or other data "
                f"({header['model']}); build the model exactly as it was when the path was saved"
            )
        offset = data["jump_offset"]
        jumps = tuple(
            JumpRecord(
                t=float(data["jump_t"][k]),
                flipped=data["jump_flipped"][offset[k] : offset[k + 1]],
                objective_before=float(data["jump_before"][k]),
                objective_after=float(data["jump_after"][k]),
                rounds=int(data["jump_rounds"][k]),
                moved=bool(data["jump_moved"][k]),
                steps=int(data["jump_steps"][k]),
                solver=str(data["jump_solver"][k]),
            )
            for k in range(data["jump_t"].size)
        )
        start, stop = (float.fromhex(v) for v in header["span"])
        return cls(
            model=model,
            segments=Segments(**{a.name: data[a.name] for a in attrs.fields(Segments)}),
            jumps=jumps,
            status=Status[header["status"]],
            span=(start, stop),
            counts=header["counts"],
            problem=problem,
        )


_PICKLED = ("model", "segments", "jumps", "status", "span", "counts")


def _restored(model: LossModel, *fields: Any) -> Path:
    return Path(model, *fields, problem=Problem.compile(model))  # type: ignore[misc]


def fingerprint(problem: Problem) -> str:
    """A digest of everything that determines the path: polylines, border, diagonal and probe
    products of Q."""
    digest = hashlib.sha256()
    lines = problem.polylines
    tables = (lines.slope0, lines.slope1, lines.corner0, lines.corner1, lines.curvature)
    for array in (*tables, problem.border, problem.target0, problem.target1, problem.gram.diag):
        digest.update(np.ascontiguousarray(array).tobytes())
    # A product of Q with a fixed vector tells data apart; rounding differs between machines.
    probe = np.cos(np.arange(problem.gram.size, dtype=float))
    product = problem.gram.matvec(probe)
    digest.update(np.array([f"{v:.6e}" for v in product[:: max(1, product.size // 64)]]).tobytes())
    digest.update(problem.model.parameter.encode())
    return digest.hexdigest()
