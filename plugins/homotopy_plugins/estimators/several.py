"""Several classes, one machine against the rest for each.

A robust machine separates two classes.  For more, `Classifies` fits one machine per class, which
tells its rows from all others; the class whose machine says most wins.  What belongs to one path
(`path_`, `report`, `audit`, the displays) is asked of one of `estimators_`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from homotopy import DataError, ModelError

if TYPE_CHECKING:
    from homotopy_plugins.estimators.folds import Rows

__all__ = ["against_the_rest", "check_shape", "check_weights", "refuse_several"]

Array = npt.NDArray[np.float64]

SHAPES = ("ovr", "ovo")


def check_shape(shape: Any, classes: int, name: str) -> None:
    """Refuse a shape of the decision function that one against the rest does not have."""
    if not (isinstance(shape, str) and shape in SHAPES):
        raise ModelError(f"{name}: decision_function_shape must be 'ovr' or 'ovo', got {shape!r}")
    if shape == "ovo" and classes > 2:
        raise ModelError(
            f"{name}: decision_function_shape='ovo' asks for a machine per pair of classes, but "
            f"{name} fits one per class, against the rest; wrap it in "
            "sklearn.multiclass.OneVsOneClassifier for pairs"
        )


def check_weights(y: Any, weight: Array, classes: Any, name: str) -> None:
    """Refuse a class of which no row counts."""
    for label in classes.tolist():
        if not np.any(weight[y == label] > 0.0):
            raise DataError(
                f"{name}: every row of class {label!r} has weight 0; leave these rows out"
            )


def against_the_rest(
    machine: Any, rows: Rows, n_jobs: int | None, options: dict[str, Any]
) -> list[Any]:
    """A copy of `machine` for every class, fitted to tell its rows (True) from the others."""
    shared = {
        name: getattr(machine, name)
        for name in ("n_features_in_", "feature_names_in_", "projection_")
        if hasattr(machine, name)
    }
    fitted: list[Any] = Parallel(n_jobs=n_jobs)(
        delayed(_one)(clone(machine).set_params(**options), rows, label, shared)
        for label in machine.classes_
    )
    return fitted


def _one(machine: Any, rows: Rows, label: Any, shared: dict[str, Any]) -> Any:
    vars(machine).update(shared)
    machine.classes_ = np.array([False, True])
    return machine._fit_rows(attrs.evolve(rows, y=np.asarray(rows.y == label)))


def refuse_several(machine: Any, what: str) -> None:
    """Refuse what belongs to one path where there are several."""
    parts: Sequence[Any] | None = vars(machine).get("estimators_")
    if parts is not None:
        raise ModelError(
            f"{type(machine).__name__}: {what} belongs to one path, but {len(parts)} classes have "
            f"a machine each; ask one of estimators_, in the order of classes_: "
            f"estimators_[0] tells {machine.classes_.tolist()[0]!r} from the rest"
        )
