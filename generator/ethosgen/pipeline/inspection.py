"""Inspects an NPU's command streams: their text, and the effects of their operations.

Joins the reader, the offload and the NPU model, as the pipeline does.
"""

import dataclasses
import io
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ethosgen.backend.ethosu.accelerator import (
    DEFAULT_NPU,
    EthosU,
    find_accelerator,
    require_model,
)
from ethosgen.backend.ethosu.offload import (
    accelerator_for,
    compiled_for,
    compiled_streams,
    offload,
    require_npu,
    strip_header,
)
from ethosgen.backend.ethosu.simulator.decode import decode
from ethosgen.backend.ethosu.simulator.disassembly import ListedCommand, disassemble
from ethosgen.backend.ethosu.simulator.trace import Entry, Trace
from ethosgen.frontend.tflite.reader import IDENTIFIER, is_compiled, parse_model
from ethosgen.values.errors import InputError, NpuFault
from ethosgen.values.watch import Watch

_HEADERS = (b"COP1", b"COP2")
_ZIP = b"PK\3\4"
_DAMAGE = (zipfile.BadZipFile, zlib.error)
_RAW_COMMANDS = "cmd_data"
"""The array of Vela's raw output with the stream, after the driver's header."""


@dataclass(frozen=True)
class Listing:
    """One command stream; `lines` raises NpuFault if the stream is invalid."""

    name: str
    accelerator: EthosU
    size_bytes: int
    lines: Iterator[ListedCommand]

    def as_json(self) -> dict[str, Any]:
        """Return the listing as an object of JSON types."""
        return {
            "name": self.name,
            "npu": self.accelerator.name,
            "bytes": self.size_bytes,
            "commands": [line.as_json() for line in self.lines],
        }


def list_streams(path: Path, npu: str | None, watch: Watch) -> list[Listing]:
    """Disassemble a file: a .tflite, compiled or not, Vela's raw output, or a command stream.

    Vela first compiles a network that is not compiled. `npu` None means the file's, or else the
    default. Raises InputError for another kind of file, or for another NPU.
    """
    accelerator = find_accelerator(npu) if npu is not None else None
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read '{path}': {error.strerror or error}") from None
    if data[4:8] == IDENTIFIER:
        return _list_network(data, path, accelerator, watch)
    if data[:4] == _ZIP:
        data = _raw_commands(data, path)
    return [_list_bare(data, path, accelerator)]


def _list_network(
    data: bytes, path: Path, accelerator: EthosU | None, watch: Watch
) -> list[Listing]:
    model = parse_model(data, path.name)
    if is_compiled(model):
        found = _same(accelerator, compiled_for(model), path)
        streams = [payload.commands for payload in compiled_streams(model)]
    else:
        found = accelerator or find_accelerator(DEFAULT_NPU)
        with watch.stage("offload", f"compiling for {found.name} (Vela)"):
            streams = [p.commands for p in offload(model, found).partitions]
    return [_listing(f"partition_{i}", found, stream) for i, stream in enumerate(streams)]


def _raw_commands(data: bytes, path: Path) -> bytes:
    """Return the command stream from the output of `vela --output-format raw`."""
    try:
        with np.load(io.BytesIO(data)) as arrays:
            return bytes(arrays[_RAW_COMMANDS].tobytes())
    except (KeyError, ValueError, OSError, EOFError, RuntimeError, *_DAMAGE):
        raise InputError(
            f"'{path}' has no command stream; disasm reads the .npz of vela --output-format raw"
        ) from None


def _list_bare(data: bytes, path: Path, accelerator: EthosU | None) -> Listing:
    if data[:4] in _HEADERS:
        payload = strip_header(data)
        found = _same(accelerator, accelerator_for(payload.config_word, path.name), path)
        return _listing(path.name, found, payload.commands)
    try:
        next(decode(data))
    except (NpuFault, StopIteration):
        raise InputError(
            f"'{path}' is neither a .tflite, nor Vela's raw output, nor a command stream of "
            "Ethos-U55 or U65"
        ) from None
    return _listing(path.name, accelerator or find_accelerator(DEFAULT_NPU), data)


def _same(wanted: EthosU | None, found: EthosU, path: Path) -> EthosU:
    """Return the NPU that a file is for; InputError if the user names another."""
    if wanted is not None:
        require_npu(wanted, found, path.name)
    return found


def _listing(name: str, accelerator: EthosU, stream: bytes) -> Listing:
    require_model(accelerator)
    return Listing(name, accelerator, len(stream), disassemble(stream, accelerator))


def make_trace(dumps: Sequence[str]) -> Trace:
    """Return an observer for `pipeline.simulate`.

    A dump is "N=FILE.npz" or "N.npz": operation N's arrays go to that file. InputError for any
    other text.
    """
    return Trace(dict(_dump(text) for text in dumps))


def _dump(text: str) -> tuple[int, Path]:
    number, equals, name = text.partition("=")
    path = Path(name if equals else text)
    digits = number if equals else path.stem
    if path.suffix != ".npz" or not digits.isdecimal():
        raise InputError(
            f"'{text}' does not name an operation and a file; write 3=FILE.npz, or 3.npz, "
            "for operation 3"
        )
    return int(digits), path


def trace_lines(entries: Sequence[Entry], times: bool) -> Iterator[str]:
    """Yield a table of the operations; times, which differ from run to run, are the last column."""
    previous = None
    for entry in entries:
        where = (entry.sample, entry.partition)
        if where != previous:
            yield f"sample {entry.sample}, {entry.partition}"
            yield _HEAD + ("        ms" if times else "")
            previous = where
        line = (
            f"{entry.number:>4}  0x{entry.offset:06x}  {entry.name:<58}  {entry.macs:>9}  "
            f"{_regions(entry.read):<18}  {_regions(entry.written):<10}  {entry.checksum:08x}"
        )
        yield f"{line}  {1e3 * entry.seconds:>8.2f}" if times else line


def trace_objects(entries: Sequence[Entry], times: bool) -> list[dict[str, Any]]:
    """Return entries as objects of JSON types."""
    objects = [dataclasses.asdict(entry) for entry in entries]
    if not times:
        for entry in objects:
            del entry["seconds"]
    return objects


_HEAD = (
    f"{'op':>4}  {'offset':<8}  {'operation':<58}  {'MACs':>9}  {'bytes read':<18}  "
    f"{'written':<10}  {'checksum':<8}"
)


def _regions(sizes: Mapping[str, int]) -> str:
    return " ".join(f"{region}:{size}" for region, size in sizes.items())
