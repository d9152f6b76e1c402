"""Tables and counts of `benchmarks/paper.py`, as Markdown, from the splits that are kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from _paper import EXACT, METHODS, PRINTED, TABLES, outcome

Rows = Sequence[dict[str, Any]]

# A mean is reproduced if it is within this number of the paper's standard deviations.
WITHIN = 2.0
PATHS = ("theta", "s")
TITLES = {
    "linear-svc": "classification, linear kernel",
    "rbf-svc": "classification, rbf kernel",
    "linear-svr": "regression, linear kernel",
    "rbf-svr": "regression, rbf kernel",
}


def page(rows: Rows) -> Iterator[str]:
    """Everything, protocol by protocol."""
    for protocol in dict.fromkeys(row["protocol"] for row in rows):
        mine = [row for row in rows if row["protocol"] == protocol]
        yield f"## Protocol {protocol}\n"
        yield from overview(mine)
        for table in TABLES:
            here = [row for row in mine if row["table"] == table]
            if here:
                yield f"### {TITLES[table]} ({protocol})\n"
                yield from table_of(here, table)
        yield f"### What was traced ({protocol})\n"
        yield from traced(mine)
        yield f"### Objective, path against CCCP at the same parameter ({protocol})\n"
        yield from objectives(mine)
        yield f"### Selection at break-points and on the whole path ({protocol})\n"
        yield from selection(mine)


# ---------------------------------------------------------------------- test errors


def cells(rows: Rows, table: str) -> list[dict[str, Any]]:
    """One entry per set and method: our mean and standard deviation beside the printed ones."""
    found = []
    for name, key in TABLES[table][1].items():
        mine = [row for row in rows if row["data"] == name]
        if not mine:
            continue
        for method in (*METHODS, *EXACT):
            test = np.array([row["methods"][method]["test"] for row in mine])
            entry: dict[str, Any] = {
                "data": name,
                "method": method,
                "splits": test.size,
                "mean": float(test.mean()),
                "sd": float(test.std(ddof=1)) if test.size > 1 else None,
            }
            if method in METHODS:
                mean, sd = PRINTED[table][key][METHODS.index(method)]
                entry |= {"printed": mean, "printed_sd": sd}
                entry["within"] = bool(abs(entry["mean"] - mean) <= WITHIN * sd)
            found.append(entry)
    return found


def shown(mean: float, sd: float | None) -> str:
    """ ".056(.016)", as the paper prints it."""
    spread = "" if sd is None else f"({f'{sd:.3f}'.lstrip('0')})"
    return f"{mean:.3f}".lstrip("0") + spread


def table_of(rows: Rows, table: str) -> Iterator[str]:
    """One table, ours above the printed one in each cell; bold where they are far apart."""
    entries = cells(rows, table)
    heads = (*METHODS, *EXACT)
    yield "| data | splits | " + " | ".join(heads) + " |"
    yield "|---|---|" + "---|" * len(heads)
    for name in dict.fromkeys(entry["data"] for entry in entries):
        mine = {entry["method"]: entry for entry in entries if entry["data"] == name}
        line = [name, str(mine[METHODS[0]]["splits"])]
        for method in heads:
            entry = mine[method]
            text = shown(entry["mean"], entry["sd"])
            if "printed" in entry:
                text = text if entry["within"] else f"**{text}**"
                text += f"<br>{shown(entry['printed'], entry['printed_sd'])}"
            line.append(text)
        yield "| " + " | ".join(line) + " |"
    yield ""


def overview(rows: Rows) -> Iterator[str]:
    """How many cells are within the printed spread, and how the methods compare."""
    yield (
        f"| table | within {WITHIN:g} printed sd | outside: ours worse | outside: ours better | "
        "OP below CCCP, theta | OP below CCCP, s | robust (OP-s) below plain |"
    )
    yield "|---|---|---|---|---|---|---|"
    for table in TABLES:
        here = [row for row in rows if row["table"] == table]
        if not here:
            continue
        entries = cells(here, table)
        compared = [entry for entry in entries if "printed" in entry]
        out = [entry for entry in compared if not entry["within"]]
        worse = sum(entry["mean"] > entry["printed"] for entry in out)
        mean = {(entry["data"], entry["method"]): entry["mean"] for entry in entries}
        names = dict.fromkeys(entry["data"] for entry in entries)

        def wins(one: str, other: str, names: Any = names, mean: Any = mean) -> str:
            below = sum(mean[n, one] < mean[n, other] for n in names)
            above = sum(mean[n, one] > mean[n, other] for n in names)
            return f"{below} of {len(names)} (above: {above})"

        line = [
            TITLES[table],
            f"{len(compared) - len(out)} of {len(compared)}",
            str(worse),
            str(len(out) - worse),
            wins("OP-theta", "CCCP-theta"),
            wins("OP-s", "CCCP-s"),
            wins("OP-s", "C-SVM"),
        ]
        yield "| " + " | ".join(line) + " |"
    yield ""


# ---------------------------------------------------------------------- paths


def paths_of(rows: Rows, table: str, path: str) -> list[dict[str, Any]]:
    """The accounts of all paths of one kind, each with the number of its training rows."""
    return [
        {**one, "n": row["rows"][0], "data": row["data"]}
        for row in rows
        if row["table"] == table
        for one in row["paths"]
        if one["path"] == path
    ]


def traced(rows: Rows) -> Iterator[str]:
    """Completeness, certificates, the shares of C- and D-steps, growth with n."""
    yield (
        "| table | path | paths | complete | certified | worst residual | C-steps | D-steps | "
        "share of D-steps | jumps | break-points (median) | break-points grow like |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|---|---|"
    for table in TABLES:
        for path in PATHS:
            some = paths_of(rows, table, path)
            if not some:
                continue
            c, d = (sum(one[kind] for one in some) for kind in ("c_steps", "d_steps"))
            line = [
                TITLES[table],
                path,
                str(len(some)),
                str(sum(one["complete"] for one in some)),
                str(sum(one["certified"] for one in some)),
                f"{max(one['worst'] for one in some):.0e}",
                f"{c:,}",
                f"{d:,}",
                f"{100 * d / max(c + d, 1):.0f} %",
                f"{sum(one['jumps'] for one in some):,}",
                f"{np.median([one['break_points'] for one in some]):.0f}",
                growth(some),
            ]
            yield "| " + " | ".join(line) + " |"
    yield ""


def growth(some: list[dict[str, Any]]) -> str:
    """The exponent of break-points against n, over the means of the sets."""
    names = dict.fromkeys(one["data"] for one in some)
    if len(names) < 3:
        return "-"
    points = [
        (
            np.mean([one["n"] for one in some if one["data"] == name]),
            np.mean([one["break_points"] for one in some if one["data"] == name]),
        )
        for name in names
    ]
    n, count = np.log(np.array(points)).T
    return f"n^{np.polyfit(n, count, 1)[0]:.2f}"


def objectives(rows: Rows) -> Iterator[str]:
    """Better, worse and equal at the candidates of CCCP but the plain machine, on all paths."""
    yield "| table | path | better | worse | equal |"
    yield "|---|---|---|---|---|"
    for path in PATHS:
        total = np.zeros(3, dtype=int)
        for table in TABLES:
            some = paths_of(rows, table, path)
            if some:
                counts = np.sum([outcome(one) for one in some], axis=0)
                total += counts
                line = [TITLES[table], path, *(f"{count:,}" for count in counts)]
                yield "| " + " | ".join(line) + " |"
        yield f"| all | {path} | " + " | ".join(f"{count:,}" for count in total) + " |"
    yield ""


def selection(rows: Rows) -> Iterator[str]:
    """What the exact curve gives beyond the break-points: validation and test error."""
    yield (
        "| table | path | splits | validation error lower | equal | validation, mean difference | "
        "test, mean difference (standard error) |"
    )
    yield "|---|---|---|---|---|---|---|"
    for table in TABLES:
        here = [row for row in rows if row["table"] == table]
        for path in PATHS if here else ():
            pairs = [
                (row["methods"][f"exact-{path}"], row["methods"][f"OP-{path}"]) for row in here
            ]
            found = np.array([a["validation"] - b["validation"] for a, b in pairs])
            test = np.array([a["test"] - b["test"] for a, b in pairs])
            lower = int(np.sum(found < -1e-12))
            error = test.std(ddof=1) / np.sqrt(test.size) if test.size > 1 else np.nan
            line = [TITLES[table], path, str(len(pairs)), str(lower), str(len(pairs) - lower)]
            line += [f"{found.mean():+.5f}", f"{test.mean():+.5f} ({error:.5f})"]
            yield "| " + " | ".join(line) + " |"
    yield ""
