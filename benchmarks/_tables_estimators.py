"""Tables of the benchmarks of estimators: selection, robustness, intervals, audit, the paper."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from functools import partial
from typing import Any

from _tables import (
    KERNELS,
    PATHS,
    NotMeasured,
    Row,
    chosen,
    made_of,
    mean,
    small,
    span,
    spread,
    table,
)

# ---------------------------------------------------------------------- estimators


@made_of("selection")
def selection(found: dict[str, Any]) -> str:
    keys = ("libsvm", "theta", "theta_ratio", "s", "s_ratio", "along_C", "folds")
    rows = found["rows"]
    lines = [[r["data"], r["kernel"], r["n"], *(float(r[key]) for key in keys)] for r in rows]
    means = {key: mean(r[key] for r in rows) for key in ("theta_ratio", "s_ratio")}
    lines.append(["**geometric mean**", "", "", "", "", means["theta_ratio"], "",
                  means["s_ratio"], "", ""])  # fmt: skip
    head = ["data", "kernel", "n", "grid search, s", "θ, s", "ratio", "s, s", "ratio", "along C",
            "folds"]  # fmt: skip
    return table(head, lines, left=2)


TASKS = {"labels": ("15 %", "30 %"), "targets": ("none", "scattered", "crowd")}


def _of_task(rows: list[Row], task: str) -> list[Row]:
    of = [row for row in rows if row["trouble"] in TASKS[task]]
    if not of:
        raise NotMeasured(f"No rows with {task} in `benchmarks/results/choices.json` yet.")
    return of


def by_set(rows: list[Row], one: str, two: str) -> list[float]:
    """The mean difference of each data set, over everything that was measured on it."""
    pairs: dict[str, list[float]] = {}
    for row in rows:
        if one in row and two in row:
            pairs.setdefault(row["data"], []).append(row[one] - row[two])
    return [statistics.fmean(of) for of in pairs.values()]


@made_of("choices")
def robust_estimators(found: dict[str, Any]) -> str:
    """The searches of scikit-learn and ours: errors on clean rows, paired differences."""
    lines = []
    names = {"none": "targets, no outliers", "scattered": "targets, scattered outliers",
             "crowd": "targets, a crowd of outliers"}  # fmt: skip
    for task in TASKS:
        rows = _of_task(found["rows"], task)
        for trouble in TASKS[task]:
            for kernel in KERNELS:
                of = chosen(rows, trouble=trouble, kernel=kernel)
                if not of:
                    continue
                errors = [
                    f"{100 * statistics.fmean(r[name] for r in of if name in r):.1f}"
                    for name in ("cv plain", "cv theta", "cv s")
                ]
                gaps = [by_set(of, f"cv {path}", "cv plain") for path in PATHS]
                took = [statistics.median(r[f"cv {m} s"] for r in of if f"cv {m} s" in r)
                        for m in ("plain", "theta")]  # fmt: skip
                what = names.get(trouble, f"labels, {trouble} wrong")
                lines.append([what, kernel, *errors,
                              *(spread(gap, 100.0, sign=True) for gap in gaps),
                              f"{took[1] / took[0]:.1f}"])  # fmt: skip
    seeds = len({row["seed"] for row in found["rows"]})
    sets = {task: len({r["data"] for r in _of_task(found["rows"], task)}) for task in TASKS}
    told = (
        "C, and for ours the robustness too, by five folds; errors on clean test rows: % wrong, "
        f"and mean absolute residual in % of the spread of y. {sets['labels']} sets with labels, "
        f"{sets['targets']} with numeric targets, {seeds} {'split' if seeds == 1 else 'splits'} "
        "each; differences are paired, ± is a standard error over sets; below 0 ours is better. "
        "*Time* is that of the search along θ over that of the grid search, medians."
    )
    head = ["trained on", "kernel", "`SVC`, `SVR`", "robust, θ", "robust, s", "θ − plain",
            "s − plain", "time"]  # fmt: skip
    return table(head, lines, left=2) + f"\n\n{told}"


METHODS = ("plain", "theta", "theta 1se", "s", "s 1se", "epsilon", "epsilon 1se", "cv plain",
           "cv theta", "cv theta 1se", "cv s", "cv s 1se")  # fmt: skip


def _choices(found: dict[str, Any], task: str) -> str:
    rows = _of_task(found["rows"], task)
    cells = [(trouble, kernel) for trouble in TASKS[task] for kernel in KERNELS]
    lines = []
    for name in METHODS:
        of = [row for row in rows if name in row]
        if not of:
            continue
        means = [[r[name] for r in of if (r["trouble"], r["kernel"]) == cell] for cell in cells]
        took = [row[f"{name} s"] for row in of if f"{name} s" in row]
        lines.append([name, *(f"{100 * statistics.fmean(m):.2f}" if m else None for m in means),
                      f"{100 * statistics.fmean(row[name] for row in of):.2f}",
                      f"{statistics.median(took):.2f}" if took else ""])  # fmt: skip
    head = ["mean error", *(f"{t}, {k}" for t, k in cells), "all", "seconds"]
    told = []
    for name in ("theta", "s", "epsilon", "cv theta", "cv s"):
        failed = sum(f"{name} failed" in r for r in rows)
        counts = [r[f"{name} outliers"] for r in rows if f"{name} outliers" in r]
        if counts or failed:
            none = sum(count == 0 for count in counts)
            told.append(f"{name}: {none} of {len(counts)} without an outlier, {failed} declined")
    return table(head, lines) + f"\n\n{'; '.join(told)}."


@made_of("choices")
def choices_labels(found: dict[str, Any]) -> str:
    return _choices(found, "labels")


@made_of("choices")
def choices_targets(found: dict[str, Any]) -> str:
    return _choices(found, "targets")


PAIRS = (("s", "theta"), ("theta", "plain"), ("s", "plain"), ("epsilon", "plain"),
         ("cv s", "cv theta"), ("cv theta", "cv plain"), ("cv s", "cv plain"),
         ("theta 1se", "theta"), ("s 1se", "s"), ("epsilon 1se", "epsilon"),
         ("cv theta 1se", "cv theta"), ("cv s 1se", "cv s"))  # fmt: skip


@made_of("choices")
def choices_differences(found: dict[str, Any]) -> str:
    lines = []
    for task in TASKS:
        rows = _of_task(found["rows"], task)
        for one, two in PAIRS:
            gaps = [by_set(chosen(rows, kernel=kernel), one, two) for kernel in KERNELS]
            if not all(gaps):
                continue
            cells = []
            for gap in gaps:
                better = sum(g < 0.0 for g in gap)
                cells += [spread(gap, 100.0, sign=True), f"{better} of {len(gap)}"]
            lines.append([task, f"{one} − {two}", *cells])
    head = ["task", "difference of errors", "rbf", "better on", "linear", "better on"]
    return table(head, lines, left=2)


@made_of("forks")
def flips(found: dict[str, Any]) -> str:
    lines = [
        [r["data"], r["rows"], r["gamma"], f"{r['least']} to {r['most']} of {r['new']}",
         r["among"], r["others"]]
        for r in found["flips"]
    ]  # fmt: skip
    head = ["table", "training rows", "gamma", "predictions that hang on one row",
            "wrong among them", "wrong among the others"]  # fmt: skip
    return table(head, lines)


@made_of("forks")
def forks(found: dict[str, Any]) -> str:
    lines = [
        [r["data"], f"{r['C']:g}", r["n"], r["active"], f"{1e3 * r['fit']:.1f}",
         f"{r['loo'] / r['fit']:.1f}", f"{r['at'] / r['fit']:.1f}", f"{1e3 * r['push']:.2f}",
         f"{1e3 * r['restore']:.2f}", f"{1e3 * r['add']:.2f}", small(r["off"]), r["proven"]]
        for r in found["rows"]
    ]  # fmt: skip
    head = ["table", "C", "n", "active", "fit, ms", "all left out, fits", "at 50 new rows, fits",
            "push, ms", "restore, ms", "add, ms", "off libsvm", "certified of 20"]  # fmt: skip
    return table(head, lines)


@made_of("conformal")
def conformal(found: dict[str, Any]) -> str:
    """By size: time against MAPIE, time in fits, coverage."""
    lines = []
    for n in sorted({row["n"] for row in found["jackknife"]}):
        of, covered = chosen(found["jackknife"], n=n), chosen(found["coverage"], n=n)
        ratios = [r["mapie_over_ours"] for r in of if "mapie_over_ours" in r]
        lines.append([
            f"{n:,}", len(of), span(ratios, "{:.0f}") if ratios else None,
            span((r["ours_fits"] for r in of), "{:.1f}"),
            span((r["coverage"]["jackknife+"] for r in covered), "{:.3f}"),
            small(max((r["differs"] for r in of if "differs" in r), default=None)),
        ])  # fmt: skip
    head = ["n", "tables", "MAPIE over ours, times", "ours, in fits", "coverage of jackknife+",
            "intervals differ by"]  # fmt: skip
    return table(head, lines, left=0)


@made_of("conformal")
def conformal_tables(found: dict[str, Any]) -> str:
    lines = []
    for r, c in zip(found["jackknife"], found["coverage"], strict=True):
        names = ("jackknife+", "jackknife-minmax", "split")
        ratio = r.get("mapie_over_ours")
        lines.append([r["data"], f"{r['n']:,}", *(f"{c['coverage'][k]:.3f}" for k in names),
                      *(f"{c['width'][k]:.3f}" for k in names), f"{r['ours_fits']:.1f}",
                      None if ratio is None else f"{ratio:.0f}"])  # fmt: skip
    head = ["table", "n", "jackknife+ covers", "minmax", "split", "width: jackknife+", "minmax",
            "split", "jackknife+ takes, fits", "MAPIE over ours"]  # fmt: skip
    return table(head, lines)


@made_of("conformal")
def conformal_rest(found: dict[str, Any]) -> str:
    """Classifiers with every row left out, full sets, and conditional cut-offs."""
    rows = found["classes"]
    lines = [["all rows of a classifier left out", span((r["loo_fits"] for r in rows), "{:.1f}"),
              "fits"]]  # fmt: skip
    for n in sorted({row["n"] for row in found["jackknife"]}):
        full = [r["full_row_fits"] for r in chosen(found["jackknife"], n=n)]
        lines.append([f"full conformal set of a row, n = {n:,}", span(full, "{:.1f}"), "fits"])
    for key, what in (("groups", "groups"), ("kernel", "a kernel")):
        each = [1e3 * r[f"{key}_each"] for r in found["cutoffs"]]
        lines.append([f"conditional cut-off, {what}", span(each, "{:.2f}"), "ms"])
        # Its bisection with kernels asks OSQP for signs that its tolerance leaves open.
        peer, name = {
            "groups": ("groups_differs", "conditionalconformal"),
            "kernel": ("kernel_differs_clarabel", "conditionalconformal by Clarabel"),
        }[key]
        off = [r[peer] for r in found["cutoffs"] if peer in r]
        if off:
            told = "the same" if max(off) == 0.0 else span(off, "{:.0e}")
            lines.append([f"conditional cut-off, {what}: off {name}", told, "spreads of y"])
    return table(["", "measured", "unit"], lines)


def _nystroem(found: dict[str, Any], problem: str) -> str:
    keys = ("breakpoints", "jumps", "outliers", "plain", "robust", "peak")
    lines = [
        [f"{r['n']:,}", r["method"], r["fit"], r["ratio"], *(r[key] for key in keys),
         small(r["worst"])]
        for r in chosen(found["rows"], problem=problem)
    ]  # fmt: skip
    head = ["n", "method", "fit, s", "fits of libsvm", "break-points", "jumps", "outliers",
            "error, plain", "error, robust", "MB", "residual"]  # fmt: skip
    return table(head, lines, left=2)


for _problem in ("regression", "classification"):
    _make = partial(_nystroem, problem=_problem)
    _make.__name__ = f"nystroem_{_problem}"  # type: ignore[attr-defined]
    made_of("nystroem")(_make)


# ---------------------------------------------------------------------- audit


def _trials(found: dict[str, Any], part: str) -> Any:
    from _audit_tables import Trials

    trials = Trials(found, part)
    if not trials.found:
        raise NotMeasured(f"No trials with {part} yet.")
    return trials


def _audit(found: dict[str, Any]) -> str:
    """The audit against cleanlab's best: average precision, F1, and the interval."""
    from _audit_tables import FAMILIES

    labels = _trials(found, "labels")
    planted = tuple(noise for of in FAMILIES.values() for noise in of)
    names = {"uniform": "at random, 5 to 30 %", "class": "in one class, 20 % of it",
             "boundary": "near the boundary, 15 %",
             "clusters": "whole neighbourhoods, 10 %"}  # fmt: skip
    best = {
        what: max((m for m in labels.methods(what) if m.startswith("cleanlab")),
                  key=lambda m: labels.mean(m, what))
        for what in ("ap", "f1")
    }  # fmt: skip
    lines = []
    for name, noise in (*((names[key], of) for key, of in FAMILIES.items()), ("all", planted)):
        if not any(key[1] in noise for key in labels.found):
            continue
        line: list[Any] = [name]
        for what in ("ap", "f1"):
            gap, error = labels.gap("audit", best[what], what, noise)
            line += [f"{labels.mean(m, what, noise):.3f}" for m in ("audit", best[what])]
            line.append(f"{gap:+.3f} ± {error:.3f}")
        told = [(r["wrong"], r["audit"]) for k, r in labels.found.items()
                if k[1] in noise and r["audit"]["colour"] != "red"]  # fmt: skip
        inside = [a["interval"][0] <= w <= a["interval"][1] for w, a in told]
        lines.append([*line, f"{statistics.fmean(inside):.2f}" if inside else None])
    sets = len({key[0] for key in labels.found})
    count = sum(key[1] in planted for key in labels.found)
    silent = sum(r["audit"]["colour"] == "red" for k, r in labels.found.items() if k[1] in planted)
    text = (
        f"{count} trials on {sets} sets; ± is a paired standard error over sets. cleanlab's best "
        f"is “{best['ap']}” by average precision and “{best['f1']}” by F1. *Interval* is how often "
        f"the 90 % interval holds the planted number, where one is given (not in {silent} trials)."
    ).replace("“cleanlab, ", "“")
    head = ["wrong labels", "average precision: audit", "cleanlab", "difference", "F1: audit",
            "cleanlab", "difference", "interval"]  # fmt: skip
    return table(head, lines) + f"\n\n{text}"


@made_of("audit")
def audit(found: dict[str, Any]) -> str:
    return _audit(found)


@made_of("audit_fresh")
def audit_fresh(found: dict[str, Any]) -> str:
    return _audit(found)


def _audit_methods(found: dict[str, Any], part: str, what: str) -> str:
    trials = _trials(found, part)
    noises = [n for n in dict.fromkeys(k[1] for k in trials.found) if n != "0%"]
    noises.sort(key=lambda n: (not n[0].isdigit(), int(n.split()[-1].rstrip("%"))
                               if n.split()[-1].rstrip("%").isdigit() else 0, n))  # fmt: skip
    planted = tuple(noises)
    lines = []
    for method in sorted(trials.methods(what), key=lambda m: -trials.mean(m, what, planted)):
        cells = [trials.mean(method, what, (noise,)) for noise in noises]
        lines.append([method, f"{trials.mean(method, what, planted):.3f}",
                      *(f"{cell:.3f}" for cell in cells)])  # fmt: skip
    return table(["", "all", *noises], lines)


@made_of("audit")
def audit_labels_ap(found: dict[str, Any]) -> str:
    return _audit_methods(found, "labels", "ap")


@made_of("audit")
def audit_labels_f1(found: dict[str, Any]) -> str:
    return _audit_methods(found, "labels", "f1")


@made_of("audit")
def audit_targets_ap(found: dict[str, Any]) -> str:
    return _audit_methods(found, "targets", "ap")


@made_of("audit")
def audit_sets(found: dict[str, Any]) -> str:
    labels = _trials(found, "labels")
    methods = ["audit", "cleanlab, ensemble of four", "forest and SVC, mean rank"]
    values = [labels.by_set(method, "ap") for method in methods]
    lines = [[name, *(f"{value[name]:.3f}" for value in values)] for name in values[0]]
    return table(["average precision", *methods], lines)


def _coverage(found: dict[str, Any], part: str) -> str:
    trials, lines = _trials(found, part), []
    for noise in dict.fromkeys(key[1] for key in trials.found):
        rows = [(r["wrong"], r["n"], r["audit"]) for k, r in trials.found.items() if k[1] == noise]
        told = [row for row in rows if row[2]["colour"] != "red"]
        if told:
            inside = statistics.fmean(a["interval"][0] <= w <= a["interval"][1] for w, _, a in told)
            parts_ = [statistics.fmean(values) for values in (
                [w / n for w, n, _ in told], [a["count"] / n for _, n, a in told],
                [(a["interval"][1] - a["interval"][0]) / n for _, n, a in told])]  # fmt: skip
            lines.append([noise, len(rows), len(rows) - len(told), f"{inside:.2f}",
                          *(f"{value:.3f}" for value in parts_)])  # fmt: skip
    lines.sort(key=lambda line: float(line[4]))
    head = ["wrong", "trials", "no number", "inside", "planted", "estimated", "width"]
    return table(head, lines)


@made_of("audit")
def audit_coverage(found: dict[str, Any]) -> str:
    return _coverage(found, "labels")


@made_of("audit")
def audit_targets_coverage(found: dict[str, Any]) -> str:
    return _coverage(found, "targets")


@made_of("audit")
def audit_errors(found: dict[str, Any]) -> str:
    """Errors on clean rows after training on wrong labels, and what a search takes."""
    errors, lines = _trials(found, "errors"), []
    for kernel in KERNELS:
        plain = f"GridSearchCV(SVC), {kernel}"
        for noise in ("15%", "30%"):
            line = [f"{noise} wrong", kernel, f"{100 * errors.mean(plain, 'error', (noise,)):.2f}"]
            for path in PATHS:
                method = f"RobustSVCCV, {path}, {kernel}"
                gap, error = errors.gap(method, plain, "error", (noise,))
                seconds = [errors.mean(m, "processor_seconds", (noise,)) for m in (method, plain)]
                line += [f"{100 * gap:+.2f} ± {100 * error:.2f}", f"{seconds[0] / seconds[1]:.1f}"]
            lines.append(line)
    head = ["labels", "kernel", "`GridSearchCV(SVC)`, %", "`RobustSVCCV` θ, difference", "time",
            "`RobustSVCCV` s, difference", "time"]  # fmt: skip
    return table(head, lines, left=2)


# ---------------------------------------------------------------------- the paper


@made_of("paper/paper")
def paper_linear_svc(found: dict[str, Any]) -> str:
    """Mean test errors and standard errors over the splits, linear kernel, labels."""
    names = {"C-SVM": "SVM", "CCCP-theta": "CCCP, θ", "OP-theta": "path, θ", "CCCP-s": "CCCP, s",
             "OP-s": "path, s"}  # fmt: skip
    of_table = [row for row in found["rows"] if row["table"] == "linear-svc"]
    # The same splits were run with other readings of the text too.
    rows, lines = chosen(of_table, protocol="likely"), []
    for data in dict.fromkeys(row["data"] for row in rows):
        of: list[Mapping[str, Any]] = [row["methods"] for row in rows if row["data"] == data]
        cells = []
        for name in names:
            values = [methods[name]["test"] for methods in of]
            error = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0
            cells.append(f"{statistics.fmean(values):.3f} ± {error:.3f}")
        lines.append([data, len(of), *cells])
    return table(["linear kernel", "splits", *names.values()], lines)


def _paper(found: dict[str, Any], part: str) -> str:
    """A part of the paper's page, as `_paper_report` makes it, of the protocol that counts."""
    import _paper_report

    rows = [row for row in found["rows"] if row["protocol"] == "likely"]
    if not rows:
        raise NotMeasured("No splits with the protocol “likely” yet.")
    return "\n".join(getattr(_paper_report, part)(rows)).strip()


for _name, _part in (
    ("paper_overview", "overview"),
    ("paper_traced", "traced"),
    ("paper_objectives", "objectives"),
):
    _make = partial(_paper, part=_part)
    _make.__name__ = _name  # type: ignore[attr-defined]
    made_of("paper/paper")(_make)


@made_of("paper/time")
def paper_time(found: dict[str, Any]) -> str:
    """Seconds of training and selection: the whole path, and CCCP by its number of values."""
    rows, names = found["rows"], {"svc": "labels", "svr": "targets"}
    counts = rows[0]["candidates"]
    lines = []
    for row in rows:
        kernel, kind = row["table"].split("-")
        ratios = [f"{seconds / row['seconds']:.1f}" for seconds in row["cccp_seconds"]]
        what = f"{row['data']}, {names[kind]}, {kernel}"
        lines.append([what, PATHS[row["path"]], row["n"], float(row["seconds"]), *ratios])
    head = ["data", "path", "n", "whole path, s", *(f"CCCP, {k} values / path" for k in counts)]
    return table(head, lines)
