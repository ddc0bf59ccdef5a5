"""Write a firmware to a board with the flash tool in its board file."""

import tempfile
from pathlib import Path

from ethosgen.board import Board
from ethosgen.host.tools import GCC, CommandError, Tool, run_command
from ethosgen.targets.security import images
from ethosgen.values.errors import InputError, TargetError
from ethosgen.values.grammar import nearest

_LIMIT_S = 300.0
_FORMATS = {"bin": "binary", "hex": "ihex"}
_SAID_CHARACTERS = 1000


def flash(elf: Path, board: Board, tool: str | None = None) -> list[str]:
    """Flash a firmware with a tool of the board file, by default its first; return the command.

    InputError if the board file has no such tool, ToolError if the program is missing, TargetError
    with the program's output if it fails or times out.
    """
    if not board.flash:
        raise InputError(f"board '{board.name}' has no flash tool; add one to its file: [flash.…]")
    name = tool or next(iter(board.flash))
    if name not in board.flash:
        raise InputError(
            f"board '{board.name}' has no flash tool '{name}'{nearest(name, board.flash)}; it has: "
            f"{', '.join(board.flash)}"
        )
    with tempfile.TemporaryDirectory(prefix="ethosgen-flash-") as scratch:
        command = flash_command(elf, board.flash[name].command, Path(scratch))
        program = Tool(
            command[0], f"ETHOSGEN_{name.upper()}", f"flashes {board.name}", "install it"
        )
        command[0] = str(program.find())
        _run(command, f"'{name}' flashes board '{board.name}'")
    return command


def flash_images(elf: Path, board: Board, tool: str | None = None) -> None:
    """Flash all images of a firmware, as `flash` does one: non-secure firmware has two."""
    for image in images(elf, board):
        flash(image, board, tool)


def flash_command(elf: Path, template: list[str], scratch: Path) -> list[str]:
    """Return a command with the firmware's files inserted; create missing ones in `scratch`.

    The project itself may be on a read-only file system.
    """
    derived = (scratch / elf.name).with_suffix
    files = {"elf": elf, **{suffix: derived(f".{suffix}") for suffix in (*_FORMATS, "jlink")}}
    wanted = [name for name in files if any(f"{{{name}}}" in word for word in template)]
    for suffix in wanted:
        if suffix in _FORMATS:
            _convert(elf, files[suffix], _FORMATS[suffix])
        elif suffix == "jlink":
            _convert(elf, files["hex"], _FORMATS["hex"])
            files[suffix].write_text(f'r\nloadfile "{files["hex"].absolute()}"\nr\ng\nexit\n')
    command = list(template)
    for name in wanted:
        command = [word.replace(f"{{{name}}}", str(files[name])) for word in command]
    return command


def _convert(elf: Path, target: Path, form: str) -> None:
    objcopy = GCC.find().with_name("arm-none-eabi-objcopy")
    _run([str(objcopy), "-O", form, str(elf), str(target)], f"objcopy makes '{target}'")


def _run(command: list[str], what: str) -> None:
    try:
        run_command(command, _LIMIT_S)
    except CommandError as error:
        words = error.words.strip()[-_SAID_CHARACTERS:]
        raise TargetError(f"while {what}: {error}{': ' if words else ''}{words}") from None
