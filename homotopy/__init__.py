"""homotopy: the whole path of solutions of a parametric quadratic program, convex or not.

A model declares one polyline per coordinate (the graph of ``-dL_i``, moving affinely with one
parameter t); `Homotopy` follows the local optimum along t and across its discontinuities;
`Path` evaluates it exactly at any t and proves it (`Path.certify`).
"""

from homotopy.analysis import Best, Occupancy, Truncated, ValidationCurve
from homotopy.conditional import ConditionalQP, osqp_solver
from homotopy.engine import Homotopy, Progress, compile_now
from homotopy.errors import (
    DataError,
    HomotopyError,
    MissingPackageError,
    ModelError,
    PathError,
    RoundingWarning,
    TraceError,
    TraceInterrupted,
    UnknownPluginError,
)
from homotopy.forking import Fork, LeftOut, Moved, Optimum, Way
from homotopy.gram import DenseGram, Gram, KernelGram, LinearGram
from homotopy.model import Affine, Jump, Knot, LossModel, NewRow, Predictor, Residual, Slope
from homotopy.path import Certificate, Change, Check, JumpRecord, Path, Segment, Status, Zero
from homotopy.registry import installed_plugins, load_plugin
from homotopy.sequence import Legs, PathSequence
from homotopy.tracing import StopAt

__version__ = "0.2.0"

__all__ = [
    "Affine",
    "Best",
    "Certificate",
    "Change",
    "Check",
    "ConditionalQP",
    "DataError",
    "DenseGram",
    "Fork",
    "Gram",
    "Homotopy",
    "HomotopyError",
    "Jump",
    "JumpRecord",
    "KernelGram",
    "Knot",
    "LeftOut",
    "Legs",
    "LinearGram",
    "LossModel",
    "MissingPackageError",
    "ModelError",
    "Moved",
    "NewRow",
    "Occupancy",
    "Optimum",
    "Path",
    "PathError",
    "PathSequence",
    "Predictor",
    "Progress",
    "Residual",
    "RoundingWarning",
    "Segment",
    "Slope",
    "Status",
    "StopAt",
    "TraceError",
    "TraceInterrupted",
    "Truncated",
    "UnknownPluginError",
    "ValidationCurve",
    "Way",
    "Zero",
    "compile_now",
    "installed_plugins",
    "load_plugin",
    "osqp_solver",
]
