"""The losses, one file each."""

from homotopy_plugins.models.epsilon_ramp import EpsilonRamp
from homotopy_plugins.models.hinge_ramp import HingeRamp
from homotopy_plugins.models.huber_ramp import HuberRamp
from homotopy_plugins.models.lad_ramp import LADRamp
from homotopy_plugins.models.pinball_ramp import PinballRamp
from homotopy_plugins.models.semi_supervised import SemiSupervisedSVM
from homotopy_plugins.models.truncated_quadratic import TruncatedQuadratic

__all__ = [
    "EpsilonRamp",
    "HingeRamp",
    "HuberRamp",
    "LADRamp",
    "PinballRamp",
    "SemiSupervisedSVM",
    "TruncatedQuadratic",
]
