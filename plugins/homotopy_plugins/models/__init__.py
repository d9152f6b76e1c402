"""The models, one file for each family."""

from homotopy_plugins.models.capped_l1 import CappedL1
from homotopy_plugins.models.efficient_frontier import EfficientFrontier
from homotopy_plugins.models.hinge_ramp import HingeRamp
from homotopy_plugins.models.lad_ramp import LADRamp
from homotopy_plugins.models.lasso import ElasticNet, Lasso
from homotopy_plugins.models.nu_svc_path import NuSVCPath
from homotopy_plugins.models.one_class_path import OneClassPath
from homotopy_plugins.models.parametric_qp import ParametricQP
from homotopy_plugins.models.penalties import MCP, SCAD
from homotopy_plugins.models.roc_path import ROCCurve, ROCPath
from homotopy_plugins.models.svm_path import SVMPath
from homotopy_plugins.models.trend_filter import TrendFilter

__all__ = [
    "MCP",
    "SCAD",
    "CappedL1",
    "EfficientFrontier",
    "ElasticNet",
    "HingeRamp",
    "LADRamp",
    "Lasso",
    "NuSVCPath",
    "OneClassPath",
    "ParametricQP",
    "ROCCurve",
    "ROCPath",
    "SVMPath",
    "TrendFilter",
]
