"""
Semi-supervised SVM: six labels, 194 rows without one
=====================================================

Two moons.  The plain SVM on six labels cuts through them; as the unlabelled rows weigh more, the
boundary moves to where there are none.  Most often, that is: the path is one of local optima, and
from a bad start it ends at a bad one, certified all the same.
"""

from pathlib import Path as File

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from homotopy import Homotopy
from homotopy.drawing import PALETTE
from homotopy_plugins import SemiSupervisedSVM

OUT = File("out")
COLOURS = {1: PALETTE[0], 0: PALETTE[1]}

# %%
# Three labels of each moon, drawn at random.


def drawn(X, truth, seed):
    """The path with three labels of each moon, drawn at random; known rows, the others."""
    rng = np.random.default_rng(seed)
    known = np.concatenate([rng.choice(np.flatnonzero(truth == k), 3, False) for k in (0, 1)])
    free = np.setdiff1d(np.arange(truth.size), known)
    model = SemiSupervisedSVM(
        X[known], truth[known], X[free], C=10.0, C_unlabelled=1.0, gamma=5.0, balance=True,
        fit_intercept=True,
    )  # fmt: skip
    return Homotopy(model).trace(), known, free


# %%
# One path in detail, then twelve draws.

X, truth = make_moons(200, noise=0.08, random_state=3)
path, known, free = drawn(X, truth, 0)
certificate = path.certify()
print(path.summary())
print(certificate)
curve = path.validation_curve(X[free], truth[free])
print("\nUnlabelled rows on the wrong side, 12 draws of six labels:")
print("  draw  C* = 0  C* = 1  jumps  certified")
proven = [certificate.ok and path.complete]
for seed in range(12):
    other, _, rest = drawn(X, truth, seed)
    errors = other.validation_curve(X[rest], truth[rest])
    proven.append(other.certify().ok)
    print(f"{seed:6d} {errors(0.0):7.3f} {errors(1.0):7.3f} {len(other.jumps):6d} "
          f"{proven[-1]!s:>10}")  # fmt: skip

# %%
# The boundary at both ends, and the share on the wrong side for every weight between.

fig, axes = plt.subplots(1, 3, figsize=(13.0, 3.9), layout="constrained")
grid = np.meshgrid(np.linspace(-1.6, 2.6, 160), np.linspace(-1.1, 1.6, 120))
points = np.column_stack([g.ravel() for g in grid])
for ax, t in zip(axes[:2], (0.0, 1.0), strict=True):
    f = path.decision_function(points, t).reshape(grid[0].shape)
    ax.contour(*grid, f, levels=[-1, 0, 1], colors="black", linewidths=[0.8, 2.0, 0.8],
               linestyles=["--", "-", "--"])  # fmt: skip
    for k, colour in COLOURS.items():
        rows, marked = free[truth[free] == k], known[truth[known] == k]
        ax.plot(*X[rows].T, ".", color=colour, ms=4, alpha=0.6)
        ax.plot(*X[marked].T, "o", color=colour, ms=9, mec="black", mew=1.2)
    ax.set_title(f"C* = {t:g}: {curve(t):.1%} of the unlabelled wrong")
    ax.set(xticks=[], yticks=[])
least = 0.5 * path.jumps[0].t
nodes = np.unique(np.concatenate([path.breakpoints, np.geomspace(least, 1.0, 400)]))
nodes = nodes[nodes >= least]
axes[2].semilogx(nodes, [curve(t) for t in nodes], color=PALETTE[2], lw=1.8)
for jump in path.jumps:
    axes[2].axvline(jump.t, color="#CCCCCC", lw=1, zorder=0)
axes[2].set(xlabel="C*, the weight of the unlabelled rows", ylabel="wrong side", ylim=(0, None))
axes[2].set_title("Exact in C*; grey: jumps of the path")
axes[2].spines[["top", "right"]].set_visible(False)
OUT.mkdir(exist_ok=True)
fig.savefig(OUT / "semi_supervised.png", dpi=130)
print(f"\nPicture: {OUT}/semi_supervised.png")
assert all(proven)
