"""Penalised least squares by OSQP: an oracle that shares no arithmetic with the engine."""

from __future__ import annotations

import numpy as np
import osqp
import scipy.sparse as sp


def penalised_least_squares(X, y, price, *, positive=False, intercept=False):
    """``min 1/2 |y - X beta - b|^2 + sum_j price_j |beta_j|``: its value and beta.

    In the variables (beta, b, r, s): ``r = y - X beta - b``, ``-s <= beta <= s``.
    """
    X = sp.csc_matrix(X)
    n, p = X.shape
    ones = sp.csc_matrix(np.ones((n, 1)) if intercept else np.zeros((n, 1)))
    eye, none = sp.identity(p, format="csc"), sp.csc_matrix((p, 1))
    A = sp.bmat(
        [
            [X, ones, sp.identity(n), None],
            [eye, none, None, -eye],
            [eye, none, None, eye],
            [eye, none, None, sp.csc_matrix((p, p))],
        ],
        "csc",
    )
    free, zero = np.full(p, np.inf), np.zeros(p)
    low = np.r_[y, -free, zero, zero if positive else -free]
    high = np.r_[y, zero, free, free]
    P = sp.block_diag([sp.csc_matrix((p + 1, p + 1)), sp.identity(n), sp.csc_matrix((p, p))], "csc")
    q = np.r_[np.zeros(p + 1 + n), price]
    solver = osqp.OSQP()
    solver.setup(
        P,
        q,
        A,
        low,
        high,
        eps_abs=1e-10,
        eps_rel=1e-10,
        max_iter=200_000,
        polishing=True,
        verbose=False,
    )
    answer = solver.solve(raise_error=True)
    beta, b = answer.x[:p], answer.x[p] * intercept
    rest = y - X @ beta - b
    return 0.5 * float(rest @ rest) + float(price @ np.abs(beta)), beta
