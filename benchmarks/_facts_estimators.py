"""Facts of the benchmarks of estimators: robustness, intervals, audit, the paper."""

from __future__ import annotations

import statistics
from typing import Any

from _facts import between, fact_of, largest, some, values_of
from _tables import KERNELS, PATHS, NotMeasured, Row, amount, chosen, small
from _tables_estimators import TASKS

# ---------------------------------------------------------------------- estimators


def _errors(found: dict[str, Any], trouble: str, kernel: str, robust: str) -> str:
    """Errors of the plain search and of a robust one, in %."""
    rows = some(found["rows"], trouble=trouble, kernel=kernel)
    return " to ".join(
        f"{100 * statistics.fmean(row[name] for row in rows if name in row):.1f}"
        for name in ("cv plain", robust)
    )


@fact_of("choices")
def labels_linear_s(found: dict[str, Any]) -> str:
    return _errors(found, "30 %", "linear", "cv s")


@fact_of("choices")
def crowd_rbf_theta(found: dict[str, Any]) -> str:
    return _errors(found, "crowd", "rbf", "cv theta")


def _no_outlier(found: dict[str, Any], path: str) -> str:
    rows = [row for row in found["rows"] if row["trouble"] in TASKS["targets"]]
    counts = [row[f"{path} outliers"] for row in some(rows) if f"{path} outliers" in row]
    return f"{sum(count == 0 for count in counts)} of {len(counts)}"


@fact_of("choices")
def no_outlier_s(found: dict[str, Any]) -> str:
    return _no_outlier(found, "s")


@fact_of("choices")
def no_outlier_theta(found: dict[str, Any]) -> str:
    return _no_outlier(found, "theta")


@fact_of("selection")
def selection_ratio(found: dict[str, Any]) -> str:
    return between(row[key] for row in found["rows"] for key in ("theta_ratio", "s_ratio"))


@fact_of("nystroem")
def nystroem_exact(found: dict[str, Any]) -> str:
    rows = largest(some(found["rows"], method="exact"), "training")
    return f"{rows[0]['training']:,} rows takes {between(values_of(rows, 'fit'))} seconds"


@fact_of("nystroem")
def nystroem_share(found: dict[str, Any]) -> str:
    """The time of 300 features over that of the exact kernel."""
    rows = largest(found["rows"], "training")
    return between(
        amount(some(rows, method="m = 300", problem=row["problem"])[0]["fit"]).value
        / amount(row["fit"]).value
        for row in some(rows, method="exact")
    )


# ---------------------------------------------------------------------- forks and intervals


@fact_of("forks")
def fork_push(found: dict[str, Any]) -> str:
    return f"{between((row['push'] for row in found['rows']), 1e3)} ms"


@fact_of("forks")
def fork_fit(found: dict[str, Any]) -> str:
    return f"{between((row['fit'] for row in found['rows']), 1e3)} ms"


@fact_of("forks")
def fork_leave_one_out(found: dict[str, Any]) -> str:
    return between(row["loo"] / row["fit"] for row in found["rows"])


@fact_of("conformal")
def jackknife_coverage(found: dict[str, Any]) -> str:
    return between((row["coverage"]["jackknife+"] for row in found["coverage"]), 100, "{:.0f}")


@fact_of("conformal")
def jackknife_fits(found: dict[str, Any]) -> str:
    rows = largest(found["jackknife"], "n")
    return f"{rows[0]['n']:,} rows take {between(row['ours_fits'] for row in rows)} fits"


@fact_of("conformal")
def jackknife_narrower(found: dict[str, Any]) -> str:
    widths = [row["width"] for row in some(found["coverage"])]
    return f"{sum(w['jackknife+'] < w['split'] for w in widths)} of {len(widths)}"


@fact_of("conformal")
def mapie_times(found: dict[str, Any]) -> str:
    rows = largest([row for row in found["jackknife"] if "mapie_over_ours" in row], "n")
    times = between(row["mapie_over_ours"] for row in rows)
    return f"{times} times as long at n = {rows[0]['n']:,}"


@fact_of("conformal")
def mapie_differs(found: dict[str, Any]) -> str:
    rows = [row for row in found["jackknife"] if "differs" in row]
    return small(max(row["differs"] for row in some(rows)))


def _cutoffs(found: dict[str, Any], *keys: str) -> list[float]:
    return [row[key] for row in found["cutoffs"] for key in keys if key in row]


@fact_of("conformal")
def cutoff_ours(found: dict[str, Any]) -> str:
    return f"{between(_cutoffs(found, 'groups_each', 'kernel_each'), 1e3)} ms"


@fact_of("conformal")
def cutoff_groups_reference(found: dict[str, Any]) -> str:
    return f"{between(_cutoffs(found, 'groups_reference_each'), 1e3)} ms"


@fact_of("conformal")
def cutoff_kernel_differs(found: dict[str, Any]) -> str:
    off = max(_cutoffs(found, "kernel_differs_clarabel"), default=None)
    if off is None:
        raise NotMeasured("no cut-offs by Clarabel")
    return f"{off:.3f}"


@fact_of("conformal")
def cutoff_kernel_shipped(found: dict[str, Any]) -> str:
    return between(_cutoffs(found, "kernel_differs"))


# ---------------------------------------------------------------------- the audit


def _trials(found: dict[str, Any], part: str) -> Any:
    from _audit_tables import Trials

    trials = Trials(found, part)
    if not trials.found:
        raise NotMeasured(f"no trials with {part}")
    return trials


def _intervals(found: dict[str, Any], noise: str) -> list[tuple[float, float, bool]]:
    """Of every trial with a number: the estimate and the width as parts of the rows, and whether
    the interval holds what was planted."""
    trials = [r for key, r in _trials(found, "labels").found.items() if key[1] == noise]
    return [
        (a["count"] / r["n"], (high - low) / r["n"], low <= r["wrong"] <= high)
        for r in trials
        if (a := r["audit"])["colour"] != "red"
        for low, high in [a["interval"]]
    ]


def _by_noise(found: dict[str, Any], which: int) -> dict[str, float]:
    """Means over trials by kind of error, in percent."""
    noises = dict.fromkeys(key[1] for key in _trials(found, "labels").found)
    told_of = {noise: [row[which] for row in _intervals(found, noise)] for noise in noises}
    return {noise: 100 * statistics.fmean(of) for noise, of in told_of.items() if of}


@fact_of("audit")
def audit_inside(found: dict[str, Any]) -> str:
    """Every kind of error but 30 % flipped at random."""
    inside = _by_noise(found, 2)
    return between((v for noise, v in inside.items() if noise != "30%"), form="{:.0f}")


@fact_of("audit")
def audit_inside_30(found: dict[str, Any]) -> str:
    inside = _by_noise(found, 2)
    if "30%" not in inside:
        raise NotMeasured("no trials with 30 % flipped")
    return f"{inside['30%']:.0f}"


@fact_of("audit")
def audit_width(found: dict[str, Any]) -> str:
    return between(_by_noise(found, 1).values(), form="{:.0f}")


@fact_of("audit")
def audit_clean_estimate(found: dict[str, Any]) -> str:
    estimates = _by_noise(found, 0)
    if "0%" not in estimates:
        raise NotMeasured("no trials with nothing planted")
    return f"{estimates['0%']:.1f}"


@fact_of("audit")
def audit_lost_sets(found: dict[str, Any]) -> str:
    """The sets that cleanlab's ensemble ranks better."""
    labels = _trials(found, "labels")
    ours, theirs = (labels.by_set(m, "ap") for m in ("audit", "cleanlab, ensemble of four"))
    *names, last = [name for name in ours if ours[name] < theirs[name]] or ["none of these sets"]
    return f"{', '.join(names)} and {last}" if names else last


@fact_of("audit")
def audit_targets_trials(found: dict[str, Any]) -> str:
    targets = _trials(found, "targets").found
    return f"{len({k[0] for k in targets})} sets, {sum(k[1] != '0%' for k in targets)} trials"


@fact_of("audit")
def audit_targets_gap(found: dict[str, Any]) -> str:
    """The audit less the best other method, and the paired standard error."""
    targets = _trials(found, "targets")
    planted = tuple({key[1] for key in targets.found} - {"0%"})
    others = [method for method in targets.methods("ap") if method != "audit"]
    best = max(others, key=lambda method: targets.mean(method, "ap", planted))
    gap, error = targets.gap("audit", best, "ap", planted)
    return f"{gap:.3f} ± {error:.3f}"


@fact_of("audit")
def audit_search(found: dict[str, Any]) -> str:
    """The time of our searches over those of the plain machine."""
    errors = _trials(found, "errors")

    def seconds(method: str, noise: str) -> float:
        return errors.mean(method, "processor_seconds", (noise,))

    return between(
        seconds(f"RobustSVCCV, {path}, {kernel}", noise)
        / seconds(f"GridSearchCV(SVC), {kernel}", noise)
        for noise in {key[1] for key in errors.found}
        for kernel in KERNELS
        for path in PATHS
    )


@fact_of("audit")
def audit_sizes(found: dict[str, Any]) -> str:
    sizes = sorted((r["n"], key[0], r["audit"]["processor_seconds"])
                   for key, r in _trials(found, "size").found.items())  # fmt: skip
    return ", ".join(
        f"{n:,} × {name.split(' x ')[1]} in {seconds:.0f} seconds" for n, name, seconds in sizes
    )


# ---------------------------------------------------------------------- the paper


def _within(rows: list[Row]) -> str:
    """How many means of these splits are within two printed standard deviations."""
    from _paper_report import cells

    within = [
        cell["within"]
        for table in dict.fromkeys(row["table"] for row in rows)
        for cell in cells(chosen(rows, table=table), table)
        if "within" in cell
    ]
    return f"{sum(within)} of {len(within)}"


def _like(rows: list[Row], others: list[Row]) -> list[Row]:
    """The rows of the same tables and sets as others."""
    here = {(row["table"], row["data"]) for row in others}
    return [row for row in rows if (row["table"], row["data"]) in here]


@fact_of("paper/paper")
def paper_classification(found: dict[str, Any]) -> str:
    rows = some(found["rows"], protocol="likely")
    return _within([row for row in rows if row["table"].endswith("svc")])


@fact_of("paper/paper")
def paper_regression(found: dict[str, Any]) -> str:
    rows = some(found["rows"], protocol="likely")
    return _within([row for row in rows if row["table"].endswith("svr")])


@fact_of("paper/paper")
def paper_standardised(found: dict[str, Any]) -> str:
    return _within(some(found["rows"], protocol="likely-scaling=standard"))


@fact_of("paper/paper")
def paper_no_intercept(found: dict[str, Any]) -> str:
    return _within(some(found["rows"], protocol="likely-constant=False"))


@fact_of("paper/paper")
def paper_intercept(found: dict[str, Any]) -> str:
    """On the sets that were run without one, too."""
    without = some(found["rows"], protocol="likely-constant=False")
    return _within(_like(some(found["rows"], protocol="likely"), without))


@fact_of("paper/paper")
def paper_regression_printed(found: dict[str, Any]) -> str:
    rows = some(found["rows"], protocol="printed")
    return _within([row for row in rows if row["table"].endswith("svr")])


@fact_of("paper/paper")
def paper_more_outliers(found: dict[str, Any]) -> str:
    return _within(some(found["rows"], protocol="printed-outliers=0.25"))


@fact_of("paper/paper")
def paper_fewer_rows(found: dict[str, Any]) -> str:
    """On the sets that were run with more outliers, too."""
    others = some(found["rows"], protocol="printed-outliers=0.25")
    return _within(_like(some(found["rows"], protocol="likely"), others))


@fact_of("paper/paper")
def paper_certified(found: dict[str, Any]) -> str:
    rows = some(found["rows"], protocol="likely")
    paths = [path["certified"] for row in rows for path in row["paths"]]
    return f"{sum(paths):,} of {len(paths):,}"


def _annealed(found: dict[str, Any]) -> list[float]:
    """The end of annealing over that of a warm CCCP, less 1, by problem."""
    ends = [[row[way]["objective"] for way in ("anneal", "CCCP warm")]
            for row in some(found["rows"])]  # fmt: skip
    return [(ours - theirs) / abs(theirs) for ours, theirs in ends]


@fact_of("paper/objective")
def anneal_below(found: dict[str, Any]) -> str:
    from _paper import SAME_OBJECTIVE

    off = _annealed(found)
    return f"{sum(value < -SAME_OBJECTIVE for value in off)} of {len(off)} problems"


@fact_of("paper/objective")
def anneal_above(found: dict[str, Any]) -> str:
    from _paper import SAME_OBJECTIVE

    return str(sum(value > SAME_OBJECTIVE for value in _annealed(found)) or "none")


@fact_of("paper/objective")
def anneal_cost(found: dict[str, Any]) -> str:
    ours, one = (sum(row[way]["seconds"] for row in some(found["rows"]))
                 for way in ("anneal", "theta-path"))  # fmt: skip
    return f"{ours / one:.0f}"
