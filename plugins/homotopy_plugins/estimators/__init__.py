"""The scikit-learn estimators; importing them imports scikit-learn."""

from homotopy_plugins.estimators.conditional_conformal import ConditionalConformal
from homotopy_plugins.estimators.conformal import ConformalSVR
from homotopy_plugins.estimators.displays import (
    OutlierPathDisplay,
    RobustBoundaryDisplay,
    RobustnessCurveDisplay,
)
from homotopy_plugins.estimators.forks import Flips, LeaveOneOutCurve, leave_one_out_curve
from homotopy_plugins.estimators.scales import UnscaledWarning
from homotopy_plugins.estimators.selection import RobustSVCCV, RobustSVRCV
from homotopy_plugins.estimators.svm import RobustSVC, RobustSVR
from homotopy_plugins.estimators.trend_filter import TrendFilterRegressor

__all__ = [
    "ConditionalConformal",
    "ConformalSVR",
    "Flips",
    "LeaveOneOutCurve",
    "OutlierPathDisplay",
    "RobustBoundaryDisplay",
    "RobustSVC",
    "RobustSVCCV",
    "RobustSVR",
    "RobustSVRCV",
    "RobustnessCurveDisplay",
    "TrendFilterRegressor",
    "UnscaledWarning",
    "leave_one_out_curve",
]
