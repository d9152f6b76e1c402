"""What a plugin declares: a `LossModel` with one polyline per coordinate, affine in t."""

from homotopy.model.affine import Affine
from homotopy.model.loss_model import LossModel
from homotopy.model.new_row import NewRow
from homotopy.model.polyline import Jump, Knot, Polylines, Slope, Snapshot
from homotopy.model.predictor import Predictor, as_predictor
from homotopy.model.problem import Problem
from homotopy.model.residual import Residual

__all__ = [
    "Affine",
    "Jump",
    "Knot",
    "LossModel",
    "NewRow",
    "Polylines",
    "Predictor",
    "Problem",
    "Residual",
    "Slope",
    "Snapshot",
    "as_predictor",
]
