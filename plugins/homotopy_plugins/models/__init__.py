"""The losses, one file each."""

from homotopy_plugins.models.capped_l1 import CappedL1
from homotopy_plugins.models.hinge_ramp import HingeRamp
from homotopy_plugins.models.lad_ramp import LADRamp
from homotopy_plugins.models.lasso import ElasticNet, Lasso
from homotopy_plugins.models.trend_filter import TrendFilter

__all__ = ["CappedL1", "ElasticNet", "HingeRamp", "LADRamp", "Lasso", "TrendFilter"]
