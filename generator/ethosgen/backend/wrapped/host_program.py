"""Runs an accelerator's partitions as a program on this machine, built from its own C.

The program is a separate process, which may crash or hang. It reads the constants of all partitions
once, then for each request a partition's number and its inputs, and answers with a status and the
outputs. The user's C prints to stderr.
"""

import atexit
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import IO

import numpy as np

from ethosgen.backend.calling import steps_of
from ethosgen.backend.wrapped.external import find_external
from ethosgen.backend.wrapped.folder import FILE, AcceleratorFolder
from ethosgen.backend.wrapped.generated import SOURCE, generated_files
from ethosgen.backend.wrapped.host_device import GUARD_BYTES, HostDevice
from ethosgen.backend.wrapped.machine import EMULATED, HERE, Compilers, Parts
from ethosgen.host import sanitizers
from ethosgen.host.child import cause_of_death
from ethosgen.host.resources import template_folder
from ethosgen.host.tools import CommandError
from ethosgen.values.call import Address, Argument, Function
from ethosgen.values.device import Device
from ethosgen.values.errors import AcceleratorFault, DeviceFault, InputError
from ethosgen.values.grammar import counted
from ethosgen.values.outcome import Arrays
from ethosgen.values.plan import Partition, Plan
from ethosgen.values.status import Status

CALL_S = 20.0
"""Time limit of one call in seconds."""
EMULATED_FACTOR = 10
"""The limit is so many times longer on an emulated machine."""
_LOOK_S = 0.1
_ERROR = re.compile(
    r"^(?P<where>[^\s:][^:\n]*:\d+):(?:\d+:)? (?:fatal )?error: (?P<what>.*)$", re.M
)
_UNDECLARED = re.compile(r"'(?P<name>\w+)' undeclared here")
_UNDEFINED = re.compile(r"undefined reference to [`'](?P<name>\w+)'")

_ANSWER = struct.Struct("<iiii")
"""The status of a call, the step that returned it, and the place and memory of a wrong write."""
_DAMAGE = ("", "before", "behind", "to")
_CALLS = template_folder("device") / "host" / "ethosgen_calls_host.c"
NO_DEVICE = """\
void begin_devices(void)
{
}

void end_of_loading(void)
{
}
"""


@dataclass(frozen=True)
class _Memory:
    """An object whose address a call gets; `tensor` is an index, None for constants and scratches.

    `name` is for messages. `address` is its place if a device addresses it.
    """

    kind: str
    name: str
    size: int
    tensor: int | None = None
    data: bytes = b""
    address: int | None = None


class HostProgram:
    """Runs partitions of one accelerator; the program starts at the first call.

    AcceleratorFault if a function crashes, hangs, or returns a status; InputError if the C does not
    compile. With a device its driver works on the device's model; DeviceFault if that fails.
    """

    def __init__(
        self,
        folder: AcceleratorFolder,
        plan: Plan,
        partitions: Sequence[Partition],
        flags: Sequence[str] = (),
        devices: Sequence[Device] = (),
    ) -> None:
        self._folder, self._plan, self._partitions = folder, plan, tuple(partitions)
        self._flags = tuple(flags)
        self._running: subprocess.Popen[bytes] | None = None
        self._device = HostDevice(devices) if devices else None
        self._place = tempfile.TemporaryDirectory(prefix="ethosgen-")

    def __call__(self, partition: Partition, inputs: Arrays) -> Arrays:
        """Run one partition on inputs by tensor name; return outputs by tensor name."""
        number = self._partitions.index(partition)
        memories, tensors = self._memories[number], self._plan.residual.tensors
        request = [struct.pack("<I", number)]
        for memory in memories:
            if memory.kind in ("INPUT", "STATE") and memory.tensor is not None:
                request.append(np.ascontiguousarray(inputs[tensors[memory.tensor].name]).tobytes())
        size = _ANSWER.size + sum(m.size for m in memories if m.kind in ("OUTPUT", "STATE"))
        answer = self._exchange(b"".join(request), size, partition)
        status, step, damage, memory = _ANSWER.unpack_from(answer)
        if status:
            raise self._failed(partition, status, step)
        if damage:
            what = f"{memories[memory].kind.lower()} '{memories[memory].name}'"
            raise AcceleratorFault(
                f"{self._call_text(partition)} or a function that it calls wrote "
                f"{_DAMAGE[damage]} its {what} of {counted(memories[memory].size, 'byte')}; it may "
                "write only its outputs, states and scratch"
            )
        outputs, place = {}, _ANSWER.size
        for memory in memories:
            if memory.kind in ("OUTPUT", "STATE") and memory.tensor is not None:
                tensor = tensors[memory.tensor]
                raw = np.frombuffer(answer, tensor.dtype, tensor.elements, place)
                outputs[tensor.name] = raw.reshape(tensor.shape).copy()
                place += memory.size
        return outputs

    def device_cycles(self, partition: Partition, inputs: Arrays) -> int | None:
        """Run one partition, and return the cycles that its device's model counts for it.

        None without a model, or if it counts none.
        """
        self._start()
        before = self._device.cycles() if self._device else None
        self(partition, inputs)
        after = self._device.cycles() if self._device else None
        return None if after is None else after - (before or 0)

    def _failed(self, partition: Partition, status: int, step: int) -> Exception:
        """Return the fault of a call that returned a status, with the function that did."""
        steps = steps_of(partition.call, [""] * len(partition.call.arguments))
        function = steps[step].partition("(")[0]
        said = f"{self._call_text(partition, function)} returned {_status_text(status)}"
        is_late = status == Status.DEVICE_TIMEOUT
        if is_late:
            said += ": what its driver waits for did not come in time"
        return AcceleratorFault(said + (self._device.explain(is_late) if self._device else ""))

    def check_accesses(self) -> None:
        """Compile the program, to refuse C that does not compile before anything runs."""
        _ = self.executable

    def close(self) -> None:
        """End the program; DeviceFault if all went well, but a device's interrupt never came."""
        silent = None
        if self._device is not None and self._running is not None and sys.exc_info()[0] is None:
            silent = self._device.silence()
        atexit.unregister(self.close)
        if self._running is not None:
            self._running.kill()
            self._running.communicate()
            self._running = None
        if self._device is not None:
            self._device.stop()
        if silent is not None:
            raise silent

    @cached_property
    def _memories(self) -> list[list[_Memory]]:
        groups = [list(self._memories_of(partition)) for partition in self._partitions]
        if self._device is None:
            return groups
        return [[self._placed(memory, self._device) for memory in memories] for memories in groups]

    def _placed(self, memory: _Memory, device: HostDevice) -> _Memory:
        is_written = memory.kind in ("OUTPUT", "STATE", "SCRATCH")
        name = f"{memory.kind.lower()} '{memory.name}'"
        address = device.place(name, memory.size, self._alignment, is_written)
        return replace(memory, address=address)

    def _memories_of(self, partition: Partition) -> Iterator[_Memory]:
        blobs = {blob.name: blob for blob in self._plan.blobs}
        scratches = {scratch.name: scratch for scratch in self._plan.scratches}
        for of in dict.fromkeys(a.of for a in partition.call.arguments if isinstance(a, Address)):
            if isinstance(of, int):
                tensor = self._plan.residual.tensors[of]
                kind = "STATE" if _is_state(self._plan, of) else "INPUT"
                kind = "OUTPUT" if of in partition.outputs else kind
                yield _Memory(kind, tensor.name, tensor.bytes, of)
            elif of in blobs:
                yield _Memory("CONSTANT", of, len(blobs[of].data), None, blobs[of].data)
            else:
                yield _Memory("SCRATCH", of, scratches[of].bytes)

    def source(self) -> str:
        """Return the C that calls the accelerator's functions."""
        placed = self._memories  # first: the device's declarations have their size
        headers = (
            f'#include "{name}"\n'
            for name in dict.fromkeys(
                (_CALLS.with_suffix(".h").name, *self._folder.headers, *self._generated_headers)
            )
        )
        device = self._device.declarations if self._device else NO_DEVICE
        lines = ["".join(headers), device, f"const size_t memory_alignment = {self._alignment};\n"]
        called = self._functions
        called += [p.call.waiting for p in self._partitions if p.call.waiting]
        lines += dict.fromkeys(function.type_check for function in called)
        for number, partition in enumerate(self._partitions):
            lines.append(_caller(number, partition))
            rows = "".join(
                f"    {{{m.kind}, {m.size}, (unsigned char *){m.address or 0:#x}, NULL}},\n"
                for m in placed[number]
            )
            end = "    {0},\n" if not rows else ""
            lines.append(f"static struct memory memories_{number}[] = {{\n{rows}{end}}};\n")
        counts = [len(memories) for memories in placed]
        entries = "".join(f"    {{call_{n}, memories_{n}, {c}}},\n" for n, c in enumerate(counts))
        lines.append(f"struct part parts[] = {{\n{entries}}};\n")
        lines.append(f"const size_t part_count = {len(counts)};\n")
        return "\n".join(lines)

    @property
    def _functions(self) -> list[Function]:
        """The C functions of the calls."""
        return [partition.call.function for partition in self._partitions]

    @property
    def _generated_headers(self) -> list[str]:
        return [name for function in self._functions if function.code for name in function.headers]

    @property
    def _alignment(self) -> int:
        return max(16, self._folder.declaration.memory.alignment)

    @cached_property
    def executable(self) -> Path:
        """The compiled program; InputError has the compiler's first error."""
        external = find_external(self._folder)
        root = Path(self._place.name)
        generated = generated_files(self._folder, self._functions)
        texts = {path: text.encode() for path, text in generated.items()}
        for path, data in (self._folder.files | texts).items():
            file = root / self._folder.name / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
        (root / "calls.c").write_text(self.source())
        declaration = self._folder.declaration
        sources = [root / self._folder.name / source for source in declaration.sources]
        includes = [f"-I{root / self._folder.name / include}" for include in declaration.include]
        includes += [f"-isystem{include}" for include in external.include]
        program = root / "program"
        flags = [*self._flags, f"-I{root}", f"-I{_CALLS.parent}", f"-DGUARD_BYTES={GUARD_BYTES}"]
        flags += includes
        files = [root / "calls.c", root / _CALLS.name]
        files += [root / self._folder.name / path for path in generated if path == SOURCE]
        shutil.copy(_CALLS, root)  # objects lie beside their sources
        if self._device is not None:
            flags += self._device.options(root)
            files += map(Path, self._device.sources)
        libraries = [*external.libraries, *(f"-l{library}" for library in declaration.link)]
        parts = Parts(files, flags, list(map(str, libraries)), [*sources, *external.sources])
        try:
            self._machine.build(program, parts)
        except CommandError as error:
            raise InputError(self._compiler_words(error.words or str(error), root)) from None
        return program

    @property
    def _limit_s(self) -> float:
        return CALL_S * (EMULATED_FACTOR if self._machine.emulator else 1)

    @property
    def _machine(self) -> Compilers:
        host = self._folder.declaration.host
        return HERE if isinstance(host, bool) else EMULATED[host]

    def _compiler_words(self, said: str, root: Path) -> str:
        """Return one sentence for the compiler's first error."""
        toml = f"'{self._folder.toml}'"
        match = _ERROR.search(said)
        if match:
            copied, own = f"{root}/{self._folder.name}/", f"{self._folder.origin}/"
            where, what = match["where"].replace(copied, own), match["what"]
            if "static assertion failed" in what:
                assertion = what.partition(":")[2].strip().strip('"')
                return f"{toml}: {assertion}"
            if missing := _UNDECLARED.search(what):
                line = self._line_of(missing["name"])
                return f"{toml}, line {line}: no header declares {missing['name']}()"
            if where.startswith(str(root)):
                return f"the calls that {toml} declares do not compile: {what}"
            return f"the C of {toml} does not compile for this machine: {where}: {what}"
        missing = _UNDEFINED.search(said)
        if missing:
            return (
                f"{toml} has no C for {missing['name']}(), which its functions call; name the file "
                "in sources"
            )
        tail = said.strip().splitlines()[-1] if said.strip() else "no message"
        return f"the C of {toml} does not compile for this machine: {tail}"

    def _start(self) -> "subprocess.Popen[bytes]":
        if self._running is None:
            program = self._machine.command(self.executable)
            environment, handles = self._device.start() if self._device else ({}, ())
            started = subprocess.Popen(
                program,
                env=os.environ | environment,
                pass_fds=handles,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=(Path(self._place.name) / "said").open("wb"),
            )
            atexit.register(self.close)
            self._running = started
            constants = (m.data for ms in self._memories for m in ms if m.kind == "CONSTANT")
            _send(started.stdin, b"".join(constants))
        return self._running

    def _exchange(self, request: bytes, size: int, partition: Partition) -> bytes:
        """Send a request and return the answer of `size` bytes."""
        started = self._start()
        ended = threading.Event()
        faults: list[Exception] = []

        def watch() -> None:
            """End the program when its time is up, or its device's model has failed."""
            ends = time.monotonic() + self._limit_s
            while not ended.wait(_LOOK_S) and not faults:
                if self._device and (fault := self._device.fault()):
                    faults.append(fault)
                elif time.monotonic() > ends:
                    faults.append(self._late(partition))
            if faults:
                started.kill()

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            _send(started.stdin, request)
            assert started.stdout is not None
            answer = started.stdout.read(size)
        finally:
            ended.set()
            watcher.join()
        if len(answer) == size:
            return answer
        status = started.wait()
        self.close()
        if faults:
            raise self._located(faults[0], partition)
        how = self._watched() or cause_of_death(status)
        raise AcceleratorFault(f"{self._call_text(partition)} failed on this machine: {how}")

    def _located(self, fault: Exception, partition: Partition) -> Exception:
        """Return a fault of the device's model with the call during which it occurred."""
        if not isinstance(fault, DeviceFault):
            return fault
        return DeviceFault(
            fault.device, fault.kind, f"in {self._call_text(partition)}: {fault.reason}"
        )

    def _late(self, partition: Partition) -> AcceleratorFault:
        return AcceleratorFault(
            f"{self._call_text(partition)} failed on this machine: it did not return in "
            f"{self._limit_s:g} s"
        )

    def _watched(self) -> str:
        """Return the sanitizers' report, "" if there is none."""
        copied = f"{self._place.name}/{self._folder.name}/"

        def own(place: str) -> str:
            return place.replace(copied, f"{self._folder.origin}/") if copied in place else ""

        said = (Path(self._place.name) / "said").read_text("utf-8", "replace")
        return sanitizers.described(said, own)

    def _call_text(self, partition: Partition, function: str = "") -> str:
        names = ", ".join(f"'{self._plan.residual.tensors[i].name}'" for i in partition.outputs)
        symbol = function or partition.call.function.symbol
        line = self._line_of(symbol)
        return f"{symbol} of '{self._folder.origin / FILE}', line {line} ({names})"

    def _line_of(self, function: str) -> int | None:
        """Return the line of the declaration that names a C function, None if none does."""
        for number, operation in enumerate(self._folder.declaration.operator):
            for field in ("call", "awaited"):
                stem = f"{self._folder.slug}_{operation.method}_" if operation.method else None
                is_made = stem is not None and field == "call" and function.startswith(stem)
                if getattr(operation, field) == function or is_made:
                    return self._folder.line(f"operator.{number}.{field}")
        local = self._folder.declaration.memory.local
        if local and function in (local.copy_in, local.copy_out):
            field = "copy_in" if function == local.copy_in else "copy_out"
            return self._folder.line(f"memory.local.{field}")
        return None


def _is_state(plan: Plan, tensor: int) -> bool:
    """Return whether a tensor keeps its value between inferences."""
    return plan.residual.tensors[tensor].is_variable and tensor not in plan.residual.inputs


def _status_text(status: int) -> str:
    return Status(status).c_name if status == Status.DEVICE_TIMEOUT else f"status {status}"


def _caller(number: int, partition: Partition) -> str:
    call = partition.call
    places = list(dict.fromkeys(a.of for a in call.arguments if isinstance(a, Address)))

    def text(argument: Argument) -> str:
        if argument is None:
            return "NULL"
        if isinstance(argument, Address):
            return f"(void *)m[{places.index(argument.of)}].start"
        return str(argument) if argument > -(1 << 31) else "INT32_MIN"

    lines = ["    (void)m;", "    int32_t status = 0;"]
    for step, line in enumerate(steps_of(call, list(map(text, call.arguments)))):
        lines.append(
            f"    if (status == 0) {{\n        *step = {step};\n        status = {line};\n    }}"
        )
    head = f"static int32_t call_{number}(struct memory *m, int32_t *step)"
    return "\n".join([f"{head}\n{{", *lines, "    return status;\n}\n"])


def _send(to: IO[bytes] | None, data: bytes) -> None:
    """Write to the program; a program that has ended is noticed when its answer is read."""
    assert to is not None
    try:
        to.write(data)
        to.flush()
    except BrokenPipeError:
        return
