"""The toy application: it prints a line for each byte of its input."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ethosgen.applications import Networks, Run, Settings


@dataclass(frozen=True)
class Hello:
    """Prints a greeting."""

    name: str = "toy"
    templates: str = str(Path(__file__).parent / "templates" / "apps")
    title: str = "print a line"
    accepts: str = "nothing"
    files: tuple[str, ...] = ("application.c", "settings.h")

    def check(self, networks: Networks) -> None:
        """Any networks fit."""

    def facts(self, networks: Networks) -> dict[str, Any]:
        """Return no values."""
        return {}

    def item_bytes(self, networks: Networks) -> int:
        """Return the size of an item."""
        return 1

    def item_s(self, settings: Settings) -> float | None:
        """Return that there is no clock."""
        return None

    def load(self, paths: Sequence[Path], networks: Networks) -> list[bytes]:
        """Return the bytes of the files."""
        return [bytes([byte]) for path in paths for byte in path.read_bytes()]

    def draw(self, networks: Networks, seed: int) -> list[bytes]:
        """Return two bytes."""
        return [b"\x07", b"\x2a"]

    def expect(
        self, items: Sequence[bytes], networks: Networks, run: Run, settings: Settings
    ) -> list[str]:
        """Return a line for each byte."""
        return [f"hello, {item[0]}" for item in items]


TOY = Hello()
