"""
Robust classification: a boundary that wrong labels cannot drag
================================================================

Two classes in the plane. One batch of rows, far on the left, was entered with the wrong label. A
support vector machine pays for each of them in proportion to its distance and turns its boundary
towards them. `HingeRamp` follows the optimum while the weight theta of such rows goes from 1 (the
plain machine) to 0 (no pull at all).
"""

# %%
# The data: 200 rows, of which 20 carry the label of the other class.

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from homotopy import Homotopy
from homotopy.drawing import PALETTE
from homotopy_plugins import HingeRamp

rng = np.random.default_rng(5)
truth = np.repeat([-1.0, 1.0], 100)
X = np.where(truth[:, None] < 0, (-1.6, -0.8), (1.6, 0.8)) + rng.normal(0, (0.8, 1.1), (200, 2))
batch = rng.choice(np.flatnonzero(truth < 0), 20, replace=False)
X[batch] = (-5.0, 0.5) + 0.5 * rng.standard_normal((20, 2))
y = truth.copy()
y[batch] = 1.0

# %%
# One trace gives the machine for *every* theta. At theta = 1 it is scikit-learn's ``SVC``.

model = HingeRamp(X, y, C=1.0, kernel="linear", path="theta", s=-1.0, fit_intercept=True)
path = Homotopy(model).trace()
print(path.summary())

fresh = np.repeat([-1.0, 1.0], 2000)
new = np.where(fresh[:, None] < 0, (-1.6, -0.8), (1.6, 0.8)) + rng.normal(0, (0.8, 1.1), (4000, 2))
errors = {t: np.mean(np.sign(path.decision_function(new, t)) != fresh) for t in (1.0, 0.0)}
outliers = path.partition(0.0)["O"]
print(f"error on 4000 new rows: plain {errors[1.0]:.1%}, robust {errors[0.0]:.1%}")
print(f"{np.isin(batch, outliers).sum()} of {batch.size} wrong labels are among the "
      f"{outliers.size} outliers")  # fmt: skip

# %%
# The certificate recomputes everything from alpha and the data alone.

certificate = path.certify()
print(certificate)
assert certificate.ok

# %%
# The boundary at both ends of the path. Rows that the robust machine treats as outliers are
# circled.

BLUE, RED = PALETTE[0], PALETTE[1]
low, high = X.min(axis=0) - 0.5, X.max(axis=0) + 0.5
grid = np.meshgrid(np.linspace(low[0], high[0], 300), np.linspace(low[1], high[1], 300))
cells = np.column_stack([g.ravel() for g in grid])
figure, axes = plt.subplots(1, 2, figsize=(10, 4.6), sharey=True, layout="constrained")
for ax, t, name in zip(axes, (1.0, 0.0), ("SVM", "Robust SVM"), strict=True):
    f = path.decision_function(cells, t).reshape(grid[0].shape)
    ax.contourf(*grid, f, levels=[-np.inf, 0.0, np.inf], colors=["#FBE3D2", "#D6E8F4"])
    ax.contour(*grid, f, levels=[0.0], colors="black", linewidths=2.2)
    for label, colour, marker in ((1.0, BLUE, "o"), (-1.0, RED, "s")):
        good, wrong = (y == label) & (y == truth), (y == label) & (y != truth)
        ax.plot(*X[good].T, marker, color=colour, ms=4.5)
        ax.plot(*X[wrong].T, marker, ms=6.5, mfc="white", mec=colour, mew=1.6)
    ax.set_title(f"{name}: {errors[t]:.1%} of new rows wrong", fontsize=14)
    ax.set(xticks=[], yticks=[])
axes[1].plot(*X[outliers].T, "o", ms=13, mfc="none", mec="black", mew=1.0)
axes[0].annotate(
    "20 wrong labels", (-5.0, 1.5), xytext=(-4.6, 3.0), ha="center", fontsize=12,
    arrowprops={"arrowstyle": "->"},
)  # fmt: skip
axes[1].annotate("found, no pull left", (-4.6, 3.0), ha="center", fontsize=12)
out = Path("out")
out.mkdir(exist_ok=True)
figure.savefig(out / "robust_classification.png", dpi=110)

# %%
# The path is one of local optima, and no promise of the best one. Four wrong labels more in the
# same place, and plain and robust machine alike take the batch for the class: the rows are then on
# the right side of the boundary, and nothing shows that they are wrong.
