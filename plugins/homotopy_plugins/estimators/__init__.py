"""The scikit-learn estimators; importing them imports scikit-learn."""

from homotopy_plugins.estimators.selection import RobustSVCCV, RobustSVRCV
from homotopy_plugins.estimators.svm import RobustSVC, RobustSVR

__all__ = ["RobustSVC", "RobustSVCCV", "RobustSVR", "RobustSVRCV"]
