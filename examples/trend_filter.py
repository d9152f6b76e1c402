"""
Trend filtering: steps, a polygon, smooth pieces
================================================

2,000 noisy values. For each order the whole path is traced, from a polynomial to many knots, and
lam is taken where BIC is least on all of it.
"""

import time
from pathlib import Path as File

import matplotlib.pyplot as plt
import numpy as np

from homotopy_plugins import TrendFilterRegressor

OUT = File("out")
NAMES = ("constant pieces", "linear pieces", "quadratic pieces")

# %%
# A signal with a corner, a step and a wave.

rng = np.random.default_rng(0)
z = np.linspace(0.0, 1.0, 2000)
truth = np.where(z < 0.35, 2.0 * z, np.where(z < 0.7, 1.4 - 2.0 * z, np.sin(14.0 * z)))
y = truth + 0.25 * rng.standard_normal(z.size)

# %%
# One path per order.

figure, axes = plt.subplots(3, 1, figsize=(8.0, 8.5), sharex=True, layout="constrained")
ok = True
print(f"{'order':>5} {'lam':>10} {'knots':>6} {'error':>7} {'break-points':>13} {'seconds':>8}")
for order, ax in enumerate(axes):
    began = time.perf_counter()
    model = TrendFilterRegressor(order=order, lam="bic").fit(z, y)
    seconds = time.perf_counter() - began
    error = np.sqrt(np.mean((model.signal_ - truth) ** 2))
    count = model.path_.breakpoints.size
    print(
        f"{order:5d} {model.lam_:10.3g} {model.knots_.size:6d} {error:7.4f} {count:13d} ",
        end="",
    )
    print(f"{seconds:8.2f}", flush=True)
    ok &= model.certificate_.ok and model.path_.complete
    ax.plot(z, y, ".", ms=2, color="0.75", label="data")
    ax.plot(z, truth, color="0.35", lw=1.2, ls="--", label="truth")
    ax.plot(z, model.signal_, color=f"C{order}", lw=1.8, label="fit")
    ax.plot(model.knots_, model.predict(model.knots_), "o", ms=3, color="k", label="knots")
    ax.set_title(f"{NAMES[order]}: {model.knots_.size} knots, error {error:.3f}", loc="left")
    ax.spines[["top", "right"]].set_visible(False)
axes[0].legend(ncol=4, frameon=False, loc="lower left")
axes[-1].set_xlabel("position")
OUT.mkdir(exist_ok=True)
figure.savefig(OUT / "trend_filter.png", dpi=130)
plt.close(figure)
print(f"Picture: {OUT}/trend_filter.png")
assert ok
