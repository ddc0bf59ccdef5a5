"""A library's contents and the tools that made it, for its two SBOMs."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from ethosgen.backend.protocol import OutsideCode
from ethosgen.frontend import origin_of, source_of, suffix_of
from ethosgen.project.licences import LicenceNote, licence_of
from ethosgen.project.manifest import LIBRARY, folder_of
from ethosgen.values.naming import joined_name
from ethosgen.values.network import Network, Tensor
from ethosgen.values.program import Program
from ethosgen.version import __version__

ETHOSGEN = OutsideCode("ethosgen", "the generator of the library", "Apache-2.0")
_TVM = OutsideCode(
    "apache-tvm", "Apache TVM, which made the network's C", "Apache-2.0", "https://tvm.apache.org"
)
_LONGEST_NOTE = 80
"""Most characters of what a network's file says about itself."""


@dataclass(frozen=True)
class LibraryFile:
    """A file of the library, by its path there; `licence` is None if nothing states it."""

    path: str
    sha1: str
    sha256: str
    licence: str | None


@dataclass(frozen=True)
class NetworkMaterial:
    """A network's facts; `file` is its copy in the library."""

    name: str
    file: str
    format: str
    sha256: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    facts: Mapping[str, str]
    task: str | None


@dataclass(frozen=True)
class Materials:
    """The content of a bill. `build` is the library's digest; `tools` include their versions."""

    name: str
    build: str
    networks: tuple[NetworkMaterial, ...]
    files: tuple[LibraryFile, ...] = field(repr=False)
    outside: tuple[OutsideCode, ...]
    tools: tuple[tuple[OutsideCode, str], ...]

    @property
    def networks_files(self) -> frozenset[str]:
        """The networks' own files in the library."""
        return frozenset(network.file for network in self.networks)


def collect(
    programs: Sequence[Program],
    build: str,
    library: Mapping[str, bytes],
    notes: Sequence[LicenceNote],
    outside: Sequence[OutsideCode],
    compilers: Sequence[OutsideCode] = (),
    task: str | None = None,
) -> Materials:
    """Return a library's materials; `compilers` are the tools besides TVM."""
    files = [_library_file(path, data, notes) for path, data in sorted(library.items())]
    return Materials(
        joined_name([program.name for program in programs]),
        build,
        tuple(_network_material(program, programs, task) for program in programs),
        tuple(files),
        tuple(outside),
        ((ETHOSGEN, __version__), *((tool, _version(tool.name)) for tool in (_TVM, *compilers))),
    )


def _library_file(path: str, data: bytes, notes: Sequence[LicenceNote]) -> LibraryFile:
    own = path.removeprefix(f"{LIBRARY}/")
    sha1 = hashlib.sha1(data, usedforsecurity=False).hexdigest()  # SPDX 2.3 demands it
    return LibraryFile(own, sha1, hashlib.sha256(data).hexdigest(), licence_of(own, data, notes))


def _network_material(
    program: Program, programs: Sequence[Program], task: str | None
) -> NetworkMaterial:
    network = program.plan.network
    source = source_of(network)
    return NetworkMaterial(
        program.name,
        f"{folder_of(program, programs)}{program.name}{suffix_of(source)}",
        source.format,
        source.sha256,
        tuple(_port(port.tensor) for port in program.inputs),
        tuple(_port(port.tensor) for port in program.outputs),
        _facts(network, origin_of(source)),
        task,
    )


def _port(tensor: Tensor) -> str:
    return f"{tensor.dtype}[{','.join(map(str, tensor.shape))}]"


def _facts(network: Network, origin: Mapping[str, str]) -> dict[str, str]:
    """Return the known facts of a network: its types, its quantization, and its file's metadata."""
    tensors = [tensor for graph in network.graphs for tensor in graph.tensors]
    scales = [tensor.quantization for tensor in tensors if tensor.quantization]
    used = [quantization for quantization in scales if quantization.scale]
    per_tensor = all(quantization.is_per_tensor for quantization in used)
    kind = ("per tensor" if per_tensor else "per channel") if used else "none"
    said = {f"says:{name}": _text(data) for name, data in sorted(network.metadata.items())}
    said |= {name: _text(text.encode(errors="replace")) for name, text in origin.items()}
    return {
        "types": " ".join(sorted({tensor.dtype for tensor in tensors})),
        "quantization": kind,
        **{name: text for name, text in said.items() if text},
    }


def _text(data: bytes) -> str:
    """Return a short text of a file's metadata, "" for other data."""
    text = data.rstrip(b"\0")
    is_text = text.isascii() and text.decode("ascii").isprintable()
    return text.decode("ascii") if is_text and len(text) <= _LONGEST_NOTE else ""


@cache
def _version(package: str) -> str:
    from importlib.metadata import PackageNotFoundError, version  # it imports email's packages

    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"
