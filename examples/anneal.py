"""
The best of several ways
========================

Several ways to one problem that is not convex, and the best local optimum at their ends.

Breast cancer data, 15 % of the labels flipped, a linear machine with the ramp loss at (theta, s) =
(0, 0).  `anneal` walks three routes from the plain SVM and then leads the best optimum found back
towards it and down again, as long as that helps.  CCCP, warm-started over twenty values of theta,
is there to compare with.
"""

from __future__ import annotations

import sys
from pathlib import Path as File

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from homotopy.drawing import PALETTE
from homotopy_plugins import HingeRamp, anneal, cccp

OUT = File("out")
GREY = "#999999"


def main() -> int:
    data = load_breast_cancer()
    X = StandardScaler().fit_transform(data.data)
    order = np.random.default_rng(1).permutation(len(X))
    train, test = order[:300], order[300:]
    y = np.where(data.target == 1, 1.0, -1.0)
    labels = y[train].copy()
    labels[:45] *= -1.0
    model = HingeRamp(X[train], labels, C=10.0, kernel="linear", fit_intercept=True)

    found = anneal(model)
    print(found.summary())
    baseline = cccp(model, np.linspace(1.0, 0.0, 20), tol=1e-6)
    print(f"CCCP ends at {baseline.objectives[-1]:.8g}")
    wrong = np.mean(np.sign(found.decision_function(X[test])) != y[test])
    print(f"error on {test.size} clean test rows: {wrong:.3f}")

    fig, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.2), layout="constrained")
    routes = [trial for trial in found.tried if "back" not in trial.name]
    colours = {trial.name: colour for trial, colour in zip(routes, PALETTE, strict=False)}
    for k, trial in enumerate(found.tried):
        route = trial.name.split(",")[0]
        place = np.array([[point["theta"], point["s"]] for point in trial.corners])
        first = trial in routes
        if first:
            left.plot(*place.T, "-o", color=colours[route], lw=2, ms=4, label=route)
        else:
            # The way up and the way down are the same line; its end is what tells them apart.
            left.plot(*place[-2], "^", color=colours[route], ms=6)
        if np.isfinite(trial.objective):
            right.plot(k + 1, trial.objective, "o" if first else "^", color=colours[route], ms=7)
    left.annotate("the ramp loss", (0.0, 0.0), xytext=(8, 6), textcoords="offset points")
    left.annotate("convex", (1.0, 0.0), xytext=(-6, 6), textcoords="offset points", ha="right",
                  color="#777777")  # fmt: skip
    left.set(xlabel="theta, the weight of outliers", ylabel="s, the threshold")
    left.set_title("Routes, and how far back (triangles)")
    left.legend(frameon=False, loc="upper right", bbox_to_anchor=(1.0, 0.9))
    values = np.array([t.objective if t.certified else np.inf for t in found.tried])
    number = np.arange(1, len(values) + 1)
    right.step(number, np.minimum.accumulate(values), where="post", color=GREY, zorder=0)
    right.axhline(baseline.objectives[-1], color=GREY, ls=":", lw=1.5, zorder=0)
    right.annotate("CCCP", (number[-1], baseline.objectives[-1]), xytext=(0, 4),
                   textcoords="offset points", ha="right", color="#777777")  # fmt: skip
    right.annotate("the best so far", (number[-1], found.objective), xytext=(0, 4),
                   textcoords="offset points", ha="right", color="#777777")  # fmt: skip
    right.set(xlabel="walk", ylabel="objective at its end")
    right.set_title("Local optima of one problem, in the order found")
    for ax in (left, right):
        ax.spines[["top", "right"]].set_visible(False)
    OUT.mkdir(exist_ok=True)
    fig.savefig(OUT / "anneal.png", dpi=130)
    print(f"\nPicture: {OUT}/anneal.png")
    return 0 if found.certificate.ok and found.walk.certify() else 1


if __name__ == "__main__":
    sys.exit(main())
