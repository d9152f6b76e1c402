"""
Walks: where the way leads in the plane of (θ, s)
=================================================

Breast cancer data, 15 % of the labels flipped.  Three ways from the plain SVM (theta = 1) to the
ramp loss at (theta, s) = (0, 0), each certified edge by edge: down in theta, in along s, and a
straight line between.  All end at local optima of the same problem, not at the same one.
"""

from pathlib import Path as File

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from homotopy.drawing import PALETTE
from homotopy_plugins import HingeRamp, walk

OUT = File("out")
FAR = -4.0
WAYS = {
    "along theta": [(1.0, 0.0), (0.0, 0.0)],
    "along s": [(1.0, FAR), (0.0, FAR), (0.0, 0.0)],
    "straight across": [(1.0, FAR), (0.0, 0.0)],
    "by a corner": [(1.0, -1.0), (0.3, -1.0), (0.0, 0.0)],
}

# %%
# 300 rows to fit, the others to test.

data = load_breast_cancer()
X = StandardScaler().fit_transform(data.data)
order = np.random.default_rng(1).permutation(len(X))
train, test = order[:300], order[300:]
y = np.where(data.target == 1, 1.0, -1.0)
labels = y[train].copy()
labels[:45] *= -1.0
model = HingeRamp(X[train], labels, C=10.0, gamma=0.05, fit_intercept=True)

# %%
# Four ways, each certified edge by edge.

fig, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.2), layout="constrained")
print(f"{'way':>16} {'edges':>6} {'break-points':>13} {'jumps':>6} {'objective':>10} "
      f"{'errors':>7} {'certified':>10}")  # fmt: skip
proven = []
for (name, corners), colour in zip(WAYS.items(), PALETTE, strict=False):
    found = walk(model, corners)
    proven.append(found.certify())
    end = found.at(-1)
    wrong = np.sign(found.paths[-1].decision_function(X[test], 1.0)) != y[test]
    print(f"{name:>16} {len(found):6d} {found.breakpoints:13d} {found.jumps:6d} "
          f"{end.objective:10.4f} {wrong.mean():7.3f} {proven[-1]!s:>10}")  # fmt: skip
    place = np.array(corners)
    left.plot(place[:, 0], place[:, 1], "-o", color=colour, lw=2, ms=4, label=name)
    whole = [(k + path.breakpoints, path.objective(path.breakpoints))
             for k, path in enumerate(found.paths)]  # fmt: skip
    t, value = (np.concatenate(part) for part in zip(*whole, strict=True))
    right.plot(t / len(found), value, color=colour, lw=1.8, label=f"{name}: {end.objective:.2f}")
left.annotate("the ramp loss", (0.0, 0.0), xytext=(10, 6), textcoords="offset points")
left.axvline(1.0, color="#BBBBBB", lw=1, zorder=0)
left.annotate("convex", (1.0, -2.9), xytext=(-5, 0), textcoords="offset points", rotation=90,
              ha="right", va="center", color="#777777")  # fmt: skip
left.set(xlabel="theta, the weight of outliers", ylabel="s, the threshold", ylim=(FAR - 0.3, 0.5))
left.set_title("Ways through the plane of the parameters")
right.set(xlabel="part of the way", ylabel="objective")
right.set_title("The objective along each way, and at its end")
right.legend(frameon=False, loc="lower left")
for ax in (left, right):
    ax.spines[["top", "right"]].set_visible(False)
OUT.mkdir(exist_ok=True)
fig.savefig(OUT / "walks.png", dpi=130)
print(f"\nPicture: {OUT}/walks.png")
assert all(proven)
