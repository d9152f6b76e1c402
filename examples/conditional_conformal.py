"""
Conditional conformal: intervals that are right in every group
==============================================================

A gradient-boosted model predicts; its residuals on rows that it has not seen tell how far to trust
it.  Split conformal prediction draws one cut-off for all rows: right on average, far too narrow
where the noise is large.  `ConditionalConformal` has a cut-off for each row, exactly, such that
coverage is right in every group.
"""

import time
from pathlib import Path as File

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

from homotopy.plot import PALETTE
from homotopy_plugins import ConditionalConformal

OUT = File("out")
LEVEL, CALIBRATION, NEW, DRAWS = 0.9, 400, 1500, 12
NAMES = ("town", "coast", "hills", "x > 1")

# %%
# Three regions whose noise differs, and within each it grows with x.  The fourth group overlaps
# the others.


def draw(rng, n):
    """Columns x and region, and the target."""
    x, region = rng.uniform(-2.0, 2.0, n), rng.choice(3, n, p=[0.6, 0.25, 0.15])
    size = np.array([0.3, 0.6, 1.5])[region] * (1.0 + 0.35 * x)
    return np.column_stack([x, region]), np.sin(2.0 * x) + region + size * rng.standard_normal(n)


def groups(X):
    """An indicator for each region, and one for large x."""
    return np.column_stack([*(X[:, 1] == k for k in range(3)), X[:, 0] > 1.0]).astype(float)


# %%
# The model is fitted once, on rows of its own.

rng = np.random.default_rng(0)
X, y = draw(rng, 2000)
options = {"max_iter": 60, "max_leaf_nodes": 8, "categorical_features": [1], "random_state": 0}
model = HistGradientBoostingRegressor(**options).fit(X, y)


def drawn_scores(n):
    X, y = draw(rng, n)
    return X, np.abs(y - model.predict(X))


# %%
# The promise is an average over calibration rows and new rows, so both are drawn anew each time.

cutters = {
    "split": None,
    "groups": ConditionalConformal(confidence_level=LEVEL, basis=groups, kernel=None),
    "groups + kernel": ConditionalConformal(
        confidence_level=LEVEL, basis=groups, gamma=0.5, penalty=1e-3
    ),
}
hits = {name: np.empty((DRAWS, len(NAMES) + 1)) for name in cutters}
widths = {name: np.empty((DRAWS, len(NAMES) + 1)) for name in cutters}
took = 0.0
for k in range(DRAWS):
    (X, score), (X_new, new_score) = drawn_scores(CALIBRATION), drawn_scores(NEW)
    within = np.column_stack([groups(X_new), np.ones(NEW)])
    for name, cutter in cutters.items():
        if cutter is None:
            rank = int(np.ceil(LEVEL * (CALIBRATION + 1)))
            cutoff = np.full(NEW, np.sort(score)[rank - 1])
        else:
            begun = time.process_time()
            cutoff = cutter.fit(X, score).cutoff(X_new)
            took += (k > 0) * (time.process_time() - begun)
        hits[name][k] = (new_score <= cutoff) @ within / within.sum(axis=0)
        widths[name][k] = 2.0 * cutoff @ within / within.sum(axis=0)

# %%
# Coverage by group, with its standard error over the draws, and the mean width.

print(f"{'':16}" + "".join(f"{name:>16}" for name in (*NAMES, "all")))
for name in cutters:
    mean, error = hits[name].mean(axis=0), hits[name].std(axis=0, ddof=1) / np.sqrt(DRAWS)
    told = (f"{m:.3f} ± {e:.3f}" for m, e in zip(mean, error, strict=True))
    print(f"{name:16}" + "".join(f"{part:>16}" for part in told))
    print(f"{'  width':16}" + "".join(f"{width:16.2f}" for width in widths[name].mean(axis=0)))
print(f"{1e3 * took / (2 * (DRAWS - 1) * NEW):.2f} ms for a cut-off")

# %%
# Left, coverage by group.  Right, the cut-offs of the last draw along x.

fig, (one, two) = plt.subplots(1, 2, figsize=(10.5, 4.2), layout="constrained")
place = np.arange(len(NAMES) + 1)
for j, (name, found) in enumerate(hits.items()):
    error = 2.0 * found.std(axis=0, ddof=1) / np.sqrt(DRAWS)
    one.errorbar(
        place + 0.2 * (j - 1), found.mean(axis=0), error, fmt="o", capsize=3, label=name,
        color=(PALETTE[1], PALETTE[0], PALETTE[2])[j],
    )  # fmt: skip
one.axhline(LEVEL, color="0.5", lw=1, ls="--")
one.set_xticks(place, (*NAMES, "all"))
one.set(ylabel="new targets covered", title=f"{DRAWS} draws, two standard errors")
one.legend(frameon=False, loc="lower left")
split = np.sort(score)[int(np.ceil(LEVEL * (CALIBRATION + 1))) - 1]
two.axhline(split, color=PALETTE[1], ls="--", label="split, all rows")
grid = np.linspace(-2.0, 2.0, 161)
for region, colour in enumerate((PALETTE[0], PALETTE[2], PALETTE[3])):
    inside = X[:, 1] == region
    two.plot(X[inside, 0], score[inside], ".", color=colour, ms=3, alpha=0.5)
    cutoff = cutters["groups + kernel"].cutoff(np.column_stack([grid, np.full(161, region)]))
    two.plot(grid, cutoff, color=colour, lw=2, label=NAMES[region])
two.set(xlabel="x", ylabel="|y − f(x)|", title="cut-offs: groups + kernel", ylim=(0.0, 4.5))
two.legend(frameon=False, loc="upper left")
for ax in (one, two):
    ax.spines[["top", "right"]].set_visible(False)
OUT.mkdir(exist_ok=True)
fig.savefig(OUT / "conditional_conformal.png", dpi=150)
print(f"\nPicture: {OUT}/conditional_conformal.png")

# Split fails the hills by far; conditional cut-offs are within three standard errors everywhere.
assert hits["split"][:, 2].mean() < 0.7
for name in ("groups", "groups + kernel"):
    error = hits[name].std(axis=0, ddof=1) / np.sqrt(DRAWS)
    assert np.all(hits[name].mean(axis=0) > LEVEL - 3.0 * error), name
