"""Numbers on pages are those of benchmarks/results/, and `make numbers` can be stopped."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Behind the tests themselves: some modules share a name.
sys.path += [str(ROOT / "benchmarks"), str(ROOT / "docs")]

import _facts  # noqa: E402
import _measure  # noqa: E402
import _tables  # noqa: E402
import results  # noqa: E402
import run_all  # noqa: E402

FILES = sorted((ROOT / "benchmarks" / "results").rglob("*.json"))
# The source distribution leaves the results out, and with them what the pages are made of.
pytestmark = pytest.mark.skipif(
    not FILES and not (ROOT / ".git").exists(), reason="no results in a source distribution"
)
SPEED = {
    "machine": {"cpu": "a processor", "cores": 2, "versions": {"python": "3.11"}},
    "run": {"commit": "abc1234", "date": "2026-01-01", "command": "python x.py", "quick": False},
    "rows": [
        {"data": "d", "kernel": "rbf", "path": "theta", "C": 1.0, "ours/libsvm": 2.0},
        {"data": "d", "kernel": "rbf", "path": "theta", "C": 1.0, "ours/libsvm": 8.0},
        {"data": "d", "kernel": "linear", "path": "s", "C": 1.0, "ours/libsvm": ">32"},
    ],
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Results of a test's own."""
    monkeypatch.setattr(_tables, "RESULTS", tmp_path)
    monkeypatch.setattr(run_all, "RESULTS", tmp_path)
    _tables.result.cache_clear()
    yield tmp_path
    _tables.result.cache_clear()


def put(folder: Path, **changed: object) -> None:
    run = SPEED["run"] | changed
    (folder / "speed.json").write_text(json.dumps(SPEED | {"run": run}))


def test_every_page_shows_the_tables_and_facts_of_the_results():
    old = [str(page.relative_to(ROOT)) for page in results.out_of_date()]
    assert old == [], "run: python docs/results.py --write"


def test_a_number_changed_by_hand_is_noticed(folder):
    put(folder)
    page = results.rendered("# Page\n\n<!-- numbers:speed -->\n<!-- /numbers:speed -->\n")
    assert "| θ-path | 4.00 | – | 4.00 | 2 |" in page
    assert results.rendered(page) == page
    forged = page.replace("4.00", "1.00")
    assert results.rendered(forged) == page != forged


def test_bounds_stay_bounds_and_the_slowest_is_named(folder):
    put(folder)
    text = _tables.TABLES["speed"]()
    assert "| s-path | – | >32.0 | >32.0 | 1 |" in text
    assert "1 of them take more than 8 fits, the slowest >32.0 (d, linear, C = 1, along s)" in text


def test_a_table_says_commit_machine_command_and_that_a_run_was_quick(folder):
    put(folder, quick=True, load=1.5, note="Told")
    last = _tables.TABLES["speed"]().splitlines()[-1]
    for part in ("abc1234", "2026-01-01", "a processor, 2 cores", "Python 3.11", "load 1.5",
                 "`python x.py`", "**A quick run**", "Told"):  # fmt: skip
        assert part in last


def test_what_was_not_measured_says_so(folder):
    assert _tables.TABLES["speed"]() == (
        "*Not measured yet: `make numbers DATA=DIR` writes `benchmarks/results/speed.json`.*"
    )


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("<!-- numbers:nonsense -->\n<!-- /numbers:nonsense -->\n", "no table is called"),
        ("<!-- numbers:speed -->\n", "not opened and closed"),
        ("<!-- numbers:speed -->\n<!-- /numbers:cliff -->\n", "not opened and closed"),
    ],
)
def test_a_marker_that_asks_for_nothing_is_an_error(text, error):
    with pytest.raises((KeyError, ValueError), match=error):
        results.rendered(text)


def test_every_table_can_be_made():
    for name, make in _tables.TABLES.items():
        text = make()
        assert "nan" not in text, name
        assert text.startswith(("|", "*")), name
        rows = [line for line in text.splitlines() if line.startswith("|")]
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in rows}) <= 1, name


# ---------------------------------------------------------------------- inside sentences


def fact(name: str, shown: str = "") -> str:
    return f"<!-- fact:{name} -->{shown}<!-- /fact -->"


def test_a_fact_is_written_into_its_sentence(folder):
    put(folder)
    page = results.rendered(
        f"It takes {fact('speed_theta', '7')} fits along θ,\n"
        f"- about {fact('speed_s_over_theta')} times that along s, {fact('speed_most')}.\n"
    )
    assert page == (
        f"It takes {fact('speed_theta', '4.0')} fits along θ,\n"
        f"- about {fact('speed_s_over_theta', '8.0')} times that along s, "
        f"{fact('speed_most', '>32 in the worst case (d, linear, C = 1, along s)')}.\n"
    )
    assert results.rendered(page) == page


def test_a_fact_that_was_not_measured_says_so(folder):
    assert results.rendered(f"It takes {fact('speed_theta', '2.0')} fits.") == (
        f"It takes {fact('speed_theta', '*(not measured yet)*')} fits."
    )
    (folder / "speed.json").write_text(json.dumps(SPEED | {"rows": SPEED["rows"][:2]}))
    _tables.result.cache_clear()
    assert _facts.FACTS["speed_theta"]() == "4.0"
    assert _facts.FACTS["speed_s"]() == _facts.MISSING


def test_no_fact_fails_on_results_without_rows(folder):
    for file in FILES:
        found = json.loads(file.read_text())
        bare = {k: [] if isinstance(v, list) else v for k, v in found.items() if " | " not in k}
        new = folder / file.relative_to(ROOT / "benchmarks" / "results")
        new.parent.mkdir(exist_ok=True)
        new.write_text(json.dumps(bare))
    for name, make in _facts.FACTS.items():
        assert make() == _facts.MISSING, name


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (f"takes {fact('nonsense')} fits", "no fact is called 'nonsense'; there are"),
        ("takes <!-- fact:speed_s -->3 fits", "fact:speed_s --> is not opened and closed"),
        ("takes <!-- fact:speed_s -->3\n<!-- /fact --> fits", "not opened and closed on one line"),
        ("takes 3<!-- /fact --> fits", "/fact --> is not opened and closed"),
        (f"takes <!-- fact:speed_s -->3 {fact('speed_s')}", "is not opened and closed"),
        ("takes <!-- fact: speed_s -->3<!-- /fact -->", "is not opened and closed"),
        (f"takes\n{fact('speed_s')} fits", "speed_s --> is at the beginning of a line"),
        (f"- takes\n  {fact('speed_s')} fits", "at the beginning of a line"),
        (f"- {fact('speed_s')} fits", "at the beginning of a line"),
    ],
)
def test_a_fact_that_cannot_be_written_is_an_error(text, error):
    with pytest.raises((KeyError, ValueError), match=error):
        results.rendered(text)


def test_every_fact_is_short_and_used_by_some_page():
    text = "".join(page.read_text() for page in results.pages())
    asked = {place["name"] for place in results.FACT.finditer(text)}
    assert asked == set(_facts.FACTS)
    for name, make in _facts.FACTS.items():
        shown = make()
        assert re.fullmatch(r"[^\n<>|]{1,120}|>\d[^\n<>|]*", shown), (name, shown)
        assert "nan" not in shown.split(), name


def test_no_ratio_or_time_is_typed_into_a_sentence():
    """Of what goes stale most often; code, tables, facts and what papers print are left out."""
    typed = re.compile(
        r"\d[\d.]*( to [\d.]+)? (times as|(libsvm )?fits\b|of our time|of its time|ms\b|"
        r"milliseconds|GB\b|MB\b)|\b1/\d+ of (the|our|its) time"
    )
    found = []
    for page in results.pages():
        if page.parent.name == "benchmarks":
            continue
        text = results.FACT.sub("", results.PLACE.sub("", page.read_text()))
        text = re.sub(r"^```.*?^```$|`[^`\n]*`", "", text, flags=re.M | re.S)
        found += [f"{page.name}: {place[0]}" for place in typed.finditer(text)]
    assert found == []


@pytest.mark.parametrize("page", ["benchmarks/README.md", "docs/performance.md"])
def test_nothing_measured_stands_outside_of_the_markers(page):
    text = results.PLACE.sub("", (ROOT / page).read_text())
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert [line for line in rows if re.search(r"\d\.\d", line)] == []
    assert "```text" not in text


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_result_says_where_it_is_from(file):
    run = json.loads(file.read_text())["run"]
    assert re.fullmatch(r"[0-9a-f]{7,10}", run["commit"]), "run from a clean checkout"
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", run["date"])
    assert run["command"].startswith("python benchmarks/")
    assert "/" not in run["command"].removeprefix("python benchmarks/"), "folders are not named"


def test_the_papers_page_is_made_of_its_results():
    from _paper_report import page

    folder = ROOT / "benchmarks" / "results" / "paper"
    rows = json.loads((folder / "paper.json").read_text())["rows"]
    assert "\n".join(page(rows)) + "\n" == (folder / "paper.md").read_text()


def test_every_benchmark_is_run_by_make_numbers_and_has_a_quick_size():
    scripts = {file.stem for file in (ROOT / "benchmarks").glob("[a-z]*.py")}
    # The first is the runner; the second makes the trees of the audit, and no numbers.
    scripts -= {"run_all", "audit_learn"}
    assert {benchmark.source.stem for benchmark in run_all.BENCHMARKS} == scripts
    for name in scripts:
        text = (ROOT / "benchmarks" / f"{name}.py").read_text()
        assert re.search(r'= parser\(|parse\(parser\(|"--quick"', text), name
        assert "quick" in text.lower(), name


def test_what_is_shared_with_others_is_no_name_of_the_standard_library():
    names = {file.stem for file in (ROOT / "benchmarks").glob("*.py")}
    assert names & sys.stdlib_module_names == set()


# ---------------------------------------------------------------------- stopped and taken up


def test_kept_rows_are_not_measured_again_and_a_line_cut_off_is_left_out(tmp_path, monkeypatch):
    kept = _measure.Kept()
    kept.open(tmp_path / "kept")
    kept.add(["parts", {"n": 3}, 1.0], {"path": {"seconds": 2.0}})
    with (tmp_path / "kept").open("a") as stream:
        stream.write('["[\\"parts\\", {\\"n\\": 4}, 1.0]", {"pa')
    again = _measure.Kept()
    again.open(tmp_path / "kept")
    assert len(again.found) == 1
    monkeypatch.setattr(_measure, "KEPT", again)

    def parts(spec):
        raise AssertionError("measured again")

    found = _measure.measure(parts, {"n": 3, "folder": "anywhere"}, limit=1.0)
    assert found == {"path": {"seconds": 2.0}}


LIMITED = """
import json, os, sys, time
sys.path.insert(0, {benchmarks!r})
from _measure import measure


def setup(spec):
    def spin(known):
        while True:
            pass

    def wait(known):
        time.sleep(1.0)
        return {{"seconds": 0.0}}

    def end(known):
        os._exit(3)

    return {{"spin": spin, "wait": wait, "end": end}}


if __name__ == "__main__":
    print(json.dumps(measure(setup, {{}}, limit=0.5)))
"""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="seconds of a child: Linux only")
def test_limits_are_seconds_of_the_processor_and_the_other_parts_go_on(tmp_path):
    script = tmp_path / "limited.py"
    script.write_text(LIMITED.format(benchmarks=str(ROOT / "benchmarks")))
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    found = json.loads(done.stdout)
    assert found["spin"] == {"over": 0.5}
    assert found["wait"] == {"seconds": 0.0}
    assert "code 3" in found["end"]["error"]


TOY = """
import sys
sys.path.insert(0, {benchmarks!r})
from _measure import KEPT, parse, parser, write_json
chosen = parse(parser("toy", limit=20.0, quick_limit=20.0))
rows = []
for k in range(3):
    row = KEPT.find(k)
    if row is None:
        if k == 2 and not KEPT.found:
            sys.exit("stopped")
        row = {{"k": k, "begun": len(KEPT.found)}}
        KEPT.add(k, row)
    rows.append(row)
write_json(chosen.json, rows=rows)
"""


def test_a_run_that_was_stopped_goes_on_and_replaces_the_result_only_at_its_end(
    folder, monkeypatch, capfd
):
    scripts = folder / "scripts"
    scripts.mkdir()
    (scripts / "toy.py").write_text(TOY.format(benchmarks=str(ROOT / "benchmarks")))
    monkeypatch.setattr(run_all, "HERE", scripts)
    monkeypatch.setattr(run_all, "is_current", lambda benchmark, commit: commit is not None)
    toy = run_all.Benchmark("toy", 0.1, data=False, resumes="--kept")
    toy.file.write_text("{}")
    assert not run_all.run(toy, None, folder / "out", quick=False)
    assert toy.file.read_text() == "{}"
    assert "its result is not used" in capfd.readouterr().err
    assert run_all.run(toy, None, folder / "out", quick=False)
    rows = json.loads(toy.file.read_text())["rows"]
    assert [row["begun"] for row in rows] == [0, 0, 2]
    assert not (folder / "out" / "full" / "toy.kept").exists()


def test_what_is_up_to_date_is_not_run_and_a_quick_run_replaces_no_full_one(folder, monkeypatch):
    speed = next(b for b in run_all.BENCHMARKS if b.name == "speed")
    monkeypatch.setattr(run_all, "is_current", lambda benchmark, commit: commit == "abc1234")
    assert run_all.state(speed, quick=False) == ""
    put(folder)
    assert "up to date" in run_all.state(speed, quick=False)
    assert "is kept" in run_all.state(speed, quick=True)
    put(folder, commit="fff0000")
    assert run_all.state(speed, quick=False) == ""
    put(folder, transcribed=True)
    assert run_all.state(speed, quick=False) == ""
    put(folder, quick=True)
    assert run_all.state(speed, quick=False) == ""
    assert "up to date" in run_all.state(speed, quick=True)


def test_a_change_of_what_is_measured_makes_a_result_old():
    def git(*words):
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)

    first = git("rev-list", "--max-parents=0", "HEAD")
    if first.returncode != 0:
        pytest.skip("not a checkout")
    speed = next(b for b in run_all.BENCHMARKS if b.name == "speed")
    assert not run_all.is_current(speed, first.stdout.split()[0])
    assert not run_all.is_current(speed, "abc1234+")
    assert not run_all.is_current(speed, None)


def test_comments_and_docstrings_leave_a_result_up_to_date(tmp_path, monkeypatch):
    engine = tmp_path / "homotopy" / "engine.py"
    script = tmp_path / "benchmarks" / "toy.py"
    for file in (engine, script):
        file.parent.mkdir()
        file.write_text('def one():\n    """Return 1."""\n    return 1\n')

    def git(*words):
        author = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        done = subprocess.run(["git", *author, *words], cwd=tmp_path, capture_output=True)
        assert done.returncode == 0, done.stderr

    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "first")
    monkeypatch.setattr(run_all, "ROOT", tmp_path)
    monkeypatch.setattr(run_all, "HERE", script.parent)
    toy = run_all.Benchmark("toy", 1)
    commit = run_all.git("rev-parse", "--short=10", "HEAD").strip()
    assert run_all.is_current(toy, commit)
    engine.write_text('# Why.\ndef one():\n    """Return one."""\n\n    return 1  # always\n')
    assert run_all.is_current(toy, commit)
    engine.write_text('def one():\n    """Return 1."""\n    return 1.0\n')
    assert not run_all.is_current(toy, commit)
    git("checkout", "-q", "homotopy")
    command = tmp_path / "plugins" / "homotopy_plugins" / "cli" / "app.py"
    command.parent.mkdir(parents=True)
    command.write_text("")
    git("add", ".")
    assert run_all.is_current(toy, commit)
    (engine.parent / "table.json").write_text("{}")
    git("add", ".")
    assert not run_all.is_current(toy, commit)
