"""The fenced code blocks of pages of documentation."""

import re
from pathlib import Path

from tests import ROOT

PAGES = tuple(
    ROOT / "docs" / f"{name}.md"
    for name in ("builds", "sections", "threads", "calls", "attach", "streaming")
)
"""How to use a generated library in firmware of one's own."""
_PART = re.compile(r"^```(\w+)\n(.*?)^```$|^#+ ([^\n]+)$", re.MULTILINE | re.DOTALL)


def all_snippets(*pages: Path) -> list[tuple[str, str, str]]:
    """Return each block's heading, language and text, by default those of PAGES."""
    blocks = []
    for page in pages or PAGES:
        heading = ""
        for part in _PART.finditer(page.read_text()):
            if part[3]:
                heading = part[3]
            else:
                blocks.append((heading, part[1], part[2]))
    return blocks


def snippets(language: str, heading: str, *pages: Path) -> list[str]:
    """Return the blocks of a language under a heading; there must be one."""
    texts = [text for *place, text in all_snippets(*pages) if place == [heading, language]]
    assert texts, f"no page has {language} under {heading}"
    return texts
