"""Robust support vector machines and l1 paths as plugins of the `homotopy` engine.

`RobustSVC`, `RobustSVR`, `RobustSVCCV`, `RobustSVRCV`, `ConformalSVR`, `ConditionalConformal`,
`TrendFilterRegressor`, the displays and `audit` need scikit-learn, which is imported when one of
them is asked for: install ``homotopy-qp[sklearn]``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from homotopy_plugins.annealing import Annealed, AnnealInterrupted, Trial, anneal
from homotopy_plugins.baselines import CCCPResult, cccp
from homotopy_plugins.models import (
    MCP,
    SCAD,
    CappedL1,
    EfficientFrontier,
    ElasticNet,
    EpsilonRamp,
    HingeRamp,
    HuberRamp,
    LADRamp,
    Lasso,
    NuSVCPath,
    OneClassPath,
    ParametricQP,
    PinballRamp,
    ROCCurve,
    ROCPath,
    SemiSupervisedSVM,
    SVMPath,
    TrendFilter,
    TruncatedQuadratic,
)
from homotopy_plugins.walks import Walk, walk

if TYPE_CHECKING:
    from homotopy_plugins.auditing import AuditReport as AuditReport
    from homotopy_plugins.auditing import audit as audit
    from homotopy_plugins.estimators import ConditionalConformal as ConditionalConformal
    from homotopy_plugins.estimators import ConformalSVR as ConformalSVR
    from homotopy_plugins.estimators import Flips as Flips
    from homotopy_plugins.estimators import LeaveOneOutCurve as LeaveOneOutCurve
    from homotopy_plugins.estimators import OutlierPathDisplay as OutlierPathDisplay
    from homotopy_plugins.estimators import RobustBoundaryDisplay as RobustBoundaryDisplay
    from homotopy_plugins.estimators import RobustnessCurveDisplay as RobustnessCurveDisplay
    from homotopy_plugins.estimators import RobustSVC as RobustSVC
    from homotopy_plugins.estimators import RobustSVCCV as RobustSVCCV
    from homotopy_plugins.estimators import RobustSVR as RobustSVR
    from homotopy_plugins.estimators import RobustSVRCV as RobustSVRCV
    from homotopy_plugins.estimators import TrendFilterRegressor as TrendFilterRegressor
    from homotopy_plugins.estimators import UnscaledWarning as UnscaledWarning
    from homotopy_plugins.estimators import leave_one_out_curve as leave_one_out_curve

# Without the estimators: a star must not need scikit-learn.
__all__ = [
    "MCP",
    "SCAD",
    "AnnealInterrupted",
    "Annealed",
    "CCCPResult",
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
    "Trial",
    "TruncatedQuadratic",
    "Walk",
    "anneal",
    "cccp",
    "walk",
]

_ESTIMATORS = (
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
)
_AUDIT = ("AuditReport", "audit")


def __getattr__(name: str) -> Any:
    if name not in (*_ESTIMATORS, *_AUDIT):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        room = "auditing" if name in _AUDIT else "estimators"
        module = importlib.import_module(f"{__name__}.{room}")
    except ImportError as error:
        raise ImportError(
            f"{name} needs scikit-learn 1.6 or newer ({error}); install homotopy-qp[sklearn]"
        ) from error
    return getattr(module, name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_ESTIMATORS, *_AUDIT])
