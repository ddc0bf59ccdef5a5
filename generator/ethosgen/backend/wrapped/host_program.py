"""Runs an accelerator's partitions as a program on this machine, built from its own C.

The program is a separate process, which may crash or hang. It reads the constants of all partitions
once, then for each request a partition's number and its inputs, and answers with a status and the
outputs. The user's C prints to stderr.
"""

import atexit
import os
import re
import struct
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import IO

import numpy as np

from ethosgen.backend.calling import function_around
from ethosgen.backend.wrapped.external import find_external
from ethosgen.backend.wrapped.folder import FILE, AcceleratorFolder
from ethosgen.backend.wrapped.host_device import HostDevice
from ethosgen.backend.wrapped.machine import EMULATED, HERE, Compilers, Parts
from ethosgen.host.child import cause_of_death
from ethosgen.host.tools import CommandError
from ethosgen.values.call import Address, Argument
from ethosgen.values.device import Device
from ethosgen.values.errors import AcceleratorFault, DeviceFault, InputError
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
_WATCHED = re.compile(r"AddressSanitizer: (?P<what>[\w-]+)")
_FRAME = re.compile(r"^ *#\d+ 0x\w+ in \w+ (?P<where>\S+:\d+)", re.MULTILINE)
_UNDECLARED = re.compile(r"'(?P<name>\w+)' undeclared here")
_UNDEFINED = re.compile(r"undefined reference to [`'](?P<name>\w+)'")

HEAD = """\
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
"""
MAIN = """\
enum kind { INPUT, OUTPUT, STATE, CONSTANT, SCRATCH };
struct memory { enum kind kind; size_t bytes; unsigned char *start; };
struct part { int32_t (*call)(struct memory *); struct memory *memories; };

static void take(void *to, size_t bytes, FILE *from)
{
    if (bytes && fread(to, 1, bytes, from) != bytes) {
        exit(0);
    }
}
"""
NO_DEVICE = """\
static void begin_devices(void)
{
}

static void end_of_loading(void)
{
}
"""
LOOP = """\
int main(void)
{
    FILE *answers = fdopen(dup(1), "wb");
    dup2(2, 1);
    begin_devices();
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        for (struct memory *m = parts[i].memories; m->bytes != SIZE_MAX; m++) {
            if (m->start == NULL &&
                posix_memalign((void **)&m->start, ALIGNMENT, m->bytes ? m->bytes : 1)) {
                return 1;
            }
            if (m->kind == CONSTANT) {
                take(m->start, m->bytes, stdin);
            }
        }
    }
    end_of_loading();
    for (;;) {
        uint32_t number;
        take(&number, sizeof number, stdin);
        struct memory *memories = parts[number].memories;
        for (struct memory *m = memories; m->bytes != SIZE_MAX; m++) {
            if (m->kind == INPUT || m->kind == STATE) {
                take(m->start, m->bytes, stdin);
            } else if (m->kind != CONSTANT) {
                memset(m->start, 0x5a, m->bytes);
            }
        }
        int32_t status = parts[number].call(memories);
        fflush(stdout);
        fwrite(&status, sizeof status, 1, answers);
        for (struct memory *m = memories; m->bytes != SIZE_MAX; m++) {
            if (m->kind == OUTPUT || m->kind == STATE) {
                fwrite(m->start, 1, m->bytes, answers);
            }
        }
        fflush(answers);
    }
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
        size = 4 + sum(m.size for m in memories if m.kind in ("OUTPUT", "STATE"))
        answer = self._exchange(b"".join(request), size, partition)
        (status,) = struct.unpack_from("<i", answer)
        if status:
            raise AcceleratorFault(f"{self._call_text(partition)} returned {_status_text(status)}")
        outputs, place = {}, 4
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

    def check_accesses(self) -> None:
        """Compile the program, to refuse C that does not compile before anything runs."""
        _ = self.executable

    def close(self) -> None:
        """End the program."""
        atexit.unregister(self.close)
        if self._running is not None:
            self._running.kill()
            self._running.communicate()
            self._running = None
        if self._device is not None:
            self._device.stop()

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
        headers = "".join(f'#include "{header}"\n' for header in self._folder.headers)
        device = self._device.declarations if self._device else NO_DEVICE
        lines = [HEAD, headers, device, MAIN, f"enum {{ ALIGNMENT = {self._alignment} }};\n"]
        called = [p.call.function for p in self._partitions]
        called += [p.call.waiting for p in self._partitions if p.call.waiting]
        lines += dict.fromkeys(function.type_check for function in called)
        lines += dict.fromkeys(function_around(p.call) for p in self._partitions if p.call.around)
        for number, partition in enumerate(self._partitions):
            lines.append(_caller(number, partition))
            rows = "".join(
                f"    {{{m.kind}, {m.size}, (unsigned char *){m.address or 0:#x}}},\n"
                for m in placed[number]
            )
            table = f"static struct memory memories_{number}[] = {{\n{rows}"
            lines.append(f"{table}    {{INPUT, SIZE_MAX, NULL}},\n}};\n")
        entries = "".join(
            f"    {{call_{n}, memories_{n}}},\n" for n in range(len(self._partitions))
        )
        lines.append(f"static struct part parts[] = {{\n{entries}}};\n")
        return "\n".join([*lines, LOOP])

    @property
    def _alignment(self) -> int:
        return max(16, self._folder.declaration.memory.alignment)

    @cached_property
    def executable(self) -> Path:
        """The compiled program; InputError has the compiler's first error."""
        external = find_external(self._folder)
        root = Path(self._place.name)
        for path, data in self._folder.files.items():
            file = root / self._folder.name / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
        (root / "calls.c").write_text(self.source())
        declaration = self._folder.declaration
        sources = [root / self._folder.name / source for source in declaration.sources]
        includes = [f"-I{root / self._folder.name / include}" for include in declaration.include]
        includes += [f"-isystem{include}" for include in external.include]
        program = root / "program"
        flags = [*self._flags, f"-I{root}", *includes]
        files = [root / "calls.c"]
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
        """Return the sanitizer's report of an invalid access, "" if there is none."""
        said = (Path(self._place.name) / "said").read_text("utf-8", "replace")
        match = _WATCHED.search(said)
        if not match:
            return ""
        copied = f"{self._place.name}/{self._folder.name}/"
        frames = [f["where"] for f in _FRAME.finditer(said) if f["where"].startswith(copied)]
        place = f" in {frames[0].replace(copied, f'{self._folder.origin}/')}" if frames else ""
        return f"{match['what']}{place}: it accesses memory outside its tensors and scratch"

    def _call_text(self, partition: Partition) -> str:
        names = ", ".join(f"'{self._plan.residual.tensors[i].name}'" for i in partition.outputs)
        symbol = partition.call.function.symbol
        line = self._line_of(symbol)
        return f"{symbol} of '{self._folder.origin / FILE}', line {line} ({names})"

    def _line_of(self, function: str) -> int | None:
        """Return the line of the declaration that names a C function, None if none does."""
        for number, operation in enumerate(self._folder.declaration.operator):
            for field in ("call", "awaited"):
                if getattr(operation, field) == function:
                    return self._folder.line(f"operator.{number}.{field}")
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

    line = f"{call.symbol}({', '.join(map(text, call.arguments))})"
    return (
        f"static int32_t call_{number}(struct memory *m)\n{{\n    (void)m;\n"
        f"    return {line};\n}}\n"
    )


def _send(to: IO[bytes] | None, data: bytes) -> None:
    """Write to the program; a program that has ended is noticed when its answer is read."""
    assert to is not None
    try:
        to.write(data)
        to.flush()
    except BrokenPipeError:
        return
