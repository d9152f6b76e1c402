"""
Capped l1: coefficients that are not shrunk
===========================================

The cap comes down from infinity at a fixed lam; where a coefficient passes it the path jumps, and
the coefficient is not shrunk any more.  A picture goes to out/.
"""

from pathlib import Path as File

import matplotlib.pyplot as plt
import numpy as np

from homotopy import Homotopy
from homotopy_plugins import CappedL1

OUT = File("out")

# %%
# Three coefficients that matter, five that do not.

rng = np.random.default_rng(3)
truth = np.array([2.5, -1.8, 1.2, 0.0, 0.0, 0.0, 0.0, 0.0])
X = rng.standard_normal((60, truth.size))
y = X @ truth + rng.standard_normal(60)
path = Homotopy(CappedL1(X, y, cap=0.3, lam=25.0)).trace()
certificate = path.certify()
print(path.summary())
print(f"certified: {certificate.ok}\n")

# %%
# The lasso at the start of the path, the capped norm at its end.

lasso, capped = path.solution(path.traced[0], "before"), path.solution(path.traced[1])
print(f"{'truth':>7} {'lasso':>8} {'capped':>8}")
for row in zip(truth, lasso, capped, strict=True):
    print("{:7.2f} {:8.3f} {:8.3f}".format(*row))
errors = [float(np.linalg.norm(beta - truth)) for beta in (lasso, capped)]
print(f"distance to the truth: lasso {errors[0]:.3f}, capped {errors[1]:.3f}")

# %%
# Both sides of every jump are drawn.

figure, ax = plt.subplots(figsize=(7.5, 4.8), layout="constrained")
places = np.sort(np.append(np.linspace(*path.traced, 400), [j.t for j in path.jumps]))[::-1]
both = [path.solution(places, side) for side in ("before", "after")]
t, values = np.repeat(places, 2), np.stack(both, axis=1).reshape(-1, truth.size)
# The lasso, where no coefficient has met the cap yet, a little farther.
begin = 1.15 * path.traced[0]
ax.plot(np.append(begin, t), np.vstack([lasso, values])[:, 3:], color="0.6", lw=1.2)
for k in range(3):
    ax.plot(np.append(begin, t), np.append(lasso[k], values[:, k]), color=f"C{k}", lw=2.0)
    ax.axhline(truth[k], color=f"C{k}", lw=0.9, ls="--")
ax.set_xlim(begin, path.traced[1])
ax.set_xlabel("cap (from infinity on the left)")
ax.set_ylabel("coefficient (dashed: truth)")
ax.set_title("Capped l1 at lam = 25: what passes the cap is not shrunk any more")
ax.spines[["top", "right"]].set_visible(False)
OUT.mkdir(exist_ok=True)
figure.savefig(OUT / "capped_l1.png", dpi=130)
plt.close(figure)
print(f"Picture: {OUT}/capped_l1.png")
assert certificate.ok
assert path.complete
