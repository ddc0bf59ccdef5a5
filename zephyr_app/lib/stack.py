# SPDX-FileCopyrightText: The ethosgen authors
# SPDX-License-Identifier: Apache-2.0
"""Compute the main thread's stack use; fail if CONFIG_MAIN_STACK_SIZE is smaller.

    stack.py BUILD SIZE INTERRUPT

The build calls this after linking. Beside each object file GCC has written a call graph with each
function's stack frame (-fcallgraph-info=su). The script adds up the deepest path from main(), or
from the initialization of devices, which the main thread runs before, and INTERRUPT bytes, which
the processor pushes for an interrupt. POINTERS lists the targets of calls through pointers; a
function that GCC did not compile (assembly, the C library) counts as LEAF bytes.
"""

import re
import sys
from collections import defaultdict
from pathlib import Path

LEAF = 40
"""Bytes for a function without a call graph: Zephyr's assembly and newlib's string functions push
at most ten registers."""
ROOTS = ("main", "z_sys_init_run_level")
"""The functions that the main thread calls from THREAD, one after the other."""
THREAD = "bg_thread_main"
POINTERS = {
    "z_sys_init_run_level": r"\w+_init$",
    "do_device_init": r"\w+_init$",
    "z_impl_uart_poll_out": r"uart_\w+_poll_out$",
    "uart_poll_out": r"uart_\w+_poll_out$",
    "z_impl_uart_poll_in": r"uart_\w+_poll_in$",
    "uart_poll_in": r"uart_\w+_poll_in$",
    "uart_irq_rx_enable": r"uart_\w+_irq_rx_enable$",
    "z_impl_uart_irq_rx_enable": r"uart_\w+_irq_rx_enable$",
    "uart_irq_callback_user_data_set": r"uart_\w+_irq_callback_set$",
}
"""Functions that call through pointers, and their targets. The application and its server call
networks: see NETWORKS."""
SERVERS = ("main.c", "server.c")
NETWORKS = re.compile(r"/model/(?!ethosgen/)([^/]+/)?[^/]+\.c$|/main\.c$")
"""Files with functions that the server calls through pointers, unless they are called by name."""
_NODE = re.compile(r'node: \{ title: "([^"]+)" label: "([^"]*)"')
_EDGE = re.compile(r'edge: \{ sourcename: "([^"]+)" targetname: "([^"]+)"')
_FRAME = re.compile(r"(\d+) bytes \((static|dynamic)")
_POINTER = "__indirect_call"

_Deep = tuple[int, tuple[str, ...]]


class Graph:
    """Frames and calls of all compiled functions, by GCC's titles: name, or file:name."""

    def __init__(self) -> None:
        self._frames: dict[str, int] = {}
        self._files: dict[str, str] = {}
        self._titles: dict[str, set[str]] = defaultdict(set)
        self._calls: dict[str, set[str]] = defaultdict(set)
        self._depths: dict[str, _Deep] = {}

    def read(self, path: Path) -> None:
        """Add the frames and calls in a .ci file."""
        text = path.read_text(encoding="utf-8", errors="replace")
        for title, label in _NODE.findall(text):
            words = label.split("\\n")
            frame = _FRAME.match(words[2]) if len(words) > 2 else None
            if frame is not None:
                self._frames[title] = max(self._frames.get(title, 0), int(frame[1]))
                self._files[title] = words[1].split(":")[0]
                self._titles[words[0]].add(title)
        for source, target in _EDGE.findall(text):
            self._calls[source].add(target)

    def deepest(self, name: str) -> _Deep:
        """Return the deepest path from a function of this name: its bytes, and its functions."""
        return max((self._depth(title, ()) for title in self._titles[name]), default=(0, ()))

    def _depth(self, title: str, above: tuple[str, ...]) -> _Deep:
        if title in above:
            return 0, ()  # a cycle through pointers, which the program does not take
        if title not in self._depths:
            frame = self._frames.get(title, LEAF)
            deeper = (self._depth(callee, (*above, title)) for callee in self._callees(title))
            below = max(deeper, default=(0, ()))
            name = title.rsplit(":", 1)[-1]
            self._depths[title] = frame + below[0], (f"{name} {frame}", *below[1])
        return self._depths[title]

    def _callees(self, title: str) -> set[str]:
        """Return a function's callees; the title of a weak one has its file, which calls lack."""
        callees: set[str] = set()
        for target in self._calls[title]:
            if target == _POINTER:
                callees |= self._pointed_at(title)
            else:
                callees |= self._titles.get(target.rsplit(":", 1)[-1], {target})
        return callees

    def _pointed_at(self, title: str) -> set[str]:
        name = title.rsplit(":", 1)[-1]
        if name in POINTERS:
            matches = re.compile(POINTERS[name]).match
            matching = [ones for known, ones in self._titles.items() if matches(known)]
            return {function for ones in matching for function in ones}
        if Path(self._files[title]).name in SERVERS:
            called = {target.rsplit(":", 1)[-1] for ones in self._calls.values() for target in ones}
            return {
                function
                for name, ones in self._titles.items()
                if name not in called
                for function in ones
                if NETWORKS.search(self._files[function])
            }
        return {f"{name}'s pointer"}


def check(build: Path, size: int, interrupt: int) -> tuple[int, str]:
    """Return the stack that the main thread needs, in bytes, and its deepest path.

    LookupError if there is no call graph of main().
    """
    graph = Graph()
    for path in sorted(build.rglob("*.ci")):
        graph.read(path)
    if not graph.deepest("main")[1]:
        raise LookupError(
            f"'{build}' has no call graph of main(), so the main thread's stack is unknown; "
            "build again in an empty directory, without a compiler cache that loses .ci files "
            "(-DUSE_CCACHE=0 if it is ccache before 4.9.2)"
        )
    depth, path_ = max(graph.deepest(root) for root in ROOTS)
    thread = graph.deepest(THREAD)[1][:1] or (f"{THREAD} 0",)
    need = depth + int(thread[0].split()[1]) + interrupt
    return need, ", ".join((*thread, *path_, f"an interrupt {interrupt}"))


def main(arguments: list[str]) -> int:
    """Print the stack that is needed, and how to correct a size that is too small."""
    size = int(arguments[1])
    try:
        need, path = check(Path(arguments[0]), size, int(arguments[2]))
    except LookupError as error:
        sys.stderr.write(f"ethosgen: {error}\n")
        return 1
    sys.stdout.write(f"ethosgen: the main thread needs {need} of {size} bytes of stack ({path})\n")
    if need > size:
        sys.stderr.write(f"ethosgen: set CONFIG_MAIN_STACK_SIZE={-(-need // 8) * 8} in prj.conf\n")
    return int(need > size)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
