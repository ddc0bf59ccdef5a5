"""The plot of a comparison."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from ethosgen.host import extras
from ethosgen.plots.costs import check_format, draw
from ethosgen.values.configurations import ComparisonReport, Result
from ethosgen.values.errors import InputError, ToolError
from ethosgen.values.schedule import Schedule
from tests.support.browser import start_browser
from tests.support.costs import make_cost, make_labelled, make_result
from tests.support.drawings import texts
from tests.support.needs import needs_browser, needs_extra

pytestmark = needs_extra("plot")


def report(*results: Result) -> ComparisonReport:
    return ComparisonReport(results, {"Vela": "5.2.0"})


@pytest.fixture
def two() -> ComparisonReport:
    """Return a front of two points, the CPU alone, and a refusal."""
    return report(
        make_result(on_front=True),
        make_result(schedule=Schedule(arena_bytes=2048), cost=make_cost(3000, 2048)),
        make_result("none", cost=make_cost(0, 1024, cpu_cycles=90_000, model_cycles=None)),
        make_result("ethos-u85-256", cost=None, refusal="<it> refuses & ends"),
    )


def test_a_picture_names_what_it_shows(two: ComparisonReport) -> None:
    words = texts(draw(two, ".svg"))
    assert {
        "net on corstone300",
        "SRAM, KiB",
        "time by estimate, ms",
        "ethos-u55-128",
        "the CPU alone",
        "on the front",
    } <= words
    assert "ethos-u85-256" not in words  # it has no figure


def test_the_same_figures_give_the_same_bytes(two: ComparisonReport) -> None:
    assert draw(two, ".svg") == draw(two, ".svg")


def test_cycles_stand_in_for_an_unknown_clock() -> None:
    words = texts(draw(report(make_result(cost=make_cost(npu_hz=None))), ".svg"))
    assert "cycles by estimate" in words


def test_a_boards_name_is_no_formula(two: ComparisonReport) -> None:
    board = "a$x_{$"
    results = [
        replace(result, setting=replace(result.setting, board=board)) for result in two.results
    ]
    assert f"net on {board}" in texts(draw(report(*results), ".svg"))


def test_ticks_are_plain_numbers() -> None:
    for hz, wanted in ((32_000_000, "0.2"), (None, "10,000")):
        costs = [make_cost(cycles, 2048, npu_hz=hz, cpu_hz=hz) for cycles in (3000, 20_000)]
        words = texts(draw(report(*(make_result(cost=cost) for cost in costs)), ".svg"))
        assert wanted in words
        assert not [text for text in words if re.fullmatch(r"\d+e\W?\d+", text)]


def test_a_png_is_one(two: ComparisonReport) -> None:
    assert draw(two, ".png").startswith(b"\x89PNG\r\n")


class Cells(HTMLParser):
    """Collects the cells of each row of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.is_in_cell = False

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
            self.is_in_cell = True

    def handle_endtag(self, tag: str) -> None:
        self.is_in_cell = self.is_in_cell and tag not in ("td", "th")

    def handle_data(self, data: str) -> None:
        if self.is_in_cell:
            self.rows[-1][-1] += data.strip()


def test_a_page_has_the_figures_and_needs_no_network(two: ComparisonReport) -> None:
    page = draw(two, ".html", "ethosgen compare <net>.tflite").decode()
    cells = Cells()
    cells.feed(page)
    head, *rows = cells.rows
    assert len(rows) == 4
    first = dict(zip(head, rows[0], strict=True))
    assert (first["NPU"], first["cycles"], first["SRAM, B"]) == ("ethos-u55-128", "1,300", "4,096")
    assert rows[3][-1] == "<it> refuses & ends"
    assert first["outputs that differ"] == "0"  # a nought is a figure
    assert first["ms"] == "1.3"  # at 1 MHz
    assert "energy, µJ" not in head  # nobody has one
    assert "<code>ethosgen compare &lt;net&gt;.tflite</code>" in page
    assert not re.search(
        r'(src|href)="(?!#)', re.sub(r"<metadata>.*?</metadata>", "", page, flags=re.S)
    )


@needs_browser
@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1280, "light")])
def test_everybody_can_read_a_page(
    width: int, scheme: str, two: ComparisonReport, tmp_path: Path
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    path = tmp_path / "plot.html"
    path.write_bytes(draw(two, ".html", "ethosgen compare net.tflite", (make_labelled(),)))
    with start_browser() as browser, browser.open(path, width, scheme, has_script=False) as opened:
        answer = Axe().run(opened.page).response
        assert answer["violations"] == []
        assert len(answer["passes"]) > 10
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= width
        cut = "all => all.filter(e => e.scrollWidth > e.clientWidth + 1).length"
        assert opened.page.locator(".scroll, section").evaluate_all(cut) == 0
        title = opened.page.locator("th", has_text="cycles")
        title.locator("button").click()
        assert title.get_attribute("aria-sort") == "ascending"
        assert (opened.messages, opened.requests) == ([], [path.as_uri()])


def test_a_page_of_a_sweep_has_the_accuracy(two: ComparisonReport) -> None:
    refused = make_labelled(None, "none", refusal="<no>")
    cells = Cells()
    cells.feed(draw(two, ".html", "", (make_labelled(), refused)).decode())
    start = next(i for i, row in enumerate(cells.rows) if row[:3] == ["data", "network", "NPU"])
    head, first, second = cells.rows[start:]
    told = dict(zip(head, first, strict=True))
    assert (told["NPU"], told["samples"], told["right"]) == ("ethos-u55-128", "3", "2")
    assert (told["accuracy"], told["in the best k"]) == ("66.67%", "100.00%")
    assert "AUC" not in told
    assert second == ["pets", "net", "none", "<no>"]


def test_nothing_to_plot_is_a_sentence() -> None:
    with pytest.raises(InputError, match="nothing to plot"):
        draw(report(make_result(cost=None, refusal="no")), ".svg")


def test_formats(monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_format("a.b.SVG") == ".svg"
    with pytest.raises(InputError, match=r"--plot 'x.pdf' ends in none of \.svg, \.png, \.html"):
        check_format("x.pdf")
    monkeypatch.setattr(extras, "is_here", lambda _: False)
    with pytest.raises(ToolError, match=r"a plot needs matplotlib; .*\[plot\]', or use --csv"):
        check_format("x.svg")
