"""
Efficient frontier: thirty assets, caps on three sectors
========================================================

``min over w   1/2 w'Sw - t mu'w``, with weights between 0 and 0.25 that sum to 1 and at most 0.4 in
each sector. Between two turning points the weights are straight lines in t, so that the picture of
what is held is exact everywhere.
"""

from pathlib import Path as File

import matplotlib.pyplot as plt
import numpy as np

from homotopy import Homotopy
from homotopy_plugins import EfficientFrontier

# %%
# Two years of daily returns, made up.


def market(n=30, seed=3):
    """Two years of daily returns driven by a market factor and a factor per sector."""
    rng = np.random.default_rng(seed)
    sector = np.arange(n) % 3
    factors = rng.normal(size=(500, 4)) * [0.010, 0.008, 0.008, 0.008]
    load = np.column_stack([rng.uniform(0.5, 1.5, n)] + [1.0 * (sector == k) for k in range(3)])
    returns = factors @ load.T + rng.normal(size=(500, n)) * rng.uniform(0.005, 0.02, n)
    mean = 0.02 + 0.08 * load[:, 0] + 0.03 * rng.normal(size=n)
    return mean, 250.0 * np.cov(returns.T), sector


# %%
# What will be drawn: the frontier, and what is held along it.


def draw(model, path, turning, sector) -> None:
    figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.4), layout="constrained")
    t = np.unique(np.concatenate([turning, np.geomspace(1e-4, 1.0, 400) * turning[0]]))
    risk, gain = model.risk_and_return(path, t)
    left.plot(100 * risk, 100 * gain, color="tab:blue", label="efficient frontier")
    dots = model.risk_and_return(path, turning)
    left.plot(
        100 * dots[0], 100 * dots[1], "o", markersize=4, color="tab:blue", label="turning points"
    )
    alone = np.sqrt(np.diagonal(model.covariance))
    left.plot(100 * alone, 100 * model.mean, ".", color="0.6", label="single assets")
    left.set(xlabel="standard deviation, % a year", ylabel="expected return, % a year")
    left.set_title("The frontier")
    left.legend(frameon=False, ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.14))
    order = np.argsort(sector, kind="stable")
    base = [plt.get_cmap(name) for name in ("Blues", "Oranges", "Greens")]
    colours = [base[sector[i]](0.3 + 0.06 * (i // 3)) for i in order]
    right.stackplot(100 * gain, 100 * path.solution(t)[:, order].T, colors=colours)
    for k, colour in enumerate(("tab:blue", "tab:orange", "tab:green")):
        right.plot([], [], "s", color=colour, label=f"sector {k + 1}")
    right.set(xlabel="expected return, % a year", ylabel="weight, %", ylim=(0, 100))
    right.set_xlim(100 * gain.min(), 100 * gain.max())
    right.set_title("What is held, at most 40 % in a sector")
    right.legend(frameon=False, ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.14))
    out = File("out")
    out.mkdir(exist_ok=True)
    figure.savefig(out / "efficient_frontier.png", dpi=130)
    print(f"picture: {out / 'efficient_frontier.png'}")


# %%
# Traced from the largest return to the least variance.

mean, covariance, sector = market()
groups = [(np.flatnonzero(sector == k), 0.0, 0.4) for k in range(3)]
model = EfficientFrontier(mean, covariance, upper=0.25, groups=groups)
path = Homotopy(model).trace()
t, weights = model.turning_points(path)
risk, gain = model.risk_and_return(path, t)
print(path)
print("certified:", path.certify().ok)
print(f"{t.size} turning points; some of them:")
print(f"{'tolerance':>10} {'risk':>7} {'return':>7}  assets held")
for k in np.linspace(0, t.size - 1, 8).astype(int):
    held = np.count_nonzero(weights[k] > 1e-12)
    print(f"{t[k]:10.4f} {risk[k]:7.2%} {gain[k]:7.2%}  {held}")
draw(model, path, t, sector)
assert path.certify().ok
