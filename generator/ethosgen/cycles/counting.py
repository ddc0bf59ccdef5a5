"""Counts by a plugin of QEMU (blocks.c) which blocks of code run, and bytes loaded and stored.

A firmware marks a place by a load from its board's counter, whose address the plugin gets. The
counts between two marks are those of the code there, whether or not QEMU counts time in
instructions (-icount), so this also works for machines without a counter that firmware can read:
any address that nothing else loads will do.
"""

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ethosgen.host.qemu_plugins import stored_plugin
from ethosgen.host.tools import QEMU
from ethosgen.values.errors import TargetError
from ethosgen.values.grammar import counted

SOURCE = Path(__file__).with_name("blocks.c")
_MARK = "mark"

Addresses = tuple[int, int]
"""A block of code: the address of its first instruction, and the one after its last."""


@dataclass(frozen=True)
class Passage:
    """A block and its number of runs after the block `before`, None if that was before the mark."""

    before: Addresses | None
    block: Addresses
    times: int


@dataclass(frozen=True)
class CodeCount:
    """The code between two marks; `constant_bytes` of the loaded bytes were in constant ranges."""

    instructions: int
    loaded_bytes: int
    stored_bytes: int
    constant_bytes: int
    passages: tuple[Passage, ...]


class BlockCounter:
    """The plugin, built in a folder; `mark_addr` is the address of a firmware's marks.

    `constants` are ranges of addresses, as (start, end), whose loads are counted separately. If
    only the code at `look` makes marks, bytes are not counted, and QEMU runs faster. ToolError
    without a C compiler for this machine or QEMU.
    """

    def __init__(
        self,
        folder: Path,
        mark_addr: int,
        constants: Iterable[Addresses] = (),
        look: Addresses | None = None,
    ) -> None:
        self._plugin = stored_plugin(SOURCE, "the plugin of QEMU that counts blocks")
        self._out = folder / "blocks"
        self._mark_addr = mark_addr
        self._constants = tuple(constants)
        self._look = look
        self._read = 0
        self.program = folder / "qemu-system-arm"
        """A program that runs QEMU with the plugin; its path goes into ETHOSGEN_QEMU."""
        words = shlex.join([str(QEMU.find()), *self.arguments()])
        self.program.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
        self.program.chmod(0o755)

    def arguments(self) -> list[str]:
        """Return the arguments of QEMU that load the plugin."""
        ranges = (f"constant={start:#x}:{end:#x}" for start, end in self._constants)
        words = [str(self._plugin), f"mark={self._mark_addr:#x}", f"out={self._out}", *ranges]
        if self._look is not None:
            words.append(f"look={self._look[0]:#x}:{self._look[1]:#x}")
        return ["-plugin", ",".join(words)]

    def fresh(self) -> list[CodeCount]:
        """Return the counts at the marks since the last call, while the firmware waits for us."""
        with self._out.open() as lines:
            lines.seek(self._read)
            counts = list(read_counts(iter(lines.readline, "")))
            self._read = lines.tell()
        return counts

    def between(self, count: int) -> Sequence[CodeCount]:
        """Return the counts of the last run's last `count` pairs of marks; TargetError if fewer."""
        with self._out.open() as lines:
            known = list(read_counts(lines))
        if len(known) < 2 * count:
            raise TargetError(
                f"the firmware loaded the word at {self._mark_addr:#x} "
                f"{counted(len(known), 'time')}, at least {2 * count} were expected; name the "
                "address of the counter that it reads"
            )
        return known[len(known) - 2 * count :][1::2]


def read_counts(lines: Iterable[str]) -> Iterator[CodeCount]:
    """Yield the plugin's record at each mark: the counts since the last one."""
    passages: list[Passage] = []
    for line in lines:
        first, *words = line.split()
        if first != _MARK:
            start, end, *block = (int(word, 16) for word in (first, *words[:3]))
            before = (start, end) if end else None
            passages.append(Passage(before, (block[0], block[1]), int(words[3])))
            continue
        instructions, loaded, stored, constant = map(int, words)
        yield CodeCount(instructions, loaded, stored, constant, tuple(passages))
        passages = []
