"""
MCP and SCAD beside the lasso
=============================

The lasso shrinks what it keeps; MCP and SCAD let large coefficients go free, at the price of
jumps, which are marked.  Writes out/nonconvex_penalties.png.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from homotopy import Homotopy
from homotopy_plugins import MCP, SCAD

OUT = Path("out")

# %%
# Thirty correlated columns, four of which matter.


def data(n=60, p=30, rho=0.7, seed=4):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    for j in range(1, p):
        X[:, j] = rho * X[:, j - 1] + np.sqrt(1.0 - rho**2) * X[:, j]
    X /= np.sqrt((X**2).mean(axis=0))
    beta = np.zeros(p)
    beta[[2, 9, 15, 22]] = 3.0, -2.0, 1.5, 1.0
    return X, X @ beta + rng.standard_normal(n), beta


# %%
# Each path is traced, certified and drawn from both sides of every break-point.

X, y, beta = data()
models = {
    "lasso": MCP(X, y, gamma=1e6, fraction=0.02),
    "MCP, γ = 2": MCP(X, y, gamma=2.0, fraction=0.02),
    "SCAD, a = 3": SCAD(X, y, a=3.0, fraction=0.02),
}
figure, axes = plt.subplots(1, 3, figsize=(13, 4.4), sharey=True, layout="constrained")
hue = {j: f"C{k}" for k, j in enumerate(np.flatnonzero(beta).tolist())}
sound = True
print("model           break-points  jumps  certified  |beta - truth| at best  non-zeros there")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    path = Homotopy(model).trace()
    certified = path.certify().ok
    sound &= path.complete and certified
    top, end = path.traced
    # Straight lines in lambda are bent on a logarithmic axis: many points, both sides of each.
    s = path.segments
    order = np.unique(np.concatenate([s.start, s.stop, np.geomspace(end, top, 400)]))[::-1]
    order = order[(order >= end) & (order <= top)]
    steps, lines = [], []
    for place in order:
        for side in ("before", "after"):
            steps.append(place)
            lines.append(path.solution(place, side))
    lines = np.array(lines)
    for j in range(beta.size):
        style = {"color": hue[j], "lw": 2.0} if beta[j] else {"color": "0.7", "lw": 0.8}
        ax.plot(steps, lines[:, j], zorder=2 + bool(beta[j]), **style)
    for j in np.flatnonzero(beta):
        ax.plot(end * 0.93, beta[j], marker=">", color=hue[j], ms=7, clip_on=False)
    for k, jump in enumerate(path.jumps):
        ax.axvline(jump.t, color="0.35", ls=":", lw=0.9, zorder=1,
                   label="jump" if k == 0 else None)  # fmt: skip
    if path.jumps:
        ax.legend(loc="lower left", frameon=False)
    ax.set_xscale("log")
    ax.set_xlim(top * 1.05, end * 0.93)
    ax.axhline(0.0, color="0.2", lw=0.6)
    ax.set_title(f"{name}: {len(path.jumps)} jumps")
    ax.set_xlabel("λ")
    error = np.abs(lines - beta).max(axis=1)
    best = int(np.argmin(error))
    print(
        f"{name:16}{len(s):12d}{len(path.jumps):7d}{certified!s:>11}{error[best]:24.3f}"
        f"{np.count_nonzero(lines[best]):17d}"
    )
axes[0].set_ylabel("coefficient (triangles: the truth)")
OUT.mkdir(exist_ok=True)
figure.savefig(OUT / "nonconvex_penalties.png", dpi=130)
assert sound
