"""The tables of `audit.py`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from _audit_sets import FLIPS, MOVES, share_of

Result = dict[str, Any]
ERRORS = ("15%", "30%")
# Families of planted labels: what they are called, and what belongs to them.
FAMILIES = {
    "uniform": ("5%", "10%", "20%", "30%"),
    "class": ("class 20%",),
    "boundary": ("boundary 15%",),
    "clusters": ("clusters 10%",),
}


class Trials:
    """Results of one part, by method: `of(method, what)` are those by (data, noise, seed)."""

    def __init__(self, results: dict[str, Result], part: str) -> None:
        self.found = {
            tuple(key.split(" | ")[1:]): result
            for key, result in results.items()
            if key.startswith(f"{part} | ")
        }

    def methods(self, what: str) -> list[str]:
        seen: dict[str, None] = {}
        for result in self.found.values():
            for name, value in result.items():
                if isinstance(value, dict) and what in value:
                    seen.setdefault(name)
        return list(seen)

    def of(self, method: str, what: str, noise: tuple[str, ...] | None = None) -> dict[Any, float]:
        return {
            key: result[method][what]
            for key, result in self.found.items()
            if what in result.get(method, {}) and (noise is None or key[1] in noise)
        }

    def by_set(
        self, method: str, what: str, noise: tuple[str, ...] | None = None
    ) -> dict[str, float]:
        values = self.of(method, what, noise)
        return {
            data: float(np.mean([v for key, v in values.items() if key[0] == data]))
            for data in sorted({key[0] for key in values})
        }

    def mean(self, method: str, what: str, noise: tuple[str, ...] | None = None) -> float:
        """Over sets, each counted once."""
        return float(np.mean(list(self.by_set(method, what, noise).values())))

    def gap(
        self, one: str, other: str, what: str, noise: tuple[str, ...] | None = None
    ) -> tuple[float, float]:
        """The difference over sets, and its standard error."""
        a, b = self.by_set(one, what, noise), self.by_set(other, what, noise)
        gaps = np.array([a[data] - b[data] for data in a])
        error = gaps.std(ddof=1) / np.sqrt(gaps.size) if gaps.size > 1 else np.nan
        return float(gaps.mean()), float(error)


def table_of(trials: Trials, what: str, groups: dict[str, tuple[str, ...]], against: str) -> None:
    """Means over sets by family, and the paired difference to `against` over all families."""
    print(
        f"{'':28s}{'all':>7s}" + "".join(f"{name:>13s}" for name in groups) + f"   minus {against}"
    )
    # Every family counts once.
    methods = sorted(trials.methods(what), key=lambda m: -overall(trials, m, what, groups))
    for method in methods:
        cells = "".join(f"{trials.mean(method, what, of):13.3f}" for of in groups.values())
        gap, error = trials.gap(method, against, what)
        told = "" if method == against else f"   {gap:+.3f} ± {error:.3f}"
        print(f"{method:28s}{overall(trials, method, what, groups):7.3f}{cells}{told}")


def overall(trials: Trials, method: str, what: str, groups: dict[str, tuple[str, ...]]) -> float:
    return trials.mean(method, what, tuple(noise for of in groups.values() for noise in of))


def gaps(trials: Trials, what: str, groups: dict[str, tuple[str, ...]], against: str) -> None:
    """The difference between the audit and `against`, family by family."""
    for name, of in groups.items():
        gap, error = trials.gap("audit", against, what, of)
        print(f"  {name:12s}{gap:+.3f} ± {error:.3f}")


def sets_of(trials: Trials, what: str, methods: Iterable[str]) -> None:
    methods = list(methods)
    print(f"{'':24s}" + "".join(f"{method:>28s}" for method in methods))
    values = [trials.by_set(method, what) for method in methods]
    for name in values[0]:
        print(f"{name:24s}" + "".join(f"{value[name]:28.3f}" for value in values))


def coverage(trials: Trials, noises: Iterable[str], method: str = "audit") -> None:
    print(
        f"{'planted':14s}{'trials':>7s}{'no number':>11s}{'inside':>8s}{'planted':>9s}{'said':>7s}"
        f"{'width':>7s}"
    )
    for noise in noises:
        rows = [(r["wrong"], r["n"], r[method]) for k, r in trials.found.items() if k[1] == noise]
        told = [row for row in rows if row[2]["colour"] != "red"]
        if not told:
            continue
        inside = np.mean([a["interval"][0] <= w <= a["interval"][1] for w, _, a in told])
        said = np.mean([a["count"] / n for _, n, a in told])
        width = np.mean([(a["interval"][1] - a["interval"][0]) / n for _, n, a in told])
        planted = np.mean([w / n for w, n, _ in told])
        print(
            f"{noise:14s}{len(rows):7d}{len(rows) - len(told):11d}{inside:8.2f}{planted:9.3f}"
            f"{said:7.3f}{width:7.3f}"
        )


def print_labels(labels: Trials) -> None:
    seeds = sorted({int(key[2]) for key in labels.found})
    sets = {key[0] for key in labels.found}
    count = sum(key[1] != "0%" for key in labels.found)
    print(f"\nWrong labels: {count} trials on {len(sets)} sets, seeds {seeds}")
    groups = {noise: (noise,) for noise in FLIPS if noise != "0%"}
    for what, said in (("ap", "average precision"), ("f1", "F1 of the rows named")):
        peers = [m for m in labels.methods(what) if m.startswith("cleanlab")]
        best = max(peers, key=lambda m: labels.mean(m, what))
        print(f"\n{said}; ± is a paired standard error over sets, cleanlab's best is {best}")
        table_of(labels, what, groups, best)
        print(f"audit minus {best}, by family")
        gaps(labels, what, FAMILIES, best)
        if what == "ap":
            print("\nby set")
            sets_of(labels, what, ["audit", best, "forest and SVC, mean rank"])
    print("\nthe number of wrong labels: how often the planted number lies in the 90 % interval")
    coverage(labels, sorted(FLIPS, key=share_of))
    print("\nseconds of processor a trial")
    for method in ("audit", "cleanlab, logistic", "cleanlab, boosting", "cleanlab, forest"):
        print(f"{method:28s}{labels.mean(method, 'processor_seconds'):7.2f}")


def print_targets(targets: Trials) -> None:
    seeds = sorted({int(key[2]) for key in targets.found})
    count = sum(key[1] != "0%" for key in targets.found)
    print(f"\nWrong targets: {count} trials, seeds {seeds}")
    peers = [m for m in targets.methods("ap") if not m.startswith("audit")]
    best = max(peers, key=lambda m: targets.mean(m, "ap"))
    print(f"\naverage precision; ± is a paired standard error over sets, the best other is {best}")
    groups = {noise: (noise,) for noise in MOVES if noise != "0%"}
    table_of(targets, "ap", groups, best)
    print("\nby set")
    sets_of(targets, "ap", ["audit", best])
    print(f"\nF1 of the rows named by the audit: {targets.mean('audit', 'f1'):.3f}")
    print("\nthe number of wrong targets: how often it lies in the 90 % interval")
    coverage(targets, MOVES)


def print_tables(results: dict[str, Result]) -> None:
    labels, targets = Trials(results, "labels"), Trials(results, "targets")
    if labels.found:
        print_labels(labels)
    if targets.found:
        print_targets(targets)
    errors = Trials(results, "errors")
    if errors.found:
        print_errors(errors)
    for (data, _, _), result in Trials(results, "size").found.items():
        took = result["audit"]["processor_seconds"]
        print(f"\n{data}, one process: {took:.1f} s of processor")


def print_errors(errors: Trials) -> None:
    print(f"\nError on clean rows: {len(errors.found)} trials")
    for kernel in ("rbf", "linear"):
        plain = f"GridSearchCV(SVC), {kernel}"
        for noise in ERRORS:
            for method in (f"RobustSVCCV, {path}, {kernel}" for path in ("theta", "s")):
                gap, error = errors.gap(method, plain, "error", (noise,))
                print(
                    f"{noise:5s}{method:28s}{100 * errors.mean(method, 'error', (noise,)):6.2f} % "
                    f"minus SVC {100 * gap:+.2f} ± {100 * error:.2f} points, "
                    f"{errors.mean(method, 'processor_seconds', (noise,)):.2f} s; SVC "
                    f"{100 * errors.mean(plain, 'error', (noise,)):.2f} %, "
                    f"{errors.mean(plain, 'processor_seconds', (noise,)):.2f} s"
                )
