"""
Forks: what one row does to an optimum
======================================

A kernel SVR is fitted once.  From its optimum every row is left out in turn, exactly; one row is
pushed, and the way shows at which target its alpha would be optimal; a new row is added.  Each
takes some break-points, no refit.
"""

import time
from pathlib import Path as File

import matplotlib.pyplot as plt
import numpy as np
from sklearn.svm import SVR

from homotopy import Homotopy
from homotopy.plot import PALETTE
from homotopy_plugins import EpsilonRamp

OUT = File("out")
C, EPSILON, GAMMA = 10.0, 0.1, 1.0

# %%
# 40 rows of a wave, one of them far off.

rng = np.random.default_rng(4)
X = np.sort(rng.uniform(-3.0, 3.0, 40))[:, None]
y = np.sin(2.0 * X[:, 0]) + 0.25 * rng.standard_normal(40)
far = 20
y[far] += 2.5
machine = EpsilonRamp(
    X, y, C=C, epsilon=EPSILON, gamma=GAMMA, fit_intercept=True, path="eps", epsilon_start=EPSILON
)
path = Homotopy(machine).trace()
fork = path.fork(EPSILON)

# %%
# Every row left out, and the decision function without each of them on a grid.

grid = np.linspace(-3.0, 3.0, 200)[:, None]
fork.leave_one_out([0])
begun = time.process_time()
left = fork.leave_one_out(at=grid)
ours = time.process_time() - begun
begun = time.process_time()
options = {"C": C, "epsilon": EPSILON, "gamma": GAMMA, "tol": 1e-10}
refits = []
for i in range(40):
    rest = np.arange(40) != i
    refits.append(SVR(**options).fit(X[rest], y[rest]).predict(X[[i]])[0])
theirs = time.process_time() - begun
off = np.abs(left.response - refits).max()
inside, outside = (np.abs(y - u).mean() for u in (path.response(EPSILON), left.response))
print(f"mean |y - f|: {inside:.4f} in the sample, {outside:.4f} left out")
print(f"40 rows left out in {1e3 * ours:.1f} ms; 40 refits in {1e3 * theirs:.1f} ms; "
      f"they differ by {off:.0e}")  # fmt: skip

# %%
# The row that is far off, pushed from its bound C to 0: its response on the way.

moved = fork.push(far, 0.0, nodes=True)
alpha, u = moved.trail()
proven = [moved.certify().ok, moved.nodes.certify().ok]
without = moved.decision_function(grid)
fork.restore()
print(f"row {far}: alpha from {alpha[0]:g} to 0 in {alpha.size - 1} straight pieces, "
      f"f(x) from {u[0]:.3f} to {u[-1]:.3f}")  # fmt: skip

# %%
# A new row, and its effect.

added = fork.add([1.0], -2.0)
proven.append(added.certify().ok)
print(f"f(1) without and with a row at (1, -2): {path.decision_function([[1.0]], EPSILON)[0]:.3f}, "
      f"{added.decision_function([[1.0]])[0]:.3f}")  # fmt: skip

fig, (one, two) = plt.subplots(1, 2, figsize=(10.5, 4.2), layout="constrained")
one.fill_between(
    grid[:, 0], left.decision.min(axis=0), left.decision.max(axis=0), color=PALETTE[0], alpha=0.3,
    label="without any one row",
)  # fmt: skip
one.plot(grid, path.decision_function(grid, EPSILON), color=PALETTE[0], label="all rows")
one.plot(grid, without, "--", color=PALETTE[1], label=f"without row {far}")
one.plot(grid, added.decision_function(grid), ":", color=PALETTE[2], label="with a row at (1, -2)")
one.plot(X[:, 0], y, ".", color="0.5", ms=3)
one.plot(X[far], y[far], "o", color=PALETTE[1])
one.plot([1.0], [-2.0], "o", color=PALETTE[2])
one.legend(fontsize=8)
two.plot(alpha, u, "-o", color=PALETTE[1], ms=4)
for ax in (one, two):
    ax.spines[["top", "right"]].set_visible(False)
two.set(xlabel=f"alpha of row {far}", ylabel=f"f at row {far}", title="pushed to 0")
OUT.mkdir(exist_ok=True)
fig.savefig(OUT / "fork_an_optimum.png", dpi=150)

print(f"\nPicture: {OUT}/fork_an_optimum.png")
# libsvm keeps its kernel in single precision.
assert all(proven)
assert off < 1e-4
