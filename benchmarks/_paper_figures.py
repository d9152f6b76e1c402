"""The figures of the paper, drawn anew: `benchmarks/paper.py --figure`.

time    seconds of the whole selection over C, path and CCCP, against the number of candidates
path    alpha along theta on a toy, with its discontinuities
loss    the families of losses, evaluated from the polylines that are traced
"""

from __future__ import annotations

import json
from pathlib import Path as File
from typing import Any

import attrs
import matplotlib
import numpy as np
import numpy.typing as npt
from _measure import timed, write_json
from _paper import COSTS, PROTOCOLS, TABLES, Split, errors, model_of, split
from matplotlib import pyplot as plt
from tqdm import tqdm

from homotopy import Homotopy
from homotopy.drawing import PALETTE
from homotopy.model import Problem
from homotopy.plot import plot_alpha
from homotopy.threads import one_thread
from homotopy_plugins import HingeRamp, LADRamp, cccp

matplotlib.use("Agg")

Array = npt.NDArray[np.float64]

OURS, THEIRS, GREY = PALETTE[0], PALETTE[1], "#8C8C8C"
# A set of either kind, of a size at which neither method is over in an instant.
TIMED = {"svc": "SVMGuide1", "svr": "winequality-red"}
CANDIDATES = (5, 10, 20, 50, 100)
QUICK_CANDIDATES = (5, 10)
# 40 % of the rows to train on for both kinds, as printed.
TIMED_PROTOCOL = attrs.evolve(PROTOCOLS["likely"], training=0.4)
# The toy of the path: two classes, the rows of each, the cost of the paper's toy, and a seed with
# three visible jumps.
TOY_ROWS, TOY_COST, TOY_SEED = 8, 200.0, 28


def draw(which: str, data: File, out: File, *, quick: bool = False) -> File:
    """Draw one figure into `out`; return its file."""
    if which == "time":
        return draw_time(data, out, quick=quick)
    return {"path": draw_path, "loss": draw_loss}[which](out)


# ---------------------------------------------------------------------- time


def select_on_path(data: Split, name: str, kernel: str, which: str) -> None:
    """Selection over every C and every break-point: traces, curves on the validation rows."""
    model = model_of(data, name, kernel, which, PROTOCOLS["likely"], COSTS[0])
    start: Any = None
    for C in COSTS:
        varied = model.varied(C=C)
        with one_thread(varied):
            path = Homotopy(varied).trace(start=start)
            start = path.alpha(path.traced[0], "before")
            curve = path.validation_curve(data.X_validation, data.y_validation)
            curve(path.breakpoints).min()


def select_by_cccp(data: Split, name: str, kernel: str, which: str, count: int) -> None:
    """The same over `count` values of the parameter, each from the one before."""
    model, plain = (
        model_of(data, name, kernel, path, PROTOCOLS["likely"], COSTS[0])
        for path in (which, "theta")
    )
    plain.gram = model.gram
    start: Any = None
    for C in COSTS:
        varied = model.varied(C=C)
        start = cccp(plain.varied(C=C), [1.0], start=start).alphas[0]
        values = np.linspace(*span_of(varied, which, start), count)
        found = cccp(varied, values, start=start)
        errors(found.decision_function(data.X_validation), data.y_validation, name).min()


def span_of(model: Any, which: str, alpha: Array) -> tuple[float, float]:
    """Where the candidates begin and end: the s-path at the worst response of the plain machine."""
    if which == "theta":
        return model.span
    u = model.gram.matvec(alpha)
    hinge = isinstance(model, HingeRamp)
    worst = float(u.min()) if hinge else float(np.abs(model.y - u).max())
    begin, end = model.resolve_span(worst)
    return (min(begin, end), end) if hinge else (begin, end)


def measure_time(data: File, *, quick: bool) -> list[dict[str, Any]]:
    """Every setting, the median of three runs where one is short."""
    rows = []
    counts = QUICK_CANDIDATES if quick else CANDIDATES
    settings = [(table, which) for table in TABLES for which in ("theta", "s")]
    for table, which in tqdm(settings, unit="setting", disable=None):
        kernel, kind = table.split("-")
        name = TIMED[kind]
        part = split(str(data), name, 0, kernel, TIMED_PROTOCOL)
        case = (part, name, kernel, which)
        # Compiled loops are loaded, and the file is in memory.
        select_on_path(*case)
        ours = timed(lambda case=case: select_on_path(*case)).seconds
        theirs = [
            timed(lambda case=case, count=count: select_by_cccp(*case, count)).seconds
            for count in counts
        ]
        rows.append(
            {
                "table": table,
                "data": name,
                "path": which,
                "n": part.y.size,
                "seconds": ours,
                "candidates": list(counts),
                "cccp_seconds": theirs,
            }
        )
    return rows


def draw_time(data: File, out: File, *, quick: bool) -> File:
    rows = measure_time(data, quick=quick)
    write_json(out / "time.json", benchmark="paper time", rows=rows)
    return draw_measured_time(out)


def draw_measured_time(out: File) -> File:
    """The figure from OUT/time.json."""
    rows = json.loads((out / "time.json").read_text())["rows"]
    fig, axes = plt.subplots(2, 4, figsize=(13, 5.6), layout="constrained", sharex=True)
    for ax, row in zip(axes.T.ravel(), rows, strict=True):
        counts, theirs = row["candidates"], row["cccp_seconds"]
        ax.axhline(row["seconds"], color=OURS, lw=2)
        ax.plot(counts, theirs, "o-", color=THEIRS, lw=2, ms=4)
        top = max(*theirs, row["seconds"])
        ax.set(ylim=(0, 1.15 * top), xticks=counts if len(counts) < 4 else [5, 20, 50, 100])
        what = "classification" if row["table"].endswith("svc") else "regression"
        kernel = row["table"].split("-")[0]
        symbol = {"theta": "θ", "s": "s"}[row["path"]]
        ax.set_title(f"{what}, {kernel}, along {symbol}", fontsize=10)
        ax.annotate(
            "path, every value", (counts[-1], row["seconds"]), color=OURS, fontsize=9,
            xytext=(0, 5), textcoords="offset points", ha="right",
        )  # fmt: skip
        ax.annotate(
            "CCCP", (counts[-1], theirs[-1]), color=THEIRS, fontsize=9,
            xytext=(0, 6), textcoords="offset points", ha="right",
        )  # fmt: skip
        ax.spines[["top", "right"]].set_visible(False)
    for ax in axes[1]:
        ax.set_xlabel("values of the parameter")
    for ax in axes[:, 0]:
        ax.set_ylabel("seconds")
    names = {kind: next(r for r in rows if r["table"].endswith(kind)) for kind in TIMED}
    told = ", ".join(f"{r['data']} (n = {r['n']})" for r in names.values())
    fig.suptitle(f"Training and selection over five values of C: {told}", fontsize=11)
    file = out / "time.png"
    fig.savefig(file, dpi=130)
    plt.close(fig)
    return file


# ---------------------------------------------------------------------- path


def draw_path(out: File) -> File:
    """alpha of a few rows of a toy along theta; open circles where it jumps."""
    rng = np.random.default_rng(TOY_SEED)
    y = np.repeat([1.0, -1.0], TOY_ROWS)
    X = rng.normal(size=(2 * TOY_ROWS, 2)) + 0.5 * y[:, None]
    path = Homotopy(HingeRamp(X, y, C=TOY_COST, kernel="linear", fit_intercept=True)).trace()
    if not path.certify().ok:
        raise RuntimeError("the path of the toy is not certified")
    fig, ax = plt.subplots(figsize=(8, 4.6), layout="constrained")
    plot_alpha(path, ax=ax)
    jumps = ", ".join(f"{jump.t:.2f}" for jump in path.jumps)
    ax.set_title(f"alpha along theta on a toy, C = {TOY_COST:g}; jumps at theta = {jumps}")
    file = out / "path.png"
    fig.savefig(file, dpi=130)
    plt.close(fig)
    return file


# ---------------------------------------------------------------------- loss


def loss_values(model: Any, t: float, u: Array) -> Array:
    """The loss of one row at the responses `u`, from the polyline."""
    problem = Problem.compile(model)
    snap, origin = problem.polylines.at(t), problem.origin(t)
    # The other row stands where its loss is zero.
    return np.array([snap.loss(np.array([value, *origin[1:]]), origin) for value in u])


def draw_loss(out: File) -> File:
    """Both losses, along theta and along s, over the plain loss."""
    X, labels, targets = np.ones((2, 1)), np.array([1.0, -1.0]), np.zeros(2)
    options = {"C": 1.0, "kernel": "linear"}
    weights, far = (1.0, 0.75, 0.5, 0.25, 0.0), 50.0
    thresholds = {"svc": (-far, -1.5, -1.0, -0.5, 0.0), "svr": (far, 1.5, 1.0, 0.5, 1e-9)}
    rows = []
    for kind, s in (("svc", 0.0), ("svr", 1.0)):
        build = (lambda **given: HingeRamp(X, labels, **given, **options)) if kind == "svc" else (
            lambda **given: LADRamp(X, targets, **given, **options)
        )  # fmt: skip
        rows.append((kind, [(f"θ = {t:g}", build(path="theta", s=s), t) for t in weights]))
        names = [f"s = {'−∞' if kind == 'svc' else '∞'}" if abs(t) == far else f"s = {t:.2g}"
                 for t in thresholds[kind]]  # fmt: skip
        names[-1] = "s = 0"
        along = [build(path="s", theta=0.0) for _ in names]
        rows.append((kind, list(zip(names, along, thresholds[kind], strict=True))))
    fig, axes = plt.subplots(4, 5, figsize=(11, 8.2), layout="constrained", sharex="row")
    for line, (kind, entries) in zip(axes, rows, strict=True):
        u = np.linspace(-2.5, 2.5, 301)
        plain = np.maximum(0.0, 1.0 - u) if kind == "svc" else np.abs(u)
        for ax, (name, model, t) in zip(line, entries, strict=True):
            ax.plot(u, plain, color=GREY, lw=1, ls=":")
            ax.plot(u, loss_values(model, t, u), color=OURS, lw=2)
            ax.set_title(name, fontsize=10)
            ax.set(ylim=(-0.15, 3.6 if kind == "svc" else 2.6), yticks=[0, 1, 2])
            ax.spines[["top", "right"]].set_visible(False)
            ax.set_xlabel("margin y f(x)" if kind == "svc" else "residual y − f(x)", fontsize=8)
    told = ("along θ, s = 0", "along s, θ = 0", "along θ, s = 1", "along s, θ = 0")
    for k, (ax, text) in enumerate(zip(axes[:, 0], told, strict=True)):
        what = "classification" if k < 2 else "regression"
        ax.set_ylabel(f"{what}\n{text}", fontsize=9)
    file = out / "loss.png"
    fig.savefig(file, dpi=130)
    plt.close(fig)
    return file
