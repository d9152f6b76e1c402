"""Tables of the benchmarks of the engine and of single plugins."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from typing import Any

from _measure import number
from _tables import (
    KERNELS,
    PATHS,
    TABLES,
    NotMeasured,
    Row,
    amount,
    chosen,
    made_of,
    mean,
    origin,
    result,
    small,
    span,
    table,
)

# ---------------------------------------------------------------------- speed


@made_of("speed")
def speed(found: dict[str, Any]) -> str:
    """The whole path in fits of libsvm: geometric means."""
    rows, lines = found["rows"], []
    for path, name in PATHS.items():
        of = chosen(rows, path=path)
        cells = [mean(r["ours/libsvm"] for r in chosen(of, kernel=k)) for k in KERNELS]
        lines.append([f"{name}-path", *cells, mean(r["ours/libsvm"] for r in of), len(of)])
    known = [(amount(row["ours/libsvm"]), row) for row in rows if row["ours/libsvm"] is not None]
    most, slowest = max(known, key=lambda pair: pair[0].value)
    many = sum(a.value > 8.0 for a, _ in known)
    sets = len({row["data"] for row in rows})
    told = (
        f"{len(rows)} paths on {sets} data sets; {many} of them take more than 8 fits, the slowest "
        f"{most} ({slowest['data']}, {slowest['kernel']}, C = {slowest['C']:g}, along "
        f"{PATHS[slowest['path']]})."
    )
    return table(["fits of libsvm", "rbf", "linear", "both", "paths"], lines) + f"\n\n{told}"


@made_of("speed")
def speed_sets(found: dict[str, Any]) -> str:
    """The same by data set, with sizes, steps and the slowest."""
    rows = found["rows"]
    lines = []
    for data, kernel in dict.fromkeys((row["data"], row["kernel"]) for row in rows):
        line: list[Any] = [data, kernel]
        here = chosen(rows, data=data, kernel=kernel)
        line.append(max(row["n"] or 0 for row in here))
        for path in PATHS:
            of = chosen(here, path=path)
            known = [a for row in of if (a := amount(row["ours/libsvm"])) is not None]
            line += [mean(known) if known else None]
            line += [str(max(known, key=lambda a: a.value)) if known else None]
        steps = [(row["c_steps"] or 0) + (row["d_steps"] or 0) for row in here]
        residuals = [row["worst"] for row in here if row.get("worst") is not None]
        lines.append([*line, max(steps), small(max(residuals, default=None))])
    head = ["data", "kernel", "n", "θ: fits", "most", "s: fits", "most", "steps, most", "residual"]
    return table(head, lines, left=2)


@made_of("speed_cccp")
def speed_cccp(found: dict[str, Any]) -> str:
    """CCCP over a grid in whole paths."""
    rows = found["rows"]
    names = [f"cccp{n}/ours" for n in (5, 20, 100) if any(r.get(f"cccp{n}/ours") for r in rows)]
    if not names:
        raise NotMeasured("CCCP was not measured in this run (`--no-cccp`).")
    lines = [
        [f"{PATHS[path]}-path, {kernel}", *(mean(row.get(name) for row in of) for name in names)]
        for path in PATHS
        for kernel in KERNELS
        if (of := chosen(rows, path=path, kernel=kernel))
    ]
    return table(["CCCP over our path", *(f"{n[4:-5]} values" for n in names)], lines)


@made_of("cliff")
def cliff(found: dict[str, Any]) -> str:
    rows, lines = found["rows"], []
    keys = dict.fromkeys((r["data"], r["kernel"], r["flips"], r["path"]) for r in found["rows"])
    for data, kernel, flips, path in keys:
        of = chosen(rows, data=data, kernel=kernel, flips=flips, path=path)
        fits = [a for row in of if (a := amount(row["ours/libsvm"])) is not None]
        took = [a for row in of if (a := amount(row["total"])) is not None]
        worst = [row["worst"] for row in of if row["worst"] is not None]
        lines.append([
            f"{data}, {kernel}, {flips:.0%} flipped", PATHS[path], len(of),
            mean(fits), str(max(fits, key=lambda a: a.value)) if fits else None,
            str(max(took, key=lambda a: a.value)) if took else None,
            small(max(worst, default=None)),
        ])  # fmt: skip
    return table(["table", "path", "rows", "fits", "most", "longest, s", "residual"], lines)


MARKS = (5, 25, 50, 75, 90, 95, 98, 100)


def summary_of_everyday(rows: list[Row]) -> dict[str, Any]:
    """What all traces say together."""
    done = [row for row in rows if "fits" in row]
    fits = sorted(row["fits"] for row in done)
    worst = max(done, key=lambda row: row["fits"])
    words = ("declined", "unfinished", "crashed")
    return {
        "traces": len(rows),
        "certified": sum(bool(row.get("ok")) for row in rows),
        **{word: sum(word in row for row in rows) for word in words},
        "mean": statistics.geometric_mean(fits),
        "marks": [fits[round(mark / 100 * (len(fits) - 1))] for mark in MARKS],
        "slowest": f"{worst['data']} ({worst['form']}), {worst['kernel']}, along "
        f"{PATHS[worst['path']]}, C = {worst['C']:g}, {worst['noise']:.0%} noise",
    }


@made_of("everyday")
def everyday(found: dict[str, Any]) -> str:
    # Of the run that was transcribed only the summary is known.
    about = found.get("summary") or summary_of_everyday(found["rows"])
    told = (
        f"{about['traces']} traces: {about['certified']} certified, {about['declined']} declined, "
        f"{about['unfinished']} unfinished, {about['crashed']} crashed. Geometric mean "
        f"{number(about['mean'])} fits. The slowest: {about['slowest']}."
    )
    head = ["part of the traces", *(f"{mark} %" for mark in MARKS)]
    line = ["fits, at most", *(number(value) for value in about["marks"])]
    return table(head, [line]) + f"\n\n{told}"


@made_of("compile")
def compile(found: dict[str, Any]) -> str:
    lines = [
        [row["case"], *(row.get(key) for key in ("cold", "functions", "warm", "ready"))]
        for row in found["rows"]
    ]
    head = ["case", "nothing compiled, s", "functions compiled", "compiled before, s",
            "after compile_now, s"]  # fmt: skip
    return table(head, lines)


@made_of("pieces")
def pieces(found: dict[str, Any]) -> str:
    lines = [
        [row["kernel"], row["n"], row["loss"], row["borders"], row["us"], row.get("over flat"),
         row.get("over one"), number(row["active"]) if row["active"] else None,
         small(row["worst"])]
        for row in found["rows"]
    ]  # fmt: skip
    head = ["kernel", "n", "loss", "border columns", "µs a step", "over flat", "over one column",
            "active", "residual"]  # fmt: skip
    return table(head, lines)


@made_of("parts")
def parts(found: dict[str, Any]) -> str:
    lines = [
        [row["kernel"], PATHS[row["path"]], row["n"], row["with"], row["without"],
         row["without/with"]]
        for row in found["rows"]
    ]  # fmt: skip
    head = ["kernel", "path", "n", "with windows, s", "without, s", "without / with"]
    return table(head, lines, left=2)


@made_of("scaling")
def scaling(found: dict[str, Any]) -> str:
    lines = [
        [row["kernel"], PATHS[row["path"]], f"{row['n']:,}", row.get("points"), row.get("jumps"),
         row.get("start"), row.get("trace"), row.get("us"), row.get("peak")]
        for row in found["rows"]
    ]  # fmt: skip
    head = ["kernel", "path", "n", "steps", "jumps", "start, s", "trace, s", "µs a step", "MB"]
    powers = []
    for fit in found["exponents"]:
        for part, words in (("upper", "the upper half of the sizes"), ("all", "all sizes")):
            power = fit[part]["total"]
            if power is not None:
                powers.append(f"{fit['kernel']}, {PATHS[fit['path']]}-path, over {words}: "
                              f"n to the {power:.2f}")  # fmt: skip
    told = "Growth of the whole time: " + "; ".join(powers) + "." if powers else ""
    return table(head, lines, left=2) + (f"\n\n{told}" if told else "")


@made_of("exact")
def exact_c_step(found: dict[str, Any]) -> str:
    keys = ("n", "outliers", "active", "points", "start", "trace", "us", "setup", "sweep",
            "trace/sweep", "whole/whole")  # fmt: skip
    lines = [[*(row.get(key) for key in keys), small(row.get("apart"))] for row in found["c_step"]]
    head = ["n", "outliers", "active", "break-points", "start, s", "trace, s", "µs a point",
            "DAQP setup, s", "DAQP sweep, s", "trace / sweep", "whole / whole",
            "apart"]  # fmt: skip
    return table(head, lines)


@made_of("exact")
def exact_lasso(found: dict[str, Any]) -> str:
    lines = [
        [row["shape"], row["points"], row["ours"], row["lars"], row["ours/lars"], row["cvxcla"],
         row["ours/cvxcla"], small(row["lars_apart"]), small(row["cvxcla_apart"])]
        for row in found["lasso"]
    ]  # fmt: skip
    head = ["X", "break-points", "ours, s", "`lars_path`, s", "ours / lars", "cvxcla, s",
            "ours / cvxcla", "apart, lars", "apart, cvxcla"]  # fmt: skip
    return table(head, lines)


# ---------------------------------------------------------------------- plugins


@made_of("parametric_qp")
def parametric_qp_sequences(found: dict[str, Any]) -> str:
    lines = [
        [f"{r['name']} ({r['n']} variables, {r['rows']} rows)", r["paths"],
         f"{r['right']} ({small(r['off'])})", r["certified"],
         f"{number(r['points'])}, {r['most']}", f"{r['allowed']:g}, {r['allowed_most']:g}",
         r["ours"], r["online"], r["daqp"], r["ratio"]]
        for r in found["sequences"]
    ]  # fmt: skip
    head = ["published sequence", "paths", "right (largest difference)", "certified",
            "break-points, mean and most", "allowed qpOASES", "path, ms", "one by one, ms",
            "DAQP, one program, ms", "path : program"]  # fmt: skip
    return table(head, lines)


@made_of("parametric_qp")
def parametric_qp_programs(found: dict[str, Any]) -> str:
    lines = [
        [f"{r['n']} variables, {r['rows']} rows", r["points"], r["ours"], r["daqp"],
         small(r["apart"])]
        for r in found["programs"]
    ]  # fmt: skip
    head = ["all vectors moving", "break-points", "whole path, ms", "DAQP at 50 values of t, ms",
            "differ by"]  # fmt: skip
    return table(head, lines)


@made_of("parametric_qp")
def short_traces(found: dict[str, Any]) -> str:
    lines = [[r["name"], r["points"], r["ours"]] for r in found["short"]]
    return table(["100 coordinates (or bounds)", "break-points", "trace, ms"], lines)


@made_of("parametric_qp")
def efficient_frontier(found: dict[str, Any]) -> str:
    lines = [
        [r["n"], r["groups"], r["points"], small(r.get("apart")), r["build"], r["ours"],
         r.get("cla"), r.get("ratio")]
        for r in found["frontiers"]
    ]  # fmt: skip
    head = ["assets", "groups", "turning points", "weights differ by", "building, ms", "path, ms",
            "cvxcla, ms", "ours / cvxcla"]  # fmt: skip
    return table(head, lines, left=0)


@made_of("l1_paths")
def lasso(found: dict[str, Any]) -> str:
    lines, before = [], None
    for r in found["rows"]:
        if r["model"] not in ("Lasso", "ElasticNet"):
            continue
        name = f"`{r['model']}` {r['size']}"
        ours = [r["points"], f"{r['trace']:.3f}", f"{r['certificate']:.2f}"]
        first = [name, *ours] if name != before else ["", "", "", ""]
        lines.append([*first, r["peer"], f"{r['peer_seconds']:.3f}", number(r["ratio"]),
                      small(r["apart"])])  # fmt: skip
        before = name
    head = ["problem", "break-points", "trace, s", "certificate, s", "peer", "peer, s",
            "peer / ours", "apart"]  # fmt: skip
    return table(head, lines)


@made_of("l1_paths")
def trend_filter(found: dict[str, Any]) -> str:
    lines = [
        [r["order"], r["size"], small(r["end"]), r["knots"], r["points"], f"{r['trace']:.2f}",
         f"{r['certificate']:.2f}", f"{r['peer_seconds']:.1f}", number(r["ratio"]),
         small(r["apart"])]
        for r in found["rows"]
        if r["model"] == "TrendFilter"
    ]  # fmt: skip
    head = ["order", "values", "ends at", "knots there", "break-points", "trace, s",
            "certificate, s", "OSQP, 10 values, s", "OSQP / ours", "excess"]  # fmt: skip
    return table(head, lines, left=0)


@made_of("l1_paths")
def capped_l1(found: dict[str, Any]) -> str:
    lines = [
        [r["size"], r["points"], f"{r['trace']:.3f}", f"{r['peer_seconds']:.3f}", small(r["apart"])]
        for r in found["rows"]
        if r["model"] == "CappedL1"
    ]
    head = ["X", "break-points", "whole path, s", "all branches at one cap, s",
            "objective above the least"]  # fmt: skip
    return table(head, lines)


@made_of("penalties")
def penalties(found: dict[str, Any]) -> str:
    rows, lines = found["rows"], []
    grids = sorted({row["grid"] for row in rows})
    for model, shape in sorted(
        {(r["model"], r["shape"]) for r in rows}, key=lambda k: (k[0], -k[1])
    ):
        of = chosen(rows, model=model, shape=shape)
        last = chosen(of, grid=grids[-1])
        counts = [sum(r[key] for r in last) for key in ("better", "equal", "worse")]
        ratios = [mean(r["peer"] / r["seconds"] for r in chosen(of, grid=g)) for g in grids]
        lines.append([f"{model}, {'γ' if model == 'MCP' else 'a'} = {shape:g}", *counts, *ratios])
    head = ["", "lower than skglm", "equal", "higher", *(f"time, {g} λ" for g in grids)]
    return table(head, lines)


def _ramps(found: dict[str, Any], semi: bool) -> str:
    lines = []
    for r in found["rows"]:
        if r["path"].startswith("semi") != semi:
            continue
        if "apart" in r:
            agreement = f"{r['apart']:.1e}"
        else:
            agreement = f"same {r['same']:.0%}, lower {r['lower']:.0%}, higher {r['higher']:.0%}"
        lines.append([r["path"], r["points"], r["jumps"], r["certified"], f"{1e3 * r['ours']:.0f}",
                      r["peer"], f"{1e3 * r['theirs']:.0f}", f"{r['theirs'] / r['ours']:.1f}",
                      agreement])  # fmt: skip
    head = ["path", "break-points", "jumps", "certified", "ms", "peer",
            f"ms at {found['values']} values", "ratio", "agreement"]  # fmt: skip
    return table(head, lines)


@made_of("ramps")
def ramps(found: dict[str, Any]) -> str:
    return _ramps(found, False)


@made_of("ramps")
def semi_supervised(found: dict[str, Any]) -> str:
    return _ramps(found, True)


@made_of("svm_paths")
def svm_paths(found: dict[str, Any]) -> str:
    lines = [
        [r["family"], r["kernel"], r["n"], r["breakpoints"], r["path"], r["libsvm"], r["fits"],
         r["certified"], small(r["excess"])]
        for r in found["rows"]
    ]  # fmt: skip
    head = ["path", "kernel", "n", "break-points", "path, s", "50 fits, s", "path in fits",
            "certified", "excess"]  # fmt: skip
    return table(head, lines, left=2)


# ---------------------------------------------------------------------- all plugins in a table


def _ratio_lines() -> Iterator[tuple[str, list[Any]]]:
    """(the file, problem, peer, agreement, the peer's time over ours) for every plugin."""
    found = result("svm_paths")
    last = max(chosen(found["rows"], family="svc", kernel="rbf"), key=lambda row: row["n"])
    fits = amount(last["fits"])
    yield "svm_paths", [f"C-path of an SVM, n = {last['n']}, rbf", "50 fits of libsvm",
                        f"objective {small(last['excess'])}",
                        number(50.0 / fits.value) if fits else None]  # fmt: skip
    found = result("ramps")
    for row in found["rows"]:
        if "apart" in row:
            yield "ramps", [row["path"], f"{row['peer']} at {found['values']} values",
                            small(row["apart"]), number(row["theirs"] / row["ours"])]  # fmt: skip
    robust = [row["theirs"] / row["ours"] for row in found["rows"] if "along theta" in row["path"]]
    yield "ramps", [f"θ-paths of {len(robust)} robust losses", f"CCCP at {found['values']} θ",
                    "local optima may differ", span(robust, "{:.1f}")]  # fmt: skip
    found = result("parametric_qp")
    row = max(found["programs"], key=lambda row: row["n"])
    yield "parametric_qp", [f"a QP of {row['n']} variables", "DAQP at 50 t", small(row["apart"]),
                            number(row["daqp"] / row["ours"])]  # fmt: skip
    for row in found["sequences"]:
        yield "parametric_qp", [f"one step of the published sequence {row['name']}",
                                "DAQP, warm, one QP", small(row["off"]),
                                number(row["daqp"] / row["ours"])]  # fmt: skip
    most = max(row["n"] for row in found["frontiers"])
    of = chosen(found["frontiers"], n=most)
    yield "parametric_qp", [f"frontier of {most} assets", "cvxcla",
                            small(max(row["apart"] for row in of)),
                            span([1.0 / row["ratio"] for row in of], "{:.1f}")]  # fmt: skip
    for row in result("l1_paths")["rows"]:
        size = f", order {row['order']}" if "order" in row else ""
        yield "l1_paths", [f"{row['model']} {row['size']}{size}", row["peer"], small(row["apart"]),
                           number(row["ratio"])]  # fmt: skip
    rows = result("penalties")["rows"]
    last_grid = max(row["grid"] for row in rows)
    of = chosen(rows, grid=last_grid)
    counts = [sum(row[key] for row in of) for key in ("equal", "better", "worse")]
    parts_ = [f"{count / sum(counts):.0%}" for count in counts]
    yield "penalties", ["MCP and SCAD", f"skglm at {last_grid} λ",
                        f"equal at {parts_[0]}, lower at {parts_[1]}, higher at {parts_[2]}",
                        mean(row["peer"] / row["seconds"] for row in of)]  # fmt: skip


def plugins() -> str:
    """Every plugin against its peer, a line each, from several files."""
    try:
        told = list(_ratio_lines())
    except NotMeasured as error:
        return f"*{error}*"
    lines = [[*line, f"`{source}.py`"] for source, line in told]
    head = ["problem", "peer", "agreement", "ratio", "script"]
    sources = dict.fromkeys(source for source, _ in told)
    return "\n\n".join([table(head, lines, left=3), *(origin(source) for source in sources)])


TABLES["plugins"] = plugins
