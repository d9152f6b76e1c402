"""
What make demo runs
===================

Robust paths, their certificates, exact selection, pictures in out/. Every number printed comes from
the run; ``python examples/demo.py --verbose`` prints the accounts and certificates of the paths as
well. The exit code is not zero if a path fails its own certificate or disagrees with
scikit-learn where the two solve the same problem.
"""

# sphinx_gallery_thumbnail_path = '_static/boundary.png'

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path as File

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from homotopy import Homotopy, LossModel, Path, compile_now
from homotopy.drawing import PALETTE
from homotopy.plot import plot_alpha, plot_objective, plot_partition, plot_validation
from homotopy_plugins import HingeRamp, LADRamp, RobustSVCCV

OUT = File("out")
REPORT = OUT / "report.html"
BLUE, RED, GREEN = PALETTE[0], PALETTE[1], PALETTE[2]


class Tally:
    """Which claims were checked and which of them failed; and whether details are printed."""

    def __init__(self, verbose: bool = False) -> None:
        self.verbose = verbose
        self.failed: list[str] = []

    def claim(self, what: str, holds: bool) -> None:
        if not holds:
            self.failed.append(what)

    def detail(self, *texts: object) -> None:
        if self.verbose:
            print(*texts, sep="\n")


def traced(title: str, model: LossModel, tally: Tally) -> Path:
    """Trace and certify; the account of the path and its certificate are details."""
    began = time.perf_counter()
    path = Homotopy(model).trace()
    took = time.perf_counter() - began
    certificate = path.certify()
    print(f"\n{title}\n{'-' * len(title)}")
    tally.detail(path.summary(), certificate)
    proven = "proven correct" if certificate.ok else "NOT PROVEN"
    print(f"The whole path was computed in {took:.2f} s and {proven}.")
    tally.claim(f"certificate of: {title}", certificate.ok)
    return path


# ---------------------------------------------------------------------- classification


def classification(tally: Tally) -> None:
    """Breast cancer data, 15 % of the training labels flipped: the robust path finds them."""
    data = load_breast_cancer()
    X, truth = StandardScaler().fit_transform(data.data), np.where(data.target == 1, 1.0, -1.0)
    order = np.random.default_rng(1).permutation(truth.size)
    train, test = order[:400], order[400:]
    flipped = np.arange(train.size)[: int(0.15 * train.size)]
    labels = truth[train].copy()
    labels[flipped] *= -1.0
    options = {"C": 1.0, "gamma": 0.02, "fit_intercept": True}

    def account(path: Path) -> None:
        start, stop = path.traced
        called = path.partition(stop)["O"]
        found = np.intersect1d(called, flipped).size
        right = [
            np.mean(np.sign(path.decision_function(X[test], t, side)) == truth[test])
            for t, side in ((start, "before"), (stop, "after"))
        ]
        print(
            f"At its end {called.size} of {train.size} training samples are called outliers; "
            f"{found} of the {flipped.size} flipped labels are among them.\n"
            f"Held-out accuracy on true labels: {right[0]:.1%} at the start of the path, "
            f"{right[1]:.1%} at its end."
        )

    theta = traced(
        "Robust SVC, outlier weight theta from 1 to 0",
        HingeRamp(X[train], labels, path="theta", s=0.0, **options),
        tally,
    )
    account(theta)
    compare_with_sklearn(theta, X[train], labels, tally)
    s = traced(
        "Robust SVC, threshold s from the smallest margin up to 0",
        HingeRamp(X[train], labels, path="s", theta=0.0, **options),
        tally,
    )
    account(s)
    draw_paths(theta, "svc_theta")
    draw_paths(s, "svc_s")


def compare_with_sklearn(path: Path, X: np.ndarray, y: np.ndarray, tally: Tally) -> None:
    """At theta = 1 the robust problem is the plain SVC: the same dual optimum, the same b."""
    model = path.model
    plain = SVC(C=model.C, gamma=model.gamma, tol=1e-10).fit(X, y)
    alpha = path.alpha(1.0)
    ours = alpha.sum() - 0.5 * alpha @ (path.response(1.0) - y * path.intercept(1.0))
    theirs_alpha = np.zeros(y.size)
    theirs_alpha[plain.support_] = np.abs(plain.dual_coef_[0])
    theirs = theirs_alpha.sum() - 0.5 * theirs_alpha @ model.gram.matvec(theirs_alpha)
    same = abs(ours - theirs) <= 1e-8 * abs(ours)
    near = abs(path.intercept(1.0) - plain.intercept_[0]) <= 1e-6
    agrees = "agrees" if same and near else "DOES NOT AGREE"
    print(f"Its start is the plain SVC, which {agrees} with that of scikit-learn.")
    tally.detail(
        f"  dual objective {ours:.10f} and {theirs:.10f}, "
        f"intercept {path.intercept(1.0):.10f} and {plain.intercept_[0]:.10f}"
    )
    tally.claim("dual objective agrees with scikit-learn", same)
    tally.claim("intercept agrees with scikit-learn", near)


# ---------------------------------------------------------------------- regression


def regression(tally: Tally) -> None:
    """A curve with a crowd of outliers at one end, which pulls plain regression away."""
    rng = np.random.default_rng(3)
    n = 150
    x = np.sort(rng.uniform(0.0, 10.0, n))
    curve = np.sin(x) + 0.3 * x
    y = curve + 0.15 * rng.standard_normal(n)
    crowd = np.flatnonzero(x > 7.5)
    planted = rng.choice(crowd, int(0.55 * crowd.size), replace=False)
    y[planted] = rng.uniform(-4.0, 1.0, planted.size)
    X = x[:, None]
    options = {"C": 1.0, "gamma": 0.3, "fit_intercept": True}

    def account(path: Path) -> None:
        start, stop = path.traced
        pieces = path.partition(stop)
        called = np.union1d(pieces["O+"], pieces["O-"])
        found = np.intersect1d(called, planted).size
        error = [
            np.abs(path.decision_function(X, t, side) - curve).mean()
            for t, side in ((start, "before"), (stop, "after"))
        ]
        print(
            f"At its end {called.size} of {n} samples are called outliers; "
            f"{found} of the {planted.size} planted ones are among them.\n"
            f"Mean distance to the true curve: {error[0]:.3f} at the start of the path, "
            f"{error[1]:.3f} at its end."
        )

    theta = traced(
        "Robust regression, outlier weight theta from 1 to 0",
        LADRamp(X, y, path="theta", s=0.5, **options),
        tally,
    )
    account(theta)
    s = traced(
        "Robust regression, threshold s from the largest residual down",
        LADRamp(X, y, path="s", theta=0.0, s_stop=0.5, **options),
        tally,
    )
    account(s)
    draw_paths(theta, "svr_theta")
    draw_paths(s, "svr_s")
    draw_regression(s, x, y, curve, planted)


# ---------------------------------------------------------------------- pictures


def save(figure: plt.Figure, name: str) -> None:
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / f"{name}.png", dpi=130)
    plt.close(figure)


def draw_paths(path: Path, name: str) -> None:
    figure, ax = plt.subplots(figsize=(8.0, 4.6), layout="constrained")
    plot_alpha(path, ax=ax)
    ax.set_title("alpha of the samples that move most; open circles are the two sides of a jump")
    save(figure, f"{name}_alpha")
    figure, (left, right) = plt.subplots(1, 2, figsize=(10.0, 4.0), layout="constrained")
    plot_objective(path, ax=left)
    left.set_title("objective along the path")
    plot_partition(path, ax=right)
    right.set_title("samples on each piece of the loss")
    save(figure, f"{name}_objective_partition")


def draw_regression(
    path: Path, x: np.ndarray, y: np.ndarray, curve: np.ndarray, planted: np.ndarray
) -> None:
    start, stop = path.traced
    grid = np.linspace(x.min(), x.max(), 400)[:, None]
    good = np.setdiff1d(np.arange(x.size), planted)
    figure, axes = plt.subplots(
        1, 2, figsize=(10.0, 4.2), sharex=True, sharey=True, layout="constrained"
    )
    for ax, t, side, title in (
        (axes[0], start, "before", "plain: least absolute deviations"),
        (axes[1], stop, "after", f"robust: LAD-ramp at s = {stop:.3g}"),
    ):
        ax.plot(x[good], y[good], "o", color="#B0B0B0", ms=4, label="sample")
        ax.plot(x[planted], y[planted], "x", color=RED, ms=5, label="planted outlier")
        ax.plot(x, curve, "--", color="black", lw=1.0, label="true curve")
        value = path.decision_function(grid, t, side)
        ax.plot(grid[:, 0], value, color=BLUE, lw=2.2, label="fitted curve")
        ax.set_title(title)
        ax.set_xlabel("x")
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("y")
    axes[0].legend(loc="lower left", frameon=False)
    save(figure, "svr_curves")


def draw_decision_boundaries(tally: Tally) -> None:
    """Two crescents, some labels of the upper one wrong: plain and robust boundary."""
    rng = np.random.default_rng(7)
    half = 60
    angle = rng.uniform(0.0, np.pi, 2 * half)
    upper = np.arange(2 * half) < half
    X = np.where(
        upper[:, None],
        np.stack([np.cos(angle), np.sin(angle)], axis=1),
        np.stack([1.0 - np.cos(angle), 0.4 - np.sin(angle)], axis=1),
    )
    X = X + 0.12 * rng.standard_normal(X.shape)
    truth = np.where(upper, 1.0, -1.0)
    wrong = np.concatenate(
        [rng.choice(np.flatnonzero(upper), 9, False), rng.choice(np.flatnonzero(~upper), 9, False)]
    )
    y = truth.copy()
    y[wrong] *= -1.0
    model = HingeRamp(X, y, C=10.0, gamma=1.0, path="theta", s=0.0, fit_intercept=True)
    path = traced("Robust SVC on two crescents, for the picture", model, tally)
    called = path.partition(0.0)["O"]
    print(
        f"{np.intersect1d(called, wrong).size} of the {wrong.size} wrong labels "
        f"are among the {called.size} samples called outliers."
    )
    low, high = X.min(axis=0) - 0.3, X.max(axis=0) + 0.3
    a, b = np.meshgrid(np.linspace(low[0], high[0], 220), np.linspace(low[1], high[1], 220))
    cells = np.stack([a.ravel(), b.ravel()], axis=1)
    figure, axes = plt.subplots(
        1, 2, figsize=(10.0, 4.4), sharex=True, sharey=True, layout="constrained"
    )
    for ax, t, title in (
        (axes[0], 1.0, "plain SVC: theta = 1"),
        (axes[1], 0.0, "robust SVC: theta = 0"),
    ):
        f = path.decision_function(cells, t).reshape(a.shape)
        ax.contourf(a, b, f, levels=[-np.inf, 0.0, np.inf], colors=["#FBE3D2", "#D6E8F4"])
        ax.contour(a, b, f, levels=[0.0], colors="black", linewidths=1.8)
        for label, color, marker, name in ((1.0, BLUE, "o", "+1"), (-1.0, RED, "s", "−1")):
            right = (y == label) & (y == truth)
            ax.plot(*X[right].T, marker, color=color, ms=4.5, label=f"label {name}")
            off = (y == label) & (y != truth)
            mark = {"mfc": "white", "mec": color, "mew": 1.6}
            ax.plot(*X[off].T, marker, ms=7, label=f"label {name}, wrong", **mark)
        ax.set_title(title)
        ax.set_xticks([])
        ax.set_yticks([])
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    save(figure, "svc_boundaries")


# ---------------------------------------------------------------------- without any theory


def estimators(tally: Tally) -> None:
    """The scikit-learn way: how robust to be, chosen exactly, and which rows look wrong."""
    data = load_breast_cancer()
    X, y = StandardScaler().fit_transform(data.data), data.target.copy()
    wrong = np.random.default_rng(0).choice(y.size, 85, replace=False)
    y[wrong] = 1 - y[wrong]
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    search = RobustSVCCV(kernel="linear", path="s", Cs=(0.01, 0.1, 1.0), cv=folds).fit(X, y)
    title = "RobustSVCCV: C and robustness by cross-validation"
    print(f"\n{title}\n{'-' * len(title)}")
    for row, params in enumerate(search.cv_results_["params"]):
        low, high = (search.cv_results_[f"robustness_{end}"][row] for end in ("from", "to"))
        tally.detail(
            f"  C {params['C']:<5g} best for robustness {low:.4f} to {high:.4f}: accuracy "
            f"{search.cv_results_['mean_test_score'][row]:.4f} on labels of which 15 % are wrong"
        )
    suspects = search.audit(top=50)["row"]
    print(
        f"C = {search.C_:g} and robustness {search.robustness_:.3f} are chosen; "
        f"{np.isin(suspects, wrong).sum()} of the 50 most suspicious rows have a wrong label."
    )
    tally.claim("certificate of the chosen path", search.path_.certify().ok)
    figure, ax = plt.subplots(figsize=(8.0, 4.2), layout="constrained")
    plot_validation(search.validation_curve_, ax=ax)
    ax.set_title("error in cross-validation, exact for every s")
    save(figure, "svc_validation")
    report = search.report("Breast cancer, 15 % of the labels wrong", X_names=data.feature_names)
    report.write_html(REPORT)


def compile_loops() -> None:
    """The first run after an installation compiles the inner loops, with a bar on a terminal; keep
    that out of the times."""
    print(f"Inner loops ready after {compile_now():.1f} s.")


def main() -> int:
    parser = argparse.ArgumentParser(description="Robust paths, in plain words and pictures.")
    parser.add_argument("--verbose", action="store_true", help="print accounts and certificates")
    # The gallery of the documentation runs this file with arguments of its own.
    tally = Tally(parser.parse_known_args()[0].verbose)
    compile_loops()
    classification(tally)
    regression(tally)
    draw_decision_boundaries(tally)
    estimators(tally)
    pictures = ", ".join(sorted(file.name for file in OUT.glob("*.png")))
    print(f"\nPictures in {OUT}/: {pictures}")
    print(f"A report with a slider over the whole path: open {REPORT} in a browser.")
    for what in tally.failed:
        print(f"FAILED: {what}", file=sys.stderr)
    return 1 if tally.failed else 0


if __name__ == "__main__":
    sys.exit(main())
