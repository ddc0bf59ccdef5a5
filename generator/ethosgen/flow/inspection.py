"""Inspect command streams: as text, and by the effects of their operations."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ethosgen.backend import (
    compiled_for,
    default_accelerator,
    find_accelerator,
    inspection_of,
    require_simulator,
)
from ethosgen.backend.protocol import Listing
from ethosgen.backend.trace import Entry, Trace
from ethosgen.frontend import read_bytes, read_source, recognized
from ethosgen.values.errors import InputError
from ethosgen.values.source import Source
from ethosgen.values.watch import Watch


def list_streams(path: Path, npu: str | None, watch: Watch) -> list[Listing]:
    """Disassemble a file: a .tflite, compiled or not, or another file of an NPU's compiler.

    An uncompiled network is compiled first. Without `npu`, the file's NPU or the default is used.
    Raises InputError for another kind of file, or for another NPU.
    """
    accelerator = find_accelerator(npu) if npu is not None else None
    data = read_bytes(path)
    front_end = recognized(data)
    if front_end is None:
        inspection = inspection_of(accelerator or default_accelerator())
        return _covered(inspection.listings(data, path.name, accelerator, watch))
    network = read_source(Source(front_end.name, path.name, data))
    inspection = inspection_of(compiled_for(network) or accelerator or default_accelerator())
    return _covered(inspection.listings(network, path.name, accelerator, watch))


def _covered(listings: list[Listing]) -> list[Listing]:
    """Return the listings; UnsupportedError if the NPU model does not know their NPU's commands."""
    for listing in listings:
        require_simulator(listing.accelerator)
    return listings


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
