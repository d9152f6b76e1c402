"""The experiment of the paper on one split of one data set: data, candidates, selection.

Suzumura et al., *Homotopy Continuation Approaches for Robust SV Classification and Regression*
(2015), section 5.  A `Protocol` says how the text is read; `run_split` trains the five methods of
its tables on one random split and returns everything that tables, counts and pages are made of.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt
from _data import read

from homotopy import Homotopy, Path
from homotopy.threads import one_thread
from homotopy_plugins import HingeRamp, LADRamp, cccp

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

COSTS = (0.01, 0.1, 1.0, 10.0, 100.0)
METHODS = ("C-SVM", "CCCP-theta", "OP-theta", "CCCP-s", "OP-s")
# Not in the paper: selection where the exact validation curve is least.
EXACT = ("exact-theta", "exact-s")
# CCCP is solved so much closer than by default that objectives can be compared.
CCCP_TOLERANCE = 1e-6
# A relative difference of objectives below this is none: CCCP is solved to a tolerance.
SAME_OBJECTIVE = 1e-6

CLASSIFICATION = {
    "BreastCancerDiagnostic": "D1",
    "AustralianCredit": "D2",
    "GermanNumer": "D3",
    "SVMGuide1": "D4",
    "spambase": "D5",
    "musk": "D6",
    "a6a": "D9",
}
REGRESSION = {
    "bodyfat": "D1",
    "yacht_hydrodynamics": "D2",
    "mpg": "D3",
    "housing": "D4",
    "winequality-red": "D6",
    "winequality-white": "D7",
    "abalone": "D9",
    "cpusmall": "D10",
    "cadata": "D11",
}
TABLES = {
    "linear-svc": ("linear", CLASSIFICATION),
    "rbf-svc": ("rbf", CLASSIFICATION),
    "linear-svr": ("linear", REGRESSION),
    "rbf-svr": ("rbf", REGRESSION),
}


def _printed(text: str) -> dict[str, list[tuple[float, float]]]:
    """Rows "D1 .056(.016) ..." as {"D1": [(mean, sd) for each method]}."""
    rows = {}
    for line in text.strip().splitlines():
        name, *cells = line.split()
        pairs = [cell.rstrip(")").split("(") for cell in cells]
        rows[name] = [(float(mean), float(sd)) for mean, sd in pairs]
    return rows


# Mean (standard deviation) over ten splits, in the order of METHODS.
PRINTED = {
    "linear-svc": _printed("""
        D1 .056(.016) .050(.014) .049(.016) .055(.018) .050(.016)
        D2 .151(.018) .145(.007) .151(.018) .145(.007) .152(.010)
        D3 .281(.028) .270(.033) .270(.023) .262(.013) .266(.013)
        D4 .066(.007) .047(.007) .047(.005) .053(.010) .042(.006)
        D5 .108(.010) .088(.009) .088(.009) .088(.010) .084(.007)
        D6 .072(.005) .058(.006) .064(.003) .061(.007) .060(.003)
        D9 .173(.004) .181(.009) .173(.005) .165(.004) .164(.004)"""),
    "rbf-svc": _printed("""
        D1 .055(.017) .043(.022) .042(.017) .037(.016) .038(.013)
        D2 .149(.010) .148(.010) .147(.010) .146(.013) .142(.013)
        D3 .276(.024) .267(.026) .266(.024) .271(.015) .261(.020)
        D4 .052(.009) .048(.009) .044(.006) .047(.008) .040(.005)
        D5 .117(.012) .109(.013) .107(.012) .107(.011) .094(.008)
        D6 .046(.007) .045(.007) .045(.007) .045(.007) .043(.006)
        D9 .169(.003) .170(.005) .169(.004) .168(.005) .162(.003)"""),
    "linear-svr": _printed("""
        D1 .442(.324) .337(.347) .319(.353) .414(.341) .276(.321)
        D2 .470(.053) .487(.086) .474(.087) .490(.108) .484(.104)
        D3 .414(.038) .351(.025) .350(.036) .414(.105) .372(.043)
        D4 .548(.180) .520(.193) .510(.146) .562(.210) .596(.297)
        D6 .685(.028) .664(.026) .655(.027) .685(.044) .686(.040)
        D7 .700(.016) .691(.017) .685(.017) .698(.022) .692(.014)
        D9 .518(.015) .510(.019) .501(.021) .522(.026) .516(.019)
        D10 .281(.021) .278(.016) .279(.016) .269(.018) .269(.021)
        D11 .494(.010) .488(.011) .487(.012) .492(.009) .492(.008)"""),
    "rbf-svr": _printed("""
        D1 .077(.049) .069(.054) .065(.056) .070(.053) .051(.040)
        D2 .357(.059) .346(.045) .339(.045) .332(.038) .327(.040)
        D3 .337(.052) .299(.021) .302(.019) .296(.022) .295(.022)
        D4 .390(.046) .350(.025) .349(.023) .357(.022) .343(.024)
        D6 .641(.028) .640(.015) .635(.017) .634(.022) .631(.017)
        D7 .671(.011) .669(.009) .669(.007) .674(.011) .671(.009)
        D9 .488(.012) .490(.016) .486(.012) .484(.013) .482(.014)
        D10 .198(.015) .198(.027) .196(.025) .194(.015) .189(.017)
        D11 .456(.016) .441(.005) .441(.006) .444(.015) .446(.015)"""),
}


# ---------------------------------------------------------------------- how the text is read


@attrs.frozen
class Protocol:
    """How the text of the paper is read.

    Attributes
    ----------
    scaling : {"none", "range", "standard"}
        Inputs of classification: as published, every column to [-1, 1], or to mean 0 and variance
        1.  (For regression the text says [-1, 1].)
    constant : bool
        Whether a column of ones is added to the inputs of the linear kernel: a penalised intercept.
    threshold : float
        s of the theta-path of regression.
    outliers : float
        The fraction of training and validation rows that are contaminated (regression).
    training : float
        The fraction of rows trained on (regression; 0.4 for classification).  Three tenths each
        validate and test.
    """

    scaling: str = "none"
    constant: bool = False
    threshold: float = 1.0
    outliers: float = 0.05
    training: float = 0.4


FLIPPED = 0.15
TRAINING, VALIDATION, TEST = 0.4, 0.3, 0.3
PROTOCOLS = {
    "printed": Protocol(),
    "likely": Protocol(scaling="range", constant=True, training=0.1),
}


@attrs.frozen(eq=False)
class Split:
    """Rows to train on, to choose by (both spoiled) and to test on (clean)."""

    X: Array
    y: Array
    X_validation: Array
    y_validation: Array
    X_test: Array
    y_test: Array


def split(folder: str, name: str, seed: int, kernel: str, protocol: Protocol) -> Split:
    """A random split of a data set, scaled and spoiled as `protocol` says."""
    X, y = read(folder, name)
    rng = np.random.default_rng([seed, *name.encode()])
    classifies = name in CLASSIFICATION
    scaling = protocol.scaling if classifies else "range"
    X = _scaled(X, scaling)
    if not classifies:
        y = (y - y.mean()) / y.std()
    n = y.size
    training = TRAINING if classifies else protocol.training
    ends = np.round(np.cumsum([training, VALIDATION, TEST]) * n).astype(int)
    train, validation, test = np.split(rng.permutation(n), ends)[:3]
    spoil = _flip if classifies else _contaminate
    parts = []
    for rows in (train, validation):
        parts += spoil(X[rows].copy(), y[rows].copy(), rng, protocol)
    parts += [X[test], y[test]]
    if protocol.constant and kernel == "linear":
        parts[0::2] = [np.column_stack([part, np.ones(len(part))]) for part in parts[0::2]]
    return Split(*parts)


def _scaled(X: Array, scaling: str) -> Array:
    if scaling == "none":
        return X
    if scaling == "range":
        middle, width = 0.5 * (X.max(axis=0) + X.min(axis=0)), 0.5 * np.ptp(X, axis=0)
    else:
        middle, width = X.mean(axis=0), X.std(axis=0)
    return np.where(width > 0.0, (X - middle) / np.where(width > 0.0, width, 1.0), 0.0)


def _flip(X: Array, y: Array, rng: np.random.Generator, protocol: Protocol) -> list[Array]:
    y[rng.choice(y.size, round(FLIPPED * y.size), replace=False)] *= -1.0
    return [X, y]


def _contaminate(X: Array, y: Array, rng: np.random.Generator, protocol: Protocol) -> list[Array]:
    planted = rng.choice(y.size, round(protocol.outliers * y.size), replace=False)
    X[planted] += rng.uniform(-2.0, 2.0, (planted.size, X.shape[1]))
    y[planted] += rng.normal(0.0, 10.0, planted.size)
    return [X, y]


# ---------------------------------------------------------------------- one split


def model_of(data: Split, name: str, kernel: str, path: str, protocol: Protocol, C: float) -> Any:
    """The machine of the paper without an intercept, gamma = 1/d of the inputs as published."""
    options: dict[str, Any] = {"C": C, "kernel": kernel, "path": path}
    if name in CLASSIFICATION:
        return HingeRamp(data.X, data.y, s=0.0, **options)
    return LADRamp(data.X, data.y, s=protocol.threshold, **options)


def errors(values: Array, y: Array, name: str) -> Array:
    """The test error of rows of values of f: 0-1 loss (f = 0 is negative) or mean |y - f|."""
    if name in CLASSIFICATION:
        return np.asarray(np.mean(np.where(values > 0.0, 1.0, -1.0) != y, axis=-1))
    return np.asarray(np.abs(values - y).mean(axis=-1))


@attrs.define
class _Best:
    """The candidate with the least validation error so far; the first of equals."""

    validation: float = np.inf
    test: float = np.nan
    C: float = np.nan
    t: float = np.nan

    def offer(self, validation: float, C: float, t: float, test: Callable[[], float]) -> None:
        if validation < self.validation:
            self.validation, self.C, self.t = float(validation), C, float(t)
            self.test = float(test())


def run_split(folder: str, name: str, seed: int, table: str, protocol: Protocol) -> dict[str, Any]:
    """Every method on one split: the candidate it selects and its test error, with an account of
    each path and the objectives of path and CCCP at the candidates of CCCP."""
    began = time.process_time()
    kernel = TABLES[table][0]
    data = split(folder, name, seed, kernel, protocol)
    best = {method: _Best() for method in (*METHODS, *EXACT)}
    accounts: list[dict[str, Any]] = []
    models = {p: model_of(data, name, kernel, p, protocol, COSTS[0]) for p in ("theta", "s")}
    # Both have the same kernel: its columns are computed once.
    models["s"].gram = models["theta"].gram
    with one_thread(models["theta"]):
        on_test = models["theta"].evaluator(data.X_test)

        def tested(path: Path, t: float, side: str) -> Callable[[], float]:
            def error() -> float:
                b = path.border_multipliers(t, side)
                values = on_test(path.alpha(t, side)[:, None], b[:, None])[:, 0]
                return float(errors(values, data.y_test, name))

            return error

        plain: Any = None
        for C in COSTS:
            for which, model in models.items():
                varied = model.varied(C=C)
                varied.gram = model.gram
                path, account, curve = _traced(varied, plain, data)
                start = path.traced[0]
                if which == "theta":
                    plain = path.alpha(start, "before")
                    best["C-SVM"].offer(
                        curve(start, "before"), C, start, tested(path, start, "before")
                    )
                _offer_path(best, which, C, path, curve, tested)
                account |= _compare_cccp(best, which, C, varied, plain, path, data, name)
                accounts.append({"C": C, "path": which, **account})
    return {
        "data": name,
        "split": seed,
        "table": table,
        "rows": [int(part.size) for part in (data.y, data.y_validation, data.y_test)],
        "methods": {method: attrs.asdict(found) for method, found in best.items()},
        "paths": accounts,
        "seconds": time.process_time() - began,
    }


def _traced(model: Any, plain: Any, data: Split) -> tuple[Path, dict[str, Any], Any]:
    """A path, what it took and whether it is certified, and its exact curve on validation rows."""
    began = time.process_time()
    path = Homotopy(model).trace(start=plain)
    traced = time.process_time()
    certificate = path.certify()
    certified = time.process_time()
    curve = path.validation_curve(data.X_validation, data.y_validation)
    account = {
        "break_points": int(path.breakpoints.size),
        "jumps": len(path.jumps),
        "c_steps": int(path.counts["c_steps"]),
        "d_steps": int(path.counts["d_steps"]),
        "complete": path.complete,
        "certified": certificate.ok,
        "worst": certificate.worst,
        "trace_s": traced - began,
        "certify_s": certified - traced,
        "curve_s": time.process_time() - certified,
    }
    return path, account, curve


def _offer_path(
    best: Mapping[str, _Best], which: str, C: float, path: Path, curve: Any, tested: Any
) -> None:
    """The break-points of a path, both sides of each, as candidates; and the exact best."""
    points = path.breakpoints
    either = np.stack([curve(points, "before"), curve(points, "after")], axis=1).ravel()
    k = int(np.argmin(either))
    t, side = float(points[k // 2]), ("before", "after")[k % 2]
    best[f"OP-{which}"].offer(either[k], C, t, tested(path, t, side))
    exact = curve.best
    best[f"exact-{which}"].offer(exact.value, C, exact.t, tested(path, exact.t, exact.side))


def _compare_cccp(
    best: Mapping[str, _Best],
    which: str,
    C: float,
    model: Any,
    plain: Array,
    path: Path,
    data: Split,
    name: str,
) -> dict[str, Any]:
    """CCCP over the five candidates of the paper (its default), offered and compared."""
    began = time.process_time()
    found = cccp(model, start=plain, tol=CCCP_TOLERANCE)
    took = time.process_time() - began
    on_validation = errors(found.decision_function(data.X_validation), data.y_validation, name)
    on_test = errors(found.decision_function(data.X_test), data.y_test, name)
    for t, validation, test in zip(found.values, on_validation, on_test, strict=True):
        best[f"CCCP-{which}"].offer(validation, C, t, lambda test=test: test)
    low, high = sorted(path.traced)
    ours = path.objective(np.clip(found.values, low, high))
    return {
        "cccp_s": took,
        "cccp_converged": found.converged,
        "cccp_rounds": found.rounds.tolist(),
        "values": found.values.tolist(),
        "objective": np.asarray(ours).tolist(),
        "cccp_objective": found.objectives.tolist(),
    }


def outcome(account: Mapping[str, Any]) -> tuple[int, int, int]:
    """At how many candidates the objective of the path is better, worse, equal; all but the first,
    where both are the plain machine."""
    ours, theirs = (np.array(account[of][1:]) for of in ("objective", "cccp_objective"))
    off = (ours - theirs) / np.maximum(np.abs(theirs), 1e-300)
    better, worse = int(np.sum(off < -SAME_OBJECTIVE)), int(np.sum(off > SAME_OBJECTIVE))
    return better, worse, off.size - better - worse
