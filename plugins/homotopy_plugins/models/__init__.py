"""The losses, one file each."""

from homotopy_plugins.models.hinge_ramp import HingeRamp
from homotopy_plugins.models.lad_ramp import LADRamp
from homotopy_plugins.models.penalties import MCP, SCAD

__all__ = ["MCP", "SCAD", "HingeRamp", "LADRamp"]
