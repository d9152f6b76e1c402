"""Semi-supervised classification: rows without a label should lie on either side, off the margin.

With C_i = C * sample_weight_i for rows with a label and t times the weight of rows without,

    1/2 |w|^2 + sum_labelled C_i max(0, 1 - y_i f(x_i)) + t sum_unlabelled max(0, 1 - |f(x_j)|)

(the transductive SVM).  The hat loss has a peak at f = 0, a concave corner, and its height t goes
from 0, where this is the plain SVM, to `C_unlabelled`.  In ``u = y f`` (labelled) and ``u = f``
(unlabelled) ``-dL`` is the polyline

    far-: C | edge-: -1 | near-: C | 0 | near+: C | edge+: knot 1 | far+: 0          labelled
    far-: 0 | edge-: knot -1 | near-: -t | jump 0 | near+: t | edge+: knot 1 | far+: 0   unlabelled
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from homotopy import DataError, DenseGram, Gram, Jump, Knot, LinearGram, Residual, Slope
from homotopy_plugins.kernels.checks import check_rows, finite, positive
from homotopy_plugins.kernels.kernel_model import KernelModel, KernelOptions
from homotopy_plugins.kernels.labels import signs_of, two_classes

__all__ = ["SemiSupervisedSVM"]

Array = npt.NDArray[np.float64]

# A response is measured by itself or by this part of its corners.
CORNER = 0.01


class SemiSupervisedSVM(KernelModel):
    """The semi-supervised (transductive) SVM along the weight of the rows without a label.

    Parameters
    ----------
    X : array or scipy sparse matrix (n, d)
        Rows with a label; of a precomputed kernel their values with all n + m rows.
    y : array (n,)
        Labels of any two values; the larger (in sorted order) is the positive class.
    X_unlabelled : array or scipy sparse matrix (m, d)
        Rows without a label; of a precomputed kernel likewise (m, n + m).
    C : float
        Weight of the hinge loss of rows with a label.
    C_unlabelled : float
        Weight of the hat loss of rows without one, at the end of the path.
    balance : bool or float
        Ask for ``mean of f over the unlabelled rows = balance``, without which all of them may end
        on one side; True takes the mean of the labels (-1 and +1), False asks for nothing.  It is
        one more coordinate, the last of alpha: its multiplier.
    **options
        Of the kernel; see `KernelModel`.  `sample_weight` has n + m values, labelled rows first.

    Notes
    -----
    Signs: ``u_i = y_i f(x_i)`` for labelled rows, ``f(x_j)`` for the others;
    ``f = sum_i alpha_i y_i K(x_i, .) + b`` with y = 1 where there is no label.
    """

    parameter = "C*"
    validation_loss = "zero-one"

    def __init__(
        self,
        X: Any,
        y: npt.ArrayLike,
        X_unlabelled: Any,
        *,
        C: float,
        C_unlabelled: float,
        balance: bool | float = False,
        **options: Unpack[KernelOptions],
    ) -> None:
        name = type(self).__name__
        labelled, free = check_rows(X, name), check_rows(X_unlabelled, name)
        if labelled.shape[1] != free.shape[1]:
            raise DataError(
                f"{name}: X has {labelled.shape[1]} columns but X_unlabelled has {free.shape[1]}"
            )
        self.classes, self.y = two_classes(y, labelled.shape[0], name)
        self.labelled = self.y.size
        self.C_unlabelled = positive(C_unlabelled, "C_unlabelled", name)
        self.span = (0.0, self.C_unlabelled)
        self.balance: float | None = None
        if balance is not False:
            wanted = self.y.mean() if balance is True else finite(balance, "balance", name)
            self.balance = float(wanted)
        sparse = sp.issparse(labelled) or sp.issparse(free)
        rows = sp.vstack([labelled, free], format="csr") if sparse else np.vstack([labelled, free])
        sign = np.concatenate([self.y, np.ones(free.shape[0])])
        super().__init__(rows, sign, C=C, **options)
        self._check_scale(self.C_unlabelled)
        if self.balance is not None and self.fit_intercept:
            self.border = np.append(sign, 1.0)[:, None]

    def polyline(self, t: Any) -> Sequence[Slope | Knot | Jump]:
        rows = np.arange(self.gram.size)
        labelled, mean = rows < self.labelled, rows == self.sign.size
        weight = np.append(self.sample_weight, 0.0)[rows]
        hinge, hat = np.where(labelled, self.C * weight, 0.0), np.where(labelled, 0.0, weight)
        # The mean stays where it is wanted, whatever its alpha.
        wall, place = np.where(mean, np.inf, 0.0), self.balance or 0.0
        return (
            Slope("far-", hinge + wall),
            Knot("edge-", np.where(mean, place, -1.0)),
            Slope("near-", hinge - hat * t),
            Jump(np.where(mean, place, 0.0)),
            Slope("near+", hinge + hat * t),
            Knot("edge+", np.where(mean, place, 1.0)),
            Slope("far+", -wall),
        )

    # ------------------------------------------------------------------ the balance

    def _build_gram(self) -> Gram:
        gram = super()._build_gram()
        if self.balance is None:
            return gram
        # The mean of the unlabelled rows, as a row.
        n, m = self.sign.size, self.sign.size - self.labelled
        features = gram.features()
        if features is not None:
            mean = np.asarray(features[self.labelled :].mean(axis=0)).reshape(1, -1)
            stack = sp.vstack([features, mean], format="csr") if sp.issparse(features) else None
            return LinearGram(np.vstack([features, mean]) if stack is None else stack)
        fold = np.vstack([np.eye(n), np.append(np.zeros(self.labelled), np.full(m, 1.0 / m))])
        Q = np.stack([gram.column(i) for i in range(n)], axis=1)
        full = fold @ Q @ fold.T
        return DenseGram(0.5 * (full + full.T))

    def _folded(self, alpha: Array) -> Array:
        """alpha of the rows, in which that of the balance is shared among the unlabelled."""
        if self.balance is None:
            return alpha
        rows = np.array(alpha[:-1])
        rows[self.labelled :] += alpha[-1] / (self.sign.size - self.labelled)
        return rows

    def residuals(self, t: Array, alpha: Array, b: Array) -> dict[str, Residual]:
        """With a balance, f has coefficients that are differences: those of the unlabelled rows and
        their share of the multiplier.  What is left of them must still give the responses, and the
        mean: "predictions"."""
        if self.balance is None:
            return {}
        count, free = t.size, self.sign.size - self.labelled
        share = np.repeat(alpha[:, -1:] / free, free, axis=1)
        rows = np.hstack([alpha[:, : self.labelled], alpha[:, self.labelled : -1] + share])
        rows = np.hstack([rows, np.zeros((count, 1))])
        border = np.zeros((self.gram.size, 0)) if self.border is None else self.border
        length = np.sqrt(self.gram.sizes)
        u, told = (self.gram.matmat(np.ascontiguousarray(v.T)).T + b @ border.T
                   for v in (rows, alpha))  # fmt: skip
        u[:, -1] = u[:, self.labelled : -1].mean(axis=1)
        # (The mean is where it is wanted.)
        told[:, -1] = self.balance
        others = np.abs(rows) @ length[:, None] * length + np.abs(b) @ np.abs(border).T
        # Corners are at -1, 0 and 1.
        terms = np.maximum(np.abs(u), np.maximum(np.abs(told), CORNER))
        return {"predictions": Residual(np.abs(u - told), terms, others)}

    def decision_function(self, X: Any, alpha: Array, intercept: Any) -> Array:
        """``f(x) = sum_i alpha_i y_i K(x_i, x) + b``; X is K(new, all rows) if precomputed."""
        return super().decision_function(X, self._folded(alpha), intercept)

    def evaluator(self, X: Any) -> Callable[[Array, Array], Array]:
        values = super().evaluator(X)
        return lambda alphas, bs: values(self._folded(alphas), bs)

    def intercept(self, alpha: Array, b: Array) -> float:
        """The intercept of f at x = 0."""
        return super().intercept(self._folded(alpha), b)

    def held_out_target(self, y: Any) -> Array:
        """Labels as -1 / +1; those the model was not fitted on are refused."""
        return signs_of(y, self.classes, type(self).__name__)
