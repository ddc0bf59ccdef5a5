"""A command is never silent for long."""

import pytest

from ethosgen.commands.progress import Progress


class Beats:
    """In place of the event that ends a command: it happens after `count` waits."""

    def __init__(self, count: int) -> None:
        self.left = count

    def wait(self, _seconds: float) -> bool:
        self.left -= 1
        return self.left < 0

    def set(self) -> None:
        """Leave the end to the count."""


def test_a_slow_command_says_again_and_again_where_it_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    progress = Progress()
    monkeypatch.setattr(progress, "_ended", Beats(2))
    progress.watch().say("asking TFLite Micro and LiteRT")
    with progress:
        pass
    said = capsys.readouterr()
    line = "ethosgen: asking TFLite Micro and LiteRT (0 s so far)"
    assert said.out == "" and said.err.splitlines() == [line, line]


def test_a_quick_command_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress() as progress:
        progress.watch().say("reading")
    said = capsys.readouterr()
    assert said.out == said.err == ""
