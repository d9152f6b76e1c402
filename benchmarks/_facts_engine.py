"""Facts of the benchmarks of the engine and of single plugins."""

from __future__ import annotations

import statistics
from typing import Any

from _facts import between, fact_of, largest, mean, some, told, two, values_of
from _measure import geometric_mean
from _tables import PATHS, Row, amount, chosen, small
from _tables_engine import summary_of_everyday

# ---------------------------------------------------------------------- the engine


@fact_of("compile")
def compile_seconds(found: dict[str, Any]) -> str:
    """To five seconds: it is about how long one waits."""
    (row,) = some(found["rows"], case="all")
    return f"{max(5, 5 * round(row['compiling'] / 5))} seconds"


@fact_of("speed")
def speed_theta(found: dict[str, Any]) -> str:
    return mean(row["ours/libsvm"] for row in some(found["rows"], path="theta"))


@fact_of("speed")
def speed_s(found: dict[str, Any]) -> str:
    return mean(row["ours/libsvm"] for row in some(found["rows"], path="s"))


@fact_of("speed")
def speed_s_over_theta(found: dict[str, Any]) -> str:
    of = [values_of(some(found["rows"], path=path), "ours/libsvm") for path in ("s", "theta")]
    return two(statistics.geometric_mean(of[0]) / statistics.geometric_mean(of[1]))


@fact_of("speed")
def speed_most(found: dict[str, Any]) -> str:
    rows = [row for row in found["rows"] if row["ours/libsvm"] is not None]
    row = max(some(rows), key=lambda row: amount(row["ours/libsvm"]).value)
    return (
        f"{told(amount(row['ours/libsvm']))} in the worst case ({row['data']}, {row['kernel']}, "
        f"C = {row['C']:g}, along {PATHS[row['path']]})"
    )


@fact_of("speed")
def speed_linear_large_C(found: dict[str, Any]) -> str:
    rows = largest(some(found["rows"], kernel="linear"), "C")
    fits = mean(row["ours/libsvm"] for row in rows)
    return f"at C = {rows[0]['C']:g} the whole path takes {fits} of one on average"


@fact_of("speed_cccp")
def cccp_five_rbf(found: dict[str, Any]) -> str:
    """CCCP at five values in whole paths, means along both parameters."""
    rows = some(found["rows"], kernel="rbf")
    means = [geometric_mean(amount(row.get("cccp5/ours")) for row in chosen(rows, path=path))
             for path in PATHS]  # fmt: skip
    return between(value.value for value in means if value is not None)


@fact_of("everyday")
def everyday_declined(found: dict[str, Any]) -> str:
    about = found.get("summary") or summary_of_everyday(some(found["rows"]))
    return f"{about['declined'] or 'none'} of {about['traces']} traces"


@fact_of("cliff")
def cliff_fits(found: dict[str, Any]) -> str:
    return between(values_of(found["rows"], "ours/libsvm"))


@fact_of("scaling")
def scaling_rbf_power(found: dict[str, Any]) -> str:
    powers = [fit[part]["total"] for fit in some(found["exponents"], kernel="rbf")
              for part in ("all", "upper")]  # fmt: skip
    return between(power for power in powers if power is not None)


@fact_of("scaling")
def scaling_linear_most(found: dict[str, Any]) -> str:
    rows = [row for row in some(found["rows"], kernel="linear") if row.get("total")]
    row = largest(rows, "n")[0]
    return (
        f"{row['n']:,} rows take {two(amount(row['total']).value)} seconds and "
        f"{two(row['peak'] / 1000)} GB"
    )


@fact_of("exact")
def c_step_daqp(found: dict[str, Any]) -> str:
    row = largest(found["c_step"], "n")[0]
    return f"{row['n']:,} rows takes 1/{1.0 / amount(row['trace/sweep']).value:.0f}"


# ---------------------------------------------------------------------- plugins


def _compared_with_cccp(found: dict[str, Any], along: str = "") -> list[Row]:
    """Ramp losses beside CCCP."""
    rows = [row for row in chosen(found["rows"], peer="CCCP") if along in row["path"]]
    return [row for row in rows if not row["path"].startswith("semi")]


@fact_of("ramps")
def cccp_fifty(found: dict[str, Any]) -> str:
    return between(row["theirs"] / row["ours"] for row in _compared_with_cccp(found))


@fact_of("ramps")
def cccp_better_along_s(found: dict[str, Any]) -> str:
    return between((row["higher"] for row in _compared_with_cccp(found, "along s")), 100, "{:.0f}")


@fact_of("ramps")
def cccp_worse_along_s(found: dict[str, Any]) -> str:
    return between((row["lower"] for row in _compared_with_cccp(found, "along s")), 100, "{:.0f}")


@fact_of("parametric_qp")
def short_trace(found: dict[str, Any]) -> str:
    return f"{between(row['ours'] for row in found['short'])} milliseconds"


@fact_of("parametric_qp")
def frontier_few(found: dict[str, Any]) -> str:
    least = min(row["n"] for row in some(found["frontiers"]))
    times = [1.0 / row["ratio"] for row in some(found["frontiers"], n=least)]
    return f"{least} assets it takes {between(times)}"


@fact_of("parametric_qp")
def frontier_many(found: dict[str, Any]) -> str:
    rows = largest(found["frontiers"], "n")
    off = small(max(row["apart"] for row in rows))
    times = between(row["ratio"] for row in rows)
    return f"{rows[0]['n']} assets take {times} of its time, and the weights are equal to {off}"


def _lasso_ratios(found: dict[str, Any], peer: str) -> list[float]:
    rows = [row for row in found["rows"] if row["peer"].startswith(peer)]
    return [row["ratio"] for row in some(rows)]


@fact_of("l1_paths")
def lasso_enet(found: dict[str, Any]) -> str:
    return two(min(_lasso_ratios(found, "enet_path")))


@fact_of("l1_paths")
def lasso_lars(found: dict[str, Any]) -> str:
    return between(_lasso_ratios(found, "lars_path"))


@fact_of("exact")
def lasso_lars_to_zero(found: dict[str, Any]) -> str:
    return between(1.0 / amount(row["ours/lars"]).value for row in found["lasso"])


def _penalties(found: dict[str, Any], key: str) -> str:
    """The share of values of lambda on the finest grid, in percent."""
    rows = largest(found["rows"], "grid")
    counts = {name: sum(row[name] for row in rows) for name in ("better", "equal", "worse")}
    return f"{100 * counts[key] / sum(counts.values()):.0f}"


@fact_of("penalties")
def penalties_equal(found: dict[str, Any]) -> str:
    return _penalties(found, "equal")


@fact_of("penalties")
def penalties_lower(found: dict[str, Any]) -> str:
    return _penalties(found, "better")


@fact_of("penalties")
def penalties_higher(found: dict[str, Any]) -> str:
    return _penalties(found, "worse")


@fact_of("penalties")
def penalties_small_gamma(found: dict[str, Any]) -> str:
    """The time of skglm's grids over that of the path, where the penalty bends most."""
    rows = some(found["rows"], model="MCP")
    least = min(row["shape"] for row in rows)
    rows = chosen(rows, shape=least)
    grids = {row["grid"] for row in rows}
    times = [statistics.geometric_mean(r["peer"] / r["seconds"] for r in chosen(rows, grid=grid))
             for grid in grids]  # fmt: skip
    return f"γ = {least:g} skglm takes {between(times)}"
