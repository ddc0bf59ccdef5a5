"""Runs a built project with its console as a pseudo-terminal, for other programs."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from ethosgen.applications import Commanded, find_application
from ethosgen.flow.firmware import find_app, find_firmware, open_built
from ethosgen.flow.models import devices_of, simulator_for
from ethosgen.values.errors import InputError

_START_S = 60.0
_ELSEWHERE = ("serial", "ssh")
"""Targets whose console other programs open themselves."""


def serve_console(
    directory: Path,
    *,
    on: str | None = None,
    build: Path | None = None,
    harness: bool = False,
    on_open: Callable[[str], None],
) -> int:
    """Run a project's application, or without one or with `harness` its networks' server.

    `on_open` gets the path of the pseudo-terminal. Returns the firmware's exit status when it has
    exited. InputError for a board, whose console is not on this machine.
    """
    from ethosgen.targets import Firmware, require_target
    from ethosgen.targets.commands import CommandSession
    from ethosgen.targets.terminal import Terminal

    info, on = open_built(directory, on)
    if on in _ELSEWHERE:
        raise InputError(
            f"the console of a target on {on} is not on this machine; open the board's own port, "
            "or serve another target with --on"
        )
    is_app = info.app is not None and not harness
    elf = find_app(info, on, build) if is_app else find_firmware(info, on, build).elf
    firmware = Firmware(elf, replace(info, devices=devices_of(info, on)), simulator_for(info, on))
    with Terminal() as terminal, require_target(on).start(firmware) as target:
        if is_app and isinstance(find_application(info.app or ""), Commanded):
            # Its output at the start would look like an answer to another program's first command.
            CommandSession(target.console, target.check, elf).start(info.digest, _START_S)
        on_open(terminal.path)
        return terminal.serve(target)
