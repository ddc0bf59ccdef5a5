"""The page: self-contained, equal to the JSON, readable by everybody; in a headless Chromium."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from ethosgen.report.assembly import assemble
from ethosgen.report.content import NetworkReport
from ethosgen.report.page import render_page, shown_text
from ethosgen.values.accelerator import NO_NPU
from tests.support.browser import Browser, start_browser
from tests.support.needs import needs_browser, needs_models
from tests.support.reports import CUT, DIGITS, observe, report_of
from tests.support.small_models import SHARED_MODELS

CLOCKED = {"clock_hz": 400_000_000, "cpu_clock_hz": 160_000_000, "doubts": ("it is a guess",)}
CASES = {
    "cut": (DIGITS, "ethos-u55-128", CUT),
    "whole": (DIGITS, "ethos-u85-256", ()),
    "cpu": (DIGITS, NO_NPU, ()),
}
KWS = SHARED_MODELS / "kws_dscnn_int8.tflite"


def report_for(case: str) -> NetworkReport:
    path, npu, cpu_ops = CASES[case]
    if case != "cut":
        return report_of(path, npu, cpu_ops)
    observed = observe(path, npu, cpu_ops)
    return assemble(replace(observed, setting=replace(observed.setting, **CLOCKED)))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with start_browser() as started:
        yield started


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    paths = {case: folder / f"{case}.html" for case in CASES}
    for case, path in paths.items():
        path.write_text(render_page(report_for(case)))
    return paths


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the numbers of a JSON value with their paths."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, f"{path}/{key}")
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from leaves(inner, f"{path}/{place}")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield path, value


def expected(value: float, style: str) -> str:
    """Write a number as a reader expects it, apart from the page's own code."""
    if style == "percent":
        return f"{value * 100:.1f}%"
    if style == "ms":
        return format(float(f"{value * 1000:.2g}"), ",g")
    if style == "mhz":
        return format(value / 1_000_000, ",.6g")
    return format(value, ",d") if isinstance(value, int) else format(value, ",.4g")


SHOWN = re.compile(
    r"/costs/(npu_cycles|cpu|cycles|arena_bytes|weights_bytes|command_bytes)"
    r"|/layers/\d+/(cycles|cpu|share|macs|encoded_bytes)"
    r"|/timeline/\d+/(start|end|macs)"
    r"|/memory/areas/\d+/(bytes|blocks/\d+/(offset|bytes|first|last))"
    r"|/roofline/points/\d+/(macs|bytes|intensity|macs_per_cycle|roof)"
    r"|/partitions/\d+/(cycles|events|command_bytes)"
    r"|/verdict/(elements|mismatches|samples)|/subject/(bytes|operators|macs|constant_bytes)"
)
"""The numbers of the JSON that must be on the page."""


@needs_browser
@pytest.mark.parametrize("case", CASES)
def test_numbers_on_the_page_are_those_of_the_json(
    case: str, pages: dict[str, Path], browser: Browser
) -> None:
    told = json.loads(json.dumps(report_for(case).as_json()))
    numbers = dict(leaves(told))
    with browser.open(pages[case]) as opened:
        embedded = opened.page.evaluate("document.getElementById('report').textContent")
        shown = opened.page.evaluate(
            "[...document.querySelectorAll('[data-path]')]"
            ".map(e => [e.dataset.path, e.dataset.style, e.textContent])"
        )
    assert json.loads(embedded) == told
    assert shown
    for path, style, text in shown:
        assert text == expected(numbers[path], style), path
    wanted = {path for path in numbers if SHOWN.fullmatch(path)}
    assert wanted <= {path for path, _, _ in shown}


@needs_browser
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_opens_without_network_and_without_complaint(
    case: str, scheme: str, pages: dict[str, Path], browser: Browser
) -> None:
    with browser.open(pages[case], scheme=scheme) as opened:
        assert opened.messages == []
        assert opened.requests == [pages[case].as_uri()]
        ground = opened.page.evaluate("getComputedStyle(document.body).backgroundColor")
    light = sum(map(int, re.findall(r"\d+", ground)[:3])) / 3
    assert (light > 128) == (scheme == "light")


@needs_browser
@pytest.mark.parametrize("case", CASES)
def test_the_graph_is_the_networks(case: str, pages: dict[str, Path], browser: Browser) -> None:
    report = report_for(case)
    with browser.open(pages[case]) as opened:
        nodes = opened.page.evaluate(
            "[...document.querySelectorAll('#graph .node')].map(e => "
            "[Number(e.dataset.layer), e.getAttribute('class').split(' ')[1],"
            " e.querySelector('.code').textContent])"
        )
        edges = opened.page.locator("#graph .edge").count()
        frames = opened.page.locator("#graph .cluster").count()
    assert sorted(nodes) == [
        [x.operator, x.on or "gone", f"{x.operator}  {x.code}"] for x in report.layers
    ]
    assert edges == sum(len(layer.inputs) for layer in report.layers)
    assert frames == len(report.partitions)


@needs_browser
@pytest.mark.parametrize(("width", "scheme"), [(360, "dark"), (1200, "light")])
def test_axe_finds_nothing_to_mend(
    width: int, scheme: str, pages: dict[str, Path], browser: Browser
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    with browser.open(pages["cut"], width, scheme) as opened:
        opened.page.evaluate("document.querySelectorAll('details').forEach(e => e.open = true)")
        answer = Axe().run(opened.page).response
        assert answer["violations"] == []
        assert len(answer["passes"]) > 20
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= width


@needs_browser
def test_a_keyboard_reaches_and_chooses_operators(pages: dict[str, Path], browser: Browser) -> None:
    layers = report_for("cut").layers
    with browser.open(pages["cut"]) as opened:
        page = opened.page
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Skip to the report"
        page.locator("#graph").focus()
        page.keyboard.press("Tab")
        chosen = int(page.evaluate("document.activeElement.dataset.layer"))
        page.keyboard.press("Enter")
        assert page.locator("#facts-title").text_content() == f"{chosen} {layers[chosen].code}"
        facts = page.locator("#facts-list").text_content()
        assert layers[chosen].reason in facts
        marked = page.locator(".chosen").evaluate_all("all => all.map(e => e.dataset.layer)")
    assert set(marked) == {str(chosen)} and len(marked) > 3


@needs_browser
def test_an_address_chooses_an_operator(pages: dict[str, Path], browser: Browser) -> None:
    with browser.open(pages["cut"], fragment="#layer-5") as opened:
        assert opened.page.locator("#facts-title").text_content() == "5 ADD"


@needs_browser
def test_marks_are_where_the_json_says(pages: dict[str, Path], browser: Browser) -> None:
    report = report_for("cut")
    with browser.open(pages["cut"]) as opened:
        drawn = opened.page.locator("#timeline .unit > rect").evaluate_all(
            "all => all.map(e => { const box = e.getBoundingClientRect();"
            " const plot = e.closest('.plot').getBoundingClientRect();"
            " return [(box.left - plot.left) / plot.width, box.width / plot.width]; })"
        )
    order = ["npu", "dma", "cpu"]
    events = sorted(report.timeline, key=lambda event: order.index(event.lane))
    assert len(drawn) == len(events)
    for (left, width), event in zip(drawn, events, strict=True):
        assert left == pytest.approx(event.start / report.costs.cycles, abs=0.002)
        assert width == pytest.approx((event.end - event.start) / report.costs.cycles, abs=0.002)


LABELS = """[...document.querySelectorAll('.plot [data-short]')].map(e => [
    e.textContent, e.getComputedTextLength(),
    e.parentNode.querySelector('rect').getBoundingClientRect().width])"""
TICKS = """[...document.querySelectorAll('.ticks')].map(row => [...row.children]
    .filter(e => e.style.visibility !== 'hidden').map(e => e.getBoundingClientRect())
    .map(box => [box.left, box.right]))"""


@needs_browser
@pytest.mark.parametrize("width", [360, 1200])
def test_no_label_is_cut_and_no_ticks_touch(
    width: int, pages: dict[str, Path], browser: Browser
) -> None:
    with browser.open(pages["cut"], width) as opened:
        narrow = opened.page.evaluate(LABELS)
        ticks = opened.page.evaluate(TICKS)
        opened.page.locator("#timeline-zoom").fill("24")
        wide = opened.page.evaluate(LABELS)
    for shown in (narrow, wide):
        assert all(length <= room for text, length, room in shown if text)
    long = [[text for text, _, _ in shown if len(text) > 2] for shown in (narrow, wide)]
    assert "3 MAX_POOL_2D" in long[1] and len(long[1]) > len(long[0])
    assert len(ticks) > 2 and all(len(row) > 1 for row in ticks)
    for row in ticks:
        assert all(end < start for (_, end), (start, _) in pairwise(row))


@needs_browser
def test_the_chosen_operator_is_in_sight_in_the_graph(
    pages: dict[str, Path], browser: Browser
) -> None:
    inside = """() => { const box = document.getElementById('graph').getBoundingClientRect();
        const node = document.querySelector('#graph .chosen').getBoundingClientRect();
        return node.top >= box.top && node.bottom <= box.bottom; }"""
    with browser.open(pages["cut"], fragment="#layer-9") as opened:
        assert opened.page.locator("#graph .chosen").get_attribute("data-layer") == "9"
        assert opened.page.evaluate(inside)
        opened.page.locator('#timeline [data-layer="0"]').first.click()
        assert opened.page.locator("#graph .chosen").get_attribute("data-layer") == "0"
        assert opened.page.evaluate(inside)
        opened.page.locator("#graph-whole").click()
        hidden = opened.page.locator("#graph").evaluate("e => e.scrollHeight - e.clientHeight")
    assert hidden <= 1


@needs_browser
def test_the_first_screen_has_time_memory_places_and_exactness(
    pages: dict[str, Path], browser: Browser
) -> None:
    report = report_for("cut")
    with browser.open(pages["cut"]) as opened:
        summary = opened.page.locator("#summary")
        text = " ".join(summary.inner_text().split())
        box = summary.bounding_box()
    assert box is not None and box["y"] + box["height"] <= 900
    assert report.costs.seconds is not None
    assert f"{1000 * report.costs.seconds:.3f} ms" in text
    assert f"Arena {report.costs.arena_bytes:,} bytes of RAM" in text
    assert "8 on NPU, 2 on CPU; 2 partitions" in text
    assert "0 differ of 20 outputs in 2 samples, against TensorFlow Lite Micro" in text
    assert "2 operators" in text and "3 MAX_POOL_2D, 9 SOFTMAX): you asked for it" in text


@needs_browser
def test_axes_have_units(pages: dict[str, Path], browser: Browser) -> None:
    with browser.open(pages["cut"]) as opened:
        texts = {
            name: " ".join(opened.page.locator(f"#{name} .y text, #{name} .axis-title")
            .all_text_contents())
            for name in ("timeline", "memory", "roofline")
        }  # fmt: skip
    assert "cycles" in texts["timeline"] and "ms" in texts["timeline"]
    assert "cycles" in texts["memory"] and "address in bytes" in texts["memory"]
    assert "MACs in a cycle" in texts["roofline"]


def test_estimates_say_how_to_measure() -> None:
    report = report_for("cpu")
    assert "(name a board that QEMU runs to measure them)" in render_page(report)
    on_board = replace(report.setting, board="corstone300", board_on_qemu=True)
    text = render_page(replace(report, setting=on_board))
    assert "(use --on qemu to measure them)" in text and "name a board" not in text


def test_a_time_that_nobody_knows_is_not_zero() -> None:
    report = report_for("cpu")
    unknown = replace(report.costs, cpu=0, cycles=0, cpu_unknown=3, seconds=None)
    text = render_page(replace(report, costs=unknown))
    assert "<dt>One inference</dt><dd>not known" in text
    assert 'measure with <code class="whole">--board</code>' in text
    some = render_page(replace(report, costs=replace(report.costs, cpu_unknown=3)))
    assert "<dt>One inference</dt><dd>over <span" in some


@needs_browser
def test_on_paper_nothing_is_folded(pages: dict[str, Path], browser: Browser) -> None:
    with browser.open(pages["cut"]) as opened:
        opened.page.evaluate("dispatchEvent(new Event('beforeprint'))")
        opened.page.emulate_media(media="print")
        assert opened.page.locator("details:not([open])").count() == 0
        assert not opened.page.locator("nav").is_visible()


@needs_browser
def test_without_javascript_the_tables_are_there(pages: dict[str, Path], browser: Browser) -> None:
    with browser.open(pages["cut"], java_script_enabled=False) as opened:
        assert opened.page.locator("#layers tbody tr").count() == len(report_for("cut").layers)
        assert opened.page.locator("#timeline .unit").first.is_visible()


def test_a_name_cannot_break_out_of_the_page(tmp_path: Path) -> None:
    report = report_for("cut")
    evil = "</script><script>alert(1)</script><b>&amp;"
    layers = (replace(report.layers[0], output=evil, reason=evil), *report.layers[1:])
    text = render_page(replace(report, layers=layers, command=evil))
    assert "<script>alert" not in text and "<b>&" not in text
    (data,) = re.findall(r'<script type="application/json" id="report">(.*?)</script>', text)
    assert json.loads(data)["layers"][0]["output"] == evil


def test_the_policy_allows_nothing_from_elsewhere() -> None:
    text = render_page(report_for("cpu"))
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', text)
    assert "default-src 'none'" in policy.replace("&#39;", "'")
    assert "unsafe" not in policy and "http" not in policy
    assert not re.findall(r"""(?:src|href)=["'](?!#)""", text)
    assert "sourceMappingURL" not in text


def test_its_size_is_small() -> None:
    assert len(render_page(report_for("cut"))) < 200_000


@needs_models
def test_a_published_network_renders() -> None:
    text = render_page(report_of(KWS))
    assert "DEPTHWISE_CONV_2D" in text and "activation_1/Relu" in text


def test_numbers_that_are_not_known_say_so() -> None:
    assert shown_text(None, "number") == "not known"
    assert shown_text(1234567, "number") == "1,234,567"
    assert shown_text(0.123456, "percent") == "12.3%"
