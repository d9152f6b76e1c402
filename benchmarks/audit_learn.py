"""Grow the trees of the audit: ``plugins/homotopy_plugins/auditing/experience.json``.

    python benchmarks/audit_learn.py --data DIR --cache FOLDER [--seeds 2] [--write]

On every table of `_audit_grown` errors of every kind are planted, the audit gathers its evidence,
and what it gathered is kept in FOLDER, trial by trial, so that a run can be stopped and taken up
(about two seconds a trial).  Boosted trees then learn to tell planted rows from the others.  They
are judged on tables that were left out, and how far the number of wrong rows is off there gives the
lines from which the interval is made.  The file in the repository was grown from 895 trials on 72
tables with wrong labels and 202 trials on 14 tables with wrong targets, by an earlier form of this
script (the same tables and kinds of error, other draws); this form was run from end to end on 110
trials only.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path
from typing import Any

import _one_thread  # noqa: F401
import numpy as np
from _audit_grown import (
    FLIPS,
    LABELS,
    MOVES,
    TARGETS,
    planted_labels,
    planted_targets,
)
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import QuantileRegressor
from sklearn.metrics import average_precision_score, f1_score

from homotopy_plugins.auditing import amounts, evidence
from homotopy_plugins.auditing.amounts import audit_targets
from homotopy_plugins.auditing.experience import named
from homotopy_plugins.auditing.found import Work
from homotopy_plugins.auditing.jobs import Jobs
from homotopy_plugins.auditing.labels import audit_labels
from homotopy_plugins.auditing.machines import machines_of
from homotopy_plugins.auditing.run import COSTS
from homotopy_plugins.auditing.tables import Table
from homotopy_plugins.auditing.targets import labels_of

Array = np.ndarray
# Evidence and who is wrong, by "table ~ noise ~ seed".
Trials = dict[str, tuple[Array, Array]]

QUANTILES = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975, 0.99)
# Every kind of error may be missed this many times as often as the level allows on one side.
SLACK = 2.2
TASKS: dict[str, dict[str, Any]] = {
    "classification": {
        "tables": LABELS,
        "noises": FLIPS,
        "names": evidence.NAMES,
        "signs": dict.fromkeys(evidence.FOR, -1),
        "facts": ("skill", "close", "coin tosses"),
        "trees": {"max_iter": 150, "max_leaf_nodes": 12, "learning_rate": 0.07},
        "least": 200,
        # Mistakes at random are the commonest.
        "often": {"uniform": 2.5},
    },
    "regression": {
        "tables": TARGETS,
        "noises": MOVES,
        "names": amounts.NAMES,
        "signs": dict.fromkeys(amounts.AGAINST, 1),
        "facts": ("skill", "q95", "beyond 4"),
        "trees": {"max_iter": 100, "max_leaf_nodes": 8, "learning_rate": 0.08},
        "least": 100,
        "often": {},
    },
}


# ---------------------------------------------------------------------- trials


def trial(folder: str, task: str, table: str, noise: str, seed: int) -> tuple[Array, Array] | None:
    """The evidence of a table with planted errors, and which rows are wrong."""
    rng = np.random.default_rng([seed, *map(ord, table + noise)])
    n = int(rng.choice([250, 400, 600]))
    X, truth = TASKS[task]["tables"][table](folder, n, rng)
    part = rng.permutation(truth.size)[:n]
    X, truth = np.asarray(X, dtype=float)[part], truth[part]
    made = Table.of(X)
    models = machines_of(None, task, seed, made.size, False)
    work = Work(made, models, 0.9, Jobs(None, False, None), [])
    if task == "regression":
        y = planted_targets(X, truth, noise, rng)
        return audit_targets(work, y, 5, COSTS, seed).facts, y != truth
    y = planted_labels(X, truth, noise, rng)
    if np.bincount(y, minlength=int(truth.max()) + 1).min() < 5:
        return None
    return audit_labels(work, labels_of(y), 5, 1.0, seed).facts, y != truth


def gathered(folder: str, cache: Path, task: str, seeds: int) -> Trials:
    found: Trials = {}
    for seed in range(100, 100 + seeds):
        for table in TASKS[task]["tables"]:
            for noise in TASKS[task]["noises"]:
                key = f"{table} ~ {noise} ~ {seed}"
                file = cache / f"{task} ~ {key}.npz"
                if not file.exists():
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        made = trial(folder, task, table, noise, seed)
                    if made is None:
                        continue
                    np.savez_compressed(file, facts=made[0], wrong=made[1])
                    print(key, flush=True)
                with np.load(file) as held:
                    found[key] = held["facts"], held["wrong"]
    return found


def table_of(key: str) -> str:
    return key.split(" ~ ")[0]


def kind_of(key: str) -> str:
    """The kind of error; a table without any is a kind of its own."""
    kind, share = key.split(" ~ ")[1].split()
    return "none" if share == "0" else kind


# ---------------------------------------------------------------------- trees


def grown(trials: Trials, keys: list[str], task: str) -> HistGradientBoostingClassifier:
    options = TASKS[task]
    weight = np.concatenate(
        [
            np.full(
                trials[key][1].size,
                options["often"].get(key.split(" ~ ")[1].split()[0], 1.0) / trials[key][1].size,
            )
            for key in keys
        ]
    )
    model = HistGradientBoostingClassifier(
        **options["trees"],
        min_samples_leaf=options["least"],
        l2_regularization=20.0,
        monotonic_cst=[options["signs"].get(name, 0) for name in options["names"]],
        early_stopping=False,
        max_features=0.5,
        random_state=0,
    )
    facts = np.concatenate([trials[key][0] for key in keys])
    wrong = np.concatenate([trials[key][1] for key in keys])
    return model.fit(facts, wrong, sample_weight=weight / weight.mean())


def parts(keys: list[str], count: int, seed: int) -> list[set[str]]:
    """The tables in `count` parts."""
    tables = sorted({table_of(key) for key in keys})
    order = np.random.default_rng(seed).permutation(len(tables))
    return [{tables[j] for j in order[k::count]} for k in range(count)]


def left_out(trials: Trials, task: str) -> dict[str, Array]:
    """The chance that each row is wrong, from trees that have not seen its table."""
    keys, chance = sorted(trials), {}
    for held in parts(keys, 8, 0):
        model = grown(trials, [key for key in keys if table_of(key) not in held], task)
        for key in keys:
            if table_of(key) in held:
                chance[key] = model.predict_proba(trials[key][0])[:, 1]
    return chance


def as_numbers(model: HistGradientBoostingClassifier) -> list[dict[str, list[Any]]]:
    trees = []
    for (one,) in model._predictors:
        nodes, leaf = one.nodes, one.nodes["is_leaf"].astype(bool)
        trees.append(
            {
                "feature": np.where(leaf, -1, nodes["feature_idx"]).tolist(),
                "threshold": [
                    0 if end else float(f"{value:.6g}")
                    for end, value in zip(leaf, nodes["num_threshold"], strict=True)
                ],
                "left": np.where(leaf, 0, nodes["left"]).tolist(),
                "right": np.where(leaf, 0, nodes["right"]).tolist(),
                "value": [
                    float(f"{value:.4g}") if end else 0
                    for end, value in zip(leaf, nodes["value"], strict=True)
                ],
            }
        )
    return trees


# ---------------------------------------------------------------------- the number


def facts_of(trials: Trials, chance: Array, key: str, task: str) -> Array:
    """As `Experience.number` has them."""
    names, total = TASKS[task]["names"], float(chance.sum())
    doubt = float(np.sum(chance * (1.0 - chance)))
    known = [1.0, np.log((total + 2.0) / (chance.size + 2.0))]
    known += [doubt / (total + 2.0), np.sqrt(doubt) / (total + 2.0)]
    return np.array(known + [trials[key][0][0, names.index(name)] for name in TASKS[task]["facts"]])


def lines(trials: Trials, chance: dict[str, Array], keys: list[str], task: str) -> Array:
    """Of log((W + 2) / (N + 2)) a line for each quantile; the outer ones are moved out until no
    kind of error is missed too often."""
    known = np.array([facts_of(trials, chance[key], key, task) for key in keys])
    off = np.array([np.log((trials[k][1].sum() + 2.0) / (chance[k].sum() + 2.0)) for k in keys])
    kinds = np.array([kind_of(key) for key in keys])
    weight = np.array([1.0 / np.sum(kinds == kind) for kind in kinds])
    made = []
    for quantile in QUANTILES:
        fit = QuantileRegressor(quantile=quantile, alpha=1e-4, solver="highs")
        fit.fit(known[:, 1:], off, sample_weight=weight * weight.size / weight.sum())
        made.append([fit.intercept_, *fit.coef_])
    plain = np.array(made)
    out, at, middle = plain.copy(), known @ plain.T, len(QUANTILES) // 2
    for low in range(4):
        for side, j in ((-1.0, low), (1.0, len(QUANTILES) - 1 - low)):
            unit = np.maximum(side * (at[:, j] - at[:, middle]), 0.05)
            far = side * (off - at[:, middle]) / unit
            allowed = 1.0 - SLACK * QUANTILES[low]
            wide = max(1.0, *(np.quantile(far[kinds == kind], allowed) for kind in set(kinds)))
            out[j] = plain[middle] + wide * (plain[j] - plain[middle])
    return out


def tell(trials: Trials, chance: dict[str, Array], task: str) -> None:
    """How good the trees are on tables they have not seen, by kind of error."""
    keys, inside = sorted(trials), {}
    for held in parts(keys, 6, 3):
        rest = [key for key in keys if table_of(key) not in held]
        made = lines(trials, chance, rest, task)
        for key in keys:
            if table_of(key) in held:
                off = np.sort(made @ facts_of(trials, chance[key], key, task))
                total = chance[key].sum() + 2.0
                ends = total * np.exp(np.interp([0.05, 0.95], QUANTILES, off)) - 2.0
                inside[key] = np.floor(ends[0]) <= trials[key][1].sum() <= np.ceil(ends[1])
    print(f"{'':12s}{'trials':>7s}{'ap':>8s}{'f1':>8s}{'inside':>8s}")
    for kind in sorted({kind_of(key) for key in keys}):
        here = [key for key in keys if kind_of(key) == kind]
        some = [key for key in here if trials[key][1].any()]
        ap = [average_precision_score(trials[key][1], chance[key]) for key in some] or [np.nan]
        f1 = [f1_score(trials[key][1], named(chance[key])) for key in some] or [np.nan]
        print(
            f"{kind:12s}{len(here):7d}{np.mean(ap):8.3f}{np.mean(f1):8.3f}"
            f"{np.mean([inside[key] for key in here]):8.2f}"
        )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    options.add_argument("--data", required=True, help="folder of NAME.npz")
    options.add_argument("--cache", type=Path, required=True, help="where trials are kept")
    options.add_argument("--seeds", type=int, default=2, help="how many (2)")
    options.add_argument("--only", choices=list(TASKS), nargs="+", default=list(TASKS))
    options.add_argument("--write", action="store_true", help="replace experience.json")
    asked = options.parse_args()
    asked.cache.mkdir(parents=True, exist_ok=True)
    file = Path(amounts.__file__).with_name("experience.json")
    held = json.loads(file.read_text())
    for task in asked.only:
        trials = gathered(asked.data, asked.cache, task, asked.seeds)
        chance = left_out(trials, task)
        print(f"\n{task}: {len(trials)} trials")
        tell(trials, chance, task)
        model = grown(trials, sorted(trials), task)
        made = lines(trials, chance, sorted(trials), task)
        held[task] = {
            "names": list(TASKS[task]["names"]),
            "base": round(float(np.ravel(model._baseline_prediction)[0]), 6),
            "trees": as_numbers(model),
            "spread": {
                "facts": list(TASKS[task]["facts"]),
                "quantiles": list(QUANTILES),
                "lines": [[float(f"{value:.5g}") for value in line] for line in made],
            },
        }
    if asked.write:
        file.write_text(json.dumps(held, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
