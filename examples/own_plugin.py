r"""
The lasso as a plugin of one's own
==================================

.. math:: \min_\beta\ \tfrac12\|y-X\beta\|^2+\lambda\|\beta\|_1

With alpha = beta and Q = X'X the response is u = X'X beta, and optimality, coordinate by
coordinate, reads q - u in lam * sign(beta) with q = X'y. So the point (u, beta) lies on ::

    beta = +inf  |  knot at q - lam (beta > 0)  |  beta = 0  |  knot at q + lam (beta < 0)  |  -inf

That is the whole plugin. Its break-points are those of scikit-learn's ``lars_path``.
"""

from __future__ import annotations

import sys

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import lars_path

from homotopy import Homotopy, Knot, LinearGram, LossModel, Slope


class Lasso(LossModel):
    parameter = "lam"

    def __init__(self, X, y):
        self.gram, self.q = LinearGram(X.T), X.T @ y
        self.span = (np.abs(self.q).max(), 0.0)

    def polyline(self, lam):
        return (
            Slope("left wall", np.inf),
            Knot("positive", self.q - lam),
            Slope("zero", 0.0),
            Knot("negative", self.q + lam),
            Slope("right wall", -np.inf),
        )


def main() -> int:
    X, y = load_diabetes(return_X_y=True)
    y = y - y.mean()
    path = Homotopy(Lasso(X, y)).trace()
    certificate = path.certify()
    print(path.summary())
    print(certificate)

    lam, _, coefficients = lars_path(X, y, method="lasso")
    lam = lam * y.size  # scikit-learn divides the squared error by n
    ours = path.breakpoints
    print(f"\n{'ours':>12} {'lars_path':>12}   non-zero coefficients")
    for k, (a, b) in enumerate(zip(ours, lam, strict=True)):
        print(f"{a:12.6f} {b:12.6f}   {np.count_nonzero(coefficients[:, k])}")
    apart = np.abs(ours - lam).max() / lam.max()
    gap = max(
        np.abs(path.alpha(t) - coefficients[:, k]).max() / np.abs(coefficients).max()
        for k, t in enumerate(ours)
    )
    print(f"break-points differ by at most {apart:.1e}, coefficients by {gap:.1e} (relative)")
    return 0 if certificate.ok and max(apart, gap) < 1e-8 else 1


if __name__ == "__main__":
    sys.exit(main())
