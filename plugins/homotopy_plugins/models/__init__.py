"""The losses, one file each."""

from homotopy_plugins.models.efficient_frontier import EfficientFrontier
from homotopy_plugins.models.hinge_ramp import HingeRamp
from homotopy_plugins.models.lad_ramp import LADRamp
from homotopy_plugins.models.parametric_qp import ParametricQP

__all__ = ["EfficientFrontier", "HingeRamp", "LADRamp", "ParametricQP"]
