"""The conversation with an application that takes commands, on a console of ours."""

from collections.abc import Callable

import pytest

from ethosgen.targets.commands import CommandSession
from ethosgen.targets.frames import Frame
from ethosgen.targets.session import Reply
from ethosgen.values.errors import TargetError

DIGEST = "0123456789abcdef"
BOOT = b"m-timestamp-mode-performance\r\nm-lap-us-7\r\nm-init-done\r\nm-ready\r\n"


class Application:
    """An application that starts late: it loses the first bytes, and then prints its greeting."""

    def __init__(self, lost: int = 0, digest: str = DIGEST) -> None:
        self._lost, self._digest = lost, digest
        self._text, self._answer = "", b"" if lost else BOOT
        self.asked: list[str] = []

    def write(self, data: bytes) -> None:
        if self._lost:
            self._lost = max(0, self._lost - len(data))
            self._answer = b"" if self._lost else BOOT
            return
        self._text += data.decode()
        *commands, self._text = self._text.split("%")
        for command in commands:
            self.asked.append(command)
            self._answer += self.say(command).encode() + b"m-ready\r\n"

    def say(self, command: str) -> str:
        if command == "profile":
            return f"m-profile-[x]\r\nm-model-[kws01]\r\nm-digest-[{self._digest}]\r\n"
        if command == "results":
            return "m-results-[0.500]\r\n"
        return f"e-[Unknown command: {command}]\r\n"

    def read(self, timeout_s: float) -> bytes:
        data, self._answer = self._answer[:5], self._answer[5:]
        return data

    def close(self) -> None: ...


def alive() -> None: ...


def session(application: Application, check: Callable[[], None] = alive) -> CommandSession:
    return CommandSession(application, check)


@pytest.mark.parametrize("lost", [0, 3, 12])
def test_no_answer_of_the_start_is_left_for_the_first_command(lost: int) -> None:
    application = Application(lost)
    talk = session(application)
    talk.start(DIGEST, 30)
    assert talk.ask("results", 5) == ["m-results-[0.500]"]
    assert application.asked[-2:] == ["profile", "results"]


@pytest.mark.parametrize("digest", ["fedcba9876543210", ""])
def test_another_library_is_refused(digest: str) -> None:
    with pytest.raises(TargetError, match=rf"another library than the project's {DIGEST}"):
        session(Application(digest=digest)).start(DIGEST, 30)


class Silent(Application):
    """A target that answers nothing, or that sends only some bytes."""

    def __init__(self, answer: bytes = b"") -> None:
        super().__init__()
        self._answer = answer

    def write(self, data: bytes) -> None: ...


def test_silence_is_an_error_and_a_dead_target_too() -> None:
    with pytest.raises(TargetError, match=r"did not answer to 'sing' within 0\.1 s"):
        session(Silent()).ask("sing", 0.1)

    def dead() -> None:
        raise TargetError("QEMU ended early")

    with pytest.raises(TargetError, match="QEMU ended early"):
        session(Silent(), dead).start(DIGEST, 30)


def test_a_fault_between_the_lines_is_told() -> None:
    fault = Frame(Reply.FAULT, 0, bytes(16)).encode()
    with pytest.raises(TargetError, match="the firmware crashed"):
        session(Silent(b"m-warmup-start-0\r\n" + fault)).ask("infer 1 0", 5)
