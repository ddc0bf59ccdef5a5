"""Takes the pictures of docs/report.md, with QEMU and Chromium: python -m bench.report_pictures."""

import tempfile
from pathlib import Path
from typing import Any

from bench.command import ethosgen
from tests import ROOT
from tests.support.browser import start_browser

NETWORK = ROOT / "demo" / "digits_int8.tflite"
OPTIONS = ("--board", "corstone300", "--cpu-ops", "MAX_POOL_2D,SOFTMAX")
"""The command that the page describes."""
SECTIONS = {"graph": "#graph-section", "time": "#timeline", "memory": "#memory"}
"""Pictures by the section that they show."""
_WIDE, _SCREEN_HEIGHT = 1000, 760
_NARROW, _PHONE_HEIGHT = 360, 1400


def main() -> None:
    """Make the report, and take its pictures in light, and of a narrow window in dark."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        ethosgen("report", str(NETWORK), *OPTIONS, "-o", str(page))
        with start_browser() as browser:
            with browser.open(page, _WIDE) as opened:
                _save_top(opened.page, "summary", _WIDE, _SCREEN_HEIGHT)
                for name, selector in SECTIONS.items():
                    _save(opened.page.locator(selector), name)
            with browser.open(page, _NARROW, "dark") as opened:
                _save_top(opened.page, "narrow", _NARROW, _PHONE_HEIGHT)


def _save_top(page: Any, name: str, width: int, height: int) -> None:
    clip = {"x": 0, "y": 0, "width": width, "height": height}
    _save(page, name, full_page=True, clip=clip)


def _save(shown: Any, name: str, **more: Any) -> None:
    shown.screenshot(path=ROOT / "docs" / f"report_{name}.png", **more)


if __name__ == "__main__":
    main()
