"""Counts instructions, and bytes loaded and stored, by a plugin of QEMU (counter.c).

A firmware marks a place by a load from its board's counter, whose address the plugin is told. The
counts between two marks are those of the code there, whether or not QEMU counts time in
instructions (-icount), so this also works for machines without a counter that firmware can read:
any address that nothing else loads will do.
"""

import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.command import BenchError
from ethosgen.host.tools import HOST_GCC, QEMU

SOURCE = Path(__file__).with_name("counter.c")


@dataclass(frozen=True)
class Count:
    """Instructions, and bytes loaded and stored."""

    instructions: int
    loaded_bytes: int
    stored_bytes: int

    def since(self, earlier: "Count") -> "Count":
        """Return the count from an earlier mark to this one."""
        return Count(
            self.instructions - earlier.instructions,
            self.loaded_bytes - earlier.loaded_bytes,
            self.stored_bytes - earlier.stored_bytes,
        )


class Counter:
    """The plugin, built in a folder; `mark_addr` is the address of a firmware's marks."""

    def __init__(self, folder: Path, mark_addr: int) -> None:
        self._plugin = folder / "counter.so"
        self._marks = folder / "marks"
        self._mark_addr = mark_addr
        self.program = folder / "qemu-system-arm"
        """A program that runs QEMU with the plugin; its path goes into ETHOSGEN_QEMU."""
        command = [str(HOST_GCC.find()), "-O2", "-shared", "-fPIC", str(SOURCE)]
        command += ["-o", str(self._plugin)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise BenchError("cannot compile the plugin of QEMU", done.stderr)
        words = shlex.join([str(QEMU.find()), *self.arguments()])
        self.program.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
        self.program.chmod(0o755)

    def arguments(self) -> list[str]:
        """Return the arguments of QEMU that load the plugin."""
        return ["-plugin", f"{self._plugin},mark={self._mark_addr:#x},out={self._marks}"]

    def between(self, count: int) -> Sequence[Count]:
        """Return the counts of the last run's last `count` pairs of marks."""
        marks = [Count(*map(int, line.split())) for line in self._marks.read_text().splitlines()]
        if len(marks) < 2 * count:
            raise BenchError(f"{len(marks)} marks, at least {2 * count} expected", "")
        last = marks[len(marks) - 2 * count :]
        return [end.since(start) for start, end in zip(last[::2], last[1::2], strict=True)]
