"""Runs generated C on this machine: built by gcc, called through ctypes, with the test's NPU."""

import ctypes
import re
import subprocess
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ethosgen.aot import compile_program
from ethosgen.backend.ethosu.accelerator import find_accelerator
from ethosgen.backend.ethosu.stream import read_only
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.oracle.tflm import golden_outputs
from ethosgen.samples.drawing import random_samples
from ethosgen.values.c_types import C_TYPES
from ethosgen.values.network import Network
from ethosgen.values.outcome import Arrays
from ethosgen.values.plan import IoStyle, Plan
from ethosgen.values.program import Port, Program
from tests.support import kernel_coverage

Array = np.ndarray[Any, Any]
Npu = Callable[[int, list[int]], int]
"""Runs a stream, given its number and eight addresses; returns a status."""

ACCELERATOR = find_accelerator("ethos-u55-128")
WARNINGS = ["-std=c11", "-Wall", "-Wextra", "-Wconversion", "-Werror"]
POISON = 0x5A
GUARD_BYTES = 64


def cpu_plan(data: bytes | Network, io: IoStyle = IoStyle.ARENA) -> Plan:
    """Return a plan that leaves every operator on the CPU."""
    network = data if isinstance(data, Network) else parse_network(data, "network.tflite")
    return Plan(network, io, network.graph, ACCELERATOR)


def samples_and_golden(network: Network, count: int = 5) -> tuple[list[Arrays], list[Arrays]]:
    """Return random inputs and TFLite Micro's outputs for them."""
    samples = random_samples(network, count, seed=3)
    return samples, golden_outputs(network, samples)


def write_sources(program: Program, folder: Path) -> list[Path]:
    """Write the program and its constants; return the C files."""
    for name, text in program.sources.items():
        (folder / name).write_text(text)
    lines = ["#include <stdint.h>", "#include <stdbool.h>"]
    for constant in program.constants:
        values = ", ".join(map(_literal, np.frombuffer(constant.data, constant.dtype)))
        lines.append(f"extern const {C_TYPES[constant.dtype]} {constant.c_name}[];")
        lines.append(f"_Alignas(16) const {C_TYPES[constant.dtype]} {constant.c_name}[] =")
        lines.append(f"{{{values}}};")
    (folder / "constants.c").write_text("\n".join(lines) + "\n")
    return [folder / name for name in (*program.sources, "constants.c") if name.endswith(".c")]


def _literal(value: Any) -> str:
    if isinstance(value, np.floating):
        if np.isinf(value):
            return f"{'-' if value < 0 else ''}1.0f / 0.0f"
        return f"{float(value).hex()}f"
    if isinstance(value, np.uint64):
        return f"{value}u"
    return str(value).lower() if isinstance(value, np.bool_) else str(value)


class GeneratedC:
    """A program as a shared library.

    Before every run the arena, except variables in it, is filled alternately with two patterns, so
    that reads of unwritten memory change the result. Guard bytes surround the arena, the state and
    the caller's outputs.
    """

    def __init__(
        self, program: Program, folder: Path, npu: Npu | None = None, flags: Sequence[str] = ()
    ) -> None:
        self.program = program
        folder = kernel_coverage.folder_of_counts() or folder
        sources = write_sources(program, folder)
        library = folder / "library.so"
        hook = folder / "hook.c"
        hook.write_text(_hook(program) + kernel_coverage.DUMP)
        command = ["gcc", "-O1", "-g0", "-fPIC", "-shared", *WARNINGS, *flags, "-o", str(library)]
        command += kernel_coverage.host_flags()
        files = [*map(str, sources), str(hook)]
        done = subprocess.run([*command, *files], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        self.library = ctypes.CDLL(str(library))
        self._callback = _CALLBACK(lambda stream, bases: (npu or _no_npu)(stream, list(bases[:8])))
        ctypes.c_void_p.in_dll(self.library, "npu_hook").value = ctypes.cast(
            self._callback, ctypes.c_void_p
        ).value
        self.arena = aligned(program.arena_bytes + 2 * GUARD_BYTES)
        self.state = aligned(program.state_bytes + 2 * GUARD_BYTES)
        self._poison = POISON
        self.reset()
        self.read_only = np.frombuffer(read_only(program.plan) or b"\0", np.uint8)

    def run(self, inputs: Arrays) -> tuple[int, Arrays]:
        """Run once; return the status and the outputs by tensor name."""
        inside = _inside(self.arena)
        kept = [(place, inside[place].copy()) for place, _ in self._places("arena")]
        self._poison ^= 0xFF
        inside[:] = self._poison
        for place, value in kept:
            inside[place] = value
        arguments = [_input(port, inputs, inside) for port in self.program.inputs]
        before = [array.copy() for array in arguments]
        owned = [aligned(port.tensor.bytes + 2 * GUARD_BYTES) for port in self.program.outputs]
        results = [
            _inside(own) if port.offset is None else _place(port, inside)
            for port, own in zip(self.program.outputs, owned, strict=True)
        ]
        for array, port in zip(results, self.program.outputs, strict=True):
            if port.offset is None:
                array[:] = self._poison
        pointers = [inside.ctypes.data, self.read_only.ctypes.data]
        pointers += [_inside(self.state).ctypes.data] if self.program.state_bytes else []
        if self.program.io is IoStyle.CALLER:
            pointers += [array.ctypes.data for array in (*arguments, *results)]
        assert len(pointers) == len(self.program.entry_parameters)
        entry = getattr(self.library, f"{self.program.name}_entry")
        status = entry(*(ctypes.c_void_p(pointer) for pointer in pointers))
        self.library.dump_counts()
        for memory in (self.arena, self.state, *owned):
            assert (memory[:GUARD_BYTES] == POISON).all()
            assert (memory[-GUARD_BYTES:] == POISON).all()
        if self.program.io is IoStyle.CALLER:
            for old, new in zip(before, arguments, strict=True):
                np.testing.assert_array_equal(old, new)
        return status, {
            port.tensor.name: array.view(port.tensor.dtype).reshape(port.tensor.shape).copy()
            for port, array in zip(self.program.outputs, results, strict=True)
        }

    def outputs(self, inputs: Arrays) -> Arrays:
        """Run once without an error, and return the outputs."""
        status, outputs = self.run(inputs)
        assert status == 0
        return outputs

    def check(self, samples: Iterable[Arrays], golden: Iterable[Arrays]) -> None:
        """Run samples one after the other; fail unless all outputs are golden."""
        for sample, wanted in zip(samples, golden, strict=True):
            assert_equal(self.outputs(sample), wanted)

    def reset(self) -> None:
        """Restore the variables' initial values, as NAME_reset() does."""
        for memory, array in (("arena", self.arena), ("state", self.state)):
            for place, byte in self._places(memory):
                _inside(array)[place] = byte

    def _places(self, memory: str) -> list[tuple[slice, int]]:
        variables = [v for v in self.program.variables if v.memory == memory]
        return [(slice(v.offset, v.offset + v.bytes), v.initial_byte) for v in variables]


def check_kernels(plan: Plan, folder: Path, pattern: str, flags: Sequence[str] = ()) -> None:
    """Fail unless each function of the C calls a kernel like `pattern`, and equals TFLite Micro."""
    program = compile_program(plan, "net")
    functions = re.split(r"static (?!const )", program.sources["net_graph.c"])[1:]
    assert functions
    assert all(re.search(pattern, function) for function in functions)
    generated = GeneratedC(program, folder, flags=flags)
    generated.check(*samples_and_golden(plan.network))


_CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_size_t))


def aligned(size: int) -> Array:
    """Return `size` bytes filled with the pattern, 64-byte aligned."""
    raw = np.full(size + 64, POISON, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + size]


def _inside(memory: Array) -> Array:
    return memory[GUARD_BYTES:-GUARD_BYTES]


def assert_equal(got: Arrays, wanted: Arrays) -> None:
    """Fail unless both have the same names, shapes, types and elements."""
    assert set(got) == set(wanted)
    for name, array in wanted.items():
        assert got[name].dtype == array.dtype
        np.testing.assert_array_equal(got[name], array, err_msg=name)


def _input(port: Port, inputs: Arrays, arena: Array) -> Array:
    data = np.ascontiguousarray(inputs[port.tensor.name]).view(np.uint8).reshape(-1)
    place = aligned(port.tensor.bytes) if port.offset is None else _place(port, arena)
    place[:] = data
    return place


def _place(port: Port, arena: Array) -> Array:
    assert port.offset is not None
    return arena[port.offset : port.offset + port.tensor.bytes]


def _no_npu(stream: int, _bases: Sequence[int]) -> int:
    raise AssertionError(f"stream {stream} was invoked in a network without an NPU")


def _hook(program: Program) -> str:
    name = program.name
    parameters = ", ".join(f"const void *b{i}" for i in range(8))
    values = ", ".join(f"b{i}" for i in range(8))
    return (
        "#include <stdint.h>\nint32_t (*npu_hook)(int32_t, const void **);\n"
        f"int32_t {name}_npu_invoke(int32_t stream, {parameters});\n"
        f"int32_t {name}_npu_invoke(int32_t stream, {parameters})\n"
        f"{{ const void *bases[] = {{{values}}}; return npu_hook(stream, bases); }}\n"
    )
