"""The result of `Path.certify`."""

from __future__ import annotations

import attrs
import numpy as np

from homotopy.arrays import Array, Index


@attrs.frozen
class Check:
    """One kind of condition.

    Attributes
    ----------
    name : str
        What is checked, as listed in `Certificate`.
    worst : float
        The largest relative residual.
    t : float
        Where it occurs; NaN if nothing was checked.
    count : int
        How many conditions of this kind were checked.
    ok : bool
        Whether `worst` is within the tolerance.
    """

    name: str
    worst: float
    t: float
    count: int
    ok: bool


@attrs.frozen
class Certificate:
    """The result of `Path.certify`: each kind of condition with its largest relative residual.

    Everything is recomputed from alpha and the data, by arithmetic that the tracer does not use.
    ``print(certificate)`` shows a table.

    Attributes
    ----------
    checks : tuple of Check
        Each coordinate is measured on its own scales (``docs/theory.md``).

        * polyline: distance of every (u_i, alpha_i) to the piece that the path names, the u part
          and the alpha part each relative to the scale of that coordinate;
        * border: ``|B^T alpha - e|`` relative to a hundredth of the terms of the sum;
        * gap: the duality gap of the convex problem in which every coordinate stays on its branch
          (the run of pieces between two jumps),
          ``sum_i [L_i(u_i) - L_i(v_i) + alpha_i (u_i - v_i)] + |b^T (e - B^T alpha)|``, where v_i
          is the place at which the branch has height alpha_i, relative to
          ``1/2 |w|^2 + sum_i |L_i| + |e^T b|``; infinite if a response is beyond a wall;
        * objective: `Path.objective` against ``1/2 |w|^2 + sum_i L_i(u_i) + e^T b`` integrated
          along the polylines, relative to the same terms;
        * continuity: that segments follow each other over the whole span, and the change of
          ``Q alpha`` (that is, of w) and of the objective between segments that meet without a
          jump (b need not be unique there, nor alpha along directions that are null up to
          rounding; these count in the objective only, as does a move of w that b compensates);
        * jumps: by how much the fall of the objective is smaller than the move of w demands,
          ``1/2 |dw|^2`` divided by the rounds taken (0 if it falls enough); how far the recorded
          objectives are from the recomputed ones; that exactly the recorded coordinates change
          branch; and that the response moves where a move is recorded;
        * corners: the number of coordinates that stay on a jump corner all along a segment without
          being held there by coordinates on knots;
        * curvature: if Q is not semidefinite, by how much the active block of a segment fails to
          be positive definite (in the directions of alpha that the border leaves free);
        * the conditions of `LossModel.residuals`, for a quadratic program feasibility, stationarity
          and complementarity in its author's variables: each relative to its own terms.
    tol : float
        The tolerance of every check.
    """

    checks: tuple[Check, ...]
    tol: float

    @property
    def ok(self) -> bool:
        """Whether every condition holds within `tol`."""
        return all(check.ok for check in self.checks)

    @property
    def worst(self) -> float:
        """The largest relative residual of all checks."""
        return max(check.worst for check in self.checks)

    def __str__(self) -> str:
        wide = max(12, *(len(c.name) + 2 for c in self.checks))
        lines = [f"{'condition':<{wide}}{'checked':>9}{'worst':>12}{'at':>14}"]
        for c in self.checks:
            at = f"{c.t:14.6g}" if np.isfinite(c.t) else f"{'-':>14}"
            mark = "" if c.ok else "   FAILS"
            lines.append(f"{c.name:<{wide}}{c.count:>9}{c.worst:>12.2e}{at}{mark}")
        verdict = "certified" if self.ok else "NOT certified"
        lines.append(f"{verdict} to {self.tol:g} (worst {self.worst:.2e})")
        return "\n".join(lines)


@attrs.define
class Tally:
    """Counts one kind of condition; `failed` is the first segment that violates it."""

    tol: float
    worst: float = 0.0
    t: float = np.nan
    count: int = 0
    failed: int | None = None

    def add(self, value: float, t: float, segment: int, count: int = 1) -> None:
        """Add one residual, the largest of `count`."""
        self.count += count
        value = value if np.isfinite(value) else np.inf
        if value > self.worst or np.isnan(self.t):
            self.worst, self.t = value, t
        if value > self.tol and (self.failed is None or segment < self.failed):
            self.failed = segment

    def add_each(self, values: Array, t: Array, segment: Index, count: int = 1) -> None:
        """Add many residuals, each the largest of `count`."""
        if values.size:
            values = np.where(np.isfinite(values), values, np.inf)
            failed = np.append(np.flatnonzero(values > self.tol), np.argmax(values))
            for at in (int(failed[-1]), int(failed[np.argmin(segment[failed])])):
                self.add(float(values[at]), float(t[at]), int(segment[at]), 0)
            self.count += count * values.size

    def check(self, name: str) -> Check:
        """Return the outcome."""
        return Check(name, self.worst, self.t, self.count, self.worst <= self.tol)
