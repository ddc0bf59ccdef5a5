"""The bytes of code that a layer needs: the functions that its network reaches by calls.

Kernels that several layers of a firmware share count for each of them, as if it were alone.
"""

import re
import subprocess
from bisect import bisect_right
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

from bench.command import BenchError

_OBJDUMP = "arm-none-eabi-objdump"
_FUNCTION = re.compile(r"^([0-9a-f]{8}) <(.+)>:$")
_BRANCH = re.compile(
    r"^ *[0-9a-f]+:\t[0-9a-f ]+\t(?:b|cb|le|wls|dls)\w*(?:\.\w)?\t.*?([0-9a-f]+) <"
)


class Code:
    """The functions of an ELF, and which calls which."""

    def __init__(self, elf: Path) -> None:
        self._starts: list[int] = []
        self._named: dict[str, int] = {}
        self._targets: dict[int, set[int]] = {}
        for line in _disassembled(elf):
            if match := _FUNCTION.match(line):
                self._starts.append(int(match[1], 16))
                self._named.setdefault(match[2], self._starts[-1])
                self._targets[self._starts[-1]] = set()
            elif match := _BRANCH.match(line):
                self._targets[self._starts[-1]].add(int(match[1], 16))
        self._starts.sort()
        self._sizes = {start: end - start for start, end in pairwise(self._starts)}

    def bytes_from(self, name: str) -> int:
        """Return the size of a function and of all that it reaches."""
        reached: set[int] = set()
        waiting = [self._named[name]]
        while waiting:
            start = waiting.pop()
            if start not in reached:
                reached.add(start)
                waiting += self._functions_at(self._targets[start])
        return sum(self._sizes.get(start, 0) for start in reached)

    def _functions_at(self, addresses: Iterable[int]) -> list[int]:
        return [self._starts[bisect_right(self._starts, address) - 1] for address in addresses]


def _disassembled(elf: Path) -> list[str]:
    command = [_OBJDUMP, "-d", str(elf)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BenchError(f"{_OBJDUMP} cannot read '{elf}'", done.stderr)
    return done.stdout.splitlines()
