"""The loss on held-out data along a whole path, at every t.

Between two break-points alpha and b are linear in t, and so is every held-out value f(x; t).  Take
a loss made of terms that are polynomials in f on either side of a kink (0-1: a step at 0; absolute:
a bend at y).  It is a polynomial in t except where some f(x_j; t) passes its kink, and those t are
roots of linear equations.  So the mean over the held-out rows is known exactly at every t, not just
on a grid, and so is its minimum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from homotopy.analysis.losses import LOSSES, HeldOutLoss, Loss
from homotopy.analysis.tolerances import ANALYSIS_TOLERANCES
from homotopy.arrays import Array, Index
from homotopy.errors import DataError, ModelError, PathError
from homotopy.model import Predictor, as_predictor
from homotopy.path.on_segments import OnSegments
from homotopy.path.segments import Pickled, locate, nodes, read_only
from homotopy.path.tolerances import PATH_TOLERANCES
from homotopy.progress import told
from homotopy.threads import one_thread

if TYPE_CHECKING:
    from homotopy.path import Path

__all__ = ["Best", "ValidationCurve", "held_out_losses", "validation_curve"]

Evaluator = Callable[[Array, Array], Array]


@attrs.frozen
class Best:
    """A point of a `ValidationCurve` chosen by `best`, `earliest` or `latest`.

    Attributes
    ----------
    t : float
        The chosen t: for `best`, the middle of the widest interval with the minimum.
    side : {"after", "before"}
        The side of t to use, if t is a jump and the value is taken on one side only.
    value : float
        The value of the curve there.
    interval : (float, float)
        The interval around `t` with that value, in the order of travel, within the pieces of the
        curve; a single point if the minimum is taken at one t only.
    """

    t: float
    side: str
    value: float
    interval: tuple[float, float]


@attrs.frozen(eq=False, repr=False)
class ValidationCurve(Pickled):
    """The mean loss on held-out rows as a piecewise polynomial in t, exact at every t.

    Piece k runs from ``start[k]`` to ``stop[k]`` in the order of travel and has the value
    ``c[0] + c[1] w + c[2] w^2`` with ``c = coefficients[k]``, where w goes from 0 to 1 along it.
    The curve is continuous except at jumps of the path and steps of the loss.  At such a t,
    ``side="after"`` (default) gives the value just after it and ``side="before"`` the value just
    before it.

    Attributes
    ----------
    parameter, loss : str
        The names of t and of the loss.
    start, stop : arrays (K,)
        The ends of the pieces, in the order of travel.
    coefficients : array (K, 3)
        The polynomial of each piece.
    origin : float
        The curve is constant from here to its first piece: infinite if the path has an infinite
        span (no jump meets a response out there), else ``start[0]``.
    """

    parameter: str
    loss: str
    start: Array = attrs.field(converter=read_only)
    stop: Array = attrs.field(converter=read_only)
    coefficients: Array = attrs.field(converter=read_only)
    origin: float = attrs.field()

    @origin.default
    def _first(self) -> float:
        return float(self.start[0])

    # ------------------------------------------------------------------ shape

    @property
    def traced(self) -> tuple[float, float]:
        """The first and last t of the curve, in the order of travel."""
        return float(self.start[0]), float(self.stop[-1])

    @property
    def nodes(self) -> Array:
        """The ends of the polynomial pieces, in the order of travel."""
        return nodes(self.start, self.stop)

    @property
    def _sign(self) -> float:
        """+1 if t increases along the curve, -1 if it decreases."""
        begin, end = self.traced
        if begin == end:
            begin = self.origin
        return 1.0 if end >= begin else -1.0

    def __repr__(self) -> str:
        begin, end = self.traced
        best = self.best
        return (
            f"<ValidationCurve: {self.loss} loss, {self.parameter} {begin:.6g} -> {end:.6g}, "
            f"{self.start.size} pieces; least {best.value:.6g} at {self.parameter}={best.t:.6g}>"
        )

    # ------------------------------------------------------------------ values

    def __call__(self, t: Any, side: str = "after") -> Any:
        """Return the mean loss at `t`: a float for a number, an array for an array."""
        try:
            asked = np.asarray(t, dtype=float)
        except (TypeError, ValueError):
            raise PathError(f"{self.parameter} must be a number, got {t!r}") from None
        begin, end = self.traced
        low, high = min(self.origin, begin, end), max(self.origin, begin, end)
        finite = max((abs(v) for v in (begin, end) if np.isfinite(v)), default=0.0)
        slack = PATH_TOLERANCES.beyond * finite
        wrong = asked[~((asked >= low - slack) & (asked <= high + slack))]
        if wrong.size:
            raise PathError(
                f"{self.parameter}={wrong.flat[0]:g} lies outside the curve, [{low:g}, {high:g}]"
            )
        inside = np.clip(asked, min(begin, end), max(begin, end))
        before_it = self._sign * asked < self._sign * begin
        k = locate(self.start, self.stop, self._sign, inside, side)
        k = np.where(before_it, 0, k)
        length = self.stop[k] - self.start[k]
        w = np.where(length == 0.0, 0.0, (inside - self.start[k]) / np.where(length, length, 1.0))
        c = self.coefficients[k]
        value = c[..., 0] + w * (c[..., 1] + w * c[..., 2])
        return float(value) if asked.ndim == 0 else value

    def _lowest(self) -> tuple[Array, Array, Array]:
        """Return, for every piece, its minimum, the w at which it is taken, and the value at the
        end of the piece."""
        c0, c1, c2 = self.coefficients.T
        end = c0 + c1 + c2
        with np.errstate(divide="ignore", invalid="ignore"):
            vertex = np.where(c2 > 0.0, -c1 / (2.0 * c2), -1.0)
        inside = (vertex > 0.0) & (vertex < 1.0)
        w = np.where(inside, vertex, np.where(end < c0, 1.0, 0.0))
        least = np.where(inside, c0 + w * (c1 + w * c2), np.minimum(c0, end))
        return least, w, end

    @property
    def minimum(self) -> float:
        """The smallest value of the curve."""
        return float(self._lowest()[0].min())

    @property
    def intervals(self) -> tuple[tuple[float, float], ...]:
        """Every interval of t on which the minimum is taken, in the order of travel."""
        return tuple((begin, end) for begin, end, _ in self._intervals())

    def _intervals(self) -> list[tuple[float, float, str]]:
        least, w, end = self._lowest()
        scale = abs(float(least.min())) or float(np.abs(self.coefficients[:, 0]).max())
        tied = least.min() + ANALYSIS_TOLERANCES.tied * scale
        c0 = self.coefficients[:, 0]
        flat = np.ptp(np.stack([c0, end, least]), axis=0) <= ANALYSIS_TOLERANCES.tied * scale
        found: list[tuple[float, float, str]] = []
        for k in np.flatnonzero(least <= tied):
            if flat[k]:
                first, last = float(self.start[k]), float(self.stop[k])
                # A piece of length zero before the first jump: the point is on its near side.
                side = "before" if first == last and k + 1 < self.start.size else "after"
            else:
                at = self.start[k] + w[k] * (self.stop[k] - self.start[k])
                first = last = float(at)
                side = "before" if w[k] == 1.0 else "after"
            if found and found[-1][1] == first:
                # Merge with the previous interval or corner, which ends where this one begins.
                first, side = found.pop()[0], "after"
            found.append((first, last, side))
        return found

    @property
    def best(self) -> Best:
        """The middle of the widest interval on which the minimum is taken."""
        found = self._intervals()
        widths = [abs(last - first) for first, last, _ in found]
        first, last, side = found[int(np.argmax(widths))]
        return Best(0.5 * (first + last), side, self.minimum, (first, last))

    def earliest(self, limit: float) -> Best:
        """Return the first point, in the order of travel, at which the curve is at most `limit`.

        With ``limit = minimum + standard error`` this is the one-standard-error rule: of all points
        that are not significantly worse than the best, the nearest to the start.  If the curve is
        that low from the beginning, it is the beginning, before any jump there.
        """
        limit = float(limit)
        least, place, _ = self._lowest()
        scale = max(abs(limit), abs(float(least.min())))
        allowed = limit + ANALYSIS_TOLERANCES.tied * (
            scale or float(np.abs(self.coefficients[:, 0]).max())
        )
        if not allowed >= least.min():
            raise PathError(f"the curve never falls to {limit:g}; its minimum is {self.minimum:g}")
        k = int(np.flatnonzero(least <= allowed)[0])
        c0, c1, c2 = self.coefficients[k]
        w = 0.0
        if c0 > allowed:
            roots = np.polynomial.Polynomial([c0 - limit, c1, c2]).trim().roots()
            real = roots[np.isreal(roots)].real
            inside = real[(real >= 0.0) & (real <= 1.0)]
            # A vertex that touches the limit may have no real root because of rounding.
            w = float(inside.min() if inside.size else place[k])
        t = float(self.start[k] + w * (self.stop[k] - self.start[k]))
        value = float(c0 + w * (c1 + w * c2))
        at_end = w > 0.0 and t == self.stop[k]
        side = "before" if at_end or (k == 0 and w == 0.0) else "after"
        return Best(t, side, value, (t, t))

    def latest(self, limit: float) -> Best:
        """Return the last point, in the order of travel, at which the curve is at most `limit`."""
        c0, c1, c2 = self.coefficients[::-1].T
        back = ValidationCurve(
            parameter=self.parameter,
            loss=self.loss,
            start=self.stop[::-1],
            stop=self.start[::-1],
            coefficients=np.stack([c0 + c1 + c2, -c1 - 2.0 * c2, c2], axis=1),
        ).earliest(limit)
        return attrs.evolve(back, side="after" if back.side == "before" else "before")

    # ------------------------------------------------------------------ many curves

    @classmethod
    def mean(cls, curves: Sequence[ValidationCurve]) -> ValidationCurve:
        """Return the mean of several curves of one parameter, exact as well.

        The curves must end at the same t.  If they begin at different t, each must be constant
        between the earliest beginning and its own (see `origin`).
        """
        if not curves:
            raise PathError("ValidationCurve.mean: no curves given")
        first = curves[0]
        for curve in curves[1:]:
            if (curve.parameter, curve.loss) != (first.parameter, first.loss):
                raise PathError(
                    f"ValidationCurve.mean: a curve of {curve.loss} loss over {curve.parameter} "
                    f"cannot be averaged with one of {first.loss} loss over {first.parameter}"
                )
        sign = next((c._sign for c in curves if c.traced[0] != c.traced[1]), first._sign)
        begin = min(sign * c.traced[0] for c in curves)
        stops = {c.traced[1] for c in curves}
        if len(stops) > 1 or any(begin < sign * c.origin for c in curves):
            spans = ", ".join(f"({c.traced[0]:g}, {c.traced[1]:g})" for c in curves)
            raise PathError(f"ValidationCurve.mean: the curves span different intervals: {spans}")
        nodes = np.unique(np.concatenate([sign * np.append(c.start, c.stop) for c in curves]))
        # A curve with a jump at one of its ends has a piece of length zero there.
        points = [
            at
            for at, k in ((nodes[0], 0), (nodes[-1], -1))
            if any(c.start[k] == c.stop[k] and sign * c.start[k] == at for c in curves)
        ]
        low, high = np.sort(np.append(nodes[:-1], points)), np.sort(np.append(nodes[1:], points))
        if nodes.size == 1:
            low = high = nodes
        total = sum(c._on(sign * low, sign * high) for c in curves)
        return cls(
            parameter=first.parameter,
            loss=first.loss,
            start=sign * low,
            stop=sign * high,
            coefficients=total / len(curves),
            origin=sign * max(sign * c.origin for c in curves),
        )

    def _on(self, start: Array, stop: Array) -> Array:
        """Return the coefficients on finer pieces, each inside an own piece or before the first."""
        sign = self._sign
        out = np.zeros((start.size, 3))
        middle = 0.5 * (start + stop)
        before = sign * middle < sign * self.start[0]
        out[:, 0] = self.coefficients[0, 0]
        at = np.where(before, self.start[0], middle)
        # A point where two pieces meet belongs to the later one; the beginning, to the first.
        k = locate(self.start, self.stop, sign, at, "after")
        ends = (start == stop) & (start == self.start[0])
        k = np.where(ends, 0, k)
        length = np.where(self.stop[k] == self.start[k], 1.0, self.stop[k] - self.start[k])
        a, b = (start - self.start[k]) / length, (stop - self.start[k]) / length
        out[~before] = _substituted(self.coefficients[k], a, b - a)[~before]
        return out


def validation_curve(
    path: Path,
    X: Any,
    y: Any,
    *,
    loss: Loss | None = None,
    sample_weight: Any = None,
    block: int = ANALYSIS_TOLERANCES.block,
) -> ValidationCurve:
    """Return the mean loss of `path` on held-out rows for every t; see `Path.validation_curve`.

    At most about `block` numbers are in memory at a time.
    """
    model = as_predictor(path.model, "path")
    loss = model.validation_loss if loss is None else loss
    if isinstance(loss, str) and loss not in LOSSES:
        raise PathError(f"loss must be one of {', '.join(LOSSES)} or Truncated(cap), got {loss!r}")
    target = model.held_out_target(y)
    held_out = LOSSES[loss](target) if isinstance(loss, str) else loss(target)
    weights = _weights(sample_weight, target.size)
    s = path.segments
    with one_thread(model):
        evaluate = model.evaluator(X)
        tally = _Tally(len(s), weights)
        for first, last, alphas, bs in _blocks(path, target.size, block):
            if first == 0:
                alphas, bs = _with_middle(alphas), _with_middle(bs)
            values = evaluate(alphas, bs)
            if values.shape[0] != target.size:
                raise DataError(f"X has {values.shape[0]} rows but y has {target.size}")
            if first == 0:
                # (An evaluator for many points at once is a product, where rounding may be large.)
                if type(model).evaluator is Predictor.evaluator:
                    _check_affine(values[:, 0], values[:, -2], values[:, -1], type(model).__name__)
                values = values[:, :-1]
            # Columns alternate: the beginning and the end of each segment.
            for term in held_out:
                tally.add(first, last, values[:, 0::2], values[:, 1::2], term)
            told(last, len(s))
        start, stop, coefficients = tally.pieces(s.start, s.stop)
    declared = path.problem.start
    return ValidationCurve(
        parameter=model.parameter,
        loss=str(loss),
        start=start,
        stop=stop,
        coefficients=coefficients / weights.sum(),
        origin=float(start[0]) if np.isfinite(declared) else declared,
    )


def held_out_losses(
    path: Path, X: Any, y: Any, t: float, side: str = "after", *, loss: Loss
) -> Array:
    """Return the loss of every held-out row at `t`; their weighted mean is the curve there."""
    target = as_predictor(path.model, "path").held_out_target(y)
    terms = LOSSES[loss](target) if isinstance(loss, str) else loss(target)
    f = path.decision_function(X, t, side)
    return np.asarray(sum(term(f) for term in terms))


def _with_middle(columns: Array) -> Array:
    """Append the middle between the first and the last column."""
    return np.column_stack([columns, 0.5 * (columns[:, 0] + columns[:, -1])])


def _check_affine(begin: Array, end: Array, middle: Array, name: str) -> None:
    """Refuse a decision function that is not affine between two points of the path, given its
    values there and midway."""
    off = float(np.abs(middle - 0.5 * (begin + end)).max(initial=0.0))
    if off > ANALYSIS_TOLERANCES.bent * max(
        float(np.abs(v).max(initial=0.0)) for v in (begin, end, middle)
    ):
        raise ModelError(
            f"{name}: decision_function is not affine in alpha and b (midway between two points of "
            f"the path it is off by {off:.3g}), so the loss between break-points is not known; "
            "make it affine, or evaluate Path.decision_function at the t you need"
        )


def _blocks(path: Path, rows: int, block: int) -> Iterator[tuple[int, int, Array, Array]]:
    """Yield alpha and b at both ends of each segment, as many segments at a time as fit."""
    s = path.segments
    size = max(1, block // (2 * max(path.problem.gram.size, rows)))
    sweep = OnSegments(path).sweep()
    for first in range(0, len(s), size):
        last = min(first + size, len(s))
        alphas = [alpha for ends in islice(sweep, last - first) for alpha in ends]
        bs = [b for k in range(first, last) for b in (s.b_start[k], s.b_stop[k])]
        yield first, last, np.stack(alphas).T, np.stack(bs).T


class _Tally:
    """Sums over held-out rows: one polynomial per segment, and its changes inside the segment."""

    def __init__(self, segments: int, weights: Array) -> None:
        self._weights = weights
        self._base = np.zeros((segments, 3))
        self._where: list[Index] = []
        self._at: list[Array] = []
        self._change: list[Array] = []

    def add(self, first: int, last: int, begin: Array, end: Array, loss: HeldOutLoss) -> None:
        """Add segments `first` to `last`, given the values of f at both ends, (N, k) each."""
        g0, g1 = begin - loss.kink[:, None], end - loss.kink[:, None]
        # A value on the kink at one end takes the side of the interior; all along the kink, left.
        right = (g0 > 0.0) | ((g0 == 0.0) & (g1 > 0.0))
        right_at_end = (g1 > 0.0) | ((g1 == 0.0) & (g0 > 0.0))
        w = self._weights[:, None]
        for side, table in ((~right, loss.left), (right, loss.right)):
            if np.any(table):
                self._base[first:last] += _polynomials(w * side, table[:, :, None], g0, g1).T
        row, k = np.nonzero(right != right_at_end)
        if row.size:
            gone, come = loss.left[:, row], loss.right[:, row]
            falls = right[row, k]
            change = np.where(falls, gone - come, come - gone)
            a, b = g0[row, k], g1[row, k]
            self._where.append(k + first)
            self._at.append(a / (a - b))
            self._change.append(self._weights[row, None] * _substituted(change.T, a, b - a))

    def pieces(self, start: Array, stop: Array) -> tuple[Array, Array, Array]:
        """Return start, stop and coefficients of the pieces: segments cut at kinks of rows."""
        count = start.size
        where = np.concatenate([np.arange(count), *self._where])
        at = np.concatenate([np.zeros(count), *self._at])
        change = np.concatenate([np.zeros((count, 3)), *self._change])
        # Rounding must not separate what happens at one t: equal rows cross together, and a
        # crossing at the end of a segment stays there.
        near = ANALYSIS_TOLERANCES.together
        at = np.where(at < near, 0.0, np.where(at > 1.0 - near, 1.0, at))
        order = np.lexsort((at, where))
        where, at, change = where[order], at[order], change[order]
        apart = np.append(True, (where[1:] != where[:-1]) | (at[1:] - at[:-1] > near))
        at = at[np.maximum.accumulate(np.where(apart, np.arange(at.size), 0))]
        # Sum the changes within each segment.
        heads = np.flatnonzero(np.append(True, where[1:] != where[:-1]))
        ends = np.append(heads[1:], where.size)
        coefficients = np.empty((where.size, 3))
        for k, (head, end) in enumerate(zip(heads.tolist(), ends.tolist(), strict=True)):
            coefficients[head:end] = self._base[k] + np.cumsum(change[head:end], axis=0)
        after = np.append(at[1:], 1.0)
        after[ends - 1] = 1.0
        # Substitute the w of the piece for the w of the segment.
        length = after - at
        local = _substituted(coefficients, at, length)
        span = stop - start
        begin = start[where] + at * span[where]
        finish = start[where] + after * span[where]
        finish[ends - 1] = stop[where[ends - 1]]
        # Drop empty pieces between crossings at one t; only a segment of length zero is a point.
        real = (length > 0.0) & ((begin != finish) | (span[where] == 0.0))
        return begin[real], finish[real], local[real]


def _substituted(coefficients: Array, at: Array, length: Array) -> Array:
    """Return polynomials (m, 3) of ``at + length * w`` as polynomials of w."""
    c0, c1, c2 = coefficients.T
    return np.stack(
        [c0 + at * (c1 + at * c2), (c1 + 2.0 * at * c2) * length, c2 * length**2], axis=1
    )


def _polynomials(weights: Array, table: Array, g0: Array, g1: Array) -> Array:
    """Return sums over rows of ``table`` as polynomials in w, (3, k); g goes from g0 to g1."""
    slope = g1 - g0
    sums = np.zeros((3, g0.shape[1]))
    if np.any(table[0]):
        sums[0] += (weights * table[0]).sum(axis=0)
    if np.any(table[1]):
        scaled = weights * table[1]
        sums[0] += (scaled * g0).sum(axis=0)
        sums[1] += (scaled * slope).sum(axis=0)
    if np.any(table[2]):
        scaled = weights * table[2]
        sums[0] += (scaled * g0 * g0).sum(axis=0)
        sums[1] += (2.0 * scaled * g0 * slope).sum(axis=0)
        sums[2] += (scaled * slope * slope).sum(axis=0)
    return sums


def _weights(weights: Any, rows: int) -> Array:
    if weights is None:
        return np.ones(rows)
    try:
        array = np.array(weights, dtype=float)
    except (TypeError, ValueError):
        raise DataError(f"sample_weight must be numeric, got {weights!r}") from None
    if array.shape != (rows,):
        raise DataError(f"y has {rows} rows but sample_weight has shape {array.shape}")
    if not (np.all(np.isfinite(array)) and np.all(array >= 0.0) and np.any(array)):
        raise DataError("sample_weight must be finite and not negative, with at least one above 0")
    return array
