"""
Robust regression: four ramps and a crowd of outliers
=====================================================

A curve, and at its right end a crowd of rows that lie far below it. Absolute residuals shrug off
scattered outliers, not a crowd: it pulls a median, too. A ramp charges what lies beyond a
threshold s only the fraction theta of the slope. Four losses: absolute residuals (`LADRamp`), with
a tube of width epsilon (`EpsilonRamp`), Huber's (`HuberRamp`) and squares (`TruncatedQuadratic`).
"""

# %%
# 150 rows, 16 of them in the crowd.

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from homotopy import Homotopy
from homotopy.drawing import PALETTE
from homotopy_plugins import EpsilonRamp, HuberRamp, LADRamp, TruncatedQuadratic

rng = np.random.default_rng(3)
x = np.sort(rng.uniform(0.0, 10.0, 150))
curve = np.sin(x) + 0.3 * x
y = curve + 0.15 * rng.standard_normal(150)
crowd = rng.choice(np.flatnonzero(x > 7.5), 16, replace=False)
y[crowd] = rng.uniform(-4.0, 1.0, 16)

# %%
# Each path leads along theta, from the plain loss at 1 to no pull at all at 0.

options = {"C": 1.0, "gamma": 0.3, "fit_intercept": True, "path": "theta", "s": 0.5}
models = {
    "LADRamp": LADRamp(x[:, None], y, **options),
    "EpsilonRamp": EpsilonRamp(x[:, None], y, epsilon=0.1, **options),
    "HuberRamp": HuberRamp(x[:, None], y, delta=0.3, **options),
    "TruncatedQuadratic": TruncatedQuadratic(x[:, None], y, **options),
}
paths = {name: Homotopy(model).trace() for name, model in models.items()}
print(f"{'':20}break-points  jumps  outliers  of 16   error: plain  robust  certified")
for name, path in paths.items():
    pieces = path.partition(0.0)
    called = np.union1d(pieces["O+"], pieces["O-"])
    errors = [np.abs(path.response(t) - curve).mean() for t in (1.0, 0.0)]
    print(
        f"{name:20}{path.breakpoints.size:12d}{len(path.jumps):7d}{called.size:10d}"
        f"{np.isin(crowd, called).sum():7d}{errors[0]:15.3f}{errors[1]:8.3f}"
        f"{path.certify().ok!s:>11}"
    )
    assert path.certify().ok

# %%
# The fits at both ends of each path.

fine = np.linspace(x.min(), x.max(), 400)[:, None]
figure, axes = plt.subplots(2, 2, figsize=(10, 6.4), sharex=True, sharey=True, layout="constrained")
for ax, (name, path) in zip(axes.flat, paths.items(), strict=True):
    ax.plot(x, y, "o", ms=3.5, color="0.7")
    ax.plot(x[crowd], y[crowd], "x", ms=5, color=PALETTE[1], label="the crowd")
    ax.plot(x, curve, "--", color="black", lw=1.0, label="true curve")
    ax.plot(fine, path.decision_function(fine, 1.0), color="0.45", lw=1.6, label="plain, theta = 1")
    ax.plot(fine, path.decision_function(fine, 0.0), color=PALETTE[0], lw=2.4,
            label="robust, theta = 0")  # fmt: skip
    ax.set_title(name)
    ax.spines[["top", "right"]].set_visible(False)
axes[0, 0].legend(frameon=False, loc="lower left")
out = Path("out")
out.mkdir(exist_ok=True)
figure.savefig(out / "robust_regression.png", dpi=110)
