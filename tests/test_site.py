"""The documentation as a site: every page has a place, and it builds without a warning."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

import ethosgen
from ethosgen.cli import cli
from tests import ROOT
from tests.support.browser import start_browser
from tests.support.command_line import commands
from tests.support.needs import needs_browser, needs_extra

SETTINGS: dict[str, Any] = yaml.safe_load((ROOT / "mkdocs.yml").read_text())
DOCS = ROOT / "docs"


def pages(entry: object) -> Iterator[str]:
    """Yield the pages of a part of the navigation."""
    if isinstance(entry, str):
        yield entry
    elif isinstance(entry, dict):
        for below in entry.values():
            yield from pages(below)
    elif isinstance(entry, list):
        for below in entry:
            yield from pages(below)


def test_every_page_has_one_place() -> None:
    parts = [name for entry in SETTINGS["nav"] for name in entry]
    assert parts[1:] == ["Tutorials", "How-tos", "Reference", "Explanation", "Evidence"]
    named = list(pages(SETTINGS["nav"]))
    docs = [path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")]
    evidence = [f"evidence/{path.name}" for path in (ROOT / "evidence").glob("*.md")]
    assert sorted(named) == sorted(docs + evidence)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the site, built strictly."""
    place = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(place)]
    built = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    return place


@needs_extra("docs")
@pytest.mark.slow
def test_the_site_has_every_page_and_command(site: Path) -> None:
    for page in pages(SETTINGS["nav"]):
        built = (site / page.replace("README", "index")).with_suffix(".html")
        assert built.is_file(), page
        assert 'href="../docs/' not in built.read_text(), page
    text = (site / "commands.html").read_text()
    assert isinstance(cli, click.Group)
    for name, command in commands().items():
        assert (f'id="ethosgen-{name}"' in text) is not command.hidden, name
        for option in (param for param in command.params if isinstance(param, click.Option)):
            anchor = f'id="ethosgen-{name}{max(option.opts, key=len)}"'
            assert command.hidden or option.hidden or anchor in text, (name, option.opts)
    anchors = re.findall(r'id="(ethosgen-[^"]*)"', text)
    assert len(anchors) == len(set(anchors))
    linked = {
        anchor
        for page in site.rglob("*.html")
        for anchor in re.findall(r'href="[^"]*commands\.html#(ethosgen-[^"]*)"', page.read_text())
    }
    assert linked
    assert linked <= set(anchors), linked - set(anchors)
    assert "Sentinel" not in text, "click's own value for no default"


@needs_extra("docs")
@pytest.mark.slow
def test_the_site_has_every_function_for_python(site: Path) -> None:
    text = (site / "api.html").read_text()
    elsewhere = {"EthosgenError", "__version__"}
    for name in set(ethosgen.__all__) - elsewhere:
        assert re.search(rf'id="ethosgen\w*\.[\w.]*\b{name}"', text), name


@needs_extra("docs")
@pytest.mark.slow
def test_a_reader_needs_no_network(site: Path) -> None:
    read = re.compile(r"<(?:script|img|iframe)\b[^>]*\bsrc=\"?https?://|@import|url\(\"?https?://")
    styles = re.compile(r"<link\b[^>]*stylesheet[^>]*href=\"?https?://")
    files = [*site.glob("*.html"), *site.glob("assets/**/*.css")]
    assert len(files) > 30
    for file in files:
        text = file.read_text()
        assert not read.search(text) and not styles.search(text), file.name


@needs_extra("docs")
@needs_browser
@pytest.mark.slow
def test_the_search_finds_a_page_from_the_disk(site: Path) -> None:
    with (
        start_browser() as browser,
        browser.open(site / "index.html", has_script=False) as opened,
    ):
        opened.page.get_by_placeholder("Search").first.fill("devicetree")
        hit = opened.page.locator(".md-search-result__link").first
        hit.wait_for(state="attached")
        assert (hit.get_attribute("href") or "").split("#")[0].endswith(".html")
        assert all(url.startswith(("file:", "data:", "blob:")) for url in opened.requests)
