"""How many targets are wrong, and which: from residuals out of fold.

A right target misses the prediction by the usual error, a wrong one has nothing to do with it:

    density of r  =  (1 - rho) t_nu(r / sigma) / sigma  +  rho t_1(r / tau) / tau,             (3)

with Student's density t_nu: nu and sigma of the usual error and the rate rho are not known, tau is
the distance of two targets picked at random.  What follows is as in `wrong_labels`: a grid over all
that is not known, weights from a likelihood that counts little (TEMPER), one chance in ten for no
target being wrong, and averages over the grid.  Usual errors with heavy tails look like wrong
targets, so that nu takes several values; and where errors are larger in one region than in another,
(3) does not hold at all, which is why the likelihood counts so little and the number is rough.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs
import numpy as np
import numpy.typing as npt
from scipy.stats import t as student

from homotopy_plugins.auditing.wrong_labels import NOTHING, RATES, WIDTHS, number_of

__all__ = ["WrongTargets"]

Array = npt.NDArray[np.float64]

TEMPER = 0.05
TAILS = (1.5, 3.0, 6.0, 30.0)
# Scales of the usual error that are tried, in units of the median of |r|.
SCALES = np.geomspace(0.3, 2.5, 25)
GROUPS = 400


@attrs.frozen(eq=False)
class WrongTargets:
    """Formula (3): weights, rho, nu and sigma on a grid, and tau."""

    weight: Array
    grid: Array
    tau: float

    @classmethod
    def of(cls, residual: Array, target: Array) -> WrongTargets:
        size = np.abs(residual)
        middle = float(np.median(size)) or float(size.mean()) or 1.0
        distance = np.abs(target - np.median(target))
        tau = np.sqrt(2.0) * float(np.median(distance)) / 0.6745 or float(distance.mean()) or 1.0
        # The prediction is no worse than none: a wrong target misses by more than the usual error.
        tau = max(tau, 2.0 * middle)
        parts = np.array_split(np.sort(size), min(GROUPS, size.size))
        r, many = np.array([p.mean() for p in parts]), np.array([p.size for p in parts])
        wrong = student.pdf(r / tau, 1.0) / tau
        prior = WIDTHS / WIDTHS.sum() * (1.0 - NOTHING)
        prior[0] += NOTHING
        log, grid = [], []
        for nu in TAILS:
            for sigma in np.minimum(SCALES * middle, tau):
                right = student.pdf(r / sigma, nu) / sigma
                mixed = np.log((1.0 - RATES[:, None]) * right + RATES[:, None] * wrong + 1e-300)
                log.append(TEMPER * (mixed @ many) + np.log(prior))
                grid.append(np.column_stack([RATES, np.full(RATES.size, nu), RATES * 0.0 + sigma]))
        total = np.concatenate(log)
        weight = np.exp(total - total.max())
        matter = weight > 1e-5
        return cls(weight[matter] / weight[matter].sum(), np.concatenate(grid)[matter], tau)

    def wrong(self, residual: Array) -> Array:
        """The chance that a target is wrong."""
        out = np.zeros(residual.size)
        for share, one in self._each(residual):
            out += share * one
        return out

    def counts(self, residual: Array) -> Array:
        """The chance of 0, 1, 2, ... wrong targets among these rows."""
        out = np.zeros(residual.size + 1)
        for share, one in self._each(residual):
            out += share * number_of(one)
        return np.asarray(out / out.sum())

    def _each(self, residual: Array) -> Iterator[tuple[float, Array]]:
        far = student.pdf(residual / self.tau, 1.0) / self.tau
        for share, (rate, nu, sigma) in zip(self.weight, self.grid, strict=True):
            near = student.pdf(residual / sigma, nu) / sigma
            yield share, rate * far / np.maximum((1.0 - rate) * near + rate * far, 1e-300)
