"""Robust support vector machines as plugins of the `homotopy` engine."""

from homotopy_plugins.cccp import CCCPResult, cccp
from homotopy_plugins.hinge_ramp import HingeRamp
from homotopy_plugins.lad_ramp import LADRamp

__all__ = ["CCCPResult", "HingeRamp", "LADRamp", "cccp"]
