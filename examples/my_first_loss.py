r"""
A loss of one's own, to copy and change
=======================================

Three steps, then everything works. The loss here forgives residuals up to eps and charges C for
each unit beyond,

.. math:: L(r) = C\max(0, |r| - \varepsilon),\qquad r = y - f(x),\qquad \varepsilon: 1\to 0.

Step 1, on paper: with u = f(x), the graph of -dL against u, from left to right, is ::

    C            |    0             |    -C
          knot at y - eps    knot at y + eps

Step 2: type it in (``polyline``). Step 3: let ``check_plugin`` look for mistakes.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from homotopy import Homotopy, Knot, Slope
from homotopy.testing import check_plugin
from homotopy_plugins.kernels import KernelModel


class DeadZone(KernelModel):  # kernels, weights, an intercept and predictions come with it
    parameter = "eps"  # the name of t, for messages and axes
    span = (1.0, 0.0)  # t goes from here to there

    def __init__(self, X, y, **options):
        self.y = np.asarray(y, dtype=float)
        super().__init__(X, np.ones(self.y.size), **options)

    def polyline(self, eps):  # arithmetic that stays affine in eps
        return (
            Slope("too low", self.cost),
            Knot("lower edge", self.y - eps),
            Slope("inside", 0.0),
            Knot("upper edge", self.y + eps),
            Slope("too high", -self.cost),
        )


def main() -> int:
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0.0, 6.0, 80))
    y = np.sin(x) + 0.2 * rng.standard_normal(80)
    options = {"C": 2.0, "kernel": "rbf", "gamma": 1.0, "fit_intercept": True}

    check_plugin(DeadZone(x[:20, None], y[:20], **options))  # small data: it looks at everything
    path = Homotopy(DeadZone(x[:, None], y, **options)).trace()
    print(path.summary())
    print(path.certify())

    # Every t is exact: no grid, and as many as you like at once.
    curve = path.validation_curve(np.linspace(0, 6, 200)[:, None], np.sin(np.linspace(0, 6, 200)))
    print(
        f"nearest to the true curve at eps = {curve.best.t:.4f}: mean error {curve.best.value:.4f}"
    )
    draw(path, x, y, curve.best.t)
    return 0 if path.certify().ok else 1


def draw(path, x, y, best):
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        print("install matplotlib for the picture")
        return
    fine = np.linspace(0.0, 6.0, 300)
    figure, axis = plt.subplots(figsize=(7, 4), layout="constrained")
    axis.plot(x, y, "o", ms=3.5, color="0.6", label="data")
    for eps, style in ((0.8, ":"), (best, "-"), (0.0, "--")):
        axis.plot(fine, path.decision_function(fine[:, None], eps), style, label=f"eps = {eps:.2f}")
    axis.set(xlabel="x", ylabel="y", title="One path, three of its points")
    axis.legend(frameon=False)
    out = Path("out")
    out.mkdir(exist_ok=True)
    figure.savefig(out / "my_first_loss.png", dpi=150)
    print(f"picture in {out / 'my_first_loss.png'}")


if __name__ == "__main__":
    sys.exit(main())
