"""
Lasso: the whole path of 40 features
====================================

Five of the features matter. The break-points are compared with scikit-learn's ``lars_path``; the
loss on held-out rows is known for every lam, not on a grid. An elastic net has a ridge
as well.
"""

from pathlib import Path as File

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import lars_path

from homotopy import Homotopy
from homotopy_plugins import ElasticNet, Lasso

OUT = File("out")
TRUE = np.array([3.0, -2.0, 1.5, 1.0, -1.0])

# %%
# 80 rows to fit, 80 to choose lam by.

rng = np.random.default_rng(0)
X = rng.standard_normal((160, 40))
y = 5.0 + X[:, :5] @ TRUE + 2.0 * rng.standard_normal(160)
held, target, X, y = X[80:], y[80:], X[:80], y[:80]
path = Homotopy(Lasso(X, y, fit_intercept=True, fraction=0.003)).trace()
certificate = path.certify()
print(path)
print(f"certified: {certificate.ok}")

# %%
# The same break-points as scikit-learn's ``lars_path``.

# scikit-learn divides the squared error by n.
centred, floor = X - X.mean(axis=0), path.traced[1] / y.size
alphas, _, beta = lars_path(centred, y - y.mean(), method="lasso", alpha_min=floor)
lam = np.clip(alphas * y.size, *path.traced[::-1])
apart = np.abs(path.breakpoints - lam).max() / lam.max()
gap = np.abs(path.solution(lam) - beta.T).max() / np.abs(beta).max()
print(f"break-points of lars_path: {apart:.0e} apart, coefficients {gap:.0e} (relative)")

# %%
# The squared error on the rows held out, for every lam: a quadratic between two break-points, so
# that its least value is read off.

curve = path.validation_curve(held, target)
best = curve.best
chosen = path.solution(best.t)
print(f"least error on rows held out: {best.value:.3f} at lam = {best.t:.3f}")
print(f"coefficients there: {np.count_nonzero(chosen)}; the five that matter: ", end="")
print(", ".join(f"{b:.2f}" for b in chosen[:5]), f"(truth {', '.join(map(str, TRUE))})")

# %%
# With a ridge: the elastic net, along the same lam.

net = Homotopy(ElasticNet(X, y, ridge=20.0, fit_intercept=True, fraction=0.003)).trace()
least = net.validation_curve(held, target).best
print(net)
print(f"least error on rows held out: {least.value:.3f}; certified: {net.certify().ok}")
assert net.certify().ok

# %%
# Coefficients and error of the lasso along the path.

figure, (top, bottom) = plt.subplots(
    2, 1, figsize=(7.5, 6.5), sharex=True, layout="constrained", height_ratios=(2, 1)
)
t = np.geomspace(*path.traced, 1000)
values = path.solution(t)
top.plot(t, values[:, 5:], color="0.75", lw=1.0)
for k, truth in enumerate(TRUE):
    top.plot(t, values[:, k], color=f"C{k}", lw=2.0)
    top.plot(t[-1], truth, "<", color=f"C{k}", clip_on=False)
top.set_ylabel("coefficient (triangles: truth)")
top.set_title(f"Lasso, 80 rows, 40 features: {path.breakpoints.size} break-points")
bottom.plot(t, curve(t), color="0.2")
bottom.plot(best.t, best.value, "o", color="C3")
bottom.set_ylabel("squared error\non rows held out")
bottom.set_xlabel("lam")
bottom.set_xscale("log")
bottom.set_xlim(*path.traced)
for ax in (top, bottom):
    ax.axvline(best.t, color="C3", lw=0.8, ls="--")
    ax.spines[["top", "right"]].set_visible(False)
OUT.mkdir(exist_ok=True)
figure.savefig(OUT / "lasso.png", dpi=130)
plt.close(figure)
print(f"Picture: {OUT}/lasso.png")
assert certificate.ok
assert max(apart, gap) < 1e-8
