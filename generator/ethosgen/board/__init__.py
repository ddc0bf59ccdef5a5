"""Boards: facts from boards/*.toml, checked on reading; errors give file and line."""

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, Self

from pydantic import model_validator

from ethosgen import plugins
from ethosgen.backend import backend_of, find_accelerator
from ethosgen.backend.protocol import BoardMemories
from ethosgen.board.blanks import ask_for_blanks
from ethosgen.board.emulation import Bell, Qemu, SharedRam
from ethosgen.board.facts import (
    DEFAULT_MEMORY_MODE,
    BoardFacts,
    FirmwarePlacement,
    Fvp,
    MemoryMode,
    Serial,
)
from ethosgen.board.rules import faults, trustzone_faults
from ethosgen.board.trustzone import non_secure_facts
from ethosgen.host.resources import resource_folder
from ethosgen.platforms import find_platform
from ethosgen.toml.files import check_tables, read_text, read_toml, schema_text
from ethosgen.values.accelerator import Accelerator
from ethosgen.values.errors import InputError, cannot_write
from ethosgen.values.grammar import unknown
from ethosgen.values.schedule import FetchRule
from ethosgen.values.security import Security

__all__ = [
    "DEFAULT_MEMORY_MODE",
    "Bell",
    "Board",
    "FirmwarePlacement",
    "Fvp",
    "MemoryMode",
    "Qemu",
    "Serial",
    "SharedRam",
    "board_names",
    "board_schema",
    "load_board",
    "start_board_file",
]

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")
_KIND = "board file"
_SLOW_CYCLES = 4
"""From so many cycles for 4 bytes on, weights are copied into SRAM before they are read."""
_FETCH_BYTES = 32 << 10
"""The SRAM that the copies may take."""
_FETCH_READS = 2
"""The core's own copy reads everything once, so a layer must read its weights more often."""
_NANOSECONDS = 1_000_000_000


class Board(BoardFacts):
    """All facts of a board, checked."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for fault in faults(self):
            raise ValueError(fault)
        return self

    @property
    def on_qemu(self) -> "Board | None":
        """The board that QEMU runs: this one or its stand-in, None if there is neither.

        InputError for a stand-in that does not exist, or that QEMU does not run either.
        """
        if self.run.stand_in is None:
            return self if self.run.qemu is not None else None
        return _stand_in(self.run.stand_in, self.name, self.npu is not None)

    @property
    def instructions_per_tick(self) -> Fraction | None:
        """Instructions in a tick of the counter on QEMU, None if a tick is too long to count them.

        A difference of two counts is less than a tick too large or too small. If a tick is shorter
        than half an instruction, the nearest number of instructions is therefore the true one.
        Firmware that waits for an NPU or a device takes many such differences, and divides itself.
        """
        if self.run.qemu is None or self.counter is None:
            return None
        tick = Fraction(_NANOSECONDS, self.counter.hz * self.run.qemu.instruction_ns)
        return tick if tick < Fraction(1, 2) else None

    def for_platform(self, platform: str, is_element: bool = False) -> "Board":
        """Return the board as a platform's projects use it.

        Only bare-metal firmware that is not an element of a pipeline runs on a stand-in.
        """
        if self.run.stand_in is None or (find_platform(platform).stands_in and not is_element):
            return self
        return self.model_copy(update={"run": self.run.model_copy(update={"stand_in": None})})

    @property
    def is_non_secure(self) -> bool:
        """Whether its addresses are those that non-secure firmware sees."""
        return self.security is Security.NON_SECURE

    @property
    def security(self) -> Security:
        """The security state of its firmware."""
        return Security(self.trustzone.state) if self.trustzone else Security.SECURE

    def in_state(self, security: Security) -> "Board":
        """Return the board as firmware in a security state sees it.

        InputError for a board whose secure side is unknown or contradicts the rest.
        """
        if security is Security.SECURE or self.is_non_secure:
            return self
        if self.trustzone is None:
            known = [name for name in board_names() if _load(name).trustzone]
            raise InputError(
                f"board '{self.name}' has no [trustzone], so its secure side is unknown; use "
                f"{' or '.join(known)}, or add the table to its board file as docs/trustzone.md "
                "shows"
            )
        for fault in trustzone_faults(self):
            raise InputError(f"board '{self.name}': {fault}")
        return Board.model_validate(non_secure_facts(self.model_dump()))

    def placement(self, mode: str = DEFAULT_MEMORY_MODE) -> FirmwarePlacement:
        """Return the memory of each part in a memory mode; InputError lists the board's modes."""
        for known, placement in self.placements.items():
            if known == mode:
                return placement
        modes = ", ".join(self.placements)
        raise InputError(f"board '{self.name}' has no memory mode '{mode}'; it has: {modes}")

    def memory_modes(self, accelerator: Accelerator | None) -> list[MemoryMode]:
        """Return the modes that board and NPU support, the board's default first."""
        able = [
            mode
            for mode in self.placements
            if accelerator is None or not backend_of(accelerator).objection(accelerator, mode)
        ]
        return sorted(able, key=lambda mode: mode != self.default_memory_mode)

    def choose_memory_mode(self, mode: str | None, accelerator: Accelerator | None) -> MemoryMode:
        """Return the mode of that name, by default the board's; InputError if unsupported."""
        modes = self.memory_modes(accelerator)
        if mode is None and modes:
            return modes[0]
        mode = mode or self.default_memory_mode
        self.placement(mode)
        for known in modes:
            if known == mode:
                return known
        assert accelerator is not None  # without one, every mode is supported
        why = backend_of(accelerator).objection(accelerator, mode)
        raise InputError(
            f"{accelerator.name} does not support memory mode '{mode}': {why}; board "
            f"'{self.name}' supports with it: {', '.join(modes) or 'nothing'}"
        )

    def memories_in(self, mode: MemoryMode) -> BoardMemories:
        """Return the memories as compilers see them, from the linker script's placement."""
        placement = self.placement(mode)
        return BoardMemories(mode, self.memories[placement.fast or placement.arena].size_bytes)

    def fetch_rule(self, mode: str, asked: int | None) -> FetchRule:
        """Return the rule by which weights are copied; `asked` is the SRAM that the user grants.

        By default the core copies weights that are slow to read and too large for the cache in
        front of them.
        """
        if asked is not None:
            return FetchRule(asked)
        memory = self.memories[self.placement(mode).weights]
        if memory.cycles_per_word < _SLOW_CYCLES:
            return FetchRule()
        least = max(FetchRule.least_bytes, memory.cache_bytes // 2)
        return FetchRule(_FETCH_BYTES, least, _FETCH_READS)

    def accelerator(self, name: str | None) -> Accelerator:
        """Return the NPU of that name, by default the board's; InputError if the board lacks it."""
        if self.npu is None:
            raise InputError(
                f"board '{self.name}' has no NPU"
                f"{': an Ethos-U under Linux needs its kernel driver' if self.linux else ''}; omit "
                "--npu or pass --npu none, and pass networks that are not compiled for one"
            )
        wanted = name or self.npu.default
        accelerator = find_accelerator(wanted)
        if accelerator.name not in self.npu.configurations:
            raise InputError(
                f"board '{self.name}' has no {accelerator.name}; it has: "
                f"{', '.join(self.npu.configurations)}"
            )
        return accelerator

    def clock_doubts(self, *units: str) -> Iterator[str]:
        """Yield a sentence for each unit, "cpu" or "npu", whose clock is unverified."""
        for fact in (f"{unit}.clock_hz" for unit in units):
            if fact in self.unverified:
                yield f"{fact} of board '{self.name}' is unverified"

    def doubts(self) -> Iterator[tuple[str, Any]]:
        """Yield path and value of each unverified fact."""
        facts = self.model_dump()
        for path in self.unverified:
            value: Any = facts
            for part in path.split("."):
                value = value[part]
            yield path, value


def board_names() -> list[str]:
    """Return the names of ethosgen's boards and those of plug-ins."""
    return sorted([*own_board_names(), *_plugin_boards()])


def own_board_names() -> list[str]:
    """Return the names of the boards that come with ethosgen."""
    return sorted(path.stem for path in board_folder().glob("*.toml"))


@cache
def _plugin_boards() -> Mapping[str, Path]:
    """Return the files of plug-ins' boards; a wrong one is recorded and skipped."""
    files = dict(plugins.beside(plugins.BOARDS, own_board_names().__contains__))
    for name, path in list(files.items()):
        try:
            if path.stem != name:
                raise InputError(f"the file is '{path.name}', but must be {name}.toml")
            _read_board(path)
        except InputError as error:
            plugins.reject(plugins.BOARDS, name, str(error))
            del files[name]
    return files


def load_board(name_or_path: str) -> Board:
    """Read a board by its name, or from the user's file, whose name ends in .toml.

    InputError names the file, the line and the field that is wrong, or lists the known boards.
    """
    board = _load(name_or_path)
    if board.run.stand_in is not None:
        _stand_in(board.run.stand_in, board.name, board.npu is not None)
    return board


def _load(name_or_path: str) -> Board:
    """Read a board without its stand-in."""
    return _read_board(find_board_file(name_or_path))


def _read_board(path: Path) -> Board:
    text, facts = read_toml(path, _KIND)
    if question := ask_for_blanks(str(path), text, facts):
        raise InputError(question)
    return check_tables({"name": path.stem, **facts}, Board, f"{_KIND} '{path}'", text)


@cache
def _stand_in(name: str, of: str, has_npu: bool) -> Board:
    """Return the stand-in; for a board with an NPU, QEMU must share its memory."""

    def can_stand_in(board: Board) -> bool:
        qemu = board.run.qemu
        return qemu is not None and (qemu.shared is not None) == has_npu

    if name in board_names() and can_stand_in(board := _load(name)):
        return board
    known = [name for name in board_names() if can_stand_in(_load(name))]
    raise InputError(
        f"board '{of}': run.stand_in: QEMU runs no board '{name}'"
        f"{' with an NPU' if has_npu else ' without an NPU'}; choose from: {', '.join(known)}"
    )


def attaches_models(board: Board) -> bool:
    """Return whether QEMU, with the board or its stand-in, shares memory with models of devices."""
    if board.linux is not None:
        return True
    qemu = (_load(board.run.stand_in) if board.run.stand_in else board).run.qemu
    return qemu is not None and qemu.shared is not None


def boards_with_models() -> str:
    """Return the names of the boards on which QEMU attaches models of devices, for messages.

    A computer with Linux does not stand for another board.
    """
    boards = ((name, load_board(name)) for name in board_names())
    return ", ".join(n for n, board in boards if board.linux is None and attaches_models(board))


def find_blanks(name_or_path: str) -> str | None:
    """Return the question for the blanks of a board file, None if it has none."""
    path = find_board_file(name_or_path)
    return ask_for_blanks(str(path), *read_toml(path, _KIND))


def find_board_file(name_or_path: str) -> Path:
    """Return the file of a board; InputError lists the known boards."""
    path = Path(name_or_path)
    if path.suffix == ".toml":
        return path
    if name_or_path in own_board_names():
        return board_folder() / f"{name_or_path}.toml"
    if name_or_path in _plugin_boards():
        return _plugin_boards()[name_or_path]
    raise InputError(f"{unknown('board', name_or_path, board_names())}, or pass a .toml file")


def start_board_file(name: str, like: str, folder: Path) -> Path:
    """Write NAME.toml as a copy of another board's, for the user to change; return its path.

    InputError if the name is invalid, if there is no such board, or if the file exists.
    """
    if not _NAME.fullmatch(name):
        raise InputError(
            f"'{name}' is not a valid board name; use lower case letters, digits, '-' and '_'"
        )
    board = load_board(like)
    source = read_text(find_board_file(like), _KIND)
    path = folder / f"{name}.toml"
    quoted = json.dumps(f"{name} (started as a copy of {board.name})", ensure_ascii=False)
    body = re.sub(r"(?m)^description = .*$", lambda _: f"description = {quoted}", source, count=1)
    body = re.sub(r"\A#:schema .*\n", "", body)  # its path is relative to the folder of that file
    head = (
        f"# {name}: your board, started as a copy of {board.name}, whose facts it still has.\n"
        "# Go through them from top to bottom, then check with: ethosgen boards show "
        f"{shlex.quote(f'./{path.name}')}\n\n"
    )
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(head + body)
    except FileExistsError:
        raise InputError(f"'{path}' exists; choose another name, or delete it") from None
    except OSError as error:
        raise cannot_write(path, error) from None
    return path


def board_schema() -> str:
    """Return the JSON schema of board files, for editors."""
    return schema_text(Board, "ethosgen board file", own_field="name")


def board_folder() -> Path:
    """Return the folder of the board files that come with ethosgen."""
    return resource_folder("boards")
