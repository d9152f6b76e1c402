"""Which labels are wrong if mistakes are coin tosses: from the plateaus of a calibration curve.

That is one explanation among several, and one column of the `evidence`.

Let f be a score of a row that its own label had no part in, and eta(f) the chance that the row
truly is of the class.  Were all labels right, the share of rows labelled with the class would
follow eta, which comes to 0 and to 1 where f is clear.  A share rho+ of wrong labels in the class
and rho- outside it leaves

    p(f) = rho- + (1 - rho+ - rho-) eta(f),                                                    (1)

a curve that levels out at rho- and at 1 - rho+ instead.  The plateaus tell how many labels are
wrong, and Bayes' rule which,

    P(wrong | f, labelled with the class)     = rho- (1 - eta) / p,
    P(wrong | f, labelled otherwise)          = rho+ eta / (1 - p).                            (2)

With eta(f) = 1 / (1 + exp(-a f - b)) the four numbers are estimated together: rho+ and rho- on a
grid, a and b for each pair of them by Newton's method, and everything is averaged over the grid
with the weight that the labels give each pair.  Where classes overlap so much that no plateau is
reached, many pairs are equally good, and the interval of the number of wrong labels is wide: it
should be.

Three things are decided beforehand.  The likelihood counts a quarter (TEMPER), because the
logistic curve is a model and f an estimate, so that a thousand rows do not tell as much as (1)
believes.  One chance in ten (NOTHING) is given to no label being wrong.
And rates that differ between the classes must be earned (EVEN).  Their sizes
were settled on planted labels (seven sets, one seed); `benchmarks/audit.py` measures with other
seeds.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs
import numpy as np
import numpy.typing as npt

__all__ = ["Plateaus"]

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Index = npt.NDArray[np.int64]

RATES = np.array(
    [0, 0.005, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.13, 0.16, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45]
)
# What each rate stands for: half of the way to its neighbours.
WIDTHS = np.r_[0.0025, 0.5 * (RATES[2:] - RATES[:-2]), 0.025]
TEMPER = 0.25
NOTHING = 0.1
EVEN = 10.0
# Rates below this are hardly told apart.
LITTLE = 0.02
# The slope a has a wide normal prior, for classes that a threshold separates.
SLOPE = 25.0
# Rows of nearly the same score are counted together; this many groups lose nothing.
GROUPS = 200
# Newton's method ends where a round gains less than this; a step is cut at most so often.
ROUNDS, CUTS, GAIN = 60, 6, 1e-3


@attrs.frozen(eq=False)
class Plateaus:
    """Formula (1) fitted: a weight, two rates, a and b for each pair of the grid.

    Attributes
    ----------
    weight : array (g,)
    rates : array (g, 2)
        rho+ and rho-: wrong labels among rows of the class, and among the others.
    curve : array (g, 2)
        a and b.
    unit : float
        Scores are divided by it first.
    """

    weight: Array
    rates: Array
    curve: Array
    unit: float

    @classmethod
    def of(cls, score: Array, inside: Flags, classes: int = 2) -> Plateaus:
        """From scores and from who is labelled with the class.

        If labels are wrong at random, a row of the class leaves it `classes` - 1 times as often as
        another one enters it: that is where rates are called even.
        """
        unit = float(np.sqrt(np.mean(score**2))) or 1.0
        f, yes, no = _grouped(score / unit, inside)
        others = classes - 1
        leave, enter = (grid.ravel() for grid in np.meshgrid(RATES, RATES / others, indexing="ij"))
        wide = np.outer(WIDTHS, WIDTHS).ravel()
        fits = leave + enter < 0.9
        leave, enter, wide = leave[fits], enter[fits], wide[fits]
        curve, likelihood, curvature = _fitted(f, yes, no, leave, enter)
        uneven = (leave - others * enter) / (leave + others * enter + LITTLE)
        prior = wide * np.exp(-EVEN * uneven**2)
        prior *= (1.0 - NOTHING) / prior.sum()
        prior[(leave == 0.0) & (enter == 0.0)] += NOTHING
        # Laplace's integral over a and b; a is a scale, so that its logarithm is what is even.
        log = TEMPER * likelihood - 0.5 * curvature - np.log(np.maximum(curve[:, 0], 1e-3))
        log += np.log(prior)
        weight = np.exp(log - log.max())
        return cls(weight / weight.sum(), np.column_stack([leave, enter]), curve, unit)

    def clean(self, score: Array) -> Array:
        """eta: the chance that a row truly is of the class, whatever its label."""
        out = np.zeros(score.size)
        for share, (a, b) in zip(*self._counting(self.curve), strict=True):
            out += share * _logistic(a * score / self.unit + b)
        return out

    def wrong(self, score: Array, inside: Flags) -> Array:
        """The chance that a label is wrong, (2)."""
        out = np.zeros(score.size)
        for share, one in self._each(score, inside):
            out += share * one
        return out

    def _each(self, score: Array, inside: Flags) -> Iterator[tuple[float, Array]]:
        shares, rates = self._counting(self.rates)
        _, curves = self._counting(self.curve)
        for share, (leave, enter), (a, b) in zip(shares, rates, curves, strict=True):
            eta = _logistic(a * score / self.unit + b)
            p = enter + (1.0 - leave - enter) * eta
            yes = enter * (1.0 - eta) / np.maximum(p, 1e-12)
            no = leave * eta / np.maximum(1.0 - p, 1e-12)
            yield share, np.where(inside, yes, no)

    def _counting(self, values: Array) -> tuple[Array, Array]:
        """Weights that matter, and what belongs to them."""
        matter = self.weight > 1e-6
        return self.weight[matter] / self.weight[matter].sum(), values[matter]


def _grouped(score: Array, inside: Flags) -> tuple[Array, Array, Array]:
    order = np.argsort(score, kind="stable")
    parts = np.array_split(order, min(GROUPS, score.size))
    f = np.array([score[part].mean() for part in parts])
    yes = np.array([inside[part].sum() for part in parts], dtype=np.float64)
    return f, yes, np.array([part.size for part in parts]) - yes


def _fitted(
    f: Array, yes: Array, no: Array, leave: Array, enter: Array
) -> tuple[Array, Array, Array]:
    """a and b for each pair of rates, the logarithm of the likelihood there, and that of the
    determinant of its curvature: Fisher scoring, all pairs at once, steps cut until they gain."""
    total = yes + no

    def look(curve: Array, pairs: Index) -> tuple[Array, Array, Array]:
        eta = _logistic(curve[:, :1] * f + curve[:, 1:])
        rise = (1.0 - leave - enter)[pairs, None]
        p = np.clip(enter[pairs, None] + rise * eta, 1e-12, 1.0 - 1e-12)
        value = np.log(p) @ yes + np.log1p(-p) @ no - 0.5 * (curve[:, 0] / SLOPE) ** 2
        return value, p, rise * eta * (1.0 - eta)

    curves = np.tile([1.5, 0.0], (leave.size, 1))
    values, determinants = np.zeros(leave.size), np.ones(leave.size)
    pairs = np.arange(leave.size)
    value, p, slope = look(curves, pairs)
    for _ in range(ROUNDS):
        curve = curves[pairs]
        pull = slope / (p * (1.0 - p))
        force, stiff = (yes - total * p) * pull, total * slope * pull
        g0, g1 = force @ f - curve[:, 0] / SLOPE**2, force.sum(axis=1)
        h00, h01 = stiff @ f**2 + 1.0 / SLOPE**2, stiff @ f
        h11 = stiff.sum(axis=1) + 1e-6
        determinant = np.maximum(h00 * h11 - h01**2, 1e-300)
        step = np.column_stack([h11 * g0 - h01 * g1, h00 * g1 - h01 * g0]) / determinant[:, None]
        step *= np.minimum(1.0, 1.5 / np.maximum(np.abs(step).max(axis=1), 1e-300))[:, None]
        new = look(curve + step, pairs)
        for _ in range(CUTS):
            late = new[0] < value
            if not late.any():
                break
            step[late] /= 3.0
            new = look(curve + step, pairs)
        step[new[0] < value] = 0.0
        curves[pairs] = curve + step
        values[pairs], determinants[pairs] = np.maximum(new[0], value), determinant
        moving = new[0] - value > GAIN
        if not moving.any():
            break
        pairs = pairs[moving]
        value, p, slope = (part[moving] for part in new)
    return curves, values, np.log(determinants)


def _logistic(t: Array) -> Array:
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(t, -35.0, 35.0))))
