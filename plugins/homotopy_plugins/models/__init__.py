"""The losses, one file each."""

from homotopy_plugins.models.hinge_ramp import HingeRamp
from homotopy_plugins.models.lad_ramp import LADRamp

__all__ = ["HingeRamp", "LADRamp"]
