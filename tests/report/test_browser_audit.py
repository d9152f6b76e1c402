"""The page of an audit in a real browser: what a person sees, decides and takes away."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path as File
from typing import Any

import attrs
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from test_browser import browser, window  # noqa: F401

from homotopy_plugins import AuditReport, audit
from homotopy_plugins.auditing.groups import Group

SCRIPT = "<script>document.title = 'taken over'</script>"


@pytest.fixture(scope="module")
def report() -> AuditReport:
    rng = np.random.default_rng(0)
    y = np.arange(160) % 2
    X = pd.DataFrame(
        {
            "height": 170.0 + 12.0 * (2 * y - 1) + 4.0 * rng.standard_normal(160),
            SCRIPT: rng.standard_normal(160),
            "town": rng.choice(["Kyiv", "Oslo"], 160),
        },
        index=pd.Index(np.arange(2, 162), name="line"),
    )
    given = y.copy()
    given[:12] = 1 - y[:12]
    return audit(X, np.array(["short", "tall <b>"])[given], model=LogisticRegression(), cv=3)


@pytest.fixture(scope="module")
def hopeless() -> AuditReport:
    rng = np.random.default_rng(0)
    return audit(rng.standard_normal((200, 3)), rng.integers(0, 2, 200), model=False, cv=3)


@pytest.fixture(scope="module")
def amounts() -> AuditReport:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 3))
    y = X @ [1.0, -2.0, 0.5] + 0.2 * rng.standard_normal(150)
    y[:8] += 6.0
    return audit(X, y, model=False, cv=3)


@pytest.fixture
def show(window, report, tmp_path) -> Iterator[Any]:  # noqa: F811
    complaints: list[str] = []
    asked: list[str] = []
    file = tmp_path / "audit.html"
    page = window.new_page()
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))

    def opened(width: int = 1280, shown: AuditReport = report, **media: Any) -> Any:
        shown.write_html(file)
        page.set_viewport_size({"width": width, "height": 900})
        if media:
            page.emulate_media(**media)
        page.goto(file.as_uri())
        page.wait_for_selector("#list .entry")
        return page

    yield opened
    assert complaints == []
    assert all(url.startswith(("file:", "blob:")) for url in asked)


def names(page: Any) -> list[str]:
    return page.locator("#list .entry b").all_inner_texts()


def exported(page: Any, folder: File) -> list[dict[str, str]]:
    with page.expect_download() as waiting:
        page.click("#export")
    waiting.value.save_as(folder / "decisions.csv")
    return list(csv.DictReader(io.StringIO((folder / "decisions.csv").read_text())))


def reload(page: Any) -> None:
    """Reload with what the page stored.

    Chromium keeps it in another process and under load loses it now and then, so it is put back
    before the page's own script runs.
    """
    stored = page.evaluate("({ ...localStorage })")
    page.add_init_script(f"Object.assign(localStorage, {json.dumps(stored)})")
    page.reload()
    page.wait_for_selector("#list .entry")


def test_it_shows_what_the_report_says(show, report):
    page = show()
    assert page.title() == "Which rows are wrong?"
    assert page.inner_text("#sentence") == report.sentence
    assert page.inner_text("#trust") == report.trust
    named = [str(name) for name in report.issues().index]
    assert names(page) == named
    # The first row is chosen, and its own values are there, as text.
    assert page.inner_text("#row h2").startswith(f"Line {named[0]}: labelled ")
    assert SCRIPT in page.inner_text("#row table")
    height = report.shown.sources[0][1].loc[int(named[0])]
    assert f"{height:.5g}" in page.inner_text("#row table")
    page.select_option("#which", "all")
    assert len(names(page)) == 160


def test_on_a_laptop_nothing_is_cut_off(show):
    page = show(width=1280)
    cut = "cells => cells.filter(c => c.scrollWidth > c.clientWidth).map(c => c.textContent)"
    assert page.locator("#row td.among").evaluate_all(cut) == []
    assert page.locator("#row .scroll").evaluate("box => box.scrollWidth <= box.clientWidth")


def test_many_groups_do_not_hide_the_rows(show, report):
    group = Group(np.arange(5), "short", "tall", 20, 0.9, 0.8, ("height 150 to 160",))
    page = show(shown=attrs.evolve(report, groups=(group,) * 43))
    assert page.locator("#groups > ul li").count() == 5
    more = page.locator("#groups details")
    assert more.locator("summary").inner_text() == "38 more groups"
    assert not more.locator("li").first.is_visible()
    more.locator("summary").click()
    assert more.locator("li").first.is_visible()


def test_filters_sorting_and_search(show, report):
    page = show()
    page.select_option("#which", "all")
    page.select_option("#class", "short")
    frame = report.to_frame()
    assert len(names(page)) == int((frame["given_label"] == "short").sum())
    page.select_option("#class", "")
    page.select_option("#sort", "row")
    assert names(page) == [str(line) for line in range(2, 162)]
    page.fill("#search", "town Oslo")
    towns = report.shown.sources[2][1]
    assert len(names(page)) == int((towns == "Oslo").sum())
    page.fill("#search", "nothing is like that")
    assert names(page) == []
    assert "No rows match" in page.inner_text("#list")


def test_keys_decide_and_the_browser_keeps_it(show, report, tmp_path):
    page = show()
    first = names(page)
    for key in ("w", "r", "u", "j", "w", "x"):
        page.keyboard.press(key)
    assert page.locator("#list .mark").all_inner_texts() == ["wrong", "right", "unsure", "wrong"]
    assert "2 wrong, 1 right, 1 unsure" in page.inner_text("#count")
    reload(page)
    rows = exported(page, tmp_path)
    assert [row["line"] for row in rows] == [first[0], first[1], first[2], first[4]]
    assert [row["decision"] for row in rows] == ["wrong", "right", "unsure", "wrong"]
    frame = report.to_frame()
    for row in rows:
        here = frame.loc[int(row["line"])]
        assert row["given"] == here["given_label"]
        right = here["predicted_label"] if row["decision"] == "wrong" else ""
        assert row["corrected"] == right
    page.select_option("#which", "open")
    assert first[0] not in names(page)
    page.click("#clear")
    assert "2 wrong" in page.inner_text("#count")
    page.click("#clear")
    assert page.inner_text("#count") == "no decisions yet"


def test_where_nothing_can_be_said_there_is_an_order_and_no_chance(show, hopeless):
    page = show(shown=hopeless)
    assert "We cannot say how many" in page.inner_text("#sentence")
    assert page.inner_text("#trust").startswith("Red: no estimate is given")
    assert len(names(page)) == 200
    assert "likely to be wrong" not in page.inner_text("#row")
    assert "undefined" not in page.inner_text("body")
    assert not page.is_visible("#group")


def test_a_target_has_a_value_and_no_label(show, amounts, tmp_path):
    page = show(shown=amounts)
    assert names(page) == [str(row) for row in amounts.issues()["row"]]
    assert not page.is_visible("#class")
    assert ", expected about " in page.inner_text("#row h2")
    assert page.input_value("#corrected") == ""
    page.keyboard.press("w")
    assert exported(page, tmp_path)[0]["corrected"] == ""


def test_the_right_label_is_never_the_one_it_has(show, report, tmp_path):
    columns = report.columns | {"predicted_label": report.columns["given_label"]}
    page = show(shown=attrs.evolve(report, columns=columns))
    page.keyboard.press("w")
    (kept,) = exported(page, tmp_path)
    assert {kept["given"], kept["corrected"]} == {"short", "tall <b>"}


def test_a_label_of_ones_own(show, tmp_path):
    page = show()
    page.fill("#corrected", 'a, "third"')
    page.keyboard.press("Enter")
    assert exported(page, tmp_path)[0]["corrected"] == 'a, "third"'
    # Letters that are typed into a field decide nothing.
    page.fill("#search", "")
    page.locator("#search").press_sequentially("wru")
    assert "1 wrong, 0 right, 0 unsure" in page.inner_text("#count")


def test_buttons_do_what_keys_do(show):
    page = show()
    page.click('#decide button[data-kind="right"]')
    assert page.locator("#list .mark").all_inner_texts() == ["right"]
    assert page.get_attribute('#decide button[data-kind="right"]', "aria-pressed") == "true"
    page.click('#decide button[data-kind="right"]')
    assert page.locator("#list .mark").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_narrow_screen(show, scheme):
    page = show(width=400, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(255, 255, 255)") == (scheme == "light")
    page.click("#list .entry:nth-child(3)")
    assert page.inner_text("#row h2").startswith(f"Line {names(page)[2]}: ")
