"""The page in a real browser: what a reader sees and does."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path as File
from typing import Any

import numpy as np
import pytest

from homotopy import Homotopy
from homotopy.report import Report
from homotopy_plugins import HingeRamp, Lasso, RobustSVC, RobustSVR

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
OPTIONS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
SCRIPT = "<script>document.title = 'taken over'</script>"
# Waiting is for loaded machines; nothing here is timed.
PATIENCE = 120_000

Show = Callable[..., Any]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if program is None:
        pytest.skip(f"no browser is installed; one of {', '.join(BROWSERS)} is needed")
    with api.sync_playwright() as play:
        started = play.chromium.launch(
            executable_path=program, headless=True, args=list(OPTIONS), timeout=PATIENCE
        )
        yield started
        started.close()


@pytest.fixture
def window(browser) -> Iterator[Any]:
    """A browser window of the test's own: no other test sees what its pages store."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(PATIENCE)
    yield context
    context.close()


@pytest.fixture
def show(window, tmp_path) -> Iterator[Show]:
    """Open a report; whatever the page complains about fails the test."""
    complaints: list[str] = []
    asked: list[str] = []
    pages = []

    def opened(report: Report, width: int = 1280, **media: Any) -> Any:
        file = tmp_path / f"page{len(pages)}.html"
        report.write_html(file)
        page = window.new_page()
        pages.append(page)
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: (complaints.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda request: asked.append(request.url))
        page.set_viewport_size({"width": width, "height": 900})
        if media:
            page.emulate_media(**media)
        page.goto(file.as_uri())
        page.wait_for_selector("#table tbody tr, #jump-list tr", state="attached")
        return page

    yield opened
    for page in pages:
        page.close()
    assert complaints == []
    assert all(url.startswith("file:") for url in asked)
    assert len(asked) == len(pages)


@pytest.fixture(scope="module")
def machine() -> RobustSVC:
    rng = np.random.default_rng(3)
    y = np.where(np.arange(80) % 2 == 0, 1, -1)
    X = rng.standard_normal((80, 2)) + 0.9 * y[:, None]
    wrong = rng.choice(80, 12, replace=False)
    y[wrong] = -y[wrong]
    return RobustSVC(C=5.0, gamma=0.7, path="s", robustness={"s": -0.5}).fit(
        X, np.where(y > 0, "a", "b")
    )


@pytest.fixture(scope="module")
def report(machine) -> Report:
    return machine.report("A machine", X_names=["left", SCRIPT])


def settled(page: Any) -> None:
    """Two frames later everything that was asked for is drawn."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)))")
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)))")


def go(page: Any, t: float) -> None:
    page.fill("#t", repr(t))
    page.press("#t", "Enter")
    settled(page)


def place(page: Any) -> float:
    page.evaluate("document.activeElement.blur()")
    settled(page)
    assert float(page.input_value("#t")) == pytest.approx(float(page.get_attribute("#t", "title")))
    return float(page.get_attribute("#t", "title"))


def number(text: str) -> float:
    return float(text.replace("−", "-"))


def column(page: Any, title: str) -> list[str]:
    heads = page.locator("#table thead th").all_inner_texts()
    k = next(i for i, head in enumerate(heads) if head.split("\n")[0].strip() == title)
    return page.locator(f"#table tbody tr:visible td:nth-child({k + 1})").all_inner_texts()


def shown(page: Any, title: str) -> float:
    """The number beside the heading of a chart."""
    return number(page.locator(".chart h2", has_text=title).locator("b").inner_text())


def test_it_loads_without_a_word_in_the_console(show, report):
    page = show(report)
    assert page.title() == "A machine"
    assert page.locator(".chart svg").count() == len(report.content["charts"])
    assert page.locator("#table tbody tr").count() == len(report.content["table"]["rows"])
    assert "Every one of the" in page.inner_text("#certificate-words")


def test_it_shows_the_path_at_any_t(show, machine, report):
    page, path = show(report), machine.path_
    first, last = path.traced
    for w in (0.0, 0.111, 0.37, 0.5, 0.77, 1.0):
        t = first + w * (last - first)
        go(page, t)
        side = "after"
        assert shown(page, "objective") == pytest.approx(path.objective(t, side), rel=1e-6)
        sizes = [int(x) for x in page.locator(".chart .key b").all_inner_texts()]
        counts = {k: v.size for k, v in path.partition(t, side).items()}
        assert sizes == [counts[name] for name in ("O", "L", "E", "R") if name in counts][:4]
        rows = [int(x) for x in column(page, "row")]
        margins = [number(x) for x in column(page, "margin here")]
        size = np.ptp(path.response([first, last]), axis=0).max()
        assert margins == pytest.approx(path.response(t)[rows], abs=0.02 * size + 0.005)


def test_it_shows_the_loss_on_held_out_rows(show, machine):
    X = machine.path_.model.X
    chosen = RobustSVC(C=5.0, gamma=0.7, loss="hinge").fit(X, machine.path_.model.y)
    curve, page = chosen.validation_curve_, show(chosen.report(certify=False))
    assert place(page) == pytest.approx(chosen.t_, rel=1e-15)
    for t in (1.0, 0.93, 0.61, chosen.t_, 0.2, 0.0):
        go(page, t)
        assert shown(page, "loss on held-out rows") == pytest.approx(curve(t), rel=1e-6)
    go(page, 0.3)
    page.click("#home")
    assert place(page) == pytest.approx(chosen.t_, rel=1e-15)


def test_the_slider_moves_pictures_and_table(show, report):
    page = show(report)
    page.focus("#slider")
    page.keyboard.press("Home")
    settled(page)
    before = (
        page.locator(".chart .now").first.get_attribute("x1"),
        page.locator("#plot .zero").get_attribute("d"),
        column(page, "margin here"),
        column(page, "state here"),
        page.get_attribute("#slider", "aria-valuetext"),
    )
    page.evaluate(
        "() => { const s = document.getElementById('slider'); s.value = 1900;"
        " s.dispatchEvent(new Event('input')); }"
    )
    settled(page)
    after = (
        page.locator(".chart .now").first.get_attribute("x1"),
        page.locator("#plot .zero").get_attribute("d"),
        column(page, "margin here"),
        column(page, "state here"),
        page.get_attribute("#slider", "aria-valuetext"),
    )
    assert all(a != b for a, b in zip(before, after, strict=True))


def test_keys_move_the_slider(show, machine, report):
    page = show(report)
    points = machine.path_.breakpoints
    page.focus("#slider")
    page.keyboard.press("Home")
    settled(page)
    assert page.get_attribute("#t", "title") == repr(float(points[0])).removesuffix(".0")
    page.keyboard.press("PageDown")
    settled(page)
    assert float(page.get_attribute("#t", "title")) == points[1]
    page.keyboard.press("PageDown")
    page.keyboard.press("PageUp")
    settled(page)
    assert float(page.get_attribute("#t", "title")) == points[1]
    at = float(page.input_value("#slider"))
    page.keyboard.press("ArrowRight")
    settled(page)
    assert float(page.input_value("#slider")) > at
    page.keyboard.press("End")
    settled(page)
    assert float(page.get_attribute("#t", "title")) == points[-1]


def test_a_click_on_a_jump_goes_there(show, machine, report):
    page, path = show(report), machine.path_
    j = len(path.jumps) // 2
    jump = path.jumps[j]
    page.locator(f'.chart svg g.jump[data-jump="{j}"]').first.dispatch_event("click")
    settled(page)
    assert place(page) == jump.t
    assert page.is_visible("#jump")
    text = page.inner_text("#jump")
    assert f"{jump.flipped.size} flipped" in text
    for i in jump.flipped:
        assert f"row {i}: " in text
    for side in ("before", "after"):
        page.click(f'#side button[data-side="{side}"]')
        settled(page)
        wanted = path.objective(jump.t, side)
        assert shown(page, "objective") == pytest.approx(wanted, rel=1e-6)
    page.locator("#jump-list button.link").first.click()
    assert place(page) == path.jumps[0].t
    page.click("#jump-forth")
    assert place(page) == path.jumps[1].t
    go(page, 0.5 * (path.jumps[0].t + path.jumps[1].t))
    assert not page.is_visible("#jump")
    assert not page.is_visible("#side")


def test_a_click_on_a_chart_goes_there(show, report):
    page = show(report)
    area = page.locator(".chart .plotarea").first
    box = area.bounding_box()
    page.mouse.click(box["x"] + 0.75 * box["width"], box["y"] + 0.9 * box["height"])
    first, last = report.content["start"][0], report.content["stop"][-1]
    assert place(page) == pytest.approx(first + 0.75 * (last - first), abs=0.01 * abs(last - first))


def test_columns_sort_the_table(show, report):
    page = show(report)
    for title in ("left", "row", "margin here"):
        head = page.locator("#table thead button", has_text=re.compile(f"^{title}$"))
        head.click()
        up = [number(x) for x in column(page, title)]
        assert up == sorted(up)
        head.click()
        down = [number(x) for x in column(page, title)]
        assert down == sorted(down, reverse=True)
    page.locator("#table thead button", has_text="given label").click()
    labels = column(page, "given label")
    assert labels == sorted(labels)


def test_search_narrows_the_table(show, report):
    page = show(report)
    rows = column(page, "row")
    page.fill("#search", "outlier")
    settled(page)
    outliers = column(page, "state here")
    assert all("outlier" in text for text in outliers)
    assert f"{len(outliers)} of {len(rows)}" in page.inner_text("#found")
    page.fill("#search", "no such text")
    settled(page)
    assert column(page, "row") == []
    page.fill("#search", "")
    settled(page)
    assert column(page, "row") == rows


def test_a_column_named_script_stays_text(show, report):
    page = show(report)
    assert page.title() == "A machine"
    assert SCRIPT in page.locator("#table thead th").all_text_contents()
    assert page.locator("script").count() == 2
    assert SCRIPT in page.locator("#plot text").all_text_contents()


def test_nothing_of_the_user_runs(show, machine):
    bad = "</script><img src=x onerror=\"document.title='taken over'\">" + SCRIPT
    names = [f"{bad}{i}" for i in range(80)]
    page = show(machine.report(bad, X_names=[bad, bad], row_names=names, certify=False))
    go(page, machine.path_.jumps[0].t)
    assert page.title().startswith("</script><img")
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 2


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
def test_it_fits_the_screen(show, report, width, scheme):
    page = show(report, width=width, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 26)"
    assert dark == (scheme == "dark")


def test_axes_can_be_changed(show):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 6))
    path = Homotopy(Lasso(X, X[:, 0] + rng.standard_normal(30), fraction=1e-3)).trace()
    page = show(path.report())
    assert page.input_value("#axis") == "log"
    for axis in ("linear", "even", "log"):
        page.select_option("#axis", axis)
        t = float(path.breakpoints[2])
        go(page, t)
        assert place(page) == t
        assert shown(page, "objective") == pytest.approx(path.objective(t), rel=1e-6)
        page.focus("#slider")
        page.keyboard.press("End")
        settled(page)
        assert page.input_value("#slider") == page.get_attribute("#slider", "max")
    assert not page.is_visible("#jumps")
    assert not page.is_visible("#jump-forth")


def test_a_regression_of_one_feature_shows_its_curve(show):
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(-2.0, 2.0, 50))
    y = np.sin(x)
    y[::7] += 3.0
    machine = RobustSVR(C=5.0, gamma=1.0).fit(x[:, None], y)
    page = show(machine.report())
    go(page, 1.0)
    one = page.locator("#plot .fit").get_attribute("d")
    go(page, 0.0)
    assert page.locator("#plot .fit").get_attribute("d") != one
    assert page.locator(".point.out").count() > 0


def test_playing_ends_at_the_end(show, report):
    page = show(report)
    page.focus("#slider")
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    page.click("#play")
    page.get_by_text("play", exact=True).wait_for()
    settled(page)
    assert float(page.get_attribute("#t", "title")) == report.content["stop"][-1]


def test_a_path_of_one_point_is_shown(show):
    path = Homotopy(HingeRamp([[0.0], [1.0]], [0, 1], C=1.0), max_breakpoints=1).trace()
    page = show(path.report(certify=False))
    assert page.locator("#table tbody tr").count() == 2


def test_it_works_inside_a_frame(show, window, report, tmp_path):
    file = File(tmp_path) / "notebook.html"
    file.write_text(f"<!DOCTYPE html><title>notebook</title>{report._repr_html_()}", "utf-8")
    page = window.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto(file.as_uri())
    inside = page.frame_locator("iframe")
    inside.locator("#table tbody tr").first.wait_for(state="attached")
    assert inside.locator("h1").inner_text() == "A machine"
    inside.locator("#jump-forth").click()
    page.close()
    assert wrong == []
