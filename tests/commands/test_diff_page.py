"""`ethosgen diff -o`: two runs side by side on one page."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ethosgen.cli import cli
from ethosgen.values.errors import InputError
from tests.support.browser import start_browser
from tests.support.needs import needs_browser
from tests.support.small_models import image_net


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, words, catch_exceptions=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the pages and the JSON of a network on an NPU, and on the CPU alone."""
    folder = tmp_path_factory.mktemp("diff")
    network = str(image_net(folder / "net.tflite"))
    for npu in ("ethos-u55-128", "none"):
        page = str(folder / f"{npu}.html")
        done = run("report", network, "--npu", npu, "--samples", "1", "--json", "-o", page)
        (folder / f"{npu}.json").write_text(done.stdout)
    return folder


@pytest.fixture(scope="module")
def page(folder: Path) -> Path:
    path = folder / "difference.html"
    done = run(
        "diff", str(folder / "ethos-u55-128.html"), str(folder / "none.html"), "-o", str(path)
    )
    assert done.exit_code == 0
    return path


def test_a_report_is_as_good_as_its_json(folder: Path) -> None:
    said = [
        run("diff", *(str(folder / f"{npu}{kind}") for npu in ("ethos-u55-128", "none"))).stdout
        for kind in (".html", ".json")
    ]
    assert said[0] == said[1]


def test_the_page_has_every_layer_of_both(folder: Path, page: Path) -> None:
    before, after = (
        json.loads((folder / f"{npu}.json").read_text()) for npu in ("ethos-u55-128", "none")
    )
    text = page.read_text()
    section = text[text.index("Layer by layer") :]
    rows = re.findall(r"<tr><th scope=\"row\".*?</tr>", section)
    assert len(rows) == len({f"{x['code']} {x['output']}" for x in before["layers"]} |
                            {f"{x['code']} {x['output']}" for x in after["layers"]})  # fmt: skip
    for answer in (before, after):
        for layer in answer["layers"]:
            row = next(
                row for row in rows if f"{layer['code']} &#x27;{layer['output']}&#x27;" in row
            )
            for cycles in (layer["cycles"], layer["cpu"]):
                assert cycles is None or f'<td class="number">{cycles:,}</td>' in row
    assert "ethos-u55-128, shared_sram" in text and "none" in text


def test_it_replaces_only_its_own(folder: Path, page: Path, tmp_path: Path) -> None:
    both = [str(folder / f"{npu}.json") for npu in ("ethos-u55-128", "none")]
    before = page.read_bytes()
    run("diff", *both, "-o", str(page))
    assert page.read_bytes() != before, "the names in it are others"
    run("diff", *(word.replace(".json", ".html") for word in both), "-o", str(page))
    assert page.read_bytes() == before
    users = tmp_path / "mine.html"
    users.write_text("mine")
    with pytest.raises(InputError, match="exists, and ethosgen diff did not write it"):
        run("diff", *both, "-o", str(users))
    assert users.read_text() == "mine"
    run("diff", *both, "-o", str(users), "--force")
    assert "Layer by layer" in users.read_text()


@needs_browser
@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1280, "light")])
def test_everybody_can_read_it(width: int, scheme: str, page: Path) -> None:
    from axe_playwright_python.sync_playwright import Axe

    with start_browser() as browser, browser.open(page, width, scheme, has_script=False) as opened:
        assert Axe().run(opened.page).response["violations"] == []
        cut = "all => all.filter(e => e.scrollWidth > e.clientWidth + 1).length"
        assert opened.page.locator(".scroll, section").evaluate_all(cut) == 0
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= width
        assert (opened.messages, opened.requests) == ([], [page.as_uri()])
