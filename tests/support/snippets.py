"""The fenced code blocks of a page of documentation."""

import re
from pathlib import Path

from tests import ROOT

PAGE = ROOT / "docs" / "integration.md"
_PART = re.compile(r"^```(\w+)\n(.*?)^```$|^#+ ([^\n]+)$", re.MULTILINE | re.DOTALL)


def all_snippets(page: Path = PAGE) -> list[tuple[str, str, str]]:
    """Return each block's heading, language and text."""
    found, heading = [], ""
    for part in _PART.finditer(page.read_text()):
        if part[3]:
            heading = part[3]
        else:
            found.append((heading, part[1], part[2]))
    return found


def snippets(language: str, heading: str, page: Path = PAGE) -> list[str]:
    """Return the blocks of a language under a heading; there must be one."""
    texts = [text for *place, text in all_snippets(page) if place == [heading, language]]
    assert texts, f"{page.name} has no {language} under {heading}"
    return texts
