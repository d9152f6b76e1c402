"""Support vector classification as the costs of the two classes move against each other.

    min over f, b   1/2 |f|^2 + sum_i C_i max(0, 1 - y_i f(x_i)),     C_i = w_i C+  or  w_i C-

Along `share` the sum of the two costs stays: ``C+ = 2 C share``, ``C- = 2 C (1 - share)``, and the
plain machine is in the middle.  Along `ratio` the cost of the negative class stays:
``C+ = C ratio``, ``C- = C``.  Every point of the path is the best machine for its costs, whereas
the usual ROC curve moves the threshold of one machine that was fitted for other costs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Unpack

import attrs
import numpy as np
import numpy.typing as npt

from homotopy import DataError, Jump, Knot, ModelError, PathError, Predictor, Slope
from homotopy_plugins.kernels.checks import check_rows, check_scale, finite, span_of, within_reach
from homotopy_plugins.kernels.kernel_model import KernelModel, KernelOptions
from homotopy_plugins.kernels.labels import MARGIN, signs_of, two_classes

if TYPE_CHECKING:
    from homotopy import Path

__all__ = ["ROCCurve", "ROCPath"]

Array = npt.NDArray[np.float64]


class ROCPath(KernelModel):
    """The support vector classifier for every balance of the two kinds of error.

    Parameters
    ----------
    X : array or scipy sparse matrix (n, d)
        Samples; the kernel matrix (n, n) if ``kernel="precomputed"``.
    y : array (n,)
        Labels of any two values; the larger (in sorted order) is the positive class.
    C : float
        Weight of the loss; the plain machine of this C is at ``share = 1/2`` and ``ratio = 1``.
    share : (start, stop), optional
        The share of the positive class in the cost, each in [0, 1]; (0.001, 0.999) unless told
        otherwise.  At 0 nothing is called positive, at 1 everything is.  Near 1 the cost of the
        negative class is what rounding leaves of ``1 - share``: go there where C times the kernel
        is not large (below 1e4, say).
    ratio : (start, stop), optional
        Instead of `share`: ``C+ / C-``, each 0 or more, with ``C- = C`` fixed.
    **options
        Of the kernel, see `KernelModel`; but there is an intercept unless ``fit_intercept=False``.

    Notes
    -----
    Signs: ``u_i = y_i f(x_i)``, ``f = sum_i alpha_i y_i K(x_i, .) + b`` with y in {-1, +1} and
    ``0 <= alpha_i <= C_i``.
    """

    validation_loss = "zero-one"
    words = MARGIN

    def __init__(
        self,
        X: Any,
        y: npt.ArrayLike,
        *,
        C: float,
        share: tuple[float, float] | None = None,
        ratio: tuple[float, float] | None = None,
        **options: Unpack[KernelOptions],
    ) -> None:
        name = type(self).__name__
        rows = check_rows(X, name)
        self.classes, self.y = two_classes(y, rows.shape[0], name)
        if share is not None and ratio is not None:
            raise ModelError(
                f"{name}: give share or ratio, not both: they are two ways of one path"
            )
        self.parameter = "share" if ratio is None else "ratio"
        given = share if ratio is None else ratio
        self.span = self._balance((0.001, 0.999) if given is None else given)
        options.setdefault("fit_intercept", True)
        super().__init__(rows, self.y, C=C, **options)
        heaviest = self.C * max(1.0, *self.span)
        check_scale(heaviest, self.sample_weight, self.gram.diag, name)

    def _balance(self, given: Any) -> tuple[float, float]:
        name, what = type(self).__name__, self.parameter
        start, stop = (finite(v, what, name) for v in span_of(given, what, name))
        most = 1.0 if what == "share" else np.inf
        for value in (start, stop):
            if not 0.0 <= within_reach(value, what, name) <= most:
                room = "lie in [0, 1]" if what == "share" else "not be negative"
                raise ModelError(f"{name}: {what} must {room}, got {value!r}")
        return start, stop

    def polyline(self, t: Any) -> Sequence[Slope | Knot | Jump]:
        positive, negative = self.cost * (self.y > 0.0), self.cost * (self.y < 0.0)
        if self.parameter == "share":
            cost = 2.0 * (positive * t + negative * (1.0 - t))
        else:
            cost = positive * t + negative
        return Slope("L", cost), Knot("E", 1.0), Slope("R", 0.0)

    def held_out_target(self, y: Any) -> Array:
        """Labels as -1 / +1; those the model was not fitted on are refused."""
        return signs_of(y, self.classes, type(self).__name__)


@attrs.frozen(eq=False)
class ROCCurve:
    """False and true positive rates on some rows for every t of a path, exactly.

    Piece k runs from ``start[k]`` to ``stop[k]`` in the order of travel; between its ends no row
    changes its predicted class.  (f = 0 counts as negative.)

    Attributes
    ----------
    parameter : str
        The name of t.
    start, stop : arrays (K,)
    false_positive_rate, true_positive_rate : arrays (K,)
        One pair per piece.
    """

    parameter: str
    start: Array
    stop: Array
    false_positive_rate: Array
    true_positive_rate: Array

    @classmethod
    def of(cls, path: Path, X: Any, y: Any, *, sample_weight: Any = None) -> ROCCurve:
        """The rates of a path of classifiers on the rows X with labels y.

        `path` may be that of a `ROCPath` or of any model that predicts two classes.  With
        `sample_weight` the rates are those of the weights.
        """
        model = path.model
        if not isinstance(model, Predictor):
            raise ModelError(f"ROCCurve.of: {type(model).__name__} predicts nothing on new rows")
        target = model.held_out_target(y)
        negative, positive = target < 0.0, target > 0.0
        if not (negative.any() and positive.any()):
            raise DataError("ROCCurve.of: the rows must be of both classes, got only one")
        rows = check_rows(X, "ROCCurve.of")
        if rows.shape[0] != target.size:
            raise DataError(f"ROCCurve.of: X has {rows.shape[0]} rows but y has {target.size}")
        weight = np.ones(target.size) if sample_weight is None else np.asarray(sample_weight)
        labels = np.asarray(y)
        wrong = [
            path.validation_curve(
                rows[part], labels[part], loss="zero-one", sample_weight=weight[part]
            )
            for part in (negative, positive)
        ]
        ways = 1.0 if path.traced[1] >= path.traced[0] else -1.0
        nodes = ways * np.unique(ways * np.concatenate([curve.nodes for curve in wrong]))
        start, stop = (nodes[:-1], nodes[1:]) if nodes.size > 1 else (nodes, nodes)
        false, missed = (np.array([curve(t) for t in 0.5 * (start + stop)]) for curve in wrong)
        kept = np.append(True, (np.diff(false) != 0.0) | (np.diff(missed) != 0.0))
        last = np.append(kept[1:], True)
        return cls(path.model.parameter, start[kept], stop[last], false[kept], 1.0 - missed[kept])

    def __call__(self, t: float) -> tuple[float, float]:
        """(false positive rate, true positive rate) at t; just past it where they change."""
        low, high = sorted((float(self.start[0]), float(self.stop[-1])))
        if not low <= t <= high:
            raise PathError(f"ROCCurve: {self.parameter}={t:g} lies outside [{low:g}, {high:g}]")
        ways = 1.0 if self.stop[-1] >= self.start[0] else -1.0
        k = int(np.searchsorted(ways * self.start, ways * t, side="right")) - 1
        return float(self.false_positive_rate[k]), float(self.true_positive_rate[k])

    def hull(self) -> tuple[Array, Array]:
        """The upper convex hull of all pairs with (0, 0) and (1, 1): what can be had by choosing,
        by chance where need be, among the machines of the path."""
        points = np.stack([self.false_positive_rate, self.true_positive_rate], axis=1)
        corners: list[Array] = []
        for point in np.unique(np.vstack([points, [[0.0, 0.0], [1.0, 1.0]]]), axis=0):
            while len(corners) > 1 and _turn(corners[-2], corners[-1], point) >= 0.0:
                corners.pop()
            corners.append(point)
        found = np.array(corners)
        return found[:, 0], found[:, 1]

    @property
    def area(self) -> float:
        """The area under the hull: 1/2 is chance, 1 is perfect."""
        false, true = self.hull()
        return float(0.5 * np.diff(false) @ (true[1:] + true[:-1]))


def _turn(a: Array, b: Array, c: Array) -> float:
    """Positive where the way from a over b to c turns to the left."""
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))
