"""Random choices that record how badly behaved they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from homotopy.arrays import Array, Index


class Draw:
    """Numbers, rows and targets from one random state; `ugly` lists in words what was done."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng([0x1DE0, seed])
        self.ugly: list[str] = []

    def note(self, what: str) -> None:
        self.ugly.append(what)

    def chance(self, part: float) -> bool:
        return bool(self.rng.random() < part)

    def pick(self, *choices: Any) -> Any:
        return choices[int(self.rng.integers(len(choices)))]

    def decade(self, low: float, high: float) -> float:
        """Draw a number between 10^low and 10^high, log-uniform, with two digits."""
        return float(f"{10.0 ** self.rng.uniform(low, high):.2g}")

    def some(self, n: int, part: float) -> Index:
        """Draw about this fraction of n rows, at least one."""
        chosen = np.flatnonzero(self.rng.random(n) < part)
        return chosen if chosen.size else self.rng.integers(n, size=1)

    def count(self, most: int = 80) -> int:
        """Draw the number of rows; small numbers are as likely as large ones."""
        low, high = self.pick((1, 2), (3, 8), (3, 8), (9, 20), (9, 20), (21, 40), (41, 80))
        return min(int(self.rng.integers(low, high + 1)), most)

    # ------------------------------------------------------------------ rows

    def rows(self, n: int, d: int) -> Array:
        """Draw features (n, d) of some base shape, then make them worse."""
        X = self._base(n, d)
        for part, change in (
            (0.20, self._repeated),
            (0.20, self._near),
            (0.10, self._zeros),
            (0.25, self._scaled),
            (0.15, self._mixed),
            (0.15, self._offset),
            (0.08, self._timestamp),
            (0.08, self._constant),
        ):
            if self.chance(part):
                X = change(X)
        return np.asarray(X)

    def _base(self, n: int, d: int) -> Array:
        rng = self.rng
        kind = self.pick("normal", "normal", "grid", "binary", "one-hot", "symmetric", "rank one",
                         "heavy tails")  # fmt: skip
        if kind != "normal":
            self.note(kind)
        X = rng.normal(size=(n, d))
        if kind == "grid":
            return np.asarray(np.round(self.pick(1.0, 2.0) * X))
        if kind == "binary":
            return (X > 0.0).astype(float)
        if kind == "one-hot":
            return np.asarray(np.eye(d)[rng.integers(d, size=n)])
        if kind == "symmetric":
            half = X[: (n + 1) // 2]
            return np.vstack([half, -half])[:n]
        if kind == "rank one":
            return np.outer(X[:, 0], rng.integers(1, 4, size=d))
        if kind == "heavy tails":
            return np.asarray(X * np.exp(2.0 * rng.normal(size=(n, 1))))
        return X

    def _repeated(self, X: Array) -> Array:
        self.note("repeated rows")
        to = self.some(len(X), 0.4)
        X[to] = X[self.rng.integers(len(X), size=to.size)]
        return X

    def _near(self, X: Array) -> Array:
        by = 10.0 ** -int(self.rng.integers(6, 15))
        self.note(f"rows {by:.0e} apart")
        to = self.some(len(X), 0.4)
        noise = by * self.rng.normal(size=(to.size, X.shape[1]))
        X[to] = X[self.rng.integers(len(X), size=to.size)] * (1.0 + noise)
        return X

    def _zeros(self, X: Array) -> Array:
        self.note("zero rows")
        X[self.some(len(X), 0.2)] = 0.0
        return X

    def _scaled(self, X: Array) -> Array:
        by = self.decade(-8, 8)
        self.note(f"features x {by:g}")
        return by * X

    def _mixed(self, X: Array) -> Array:
        low, high = self.pick((-3, 3), (-8, 0), (0, 8), (-8, 8))
        self.note(f"columns from 1e{low} to 1e{high}")
        return np.asarray(X * 10.0 ** self.rng.uniform(low, high, size=X.shape[1]))

    def _offset(self, X: Array) -> Array:
        by = self.decade(3, 8)
        spread = float(np.abs(X).max()) or 1.0
        self.note(f"features {by:g} times their spread away from 0")
        return X + by * spread

    def _timestamp(self, X: Array) -> Array:
        self.note("a timestamp")
        X[:, 0] = 1.6e9 + np.round(3e7 * self.rng.random(len(X)))
        return X

    def _constant(self, X: Array) -> Array:
        by = self.decade(0, 6)
        self.note(f"a column of {by:g}")
        X[:, -1] = by
        return X

    # ------------------------------------------------------------------ targets, labels, weights

    def labels(self, X: Array) -> Array:
        """Draw labels -1 and 1, both present: noisy, with opposite twins, or nearly one class."""
        n = len(X)
        score = X @ self.rng.normal(size=X.shape[1])
        y = np.where(score - np.median(score) > 0.0, 1.0, -1.0)
        y[self.rng.random(n) < self.pick(0.0, 0.1, 0.3)] *= -1.0
        if self.chance(0.10):
            self.note("one against all")
            y[:] = self.pick(1.0, -1.0)
            y[0] *= -1.0
        if self.chance(0.15) and n > 3:
            self.twins(X, y, -y)
        if np.all(y == y[0]):
            y[-1] = -y[0]
        return y

    def twins(self, X: Array, y: Array, other: Array) -> None:
        """Put some rows in the same place with opposite labels."""
        self.note("opposite twins")
        half = self.rng.permutation(len(X))
        first, second = half[: len(X) // 4], half[len(X) // 4 : 2 * (len(X) // 4)]
        X[second], y[second] = X[first], other[first]

    def targets(self, X: Array) -> Array:
        """Draw numbers to fit: smooth with outliers, or something worse."""
        n, rng = len(X), self.rng
        spread = np.where(X.std(axis=0) > 0.0, X.std(axis=0), 1.0)
        Z = (X - X.mean(axis=0)) / spread
        kind = self.pick("smooth", "smooth", "smooth", "integers", "exact", "constant", "zero")
        y = np.asarray(Z @ rng.normal(size=X.shape[1]) / np.sqrt(X.shape[1]))
        if kind == "smooth":
            y = y + 0.1 * rng.normal(size=n)
            y[rng.random(n) < 0.15] += 5.0
        else:
            self.note(f"{kind} targets")
        if kind == "integers":
            y = np.round(2.0 * y)
        elif kind == "constant":
            y = np.full(n, 3.0)
        elif kind == "zero":
            y = np.zeros(n)
        if self.chance(0.10) and n > 3:
            self.twins(X, y, -y)
        if self.chance(0.12):
            far = self.decade(3, 9)
            self.note(f"one target of {far:g}")
            y[0] = far
        if self.chance(0.25):
            by = self.decade(-8, 8)
            self.note(f"targets x {by:g}")
            y = by * y
        if self.chance(0.15):
            by = self.decade(3, 8)
            self.note(f"targets {by:g} times their spread away from 0")
            y = y + by * (float(np.abs(y).max()) or 1.0)
        return np.asarray(y)

    def weights(self, n: int) -> Array | None:
        """Draw weights over six decades, some of them 0; most often None."""
        if not self.chance(0.25):
            return None
        weights = 10.0 ** self.rng.uniform(-3, 3, size=n)
        what = "weights over six decades"
        if self.chance(0.4):
            weights[self.some(n, 0.2)] = 0.0
            what += ", some 0"
        if not np.any(weights):
            weights[0] = 1.0
        self.note(what)
        return weights

    def cost(self) -> float:
        """Draw C, often far from any sensible choice."""
        C = float(self.pick(1.0, 1.0, 10.0, self.decade(-6, 6), self.decade(-6, 6)))
        if not 1e-2 <= C <= 1e2:
            self.note(f"C = {C:g}")
        return C

    def described(self, what: str, sizes: str) -> str:
        """Return the name of a problem: what it is, then everything ugly about it."""
        return ", ".join([f"{what} ({sizes})", *self.ugly])
