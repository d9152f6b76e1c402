"""
SVM paths: every C, every balance of errors, every ν
====================================================

Four convex machines on breast cancer data, half of the rows to fit and half to test, standardised;
noise is added to make it hard enough to have a choice.
"""

import time
from pathlib import Path as File

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_curve
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from homotopy import Homotopy, Path, ValidationCurve
from homotopy.drawing import PALETTE
from homotopy_plugins import NuSVCPath, OneClassPath, ROCCurve, ROCPath, SVMPath

OUT = File("out")
NOISE = 1.5
GAMMA = 0.01

# %%
# Rows to fit and rows to test.


def data() -> list[np.ndarray]:
    """Rows to fit and to test, labels of both; 1 is benign."""
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    X += NOISE * np.random.default_rng(0).normal(size=X.shape)
    return train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)


def traced(model) -> tuple[Path, bool]:
    begin = time.perf_counter()
    path = Homotopy(model).trace()
    taken = time.perf_counter() - begin
    fine = path.complete and path.certify().ok
    print(f"{path}\n  {taken:.2f} s, {'certified' if fine else 'NOT certified'}")
    return path, fine


def drawn(ax, curve: ValidationCurve, color: str, label: str) -> None:
    """A curve that is constant between its nodes."""
    value = curve.coefficients[:, 0]
    ends, steps = np.append(curve.start, curve.stop[-1]), np.append(value, value[-1])
    ax.step(ends, steps, where="post", color=color, lw=1.5, label=label)


# %%
# ``SVMPath``: the test error for every C.

X, Z, y, truth = data()
costs, fine_costs = traced(SVMPath(X, y, C=(1e-2, 1e3), gamma=GAMMA))
errors = costs.validation_curve(Z, truth)
best = errors.best
print(f"  least test error {best.value:.3f} for C from {best.interval[0]:.4g} to "
      f"{best.interval[1]:.4g}")  # fmt: skip

# %%
# ``ROCPath``: a machine for every balance of the two kinds of error.

balance, fine_balance = traced(ROCPath(X, y, C=best.t, gamma=GAMMA))
rates = ROCCurve.of(balance, Z, truth)
print(f"  {rates.start.size} pairs of rates on the test rows, area under them {rates.area:.3f}")

# %%
# ``OneClassPath``, fitted to benign rows alone, and ``NuSVCPath``.

usual = X[y == 1]
single, fine_single = traced(OneClassPath(usual, nu=(1.0, 0.01), gamma=GAMMA))
alarms = ROCCurve.of(single, Z, np.where(truth == 1, 1.0, -1.0))

model = NuSVCPath(X, y, nu=(None, 0.05), gamma=GAMMA)
double, fine_double = traced(model)
nu_errors = double.validation_curve(Z, truth)
print(f"  largest nu {model.largest_nu:.3f}; least test error {nu_errors.minimum:.3f} at nu = "
      f"{nu_errors.best.t:.3f}")  # fmt: skip

# %%
# One picture for each.

figure, ((a, b), (c, d)) = plt.subplots(2, 2, figsize=(10.0, 8.0), layout="constrained")
held = costs.validation_curve(X, y)
drawn(a, held, PALETTE[7], "rows fitted")
drawn(a, errors, PALETTE[0], "test rows")
a.axvline(best.t, color=PALETTE[1], lw=1.0, label=f"least test error, C = {best.t:.3g}")
a.set(xscale="log", xlabel="C", ylabel="part of the labels that is wrong", ylim=(-0.01, None))
a.set_title("SVMPath: error for every C")
a.legend(frameon=False)

false, true, _ = roc_curve(truth, costs.decision_function(Z, best.t))
b.plot(false, true, color=PALETTE[7], lw=1.5, label="one machine, its threshold moved")
b.plot(rates.false_positive_rate, rates.true_positive_rate, ".", ms=5, color=PALETTE[0],
       label="machines for every balance of costs")  # fmt: skip
b.plot(*rates.hull(), color=PALETTE[1], lw=1.0, label=f"their hull, area {rates.area:.3f}")
b.set(xlabel="false positive rate", ylabel="true positive rate")
b.set_title("ROCPath: rates on the test rows")
b.legend(frameon=False, loc="lower right")

places = np.append(alarms.start, alarms.stop[-1])
for rate, color, label in (
    (alarms.false_positive_rate, PALETTE[1], "malignant"),
    (alarms.true_positive_rate, PALETTE[0], "benign"),
):
    unusual = 1.0 - np.append(rate, rate[-1])
    c.step(places, unusual, where="post", color=color, lw=1.5, label=label)
c.plot([0.0, 1.0], [0.0, 1.0], ":", color=PALETTE[7], label="benign rows fitted: nu")
c.set(xlabel="nu", ylabel="part of the test rows called unusual")
c.set_title("OneClassPath: fitted to benign rows alone")
c.legend(frameon=False, loc="lower right")

drawn(d, nu_errors, PALETTE[0], "error on the test rows")
places = double.breakpoints
inside = [double.partition(t)["L"].size / y.size for t in places]
held = [1.0 - double.partition(t)["R"].size / y.size for t in places]
d.plot(places, inside, color=PALETTE[1], label="rows at their bound")
d.plot(places, held, color=PALETTE[2], label="support vectors")
d.plot([0.0, model.largest_nu], [0.0, model.largest_nu], ":", color=PALETTE[7], label="nu")
d.set(xlabel="nu", ylabel="part of the rows", xlim=(0.0, None), ylim=(0.0, 1.0))
d.set_title(f"NuSVCPath: nu from {model.largest_nu:.3f}, the largest, to 0.05")
d.legend(frameon=False, loc="upper left")
for ax in (a, b, c, d):
    ax.spines[["top", "right"]].set_visible(False)
OUT.mkdir(exist_ok=True)
figure.savefig(OUT / "svm_paths.png", dpi=130)
print(f"\nPicture: {OUT}/svm_paths.png")
assert all((fine_costs, fine_balance, fine_single, fine_double))
