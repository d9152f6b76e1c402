"""What is on the page of a path, for every kind of path."""

from __future__ import annotations

import html
import json
import os
import re
import webbrowser
from pathlib import Path as File
from typing import Any

import numpy as np
import pytest

from homotopy import DenseGram, Homotopy, Jump, Knot, LossModel, ModelError, Path, PathError, Slope
from homotopy.path.on_segments import OnSegments
from homotopy.report import Report, path_content
from homotopy.report.sampling import Samples, thinned
from homotopy.report.sizes import PageSizes
from homotopy_plugins import (
    EfficientFrontier,
    HingeRamp,
    LADRamp,
    Lasso,
    ParametricQP,
    RobustSVC,
    RobustSVCCV,
    RobustSVR,
)

SCRIPT = "<script>alert(1)</script>"
LIMIT = 5_000_000


def content(report: Report) -> dict[str, Any]:
    """The data as a browser reads them."""
    found = re.findall(
        r'<script type="application/json" id="data">(.*?)</script>', report.html, re.S
    )
    assert len(found) == 1
    return json.loads(found[0])


def chart(data: dict[str, Any], kind: str) -> dict[str, Any]:
    return next(one for one in data["charts"] if one["kind"] == kind)


def blobs(n: int = 40, d: int = 2, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1, -1)
    X = rng.standard_normal((n, d)) + 0.9 * y[:, None]
    wrong = rng.choice(n, max(1, n // 8), replace=False)
    y[wrong] = -y[wrong]
    return X, y


def line(n: int = 40, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(-2.0, 2.0, n))
    y = np.sin(x) + 0.1 * rng.standard_normal(n)
    y[::7] += 4.0
    return x[:, None], y


def traced(model: LossModel, **options: Any) -> Path:
    return Homotopy(model, **options).trace()


def _lasso() -> Path:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 8))
    return traced(Lasso(X, X[:, 0] * 3.0 + rng.standard_normal(30), fit_intercept=True))


def _frontier() -> Path:
    rng = np.random.default_rng(0)
    root = rng.standard_normal((12, 6))
    return traced(EfficientFrontier(rng.uniform(0.0, 0.2, 6), root.T @ root))


def _program() -> Path:
    g = (np.array([1.0, -1.0]), np.array([-2.0, 3.0]))
    return traced(ParametricQP(np.eye(2), g=g, lb=-1.0, ub=1.0))


PATHS = {
    "lasso": _lasso,
    "frontier": _frontier,
    "program": _program,
    "hinge-theta": lambda: traced(HingeRamp(*blobs(), C=5.0, gamma=0.5, fit_intercept=True)),
    "hinge-s": lambda: traced(HingeRamp(*blobs(), C=5.0, path="s", gamma=0.5)),
    "lad-theta": lambda: traced(LADRamp(*line(), C=5.0, fit_intercept=True)),
    "lad-s": lambda: traced(LADRamp(*line(), C=5.0, path="s")),
    "unfinished": lambda: traced(
        HingeRamp(*blobs(), C=5.0, gamma=0.5, fit_intercept=True), max_breakpoints=5
    ),
    "one-row": lambda: traced(LADRamp([[1.0]], [2.0], C=1.0, kernel="linear")),
}


class Still(LossModel):
    """Nothing moves, and there is nowhere to go."""

    def __init__(self) -> None:
        self.gram, self.span = DenseGram(np.eye(2)), (0.5, 0.5)

    def polyline(self, t: Any) -> Any:
        return Slope("L", 1.0), Knot("E", 1.0), Slope("R", 0.0)


class Stairs(LossModel):
    """One coordinate after the other is passed by a jump: as many jumps as coordinates."""

    def __init__(self, n: int) -> None:
        self.gram, self.span = DenseGram(np.eye(n)), (-np.inf, n + 1.0)
        self.offset = np.arange(n) + 0.5

    def polyline(self, t: Any) -> Any:
        return (
            Slope("O", 0.0),
            Jump(t - self.offset + 0.5),
            Slope("L", 1.0),
            Knot("E", 1e4),
            Slope("R", 0.0),
        )


class Endless(LossModel):
    """A loss that falls for ever: there is no objective."""

    def __init__(self) -> None:
        self.gram, self.span = DenseGram(np.eye(3)), (0.0, 1.0)

    def polyline(self, t: Any) -> Any:
        return Slope("A", 2.0 + t), Knot("E", np.arange(3.0)), Slope("B", 1.0)


# ---------------------------------------------------------------------- any path


@pytest.mark.parametrize("name", PATHS)
def test_every_path_has_a_page(name):
    path = PATHS[name]()
    report = path.report()
    data = content(report)
    assert data["parameter"] == path.model.parameter
    assert data["start"][0] == path.traced[0]
    assert data["stop"][-1] == path.traced[1]
    assert path.ending in data["facts"]
    assert data["certificate"]["ok"] is True
    assert len(data["jumps"]) == data["jumpCount"] == len({jump.t for jump in path.jumps})
    assert len(data["table"]["rows"]) == min(200, path.problem.gram.size)
    assert len(report.html.encode()) < LIMIT
    assert "NaN" not in report.html
    assert "Infinity" not in json.dumps(data)


@pytest.mark.parametrize("name", PATHS)
def test_the_page_holds_what_the_path_says(name):
    path = PATHS[name]()
    data = content(path.report(certify=False))
    values = chart(data, "objective")["values"]
    sizes = chart(data, "sizes")["values"]
    names = path.problem.polylines.names
    for k in range(0, len(values), max(1, len(values) // 20)):
        t0, t1 = data["start"][k], data["stop"][k]
        middle = 0.5 * (t0 + t1)
        wanted = [path.objective(t0), path.objective(middle), path.objective(t1, "before")]
        if t0 == t1:
            wanted = [OnSegments(path).objective(k, t0)] * 3
        assert values[k] == pytest.approx(wanted, rel=1e-8, abs=1e-8)
        if t0 != t1:
            parts = path.partition(middle)
            assert {n: sizes[k][p] for p, n in enumerate(names) if n} == {
                n: rows.size for n, rows in parts.items()
            }


def test_rows_of_the_table_are_within_a_pixel_of_the_path_and_exact_at_its_jumps():
    path = PATHS["hinge-s"]()
    data = content(path.report(certify=False))
    table = data["table"]
    ends = np.stack([data["start"], data["stop"]], axis=1).ravel()
    for r, i in enumerate(table["rows"][:10]):
        curve = table["curves"]["response"][r]
        kept = np.cumsum(curve["i"])
        assert kept[0] == 0
        assert kept[-1] == ends.size - 1
        exact = np.array([path.problem.response(*_end(path, e))[i] for e in range(ends.size)])
        size = np.ptp(exact)
        assert curve["v"] == pytest.approx(exact[kept], abs=1e-4 * size + 1e-9)
        for jump in data["jumps"]:
            after = 2 * jump["k"]
            if abs(exact[after] - exact[after - 1]) > 1.1 * table["thin"] * size + 1e-9:
                assert {after, after - 1} <= set(kept.tolist())


def _end(path: Path, end: int) -> tuple[Any, Any]:
    k, late = divmod(end, 2)
    t = float((path.segments.stop if late else path.segments.start)[k])
    return OnSegments(path).alpha(k, t), OnSegments(path).b(k, t)


def test_a_thinned_curve_stays_within_its_tolerance():
    rng = np.random.default_rng(0)
    t = np.repeat(np.sort(rng.uniform(0.0, 1.0, 301)), 2)[1:-1]
    value = np.sin(6.0 * t)
    value[300:] += 2.0
    ends = thinned(t, value, 1e-3)
    assert ends.size < 120
    assert {299, 300} <= set(ends.tolist())
    for part in (slice(0, 300), slice(300, None)):
        kept = ends[np.isin(ends, np.arange(t.size)[part])]
        drawn = np.interp(t[part], t[kept], value[kept])
        assert np.abs(drawn - value[part]).max() <= 1e-3 * (1.0 + 1e-9)


def test_jumps_say_who_flipped_from_where_to_where():
    path = PATHS["hinge-s"]()
    data = content(path.report(certify=False))
    assert path.jumps
    known = path.problem.polylines.names
    for jump in data["jumps"]:
        here = [j for j in path.jumps if j.t == jump["t"]]
        flipped = {str(i) for j in here for i in j.flipped.tolist()}
        assert {name for name, _, _ in jump["flipped"]} == flipped
        before, after = path.partition(jump["t"], "before"), path.partition(jump["t"], "after")
        for name, came, went in jump["flipped"]:
            assert int(name) in after[known[went]]
            assert int(name) in before[known[came]]
        assert jump["before"] == pytest.approx(here[0].objective_before)
    margin = {"outlier", "inside the margin", "on the margin", "beyond the margin"}
    assert set(data["pieces"]) == {*margin, "on a jump"}
    assert data["noun"] == "row"


def test_a_path_without_jumps_has_none():
    data = content(PATHS["lasso"]().report())
    assert data["jumps"] == []
    assert data["jumpCount"] == 0


def test_five_hundred_jumps_are_all_marked():
    path = traced(Stairs(500))
    assert len(path.jumps) == 500
    report = path.report(certify=16)
    data = content(report)
    assert len(data["jumps"]) == 500
    assert len(report.html.encode()) < LIMIT
    assert data["certificate"]["words"].startswith("A sample of places")


def test_a_span_that_is_empty_is_a_path_of_one_point():
    path = traced(Still())
    data = content(path.report())
    assert data["start"] == data["stop"] == [0.5]
    assert "Its only point was recomputed" in data["certificate"]["words"]


def test_a_loss_without_a_least_value_has_no_curve_of_the_objective():
    data = content(traced(Endless()).report())
    assert [one["kind"] for one in data["charts"]] == ["sizes"]
    assert "loss_origin" in data["notes"][0]


def test_an_unfinished_path_says_so():
    path = PATHS["unfinished"]()
    assert not path.complete
    assert path.ending in content(path.report())["facts"]


def test_names_and_top():
    path = PATHS["lasso"]()
    n = path.problem.gram.size
    names = [f"gène {i} ☃" for i in range(n)]
    data = content(path.report("Ümlaut 数学", names=names, top=3))
    assert data["title"] == "Ümlaut 数学"
    assert len(data["table"]["rows"]) == 3
    assert set(data["table"]["names"]) <= set(names)
    assert f"3 of {n}" in data["table"]["text"]


@pytest.mark.parametrize("top", [0, -1, 2.5, True, "all"])
def test_top_must_be_a_positive_integer(top):
    with pytest.raises(PathError, match="top must be a positive integer"):
        PATHS["program"]().report(top=top)


def test_names_are_those_of_the_first_coordinates():
    path = PATHS["program"]()
    assert path.problem.gram.size == 2
    assert sorted(content(path.report(names=["a"]))["table"]["names"]) == ["1", "a"]
    with pytest.raises(PathError, match="3 names were given for 2 coordinates"):
        path.report(names=["a", "b", "c"])


# ---------------------------------------------------------------------- the certificate


def test_the_certificate_is_said_in_words():
    path = PATHS["hinge-theta"]()
    words = content(path.report())["certificate"]
    assert f"Every one of the {path.breakpoints.size} break-points" in words["words"]
    assert f"{path.certify().worst:.0e}" in words["words"]
    assert words["how"] == "path.certify()"
    assert {check["name"] for check in words["checks"]} == {c.name for c in path.certify().checks}
    assert all(check["words"] for check in words["checks"])


def test_a_path_that_fails_is_not_praised():
    import attrs

    path = PATHS["hinge-theta"]()
    spoiled = attrs.evolve(
        path, segments=attrs.evolve(path.segments, alpha_stop=path.segments.alpha_stop + 0.1)
    )
    words = content(spoiled.report())["certificate"]
    assert words["ok"] is False
    assert words["words"].startswith("NOT certified")
    assert "Do not rely" in words["words"]


def test_a_page_that_was_not_checked_says_so():
    words = content(PATHS["program"]().report(certify=False))["certificate"]
    assert words["ok"] is None
    assert "has been checked" in words["words"]


# ---------------------------------------------------------------------- estimators


def test_a_classifier_shows_its_rows():
    X, y = blobs(60)
    labels = np.where(y > 0, "yes ☀", "no")
    machine = RobustSVC(C=5.0, gamma=0.5).fit(X, labels)
    data = content(machine.report(X_names=["left", "right"]))
    columns = {column["title"]: column for column in data["table"]["columns"]}
    suspected = np.flatnonzero(machine.outlier_path_.share > 0.0)
    rows = data["table"]["rows"]
    assert set(rows) == set(suspected.tolist())
    ranking = machine.audit(top=None)["row"].tolist()
    assert rows == [i for i in ranking if i in set(rows)]
    assert columns["given label"]["cells"] == labels[rows].tolist()
    assert columns["suggested label"]["cells"] == machine.predict(X[rows]).tolist()
    assert columns["left"]["cells"] == pytest.approx(X[rows, 0].tolist(), rel=1e-5)
    assert f"{suspected.size} rows are outliers" in data["table"]["text"]
    assert data["mark"]["t"] == machine.t_
    assert chart(data, "line")["best"]["t"] == machine.validation_curve_.best.t
    assert data["certificate"]["how"] == "machine.path_.certify()"
    assert set(data["field"]["classes"]) == {"yes ☀", "no"}
    assert len(data["events"]["first"]) == 60
    # At theta = 1, where the path begins, no row is an outlier.
    assert "outlier for theta < 1" in data["pieces"]
    along_s = content(RobustSVC(C=5.0, gamma=0.5, path="s").fit(X, labels).report())
    assert "outlier" in along_s["pieces"]


def test_the_boundary_is_that_of_the_machine():
    import base64

    X, y = blobs(60)
    machine = RobustSVC(C=5.0, gamma=0.5, robustness=1.0).fit(X, y)
    field = content(machine.report())["field"]
    size = field["columns"] * field["lines"]
    frames = np.frombuffer(base64.b64decode(field["values"]), "<i2").reshape(-1, size)
    assert frames.shape[0] == len(field["frames"])
    across, up = (
        np.linspace(*field["x"], field["columns"]),
        np.linspace(*field["y"], field["lines"]),
    )
    grid = np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)
    last = machine.path_.decision_function(grid, 0.0)
    assert np.abs(frames[-1] * field["scale"] - last).max() <= field["scale"]
    first = machine.path_.decision_function(grid, 1.0, "before")
    assert np.abs(frames[0] * field["scale"] - first).max() <= field["scale"]


def test_a_regression_shows_residuals_and_its_curve():
    X, y = line(50)
    machine = RobustSVR(C=5.0, gamma=1.0).fit(X, y)
    data = content(machine.report())
    table = data["table"]
    titles = [column["title"] for column in table["columns"]]
    assert titles[1:3] == ["given target", "suggested target"]
    assert "residual" in table["curves"]
    assert data["field"]["kind"] == "curve"
    t, r = machine.path_.traced[1], table["rows"][0]
    assert table["curves"]["residual"][0]["v"][-1] == pytest.approx(
        y[r] - machine.path_.response(t)[r], rel=1e-3, abs=1e-3
    )


def test_cross_validation_shows_its_curve():
    X, y = blobs(60, d=3)
    machine = RobustSVCCV(Cs=(0.1, 1.0), cv=3, path="s").fit(X, y)
    data = content(machine.report(X_names=["a", "b", "c"]))
    assert chart(data, "line")["t"][0] == machine.path_.traced[0]
    assert data["field"] is None


def test_rows_as_the_user_knows_them():
    import pandas as pd

    X, y = blobs(60)
    machine = RobustSVC(C=5.0, gamma=0.5).fit((X - X.mean()) / 7.0, y)
    known = pd.DataFrame({"size": X[:, 0], "town": [f"town {i}" for i in range(60)]})
    known.loc[:, "size"] = known["size"].where(known.index % 2 == 0)
    report = machine.report(X=known, row_names=[f"line {i + 2}" for i in range(60)])
    data = content(report)
    columns = {column["title"]: column for column in data["table"]["columns"]}
    rows = data["table"]["rows"]
    assert data["table"]["names"] == [f"line {i + 2}" for i in rows]
    assert columns["town"]["cells"] == [f"town {i}" for i in rows]
    assert columns["town"]["kind"] == "text"
    assert columns["size"]["kind"] == "number"
    assert [cell is None for cell in columns["size"]["cells"]] == [i % 2 == 1 for i in rows]
    assert data["field"]["names"] == ["x0 as fitted", "x1 as fitted"]


def test_a_precomputed_kernel_has_no_features():
    X, y = blobs(30)
    machine = RobustSVC(kernel="precomputed", C=1.0, robustness=0.5).fit(X @ X.T, y)
    data = content(machine.report())
    assert data["field"] is None
    assert all(column["title"] != "x0" for column in data["table"]["columns"])
    with pytest.raises(ModelError, match="has no features"):
        machine.report(X_names=["a"])


def test_sparse_rows():
    import scipy.sparse as sp

    X, y = blobs(30, d=4)
    X[np.abs(X) < 0.7] = 0.0
    machine = RobustSVC(kernel="linear", robustness=0.5).fit(sp.csr_matrix(X), y)
    data = content(machine.report())
    column = next(c for c in data["table"]["columns"] if c["title"] == "x2")
    assert column["cells"] == pytest.approx(X[data["table"]["rows"], 2].tolist(), rel=1e-5)


def test_nobody_suspected():
    X = np.array([[-2.0], [-1.5], [-1.0], [1.0], [1.5], [2.0]])
    machine = RobustSVC(kernel="linear", robustness=1.0).fit(X, [0, 0, 0, 1, 1, 1])
    data = content(machine.report())
    assert "No row is an outlier anywhere" in data["table"]["text"]
    assert len(data["table"]["rows"]) == 6


def test_the_table_is_limited_and_says_of_how_many():
    X, y = blobs(80)
    machine = RobustSVC(C=5.0, gamma=0.5, robustness=1.0).fit(X, y)
    data = content(machine.report(top=4))
    assert len(data["table"]["rows"]) == 4
    assert "the 4 most suspicious are shown" in data["table"]["text"]
    with pytest.raises(ModelError, match="top must be a positive integer"):
        machine.report(top=0)


def test_wrong_names_and_rows_are_refused():
    X, y = blobs(30)
    machine = RobustSVC(robustness=0.5).fit(X, y)
    with pytest.raises(ModelError, match="1 names in X_names for 2 features"):
        machine.report(X_names=["a"])
    with pytest.raises(ModelError, match="the 30 rows of the fit"):
        machine.report(X=X[:5])
    with pytest.raises(ModelError, match="3 row_names for 30 rows"):
        machine.report(row_names=["a", "b", "c"])


def test_the_page_begins_at_the_machine_and_on_its_side():
    X, y = blobs(60)
    machine = RobustSVC(C=5.0, gamma=0.5, path="s", robustness={"s": -0.5}).fit(X, y)
    jump = machine.path_.jumps[1].t
    assert content(machine.at({"s": jump}).report(certify=False))["mark"]["side"] == "after"
    start = machine.path_.traced[0]
    mark = content(machine.at({"s": start - 1.0}).report(certify=False))["mark"]
    assert mark["t"] == start
    assert mark["side"] == "before"


# ---------------------------------------------------------------------- text stays text


def test_nothing_of_the_user_is_markup():
    X, y = blobs(60)
    labels = np.where(y > 0, "</script><b>", "<!--<script>")
    machine = RobustSVC(C=5.0, gamma=0.5).fit(X, labels)
    rows = [f"<img src=x onerror=alert({i})>" for i in range(60)]
    report = machine.report(SCRIPT, X_names=[SCRIPT, "]]>&amp;\u2028"], row_names=rows)
    page = report.html
    assert page.count("<script") == 2
    assert page.count("</script>") == 2
    assert "<img" not in page
    assert "<!--" not in page
    assert "<b>" not in page
    assert f"<title>{html.escape(SCRIPT)}</title>" in page
    data = content(report)
    assert data["title"] == SCRIPT
    assert data["table"]["columns"][-2]["title"] == SCRIPT
    assert data["table"]["columns"][-1]["title"] == "]]>&amp;\u2028"
    assert set(data["field"]["classes"]) == {"</script><b>", "<!--<script>"}


def test_marks_of_the_frame_in_names_are_left_alone():
    data = content(PATHS["program"]().report("@@DATA@@ @@SCRIPT@@"))
    assert data["title"] == "@@DATA@@ @@SCRIPT@@"


def test_the_page_asks_for_nothing():
    page = PATHS["program"]().report().html
    assert "default-src 'none'" in page
    assert not re.search(r"(?:src|href)\s*=", page)
    assert not re.search(r"\b(?:fetch|XMLHttpRequest|import)\s*\(", page)
    assert "innerHTML" not in page
    assert "eval(" not in page


def test_a_notebook_shows_a_frame():
    report = PATHS["program"]().report('a "title" <b>')
    frame = report._repr_html_()
    assert frame.startswith("<iframe srcdoc=")
    assert frame.endswith("</iframe>")
    inside = re.fullmatch(r'<iframe srcdoc="([^"]*)" title="([^"]*)" .*', frame, re.S)
    assert inside is not None
    assert html.unescape(inside[1]) == report.html
    assert html.unescape(inside[2]) == 'a "title" <b>'


def test_half_a_pair_of_surrogates_is_written(tmp_path):
    report = PATHS["program"]().report("broken \ud800 name")
    report.write_html(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text("utf-8")


# ---------------------------------------------------------------------- files


def test_a_page_is_written_whole(tmp_path):
    report = PATHS["program"]().report()
    file = tmp_path / "page.html"
    file.write_text("old")
    report.write_html(file)
    assert file.read_text("utf-8") == report.html
    assert os.listdir(tmp_path) == ["page.html"]
    assert "MB of HTML" in repr(report)


def test_a_folder_that_is_missing_is_named(tmp_path):
    with pytest.raises(PathError, match="there is no folder"):
        PATHS["program"]().report().write_html(tmp_path / "nowhere" / "page.html")
    with pytest.raises(PathError):
        PATHS["program"]().report().write_html(tmp_path)


def test_open_shows_a_file(monkeypatch):
    shown = []
    monkeypatch.setattr(webbrowser, "open", lambda url: shown.append(url) or True)
    report = PATHS["program"]().report()
    name = report.open()
    try:
        assert shown == [File(name).as_uri()]
        assert File(name).read_text("utf-8") == report.html
    finally:
        os.unlink(name)


def test_without_a_browser_open_says_where_the_file_is(monkeypatch):
    monkeypatch.setattr(webbrowser, "open", lambda url: False)
    with pytest.raises(PathError, match=r"no browser could be started; open (.*) in one") as error:
        PATHS["program"]().report().open()
    os.unlink(re.search(r"open (\S+) in one", str(error.value))[1])


# ---------------------------------------------------------------------- size


@pytest.mark.parametrize("n", [500, pytest.param(2000, marks=pytest.mark.slow)])
def test_many_rows_features_and_break_points_stay_small(n):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 60))
    y = np.where(X @ rng.standard_normal(60) + 3.0 * rng.standard_normal(n) > 0.0, 1, -1)
    flipped = rng.choice(n, n // 5, replace=False)
    y[flipped] = -y[flipped]
    machine = RobustSVC(kernel="linear", C=0.05, robustness=0.5).fit(X, y)
    assert machine.path_.breakpoints.size > n
    names = [f"a feature with a long name, number {j}" for j in range(60)]
    report = machine.report(X_names=names, certify=False)
    data = content(report)
    assert len(data["start"]) <= 3000
    assert len(data["table"]["rows"]) == min(200, np.sum(machine.outlier_path_.share > 0.0))
    assert len(report.html.encode()) < LIMIT


def test_jumps_that_are_not_marked_are_steps_all_the_same():
    path = traced(Stairs(40))
    data = content(path_content(path, certify=False, sizes=PageSizes(jumps=5)).report())
    assert len(data["jumps"]) == 5
    assert data["jumpCount"] == 40
    assert any("Only the 5 largest of 40 jumps" in note for note in data["notes"])
    values = chart(data, "objective")["values"]
    for k in (3, 17, 33):
        assert values[k][0] == pytest.approx(
            OnSegments(path).objective(k, data["start"][k]), rel=1e-12
        )
        assert values[k][0] < values[k - 1][2]


def test_segments_are_joined_only_where_there_are_very_many():
    path = PATHS["hinge-theta"]()
    whole = Samples.of(path)
    assert whole.whole
    few = PageSizes(stretches=6, least=6)
    some = Samples.of(path, few)
    assert len(some) <= 7 < len(whole)
    assert some.start[0] == path.traced[0]
    assert some.stop[-1] == path.traced[1]
    assert np.array_equal(some.stop[:-1], some.start[1:])
    for site in some.sites:
        assert site.after in some.first
    data = content(path_content(path, certify=False, sizes=few).report())
    assert any("neighbours are joined" in note for note in data["notes"])
    for k, three in enumerate(chart(data, "objective")["values"]):
        assert three[0] == pytest.approx(
            OnSegments(path).objective(int(some.first[k]), data["start"][k])
        )
    assert chart(data, "sizes")["values"][-1] == whole.counts()[-1].tolist()
