"""The fenced code blocks of a page of documentation."""

import re
from pathlib import Path

from tests import ROOT

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
PAGE = ROOT / "docs" / "integration.md"


def snippets(language: str, heading: str, page: Path = PAGE) -> list[str]:
    """Return the blocks of a language between a heading and the next one."""
    text = page.read_text()
    found = [part for part in _HEADING.finditer(text) if part[1] == heading]
    assert len(found) == 1, f"{page.name} has {len(found)} headings {heading}"
    rest = text[found[0].end() :]
    following = re.search(r"^#+ ", re.sub(r"^```.*?^```$", _blank, rest, flags=re.M | re.S), re.M)
    return [
        block[2]
        for block in _BLOCK.finditer(rest[: following.start() if following else None])
        if block[1] == language
    ]


def _blank(block: re.Match[str]) -> str:
    return " " * len(block[0])
