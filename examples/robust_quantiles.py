"""
Pinball ramp: every quantile, with and without outliers
=======================================================

The pinball loss is traced along tau from 0.05 to 0.95.  A tenth of the targets is far too high.
Plain quantile regression follows them with its upper quantiles; with a ramp (theta = 0, threshold
s) they are left out.  The ramp path begins where a walk ends that presses the outliers flat.
"""

from pathlib import Path as File

import matplotlib.pyplot as plt
import numpy as np

from homotopy import Homotopy
from homotopy.drawing import PALETTE
from homotopy_plugins import PinballRamp, walk

OUT = File("out")
BLUE, RED, GREY = PALETTE[0], PALETTE[1], "#8A8A8A"
LEVELS = (0.1, 0.25, 0.5, 0.75, 0.9)

# %%
# A sine whose spread grows, and a tenth of the targets far above it.


def data():
    """A sine whose spread grows, and a tenth of targets that are far above it."""
    rng = np.random.default_rng(4)
    x = np.sort(rng.uniform(0.0, 6.0, 200))
    y = np.sin(x) + (0.1 + 0.08 * x) * rng.standard_normal(200)
    far = rng.random(200) < 0.1
    return x, y + np.where(far, rng.uniform(3.0, 5.0, 200), 0.0), far


# %%
# The plain path along tau, and a walk: press the outliers flat first, then move tau.

x, y, far = data()
options = {"C": 20.0, "gamma": 0.5, "fit_intercept": True}
plain = Homotopy(PinballRamp(x[:, None], y, tau=0.05, tau_stop=0.95, path="tau", **options)).trace()
s = 2.0
model = PinballRamp(x[:, None], y, tau=0.05, s=s, **options)
ramp = walk(model, [(1.0, s, 0.05), (0.0, s, 0.05), (0.0, s, 0.95)])
robust = ramp.paths[1]
print(plain)
print(ramp)
certified = plain.certify().ok and ramp.certify()
print("certified:", certified)

# %%
# How much of the clean rows lies below each quantile.

clean = ~far
print("\n quantile   part of the clean rows below: plain   with a ramp")
for tau in LEVELS:
    below = [
        np.mean((y < f)[clean]) for f in (plain.response(tau), robust.response((tau - 0.05) / 0.9))
    ]
    print(f"{tau:9.2f} {below[0]:37.3f} {below[1]:13.3f}")

# %%
# Five of the quantiles; there is one for every tau.

grid = np.linspace(0.0, 6.0, 300)
fig, axes = plt.subplots(1, 2, figsize=(10.5, 4.2), sharey=True, layout="constrained")
curves = (
    (axes[0], "Plain quantile regression", RED, lambda tau: (plain, tau)),
    (
        axes[1],
        f"With a ramp: theta = 0, s = {s:g}",
        BLUE,
        lambda tau: (robust, (tau - 0.05) / 0.9),
    ),
)
for ax, title, colour, place in curves:
    ax.plot(x[clean], y[clean], ".", color=GREY, ms=4)
    ax.plot(x[far], y[far], "x", color="black", ms=5, label="far too high")
    fits = []
    for tau in LEVELS:
        path, t = place(tau)
        fits.append(path.decision_function(grid[:, None], t))
        ax.plot(grid, fits[-1], color=colour, lw=2.2 if tau == 0.5 else 1.2)
    level = -np.inf
    for tau, f in zip(LEVELS, fits, strict=True):
        level = max(f[-1], level + 0.25)  # labels that would touch are moved up
        ax.annotate(f"{tau:g}", (grid[-1], level), xytext=(4, 0), va="center",
                    textcoords="offset points", fontsize=8, color=colour)  # fmt: skip
    ax.set_title(title)
    ax.set_xlabel("x")
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("y")
axes[0].set_ylim(top=6.6)
axes[0].legend(loc="upper left", frameon=False)
OUT.mkdir(exist_ok=True)
fig.savefig(OUT / "robust_quantiles.png", dpi=130)
print(f"\nPicture: {OUT}/robust_quantiles.png")
assert certified
