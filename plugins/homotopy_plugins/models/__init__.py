"""The models, one file for each family."""

from homotopy_plugins.models.capped_l1 import CappedL1
from homotopy_plugins.models.efficient_frontier import EfficientFrontier
from homotopy_plugins.models.epsilon_ramp import EpsilonRamp
from homotopy_plugins.models.hinge_ramp import HingeRamp
from homotopy_plugins.models.huber_ramp import HuberRamp
from homotopy_plugins.models.lad_ramp import LADRamp
from homotopy_plugins.models.lasso import ElasticNet, Lasso
from homotopy_plugins.models.nu_svc_path import NuSVCPath
from homotopy_plugins.models.one_class_path import OneClassPath
from homotopy_plugins.models.parametric_qp import ParametricQP
from homotopy_plugins.models.penalties import MCP, SCAD
from homotopy_plugins.models.pinball_ramp import PinballRamp
from homotopy_plugins.models.roc_path import ROCCurve, ROCPath
from homotopy_plugins.models.semi_supervised import SemiSupervisedSVM
from homotopy_plugins.models.svm_path import SVMPath
from homotopy_plugins.models.trend_filter import TrendFilter
from homotopy_plugins.models.truncated_quadratic import TruncatedQuadratic

__all__ = [
    "MCP",
    "SCAD",
    "CappedL1",
    "EfficientFrontier",
    "ElasticNet",
    "EpsilonRamp",
    "HingeRamp",
    "HuberRamp",
    "LADRamp",
    "Lasso",
    "NuSVCPath",
    "OneClassPath",
    "ParametricQP",
    "PinballRamp",
    "ROCCurve",
    "ROCPath",
    "SVMPath",
    "SemiSupervisedSVM",
    "TrendFilter",
    "TruncatedQuadratic",
]
