"""Leave-one-out, exactly: of the plain machine of an estimator, and along a path of C.

Where the loss is convex (theta = 1, any point of an `SVMPath`) the machine without one row is a few
break-points away from the machine with it (`homotopy.Fork`).
"""

from __future__ import annotations

from typing import Any, Self

import attrs
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.utils import compute_sample_weight
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from homotopy import DataError, Fork, ModelError, Path
from homotopy.path.segments import read_only
from homotopy.progress import progress_bar
from homotopy_plugins.estimators.folds import Recipe, Rows, plain_point
from homotopy_plugins.estimators.input_checks import clear_about, numeric_targets, plain_targets
from homotopy_plugins.estimators.proven import proven
from homotopy_plugins.estimators.several import refuse_several

__all__ = ["Flips", "LeaveOneOutCurve", "PlainMachine", "flips", "leave_one_out_curve"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

# Places of a curve where none are given.
PLACES = 25


@attrs.frozen(eq=False)
class Flips:
    """Which predictions hang on one training row.

    Attributes
    ----------
    hangs : bool array (N,)
        Whether there is a training row without which the predicted class is the other one.
    pairs : int array (k, 2)
        Every such (new row, training row), in that order.
    """

    hangs: npt.NDArray[np.bool_] = attrs.field(converter=read_only)
    pairs: Index = attrs.field(converter=read_only)


@attrs.frozen(eq=False)
class LeaveOneOutCurve:
    """The leave-one-out error along a path.

    Attributes
    ----------
    parameter : str
    t : array (k,)
    error : array (k,)
        The part of rows that the machine without them gets wrong; of a regression the mean absolute
        residual.  Rows count by their weight.
    response : array (k, n)
        y_i f(x_i), or f(x_i), of each row by the machine without it.
    """

    parameter: str
    t: Array = attrs.field(converter=read_only)
    error: Array = attrs.field(converter=read_only)
    response: Array = attrs.field(converter=read_only)

    @property
    def best(self) -> float:
        """The first t of the least error."""
        return float(self.t[np.argmin(self.error)])


def leave_one_out_curve(
    path: Path, t: Any = None, *, n_jobs: int | None = None, progress: bool = False
) -> LeaveOneOutCurve:
    """Leave out each row in turn, at places along a path of a convex machine.

    Parameters
    ----------
    path : Path
        Of an `SVMPath`, or of any model with targets `y` that is convex all along.
    t : sequence of floats, optional
        Where; 25 places spread evenly (in the logarithm where the path goes far) by default.
    n_jobs : int, optional
        Processes for the rows of one place.
    progress : bool
    """
    model: Any = path.model
    if not hasattr(model, "y"):
        raise ModelError(f"{type(model).__name__} has no targets y to compare with")
    places = _places(path) if t is None else np.atleast_1d(np.asarray(t, dtype=float))
    for place in places.tolist():
        if not path.problem.polylines.at(place).convex:
            raise ModelError(
                f"{type(model).__name__} is not convex at {path.model.parameter}={place:g}: a row "
                "that is left out may lead to another local optimum; ask at a convex point"
            )
    bar = progress_bar("leave one out", places.size) if progress else None
    found = []
    for place in places.tolist():
        found.append(path.fork(place).leave_one_out(n_jobs=n_jobs).response)
        if bar is not None:
            bar.update(1)
    if bar is not None:
        bar.close()
    response = np.array(found).reshape(places.size, -1)
    wrong = np.array([_wrong(model, u) for u in response]).reshape(places.size, -1)
    weight = model.sample_weight / model.sample_weight.sum()
    return LeaveOneOutCurve(path.model.parameter, places, wrong @ weight, response)


def _places(path: Path) -> Array:
    first, last = path.traced
    low, high = min(first, last), max(first, last)
    if low > 0.0 and high > 10.0 * low:
        # Rounding must not lead outside.
        return np.clip(np.geomspace(low, high, PLACES), low, high)
    return np.linspace(low, high, PLACES)


def _wrong(model: Any, response: Array) -> Array:
    """Which labels are missed (1 or 0), or by how much targets are."""
    if not hasattr(model, "classes"):
        return np.asarray(np.abs(model.y - response))
    # f = 0 is the first class.
    return np.where(model.y > 0.0, response <= 0.0, response < 0.0).astype(float)


def flips(fork: Fork, X: Any) -> Flips:
    """Which signs of the decision function at the rows X hang on one training row."""
    now = fork.decision_function(X) > 0.0
    left = fork.leave_one_out(at=X)
    assert left.decision is not None
    new, row = np.nonzero(((left.decision > 0.0) != now).T)
    hangs = np.zeros(now.size, dtype=bool)
    hangs[new] = True
    return Flips(hangs, np.column_stack([new, left.rows[row]]))


class PlainMachine:
    """What an estimator can do where it is the plain machine, ``robustness=0`` on the theta-path:
    leave rows out, take more in."""

    # Of the estimator.
    path: str
    kernel: Any
    path_: Path
    robustness_: float
    t_: float

    def _plain_fork(self) -> Fork:
        check_is_fitted(self)
        name = type(self).__name__
        refuse_several(self, "leaving rows out or taking rows in")
        if self.path != "theta" or self.t_ != 1.0:
            at = f"robustness {self.robustness_:g} ({self.path}={self.t_:g})"
            raise ModelError(
                f"{name}: this is the machine at {at}, whose loss is not convex: without a row it "
                f"may be another local optimum. Fit {name}(robustness=0), the plain machine, or "
                "take .at(0) on the theta-path (before version 0.2 robustness=1 was the plain one)"
            )
        return self.path_.fork(self.path_.traced[0], "before")

    def loo_decision(self) -> Array:
        """f(x_i) of each training row, by the machine without it.

        Of the plain machine only (``robustness=0`` on the theta-path).
        """
        fork = self._plain_fork()
        model: Any = self.path_.model
        return np.asarray(model.sign * fork.leave_one_out().response)

    def _loo_targets(self) -> tuple[Any, Array]:
        targets: Any = getattr(self, "_training_targets")()  # noqa: B009
        model: Any = self.path_.model
        return targets, model.sample_weight

    # ------------------------------------------------------------------ rows in and out

    def add_rows(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Take more training rows in, after those there are.

        Of the plain machine only (``robustness=0`` on the theta-path), which afterwards is the one
        fitted to all of these rows at once; `path_` then holds that point alone.  gamma stays what
        it was.  The work is that of the break-points between the two.

        Parameters
        ----------
        X : array or sparse matrix (k, d)
        y : array (k,)
        sample_weight : array (k,), optional
        """
        self._plain_fork()
        name = type(self).__name__
        if self.kernel == "precomputed":
            raise ModelError(
                f"{name}: a precomputed kernel says nothing of new rows; fit the whole matrix"
            )
        what = "label" if hasattr(self, "classes_") else "target"
        y = plain_targets(y, name, what)
        with clear_about(X, "X", name):
            X, y = validate_data(self, X, y, dtype=np.float64, accept_sparse="csr", reset=False)
        with clear_about(sample_weight, "sample_weight", name):
            weight = _check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
        y, weight = self._new_targets(y, weight)
        model: Any = self.path_.model
        sparse = sp.issparse(model.X) or sp.issparse(X)
        rows = Rows(
            sp.vstack([model.X, X], format="csr") if sparse else np.vstack([model.X, X]),
            np.concatenate([self._loo_targets()[0], y]),
            np.concatenate([model.sample_weight, weight]),
            False,
        )
        alpha = self.path_.alpha(self.path_.traced[0], "before")
        return self._stand_at(rows, np.concatenate([alpha, np.zeros(weight.size)]))

    def _new_targets(self, y: Any, weight: Array) -> tuple[Any, Array]:
        name = type(self).__name__
        if not hasattr(self, "classes_"):
            return numeric_targets(y, name), weight
        strange = [label for label in y.tolist() if label not in self.classes_.tolist()]
        if strange:
            raise DataError(
                f"{name}: label {strange[0]!r} is none of the classes that were fitted, "
                f"{', '.join(map(repr, self.classes_.tolist()))}"
            )
        by_class: Any = getattr(self, "class_weight", None)
        if by_class == "balanced":
            raise ModelError(
                f"{name}: class_weight='balanced' changes the weight of every row when one comes; "
                "give the weights as a dict"
            )
        return y, np.asarray(weight * compute_sample_weight(by_class, y))

    def remove_rows(self, rows: Any) -> Self:
        """Take training rows out, by their numbers; those after them move up.

        Of the plain machine only (``robustness=0`` on the theta-path); see `add_rows`.
        """
        self._plain_fork()
        name = type(self).__name__
        given, n = np.atleast_1d(np.asarray(rows)), self.path_.problem.gram.size
        if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
            raise DataError(f"{name}: rows must be a list of row numbers, got {rows!r}")
        outside = [row for row in given.tolist() if not -n <= row < n]
        if outside:
            raise DataError(f"{name}: row {outside[0]} does not exist; there are {n} rows")
        kept = np.delete(np.arange(n), given.astype(np.int64))
        targets, weight = self._loo_targets()
        left = np.unique(targets[kept][weight[kept] > 0.0])
        if left.size < (2 if hasattr(self, "classes_") else 1):
            raise DataError(f"{name}: nothing to fit would be left; keep rows of either class")
        model: Any = self.path_.model
        some = Rows(model.X, targets, weight, self.kernel == "precomputed").take(kept)
        alpha = self.path_.alpha(self.path_.traced[0], "before")
        return self._stand_at(some, alpha[kept])

    def _stand_at(self, rows: Rows, alpha: Array) -> Self:
        """Become the plain machine of these rows, from an alpha near to it."""
        machine: Any = self
        recipe: Recipe = machine._recipe()
        old: Any = self.path_.model
        model = recipe.model(rows, old.C, old.gamma)
        found, exact, s = plain_point(recipe, model, alpha)
        if s != getattr(model, "s", s):
            found = proven(recipe.varied(model, s=s), exact, most=1).path
        machine._keep(found, found.traced[0])
        return self
