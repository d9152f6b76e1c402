"""
A path as a page with a slider
==============================

A table with wrong labels becomes a page that shows which rows they are.

Fits `RobustSVC` to two moons and to the breast cancer data with 15 % of the labels wrong, and
writes the pages of both to out/, with that of a lasso path beside them.
"""

from __future__ import annotations

import sys
from pathlib import Path as File

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, make_moons
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from homotopy import Homotopy
from homotopy_plugins import Lasso, RobustSVC

OUT = File("out")


def flipped(y: np.ndarray, share: float) -> tuple[np.ndarray, np.ndarray]:
    """Labels with some of them wrong, and which."""
    wrong = np.random.default_rng(0).choice(y.size, round(share * y.size), replace=False)
    labels = y.copy()
    labels[wrong] = 1 - labels[wrong]
    return labels, wrong


def main() -> int:
    OUT.mkdir(exist_ok=True)
    ok = True

    X, y = make_moons(200, noise=0.2, random_state=0)
    labels, wrong = flipped(y, 0.15)
    machine = RobustSVC(C=10.0, gamma=1.0).fit(X, np.array(["lower", "upper"])[1 - labels])
    pages = {"moons": machine.report("Two moons, 15 % of the labels wrong", X_names=["x", "y"])}
    found = np.isin(wrong, machine.outliers_).sum()
    print(f"moons: {found} of {wrong.size} wrong labels among {machine.outliers_.size} outliers")

    data = load_breast_cancer(as_frame=True)
    labels, wrong = flipped(data.target.to_numpy(), 0.15)
    pipe = make_pipeline(StandardScaler(), RobustSVC(kernel="linear", C=0.1, path="s"))
    machine = pipe.fit(data.data, data.target_names[labels])[-1]
    pages["cancer"] = machine.report("Breast cancer, 15 % of the labels wrong", X=data.data)
    rows = pages["cancer"].content["table"]["rows"]
    found = np.isin(wrong, rows).sum()
    print(f"cancer: {found} of {wrong.size} wrong labels among {len(rows)} suspected rows")

    X, y = load_diabetes(return_X_y=True, as_frame=True)
    path = Homotopy(Lasso(X.to_numpy(), y, fit_intercept=True, fraction=0.001)).trace()
    pages["lasso"] = path.report("Diabetes: which measurement enters when", names=X.columns)

    for name, page in pages.items():
        file = OUT / f"report_{name}.html"
        page.write_html(file)
        ok &= page.content["certificate"]["ok"]
        print(f"{file}: {file.stat().st_size / 1e6:.2f} MB, certified: {ok}")
    print("Open them in a browser; they need no network.")
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
