"""Against other exact tools: DAQP on the C-step alone, lars_path and cvxcla on the lasso.

The C-step: n x 10 Gaussian data, labels by a plane with 15 % flipped, rbf with gamma 0.1, C = 1, no
intercept.  The samples with a negative margin at theta = 1 are the outliers, once and for all, so
the problem is convex: in its dual

    min over alpha   1/2 alpha' Q alpha - sum alpha,    0 <= alpha_i <= theta C (outliers) or C

which is one C-path over theta from 1 to 0 for us, and for DAQP one persistent model (H = Q and
simple bounds; the primal with soft margins is slower and less exact there) set up once, then
updated and solved, warm, at 50 values of theta.  Forming Q counts for neither.

The lasso: X Gaussian, a sparse truth, lam from its maximum to 0.  Forming the Gram matrix counts
for everyone; we and lars_path can work with and without it: the faster of the two is shown and
named (cvxcla by its default, with it).
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Mapping
from typing import Any

import daqp
import numpy as np
import numpy.typing as npt
from _measure import (
    Amount,
    Part,
    Result,
    Table,
    Targets,
    clock,
    measure,
    parse,
    parser,
    print_machine,
    print_trouble,
    ratio,
    seconds,
    start_only,
    timed,
    timed_start,
    trace_seconds,
    write_json,
)
from sklearn.linear_model import lars_path
from sklearn.metrics.pairwise import rbf_kernel

from homotopy import DenseGram, Homotopy, Knot, LinearGram, LossModel, Path, Slope

try:
    import cvxcla
except ImportError:
    cvxcla = None

Array = npt.NDArray[np.float64]
Spec = Mapping[str, Any]

SIZES, QUICK_SIZES = (500, 1000, 2000), (500, 1000)
SHAPES, QUICK_SHAPES = ((1000, 200), (1000, 500), (200, 2000)), ((1000, 200), (200, 500))
SEED = 0
FEATURES, GAMMA, C, FLIPPED = 10, 0.1, 1.0, 0.15
VALUES = np.linspace(1.0, 0.0, 50)
RELEVANT = 0.1
NOISE = 1.0

# Targets: the C-step costs at most PART of DAQP's sweep at the sizes AT, the lasso is no slower
# than lars_path, and peers agree to AGREE, relative to the largest value.
PART, AT = 0.2, (1000, 2000)
AGREE = 1e-6

YARDSTICKS = """
measured elsewhere, on other machines (us a break-point):
  qpOASES hot start            251 / 949 / 4083   n = 500 / 1000 / 2000
  svmpath                      1116               n = 800
  lars_path                    795                1000 x 500
  one product Q_:A d, a floor  7 / 17 / 82        n = 500 / 1000 / 2000"""

C_STEP = Table(
    (
        ("n", "n", 5),
        ("outliers", "outliers", 8),
        ("active", "active", 6),
        ("points", "break-points", 12),
        ("start", "start s", 8),
        ("trace", "trace s", 8),
        ("us", "us/point", 8),
        ("floor", "floor us", 8),
        ("setup", "DAQP setup s", 12),
        ("sweep", "DAQP sweep s", 12),
        ("trace/sweep", "trace/sweep", 11),
        ("whole/whole", "whole/whole", 11),
        ("apart", "apart", 7),
    )
)
LASSO = Table(
    (
        ("shape", "X", 9),
        ("points", "break-points", 12),
        ("ours", "ours s", 8),
        ("gram", "with", 10),
        ("us", "us/point", 8),
        ("lars", "lars_path s", 11),
        ("lars_gram", "with", 7),
        ("lars_us", "us/point", 8),
        ("ours/lars", "ours/lars", 9),
        ("lars_points", "break-points", 12),
        ("lars_apart", "apart", 7),
        ("cvxcla", "cvxcla s", 8),
        ("ours/cvxcla", "ours/cvxcla", 11),
        ("cvxcla_points", "break-points", 12),
        ("cvxcla_apart", "apart", 7),
    )
)


# ---------------------------------------------------------------------- (a) the C-step alone


class FixedPartition(LossModel):
    """The hinge-ramp SVM with its outliers chosen once: ``cap(theta) | knot 1 | 0``, convex."""

    parameter, span = "theta", (1.0, 0.0)

    def __init__(self, Q: Array, outlier: npt.NDArray[np.bool_]) -> None:
        self.gram = DenseGram(Q)
        self.fixed, self.fading = np.where(outlier, 0.0, C), np.where(outlier, C, 0.0)

    def polyline(self, theta: Any) -> tuple[Slope, Knot, Slope]:
        return Slope("cap", self.fixed + self.fading * theta), Knot("E", 1.0), Slope("R", 0.0)


def flipped_classes(n: int) -> Array:
    """Q of the C-step problem."""
    rng = np.random.default_rng(SEED)
    X = rng.standard_normal((n, FEATURES))
    y = np.where(X @ rng.standard_normal(FEATURES) > 0.0, 1.0, -1.0)
    y[rng.choice(n, round(FLIPPED * n), replace=False)] *= -1.0
    return rbf_kernel(X, gamma=GAMMA) * np.outer(y, y)


def negative_margins(Q: Array) -> npt.NDArray[np.bool_]:
    """The outliers: samples on the wrong side at theta = 1."""
    no_outliers = np.zeros(Q.shape[0], dtype=bool)
    return Homotopy(start_only(FixedPartition(Q, no_outliers))).trace().response(1.0) < 0.0


def sweep_daqp(Q: Array, outlier: npt.NDArray[np.bool_]) -> tuple[float, float, Array]:
    """Seconds to set up and solve once, seconds for all `VALUES`, and alpha at each of them."""
    n = Q.shape[0]
    least = np.zeros(n)
    begin = time.process_time()
    model = daqp.Model()
    model.setup(Q, -np.ones(n), np.zeros((0, n)), np.full(n, C), least)
    model.solve()
    middle = time.process_time()
    alphas = np.empty((VALUES.size, n))
    for k, theta in enumerate(VALUES):
        model.update(bupper=np.where(outlier, theta * C, C), blower=least)
        alphas[k], _, flag, _ = model.solve()
        if flag != 1:
            raise RuntimeError(f"DAQP ended with flag {flag} at theta={theta:g}")
    return middle - begin, time.process_time() - middle, alphas


def c_step_parts(spec: Spec) -> Mapping[str, Part]:
    small = flipped_classes(60)
    Homotopy(FixedPartition(small, negative_margins(small))).trace()
    sweep_daqp(small, negative_margins(small))
    Q = flipped_classes(spec["n"])
    outlier = negative_margins(Q)
    traced: list[Path] = []

    def trace_all() -> Path:
        return Homotopy(FixedPartition(Q, outlier)).trace()

    def trace_start() -> Path:
        return Homotopy(start_only(FixedPartition(Q, outlier))).trace()

    def whole(known: Mapping[str, Result]) -> Result:
        run = timed(trace_all)
        path: Path = run.answer
        traced.append(path)
        active = path.partition(0.5)["E"]
        rows, step = np.ascontiguousarray(Q[active]), np.ones(active.size)
        floor = min(clock(lambda: step @ rows) for _ in range(20))
        return {
            **run.result,
            "outliers": int(outlier.sum()),
            "active": active.size,
            "counts": dict(path.counts),
            "floor": 1e6 * floor,
            "worst": path.certify().worst,
        }

    def start(known: Mapping[str, Result]) -> Result:
        run, rest = timed_start(trace_start, trace_all, known)
        return {**run.result, "trace": rest}

    def peer(known: Mapping[str, Result]) -> Result:
        runs: list[tuple[float, float, Array]] = []
        run = timed(lambda: runs.append(sweep_daqp(Q, outlier)))
        apart = None
        if traced:
            ours = np.stack([traced[0].alpha(theta) for theta in VALUES])
            apart = float(np.abs(ours - runs[0][2]).max() / C)
        return {
            **run.result,
            "setup": statistics.median(r[0] for r in runs),
            "sweep": statistics.median(r[1] for r in runs),
            "apart": apart,
        }

    return {"path": whole, "start": start, "daqp": peer}


def c_step_row(n: int, limit: float) -> dict[str, Any]:
    """Measure one size in processes of its own, and derive its columns."""
    found = measure(c_step_parts, {"n": n}, limit=limit)
    traced, peer = found.get("path", {}), found.get("daqp", {})
    total, start, whole = (seconds(found, name) for name in ("path", "start", "daqp"))
    trace = trace_seconds(found)
    points = traced.get("counts", {}).get("c_steps")
    sweep = Amount(peer["sweep"]) if "sweep" in peer else None
    return {
        "n": n,
        **{key: traced.get(key) for key in ("outliers", "active", "floor", "worst")},
        "points": points,
        "start": start,
        "trace": trace,
        "us": 1e6 * trace.value / points if trace is not None and points else None,
        "setup": peer.get("setup"),
        # Over the limit, setup and sweep cannot be told apart.
        "sweep": sweep or whole,
        "trace/sweep": ratio(trace, sweep),
        "whole/whole": ratio(total, whole),
        "apart": peer.get("apart"),
        "parts": found,
    }


# ---------------------------------------------------------------------- (b) the lasso


class Lasso(LossModel):
    """``inf | knot q - lam | 0 | knot q + lam | -inf`` with alpha = beta, Q = X'X, q = X'y."""

    parameter = "lam"

    def __init__(self, X: Array, y: Array, *, dense: bool) -> None:
        self.gram = DenseGram(X.T @ X) if dense else LinearGram(X.T)
        self.q = X.T @ y
        self.span = (float(np.abs(self.q).max()), 0.0)

    def polyline(self, lam: Any) -> tuple[Slope, Knot, Slope, Knot, Slope]:
        return (
            Slope("left wall", np.inf),
            Knot("positive", self.q - lam),
            Slope("zero", 0.0),
            Knot("negative", self.q + lam),
            Slope("right wall", -np.inf),
        )


def sparse_truth(rows: int, columns: int) -> tuple[Array, Array]:
    """Gaussian X, and y from a tenth of its columns (of its rows where those are fewer)."""
    rng = np.random.default_rng(SEED)
    X = rng.standard_normal((rows, columns))
    relevant = rng.choice(columns, int(RELEVANT * min(rows, columns)), replace=False)
    y = X[:, relevant] @ rng.standard_normal(relevant.size) + NOISE * rng.standard_normal(rows)
    return X, y


def lasso_parts(spec: Spec) -> Mapping[str, Part]:
    X, y = sparse_truth(60, 20)
    for dense in (True, False):
        Homotopy(Lasso(X, y, dense=dense)).trace()
    lars_path(X, y, method="lasso")
    if cvxcla is not None:
        cvxcla.Lasso(X, y)
    X, y = sparse_truth(*spec["shape"])
    most = 100 * max(X.shape)
    traced: list[Path] = []

    def ours(dense: bool) -> Part:
        def run_ours(known: Mapping[str, Result]) -> Result:
            run = timed(lambda: Homotopy(Lasso(X, y, dense=dense)).trace())
            path: Path = run.answer
            traced[:] = [path]
            return {
                **run.result,
                "breakpoints": path.breakpoints,
                "complete": path.complete,
                "worst": path.certify().worst,
            }

        return run_ours

    def lars(gram: bool) -> Part:
        def run_lars(known: Mapping[str, Result]) -> Result:
            run = timed(lambda: lars_path(X, y, Gram=gram, method="lasso", max_iter=most))
            lam, _, coefficients = run.answer
            return {**run.result, **compare(lam * y.size, coefficients.T)}

        return run_lars

    def rival(known: Mapping[str, Result]) -> Result:
        run = timed(lambda: cvxcla.Lasso(X, y).path)
        lam = np.array([point.lam for point in run.answer])
        return {**run.result, **compare(lam, np.stack([p.beta for p in run.answer]))}

    def compare(lam: Array, coefficients: Array) -> Result:
        """How far a peer's path is from ours: its coefficients, and the places of break-points."""
        inside = np.flatnonzero(np.isfinite(lam))
        lam, coefficients = lam[inside], coefficients[inside]
        apart = None
        if traced:
            ours = traced[0].breakpoints
            # The largest lam and ours differ by rounding.
            at = np.clip(lam, 0.0, ours[0])
            pairs = zip(at, coefficients, strict=True)
            gap = max(np.abs(traced[0].alpha(t) - beta).max() for t, beta in pairs)
            between = np.abs(lam[:, None] - ours)
            moved = max(between.min(axis=0).max(), between.min(axis=1).max())
            apart = float(max(gap / np.abs(coefficients).max(), moved / ours[0]))
        return {"breakpoints": lam, "apart": apart}

    listed = {
        "dense": ours(True),
        "linear": ours(False),
        "lars": lars(False),
        "lars gram": lars(True),
    }
    if cvxcla is not None:
        listed["cvxcla"] = rival
    return listed


def fastest(found: Mapping[str, Result], *names: str) -> tuple[Amount | None, str | None, Result]:
    """The fastest of the ways named: its seconds, its name and all it returned."""
    ways = [(seconds(found, name), name) for name in names]
    known = [(amount, name) for amount, name in ways if amount is not None]
    if not known:
        return None, None, {}
    amount, name = min(known, key=lambda way: (bool(way[0].mark), way[0].value))
    return amount, name, found[name]


def lasso_row(shape: tuple[int, int], limit: float) -> dict[str, Any]:
    """Measure one shape in processes of its own, and derive its columns."""
    found = measure(lasso_parts, {"shape": shape}, limit=limit)
    ours, gram, mine = fastest(found, "dense", "linear")
    lars, way, theirs = fastest(found, "lars", "lars gram")
    rival, _, rivals = fastest(found, "cvxcla")
    points, lars_points, rival_points = (
        len(r["breakpoints"]) if "breakpoints" in r else None for r in (mine, theirs, rivals)
    )
    for result in found.values():
        result["points"] = len(result.pop("breakpoints", ()))
    return {
        "shape": f"{shape[0]}x{shape[1]}",
        "points": points,
        "ours": ours,
        "gram": {"dense": "DenseGram", "linear": "LinearGram"}.get(gram or ""),
        "us": 1e6 * ours.value / points if ours is not None and points else None,
        "lars": lars,
        "lars_gram": {"lars": "X", "lars gram": "X'X"}.get(way or ""),
        "lars_us": 1e6 * lars.value / lars_points if lars is not None and lars_points else None,
        "lars_points": lars_points,
        "lars_apart": theirs.get("apart"),
        "ours/lars": ratio(ours, lars),
        "cvxcla": rival,
        "ours/cvxcla": ratio(ours, rival),
        "cvxcla_points": rival_points,
        "cvxcla_apart": rivals.get("apart"),
        "worst": mine.get("worst"),
        "parts": found,
    }


# ---------------------------------------------------------------------- both


def check_targets(c_steps: list[dict[str, Any]], lassos: list[dict[str, Any]]) -> Targets:
    targets = Targets()
    targets.check(
        f"C-step / DAQP's sweep <= {PART:g} at n = {' and '.join(map(str, AT))}",
        [
            (f"n = {row['n']}", found, found.at_most(PART) if found else None)
            for row in c_steps
            if row["n"] in AT
            for found in [row["trace/sweep"]]
        ],
    )
    targets.check(
        "lasso / lars_path <= 1 everywhere",
        [
            (row["shape"], found, found.at_most(1.0) if found else None)
            for row in lassos
            for found in [row["ours/lars"]]
        ],
    )
    gaps = [(f"DAQP, n = {row['n']}", row["apart"]) for row in c_steps]
    gaps += [(f"lars_path, {row['shape']}", row["lars_apart"]) for row in lassos]
    gaps += [(f"cvxcla, {row['shape']}", row["cvxcla_apart"]) for row in lassos if cvxcla]
    targets.check(
        f"peers agree with us to {AGREE:g}",
        [(where, gap, None if gap is None else gap <= AGREE) for where, gap in gaps],
    )
    proofs = [(f"C-step, n = {row['n']}", row["worst"]) for row in c_steps]
    proofs += [(f"lasso, {row['shape']}", row["worst"]) for row in lassos]
    targets.check_certified(proofs)
    return targets


def shape(text: str) -> tuple[int, int]:
    """ROWSxCOLUMNS, as an option."""
    rows, columns = text.lower().split("x")
    return int(rows), int(columns)


def main() -> int:
    options = parser(__doc__, limit=300.0, quick_limit=60.0)
    options.add_argument("--sizes", nargs="*", type=int, help="n of the C-step (none: skip it)")
    options.add_argument("--shapes", nargs="*", type=shape, metavar="ROWSxCOLUMNS")
    chosen = parse(options)
    sizes = QUICK_SIZES if chosen.quick else SIZES
    shapes = QUICK_SHAPES if chosen.quick else SHAPES
    sizes = sizes if chosen.sizes is None else chosen.sizes
    shapes = shapes if chosen.shapes is None else chosen.shapes

    print_machine()
    c_steps: list[dict[str, Any]] = []
    lassos: list[dict[str, Any]] = []

    def write(**more: Any) -> None:
        write_json(chosen.json, limit=chosen.limit, c_step=c_steps, lasso=lassos, **more)

    def note(table: Table, row: dict[str, Any], rows: list[dict[str, Any]]) -> None:
        rows.append(row)
        table.row(row)
        print_trouble(row["parts"])
        write()

    print(f"\nthe C-step alone, outliers fixed, against DAQP at {VALUES.size} values of theta")
    C_STEP.head()
    for n in sizes:
        note(C_STEP, c_step_row(n, chosen.limit), c_steps)
    print("\nthe lasso, lam from its maximum to 0")
    if cvxcla is None:
        print("cvxcla not available: its columns stay empty")
    LASSO.head()
    for rows_columns in shapes:
        note(LASSO, lasso_row(rows_columns, chosen.limit), lassos)
    print(YARDSTICKS)
    targets = check_targets(c_steps, lassos)
    targets.print()
    write(targets=targets.content)
    return 0


if __name__ == "__main__":
    sys.exit(main())
