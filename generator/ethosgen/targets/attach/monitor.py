"""QEMU's monitor (QMP) saves memory, and its test protocol (qtest) sets interrupt lines.

Sources: QEMU, docs/interop/qmp-spec.rst and softmmu/qtest.c.
"""

import json
import re
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from ethosgen.targets.attach.packets import Closed
from ethosgen.values.errors import TargetError

_CORE = "child<armv7m>"
"""The type of an M-profile core and its NVIC in QEMU's tree of objects."""
_DEEPEST = 6
_WORD = re.compile(r": (0x[0-9a-f]{8})")
"""The answer of the monitor's command x."""


class Monitor:
    """The monitor; it saves memory faster than the GDB stub reads it."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self._file = line.makefile("rwb")
        self._next()  # the greeting
        self._execute("qmp_capabilities")

    def save(self, addr: int, size: int, to: Path) -> None:
        """Write the processor's memory to a file; TargetError if QEMU cannot."""
        self._execute("memsave", val=addr, size=size, filename=str(to))

    def word(self, addr: int) -> int | None:
        """Return a word in the processor's view, while it runs; None if there is none."""
        command = f"x /1wx {addr:#x}"
        said = str(self._execute("human-monitor-command", **{"command-line": command}))
        match = _WORD.search(said)
        return int(match[1], 16) if match else None

    def find_core(self) -> str:
        """Return the path of the first core in QEMU's tree of objects."""
        core = next(self._cores("/machine", _DEEPEST), None)
        if core is None:
            raise TargetError("QEMU's machine has no Cortex-M")
        return core

    def close(self) -> None:
        """Close the connection, which may be lost."""
        with suppress(OSError):
            self._file.close()
        self._line.close()

    def _cores(self, path: str, depth: int) -> Iterator[str]:
        """Yield the paths of cores below a path."""
        for item in self._execute("qom-list", path=path):
            place = f"{path}/{item['name']}"
            if item["type"] == _CORE:
                yield place
            elif item["type"].startswith("child<") and depth:
                yield from self._cores(place, depth - 1)

    def _execute(self, command: str, **arguments: Any) -> Any:
        request = {"execute": command, "arguments": arguments}
        self._file.write(json.dumps(request).encode() + b"\n")
        self._file.flush()
        while "return" not in (answer := self._next()):
            if "error" in answer:
                raise TargetError(f"QEMU's monitor refuses {command}: {answer['error']['desc']}")
        return answer["return"]

    def _next(self) -> dict[str, Any]:
        line = self._file.readline()
        if not line:
            raise TargetError("QEMU's monitor has closed its connection")
        answer: dict[str, Any] = json.loads(line)
        return answer


class InterruptLine:
    """A line of the NVIC, which keeps its level like the NPU's."""

    def __init__(self, line: socket.socket, core: str, irq: int) -> None:
        self._line = line
        self._file = line.makefile("rwb")
        self._what = f"set_irq_in {core} unnamed-gpio-in {irq}"

    def set(self, level: bool) -> None:
        """Raise or lower the line; TargetError if QEMU refuses, Closed if it has ended."""
        answer = b""
        with suppress(OSError):
            self._file.write(f"{self._what} {int(level)}\n".encode())
            self._file.flush()
            answer = self._file.readline()
        if not answer:
            raise Closed
        if not answer.startswith(b"OK"):
            text = answer.decode(errors="replace").strip()
            raise TargetError(f"QEMU cannot set the NPU's interrupt line: it answers {text}")

    def close(self) -> None:
        """Close the connection, which may be lost."""
        with suppress(OSError):
            self._file.close()
        self._line.close()
