"""Pages in a headless Chromium that may not use the network."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
"""Chromium's program in Debian, Ubuntu and elsewhere."""
_DEADLINE_MS = 60_000


def find_chromium() -> str | None:
    """Return the path of Chromium, None if it is not installed."""
    return next(filter(None, map(shutil.which, NAMES)), None)


@dataclass
class Opened:
    """A page, and what it did besides showing itself."""

    page: Any
    messages: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


class Browser:
    """One Chromium for many pages."""

    def __init__(self, chromium: Any) -> None:
        self._chromium = chromium

    @contextmanager
    def open(
        self,
        path: Path,
        width: int = 1200,
        scheme: str = "light",
        fragment: str = "",
        has_script: bool = True,
        **more: Any,
    ) -> Iterator[Opened]:
        """Open a page, and wait until the script of one of `ethosgen report` has ended."""
        context = self._chromium.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, **more
        )
        page = context.new_page()
        opened = Opened(page)
        page.on(
            "console", lambda message: opened.messages.append(f"{message.type}: {message.text}")
        )
        page.on("pageerror", lambda error: opened.messages.append(f"error: {error}"))
        page.on("request", lambda request: opened.requests.append(request.url))
        page.set_default_timeout(_DEADLINE_MS)
        try:
            page.goto(f"{path.as_uri()}{fragment}")
            if has_script and more.get("java_script_enabled", True):
                page.wait_for_selector("html[data-ready]", state="attached")
            yield opened
        finally:
            context.close()


@contextmanager
def start_browser() -> Iterator[Browser]:
    """Start a Chromium, and end it again."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # As root, which CI often is, Chromium's sandbox does not start.
        chromium = playwright.chromium.launch(
            executable_path=find_chromium(), args=["--no-sandbox", "--disable-gpu"]
        )
        try:
            yield Browser(chromium)
        finally:
            chromium.close()
