"""
Pictures of a robust estimator
==============================

The three displays of the robust estimators: outliers along the path, the curve behind the
choice, and the boundary in the plane.

Two moons, 15 % of the labels wrong, and the diabetes data with some targets far off.  What the
pictures show is printed, too: the exit code is not zero if a path fails its certificate.
"""

from __future__ import annotations

import sys
from pathlib import Path as File

import matplotlib

matplotlib.use("Agg")

import numpy as np
from sklearn.datasets import load_diabetes, make_moons
from sklearn.preprocessing import StandardScaler

from homotopy_plugins import (
    OutlierPathDisplay,
    RobustBoundaryDisplay,
    RobustnessCurveDisplay,
    RobustSVCCV,
    RobustSVR,
)

OUT = File("out")


def main() -> int:
    OUT.mkdir(exist_ok=True)
    rng = np.random.default_rng(0)
    X, y = make_moons(300, noise=0.2, random_state=0)
    wrong = rng.choice(300, 45, replace=False)
    y[wrong] = 1 - y[wrong]
    search = RobustSVCCV(Cs=(0.1, 1.0, 10.0), gammas=(1.0,), path="s").fit(X, y)

    outliers = OutlierPathDisplay.from_estimator(search)
    first = outliers.rows[:20]
    print(f"{outliers.rows.size} of 300 rows are outliers somewhere on the path;")
    print(f"{np.isin(first, wrong).sum()} of the first 20 have a wrong label")
    outliers.figure_.savefig(OUT / "outlier_path.png", dpi=150)

    curve = RobustnessCurveDisplay.from_estimator(search)
    simple = curve.curve.earliest(curve.curve.minimum + curve.error)
    print(f"least loss {curve.curve.minimum:.3f} at robustness {search.robustness_:.3f}, ", end="")
    print(f"within one standard error from {curve.scale.robustness(simple.t):.3f} on")
    curve.figure_.savefig(OUT / "robustness_curve.png", dpi=150)

    boundary = RobustBoundaryDisplay.from_estimator(search)
    print(f"boundaries at robustness {', '.join(f'{r:.3f}' for r in boundary.robustness)}")
    boundary.figure_.savefig(OUT / "robust_boundary.png", dpi=150)

    A, target = load_diabetes(return_X_y=True)
    A = StandardScaler().fit_transform(A)
    far = rng.choice(target.size, 22, replace=False)
    target[far] += rng.choice([-1, 1], 22) * rng.uniform(5, 10, 22) * target.std()
    regression = RobustSVR(C=10.0, kernel="linear", path="s").fit(A, target)
    strips = OutlierPathDisplay.from_estimator(regression)
    print(f"regression: {np.isin(strips.rows[:22], far).sum()} of the first 22 strips were planted")
    strips.figure_.savefig(OUT / "outlier_path_regression.png", dpi=150)

    print(f"pictures are in {OUT}/")
    return 0 if search.path_.certify().ok and regression.path_.certify().ok else 1


if __name__ == "__main__":
    sys.exit(main())
