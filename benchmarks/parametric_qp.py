"""Parametric programs against DAQP, frontiers against cvxcla, and what a trace costs at least.

    python benchmarks/parametric_qp.py --data DIR [--quick] [--json FILE]

DIR, or DIR/oqp, holds ``chain80.npz`` and ``diesel.npz``, two sequences of the Online QP Benchmark
Collection (coin-or/qpOASES, branch misc, testingdata/cpp/oqp) with its arrays as named there: H, g,
A, lb, ub, lbA, ubA, x_opt; a bound of 1e15 or more is none.  Every two consecutive programs are one
path. It must end in the published x, be certified and have no more break-points than the
collection's own test allows a hot start of qpOASES working-set changes.  Without --data only what
is generated here is measured.  Times are processor times of one thread, after a warm-up: of a whole
sequence divided by its programs, given as a list and, "one by one", by a generator; DAQP keeps its
workspace from one program to the next and so starts warm.  The fixed cost of a trace is that of 100
coordinates and a path of one segment.
"""

from __future__ import annotations

import statistics
import time
from pathlib import Path
from typing import Any

import _one_thread  # noqa: F401
import daqp
import numpy as np
from _measure import Table, Targets, parse, parser, print_machine, write_json

from homotopy import DenseGram, Homotopy, Knot, LossModel, Slope
from homotopy_plugins import EfficientFrontier, HingeRamp, LADRamp, ParametricQP

try:
    from cvxcla import CLA
except ImportError:
    CLA = None

# Working-set changes that the collection's test allows a hot start: on average, and at most.
ALLOWED = {"chain80": (2.4, 19.5), "diesel": (0.3, 22.5)}
# The published x are right to about this, relative to the largest entry.
PUBLISHED = 1e-9
AGREE = 1e-7
# A path of a sequence takes no more warm solves of DAQP than this.
SLOWER = 15
# Turning points this near to each other are one.
NEAR = 1e-8
SIZES = ((10, 20), (30, 30), (100, 50))
VALUES = np.linspace(0.0, 1.0, 50)
ASSETS = (20, 100, 240)
INFINITE = 1e15

SEQUENCES = Table(
    (
        ("name", "sequence", 8),
        ("n", "n", 4),
        ("rows", "rows", 4),
        ("paths", "paths", 5),
        ("right", "right", 5),
        ("certified", "certified", 9),
        ("off", "x off by", 8),
        ("points", "break-points", 12),
        ("most", "most", 4),
        ("allowed", "qpOASES", 7),
        ("allowed_most", "most", 5),
        ("ours", "ours ms", 7),
        ("online", "one by one", 10),
        ("daqp", "DAQP ms", 7),
        ("ratio", "ratio", 6),
    )
)
PROGRAMS = Table(
    (
        ("n", "n", 4),
        ("rows", "rows", 4),
        ("points", "break-points", 12),
        ("certified", "certified", 9),
        ("ours", "path ms", 8),
        ("daqp", "DAQP 50 t ms", 12),
        ("ratio", "ratio", 6),
        ("apart", "apart", 7),
    )
)
SHORT = Table(
    (
        ("name", "100 coordinates, one segment", 28),
        ("points", "break-points", 12),
        ("ours", "trace ms", 8),
    )
)
# The target for these, in milliseconds.
AT_LEAST = 1.0
FRONTIERS = Table(
    (
        ("n", "assets", 6),
        ("groups", "groups", 6),
        ("points", "turning points", 14),
        ("theirs", "cvxcla", 6),
        ("alone", "unmatched", 9),
        ("certified", "certified", 9),
        ("apart", "weights apart", 13),
        ("build", "build ms", 8),
        ("ours", "path ms", 8),
        ("cla", "cvxcla ms", 9),
        ("ratio", "ratio", 6),
    )
)


class Warm:
    """DAQP with its workspace kept."""

    def __init__(self, H: Any, g: Any, A: Any, low: Any, high: Any) -> None:
        self.model = daqp.Model()
        sense = np.where(low == high, 5, 0).astype(np.int32)
        self.A = np.ascontiguousarray(A)
        self.model.setup(H, g, self.A, np.clip(high, -1e30, 1e30), np.clip(low, -1e30, 1e30), sense)
        self.model.settings = {"primal_tol": 1e-10}

    def solve(self, g: Any, low: Any, high: Any) -> Any:
        self.model.update(f=g, bupper=np.clip(high, -1e30, 1e30), blower=np.clip(low, -1e30, 1e30))
        return self.model.solve()[0]


def sequence(file: Path) -> dict[str, Any]:
    """One published sequence: ours path by path, DAQP program by program."""
    with np.load(file) as data:
        z = {name: data[name] for name in data.files}
    count, n = z["g"].shape
    A = z.get("A", np.zeros((0, n)))
    vectors = {"g": z["g"]}
    for name, empty in (("lb", -np.inf), ("ub", np.inf), ("lbA", -np.inf), ("ubA", np.inf)):
        width = len(A) if name.endswith("A") else n
        given = z.get(name, np.full((count, width), empty))
        vectors[name] = np.where(np.abs(given) >= INFINITE, empty, given)
    programs = [{name: v[k] for name, v in vectors.items()} for k in range(count)]
    list(ParametricQP.sequence(z["H"], programs[:3], A=A))
    begin = time.process_time()
    paths = list(ParametricQP.sequence(z["H"], programs, A=A))
    ours = 1e3 * (time.process_time() - begin) / len(paths)
    begin = time.process_time()
    for _ in ParametricQP.sequence(z["H"], iter(programs), A=A):
        pass
    online = 1e3 * (time.process_time() - begin) / len(paths)
    low, high = (
        np.hstack([vectors["lb"], vectors["lbA"]]),
        np.hstack([vectors["ub"], vectors["ubA"]]),
    )
    peer = Warm(z["H"], z["g"][0], A, low[0], high[0])
    begin = time.process_time()
    for k in range(1, count):
        peer.solve(z["g"][k], low[k], high[k])
    other = 1e3 * (time.process_time() - begin) / (count - 1)
    size = float(np.abs(z["x_opt"]).max())
    off = [
        float(np.abs(p.solution(1.0) - x).max()) / size
        for p, x in zip(paths, z["x_opt"][1:], strict=True)
    ]
    points = [path.breakpoints.size - 2 for path in paths]
    mean, most = ALLOWED[file.stem]
    return {
        "name": file.stem,
        "n": n,
        "rows": len(A),
        "paths": len(paths),
        "right": sum(v <= PUBLISHED for v in off),
        "certified": sum(path.certify().ok and path.complete for path in paths),
        "off": max(off),
        "points": float(np.mean(points)),
        "most": max(points),
        "allowed": mean,
        "allowed_most": most,
        "ours": ours,
        "online": online,
        "daqp": other,
        "ratio": ours / other,
    }


def program(n: int, m: int) -> dict[str, Any]:
    """A generated program whose vectors all move: the whole path against DAQP at 50 values."""
    rng = np.random.default_rng(n)
    F, A = rng.normal(size=(n, n)), rng.normal(size=(m, n))
    H, rows = F.T @ F / n + 0.1 * np.eye(n), np.vstack([np.eye(n), A])
    value = rng.normal(size=(2, n)) @ rows.T
    low, high = (
        value - rng.uniform(0.05, 1.0, value.shape),
        value + rng.uniform(0.05, 1.0, value.shape),
    )
    g = 3.0 * rng.normal(size=(2, n))

    def ours() -> Any:
        model = ParametricQP(
            H, (g[0], g[1]), A=A,
            lb=(low[0, :n], low[1, :n]), ub=(high[0, :n], high[1, :n]),
            lbA=(low[0, n:], low[1, n:]), ubA=(high[0, n:], high[1, n:]),
        )  # fmt: skip
        return Homotopy(model).trace()

    def theirs() -> Any:
        peer = Warm(H, g[0], A, low[0], high[0])
        return np.array(
            [peer.solve(*((1.0 - t) * v[0] + t * v[1] for v in (g, low, high))) for t in VALUES]
        )

    path, x = ours(), theirs()
    mine, other = clock(ours), clock(theirs)
    return {
        "n": n,
        "rows": m,
        "points": path.breakpoints.size - 2,
        "certified": path.certify().ok and path.complete,
        "ours": mine,
        "daqp": other,
        "ratio": mine / other,
        "apart": float(np.abs(path.solution(VALUES) - x).max()),
    }


class Box(LossModel):
    """min over alpha  1/2 alpha'Q alpha - (c + t d)'alpha,  0 <= alpha <= 1; d is tiny."""

    span, unknown = (0.0, 1.0), "alpha"

    def __init__(self, Q: Any, c: Any) -> None:
        self.gram, self.c = DenseGram(Q), c

    def polyline(self, t: Any) -> Any:
        knot = Knot("between", self.c * (1.0 + 1e-6 * t))
        return Slope("full", 1.0), knot, Slope("none", 0.0)


def short() -> dict[str, Any]:
    """Traces of 100 coordinates on which next to nothing happens, by name."""
    rng = np.random.default_rng(0)
    X, c = rng.normal(size=(100, 5)), rng.normal(size=100)
    y, labels = X[:, 0] + 0.1 * rng.normal(size=100), np.sign(X[:, 0] + 0.1)
    Q = X @ X.T + np.eye(100)
    few = {"C": 1e-3, "s": -50.0}
    return {
        "box, matrix": Box(Q, c),
        "QP of 50 variables": ParametricQP(Q[:50, :50], (c[:50], c[:50] + 1e-6), lb=-1.0, ub=1.0),
        "hinge ramp, rbf": HingeRamp(X, labels, gamma=0.2, **few),
        "hinge ramp, linear": HingeRamp(X, labels, kernel="linear", **few),
        "LAD ramp, rbf": LADRamp(X, y, gamma=0.2, C=1e-3, s=50.0),
        "LAD ramp, linear": LADRamp(X, y, kernel="linear", C=1e-3, s=50.0),
    }


def frontier(n: int, groups: int) -> dict[str, Any]:
    """A whole efficient frontier against cvxcla's."""
    rng = np.random.default_rng(n)
    returns = rng.normal(size=(3 * n, n)) @ (np.eye(n) + 0.1 * rng.normal(size=(n, n)))
    covariance, mean = np.cov(returns.T), rng.uniform(0.0, 0.3, n)
    G, h = (rng.random((groups, n)) < 0.3).astype(float), np.full(groups, 0.4)
    caps = {"A": G, "ubA": h} if groups else {}

    def build() -> EfficientFrontier:
        return EfficientFrontier(mean, covariance, upper=0.5, **caps)

    model = build()
    path = Homotopy(model).trace()
    t, _ = model.turning_points(path)
    row = {
        "n": n,
        "groups": groups,
        "points": t.size,
        "certified": path.certify().ok and path.complete,
        "build": clock(build),
        "ours": clock(Homotopy(model).trace),
    }
    if CLA is not None:
        ranges = {"lower_bounds": np.zeros(n), "upper_bounds": np.full(n, 0.5)}
        rows = {"a": np.ones((1, n)), "b": np.ones(1)} | ({"g": G, "h": h} if groups else {})

        def cla() -> Any:
            return CLA(mean=mean, covariance=covariance, **ranges, **rows)

        # Those at which nothing has moved yet are no turning points.
        points = [point for point in cla().turning_points if point.lamb <= t[0] * (1.0 + NEAR)]
        lam = np.array([point.lamb for point in points])
        off = np.abs(t[:, None] - lam) > NEAR * np.maximum(t[:, None], 1.0)
        row["theirs"], row["alone"] = lam.size, int(off.all(axis=1).sum() + off.all(axis=0).sum())
        theirs = np.array([point.weights for point in points])
        row["apart"] = float(np.abs(path.solution(np.minimum(lam, t[0])) - theirs).max())
        row["cla"] = clock(cla)
        row["ratio"] = (row["build"] + row["ours"]) / row["cla"]
    return row


def clock(run: Any, times: int = 5) -> float:
    """Milliseconds of processor time, the median of some."""
    seconds = []
    for _ in range(times):
        begin = time.process_time()
        run()
        seconds.append(time.process_time() - begin)
    return 1e3 * statistics.median(seconds)


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--data", type=Path, metavar="DIR", help="where chain80 and diesel are")
    chosen = parse(options)
    folder = chosen.data
    if folder is not None and (folder / "oqp").is_dir():
        folder = folder / "oqp"
    print_machine("after a warm-up; medians")
    program(5, 5), frontier(5, 1)
    rows: dict[str, list[dict[str, Any]]] = {
        "sequences": [],
        "programs": [],
        "short": [],
        "frontiers": [],
    }

    def add(kind: str, table: Table, row: dict[str, Any]) -> None:
        table.row(row)
        rows[kind].append(row)
        write_json(chosen.json, **rows)

    if folder is not None:
        print(
            "\nfrom each program of a published sequence to the next (ms for one path, one program)"
        )
        SEQUENCES.head()
        for name in list(ALLOWED)[:1] if chosen.quick else ALLOWED:
            add("sequences", SEQUENCES, sequence(folder / f"{name}.npz"))
    print("\nall vectors moving: the whole path against 50 programs")
    PROGRAMS.head()
    for n, m in SIZES[:2] if chosen.quick else SIZES:
        add("programs", PROGRAMS, program(n, m))
    print("\nwhat a trace costs at least")
    SHORT.head()
    for name, model in short().items():
        path = Homotopy(model).trace()
        took = clock(Homotopy(model).trace, 5 if chosen.quick else 50)
        add("short", SHORT, {"name": name, "points": path.breakpoints.size, "ours": took})
    print("\nefficient frontiers")
    FRONTIERS.head()
    for n in ASSETS[:2] if chosen.quick else ASSETS:
        for groups in (0, 3):
            add("frontiers", FRONTIERS, frontier(n, groups))
    targets = judge(rows)
    targets.print()
    write_json(chosen.json, **rows, targets=targets.content)


def judge(rows: dict[str, list[dict[str, Any]]]) -> Targets:
    targets, parts = Targets(), rows["sequences"]
    for promise, key in (
        ("every path ends in the published x", "right"),
        ("every path is certified", "certified"),
    ):
        targets.check(promise, [(r["name"], r[key], r[key] == r["paths"]) for r in parts])
    targets.check(
        f"a path in at most {SLOWER} warm solves of DAQP",
        [(r["name"], r["ratio"], r["ratio"] <= SLOWER) for r in parts],
    )
    for promise, key in (("break-points on average", "points"), ("break-points at most", "most")):
        allowed = {"points": "allowed", "most": "allowed_most"}[key]
        targets.check(
            f"{promise}: no more than allowed a hot start of qpOASES",
            [(r["name"], r[key], r[key] <= r[allowed]) for r in parts],
        )
    targets.check(
        f"100 coordinates and one segment within {AT_LEAST:g} ms",
        [(r["name"], r["ours"], r["ours"] <= AT_LEAST) for r in rows["short"]],
    )
    targets.check(
        f"agrees with DAQP to {AGREE:g} and is certified",
        [
            (f"n={r['n']}", r["apart"], r["apart"] <= AGREE and r["certified"])
            for r in rows["programs"]
        ],
    )
    targets.check(
        f"the turning points are those of cvxcla, weights to {AGREE:g}, and certified",
        [
            (
                f"{r['n']} assets",
                r["apart"],
                r["apart"] <= AGREE and r["alone"] == 0 and r["certified"],
            )
            for r in rows["frontiers"]
            if "theirs" in r
        ],
    )
    return targets


if __name__ == "__main__":
    main()
