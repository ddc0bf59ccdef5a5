"""What a reader does with the page: zoom, move, search, sort; also with 500 operators."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ethosgen.report.page import render_page
from tests.support.browser import Browser, start_browser
from tests.support.large_reports import repeated
from tests.support.needs import needs_browser
from tests.support.reports import CUT, DIGITS, report_of

pytestmark = needs_browser
STILL = {"reduced_motion": "reduce"}
TIMES = 50
READY_MS = 15_000
"""The longest until a page of 500 operators answers, on a busy machine; an idle one takes 1.5 s."""
MOST_BYTES = 2_600_000


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with start_browser() as started:
        yield started


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "digits.html"
    path.write_text(render_page(report_of(DIGITS, cpu_ops=CUT)))
    return path


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("large") / "large.html"
    path.write_text(render_page(repeated(report_of(DIGITS, cpu_ops=CUT), TIMES)))
    return path


def sight(page: Any) -> list[float]:
    """Return the part of the graph that is in sight: left, top, width, height."""
    text = page.locator("#graph svg").get_attribute("viewBox")
    return [float(part) for part in text.split()]


def wait_until(page: Any, is_so: Callable[[], bool]) -> None:
    """Wait for what a wheel does; the page's policy forbids Playwright's own way."""
    for _ in range(100):
        if is_so():
            return
        page.wait_for_timeout(50)
    pytest.fail("the page did nothing")


def middle(page: Any, selector: str) -> tuple[float, float]:
    page.locator(selector).scroll_into_view_if_needed()
    box = page.locator(selector).bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_the_wheel_zooms_at_the_cursor_once_the_graph_is_used(page: Path, browser: Browser) -> None:
    with browser.open(page, **STILL) as opened:
        shown = opened.page
        x, y = middle(shown, "#graph")
        shown.mouse.move(x, y)
        before = sight(shown)
        shown.mouse.wheel(0, 1)
        assert sight(shown) == before
        for _ in range(3):
            shown.locator("#graph-nearer").click()
        before = sight(shown)
        shown.locator("#graph").focus()
        node = shown.locator('#graph [data-layer="3"]')
        box = node.bounding_box()
        at = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        shown.mouse.move(*at)
        shown.mouse.wheel(0, -50)
        wait_until(shown, lambda: sight(shown)[2] < before[2] - 1)
        moved = node.bounding_box()
    assert moved["width"] > box["width"] * 1.1
    assert moved["x"] + moved["width"] / 2 == pytest.approx(at[0], abs=2)
    assert moved["y"] + moved["height"] / 2 == pytest.approx(at[1], abs=2)


def test_it_moves_by_mouse_keys_buttons_and_its_map(page: Path, browser: Browser) -> None:
    with browser.open(page, **STILL) as opened:
        shown = opened.page
        title = shown.locator("#facts-title").text_content()
        shown.locator("#graph-nearer").click()
        shown.locator("#graph-nearer").click()
        first = sight(shown)
        x, y = middle(shown, "#graph")
        shown.mouse.move(x, y)
        shown.mouse.down()
        shown.mouse.move(x, y + 90, steps=4)
        shown.mouse.up()
        dragged = sight(shown)
        assert dragged[1] < first[1] - 20 and dragged[2:] == pytest.approx(first[2:])
        shown.locator("#graph").focus()
        shown.keyboard.press("ArrowDown")
        assert sight(shown)[1] > dragged[1]
        shown.keyboard.press("0")
        whole = sight(shown)
        assert whole[3] > first[3] * 1.5
        shown.keyboard.press("+")
        assert sight(shown)[3] < whole[3]
        before = sight(shown)[1]
        box = shown.locator("#graph-map").bounding_box()
        shown.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] - 2)
        assert sight(shown)[1] > before
        frame = shown.locator("#graph-map .sight").evaluate("e => e.getBBox().height")
        assert frame == pytest.approx(sight(shown)[3], rel=0.02)
        assert shown.locator("#facts-title").text_content() == title, "moving chooses nothing"


def test_arrows_go_along_the_edges(page: Path, browser: Browser) -> None:
    with browser.open(page, **STILL, fragment="#layer-3") as opened:
        shown = opened.page
        shown.locator("#graph").focus()
        shown.keyboard.press("Tab")
        shown.keyboard.press("ArrowDown")
        assert shown.locator("#facts-title").text_content() == "4 CONV_2D"
        shown.keyboard.press("ArrowUp")
        assert shown.locator("#facts-title").text_content() == "3 MAX_POOL_2D"
        assert shown.evaluate("document.activeElement.dataset.layer") == "3"


def test_search_finds_by_code_place_and_attribute(page: Path, browser: Browser) -> None:
    with browser.open(page, **STILL) as opened:
        shown = opened.page
        shown.keyboard.press("/")
        assert shown.evaluate("document.activeElement.id") == "search"
        shown.keyboard.type("conv kernel=1x1")
        shown.keyboard.press("Enter")
        assert shown.locator("#facts-title").text_content() == "2 CONV_2D"
        assert shown.locator("#layers tbody tr[data-layer]:visible").count() == 1
        assert shown.locator("#graph .node:not(.dim)").count() == 1
        assert shown.locator("[data-found]").first.text_content() == "1 of 10"
        shown.locator("#search").fill("cpu")
        assert shown.locator("[data-found]").first.text_content() == "2 of 10"
        shown.locator("#search").press("Escape")
        assert shown.locator("#layers tbody tr[data-layer]:visible").count() == 10
        assert shown.locator("#graph .node.dim").count() == 0


def test_a_column_sorts_and_goes_back(page: Path, browser: Browser) -> None:
    layers = report_of(DIGITS, cpu_ops=CUT).layers
    with browser.open(page, **STILL) as opened:
        shown = opened.page
        title = shown.locator("#layers th", has_text="MACs").first
        orders = []
        for _ in range(3):
            title.locator("button").click()
            rows = shown.locator("#layers tbody tr").evaluate_all(
                "all => all.map(e => e.dataset.layer)"
            )
            orders.append((title.get_attribute("aria-sort"), [int(row) for row in rows if row]))
    macs = [[layers[i].macs for i in order] for _, order in orders]
    assert [how for how, _ in orders] == ["ascending", "descending", None]
    assert macs[0] == sorted(macs[0]) and macs[1] == sorted(macs[1], reverse=True)
    assert orders[2][1] == [layer.operator for layer in layers]


def test_facts_have_attributes_and_quantization(page: Path, browser: Browser) -> None:
    with browser.open(page, **STILL, fragment="#layer-0") as opened:
        names = opened.page.locator("#facts-list dt").all_text_contents()
        texts = opened.page.locator("#facts-list dd").all_text_contents()
    facts = dict(zip(names, texts, strict=True))
    assert facts["kernel"] == "3x3" and facts["stride"] == "1x1"
    assert facts["activation"] == "RELU" and facts["padding"] == "SAME"
    told = facts["input"].replace("\u00d7", "x")
    assert told == "1 x 8 x 8 x 1 int8, scale 0.0039216, zero point -128"
    told = facts["weights"].replace("\u00d7", "x")
    assert told.startswith("16 x 3 x 3 x 1 int8, 16 scales from 0.0063")
    assert facts["weights"].endswith("zero point 0")
    assert facts["MAC units busy"] == "4.5%"


def test_the_timeline_zooms_and_moves(page: Path, browser: Browser) -> None:
    with browser.open(page, **STILL) as opened:
        shown = opened.page
        chart = shown.locator("#timeline .chart")
        chart.focus()
        box = chart.bounding_box()
        unit = shown.locator("#timeline .unit.cpu rect").first
        before = unit.bounding_box()
        at = before["x"] + before["width"] / 2
        shown.mouse.move(at, box["y"] + 20)
        zoom = shown.locator("#timeline-zoom")
        for _ in range(4):
            shown.mouse.wheel(0, -50)
        wait_until(shown, lambda: float(zoom.input_value()) > 2)
        after = unit.bounding_box()
        assert after["width"] > 2 * before["width"]
        assert after["x"] + after["width"] / 2 == pytest.approx(at, abs=4)
        left = chart.evaluate("e => e.scrollLeft")
        shown.mouse.down()
        shown.mouse.move(at + 60, box["y"] + 20, steps=3)
        shown.mouse.up()
        assert chart.evaluate("e => e.scrollLeft") == pytest.approx(left - 60, abs=3)
        shown.keyboard.press("0")
        assert float(zoom.input_value()) == 1


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_is_cut(width: int, page: Path, browser: Browser) -> None:
    too_wide = """[...document.querySelectorAll('.scroll, section, header, dl, p, pre')]
        .filter(e => e.scrollWidth > e.clientWidth + 1 && !e.matches('pre'))
        .map(e => [e.tagName, e.getAttribute('aria-label') ?? e.id, e.scrollWidth])"""
    with browser.open(page, width) as opened:
        opened.page.evaluate("document.querySelectorAll('details').forEach(e => e.open = true)")
        assert opened.page.evaluate(too_wide) == []
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= width


def test_five_hundred_operators_stay_usable(large: Path, browser: Browser) -> None:
    assert large.stat().st_size < MOST_BYTES
    with browser.open(large, **STILL) as opened:
        shown = opened.page
        assert shown.evaluate("performance.now()") < READY_MS
        assert opened.messages == []
        assert shown.locator("#graph .node").count() == 10 * TIMES
        assert shown.locator("#graph .cluster").count() == 2 * TIMES
        shown.locator("#search").fill("497 reshape")
        shown.locator("#search").press("Enter")
        assert shown.locator("#facts-title").text_content() == "497 RESHAPE"
        box = shown.locator("#graph").bounding_box()
        node = shown.locator('#graph [data-layer="497"]').bounding_box()
    assert box["y"] <= node["y"] and node["y"] + node["height"] <= box["y"] + box["height"]
