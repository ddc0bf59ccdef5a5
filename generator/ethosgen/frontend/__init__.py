"""Front ends: each reads the files of one format into a network.

FRONT_ENDS is the only list of them. A front end is a package next to this module, and loads the
libraries of its format only when it reads a file.
"""

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ethosgen import plugins
from ethosgen.frontend import onnx, pte, tflite, torch, tosa
from ethosgen.frontend.conversions import converted
from ethosgen.values.choice import LoweringChoice
from ethosgen.values.errors import InputError
from ethosgen.values.examples import Examples
from ethosgen.values.handover import PIPELINE_FILE, PROJECT_FILE
from ethosgen.values.network import Network
from ethosgen.values.source import AS_GIVEN, ReadOptions, Source


@dataclass(frozen=True)
class FrontEnd:
    """Reads one format.

    `name` identifies the format in manifests, `title` is for people. `recognizes` reads only a
    file's bytes. `suffixes` are those of file names, in lower case; a project stores the network
    under the first. `read` raises InputError for a damaged file, UnsupportedError for a network
    that the front end cannot represent. `takes` names the options that a source may have.
    `examples` returns the samples with golden outputs that a file of the format may have. If
    reading takes long, `versions` returns everything that decides the network besides the file,
    which is then cached. `origin` returns the facts that a file states about the program that wrote
    it, and `choice` the accelerators that it was lowered for.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    recognizes: Callable[[bytes], bool]
    read: Callable[[Source], Network]
    takes: frozenset[str] = frozenset()
    examples: Callable[[Source, Network], Examples | None] | None = None
    versions: Callable[[], str] | None = None
    origin: Callable[[Source], Mapping[str, str]] | None = None
    choice: Callable[[Source], LoweringChoice | None] | None = None


SHAPE, LAYOUT = "--shape", "--input-layout"
FRONT_ENDS: list[FrontEnd] = [
    FrontEnd(
        tflite.FORMAT,
        "TensorFlow Lite",
        (".tflite",),
        tflite.recognizes,
        tflite.read,
        takes=frozenset({LAYOUT}),
    ),
    FrontEnd(
        onnx.FORMAT,
        "ONNX",
        (".onnx",),
        onnx.recognizes,
        onnx.read,
        takes=frozenset({SHAPE, LAYOUT}),
        versions=onnx.versions,
        origin=onnx.origin,
    ),
    FrontEnd(
        pte.FORMAT,
        "ExecuTorch",
        (".pte", ".bpte"),
        pte.recognizes,
        pte.read,
        examples=pte.examples,
        origin=pte.origin,
        choice=pte.choice,
    ),
    FrontEnd(
        torch.FORMAT,
        "PyTorch",
        (".pt2",),
        torch.recognizes,
        torch.read,
        takes=frozenset({SHAPE, LAYOUT}),
        versions=torch.versions,
        origin=torch.origin,
    ),
    FrontEnd(tosa.FORMAT, "TOSA", (".tosa",), tosa.recognizes, tosa.read, origin=tosa.origin),
]


def front_ends() -> list[FrontEnd]:
    """Return ethosgen's front ends, then those of plug-ins."""
    return [*FRONT_ENDS, *_of_plugins()]


def _of_plugins() -> list[FrontEnd]:
    own = {front_end.name: front_end for front_end in FRONT_ENDS}
    return list(plugins.beside(plugins.FRONT_ENDS, own).values())


def _first(is_meant: Callable[[FrontEnd], bool]) -> FrontEnd | None:
    """Return the first front end with a property; plug-ins are asked last, and may fail."""
    for front_end in FRONT_ENDS:
        if is_meant(front_end):
            return front_end
    for front_end in _of_plugins():
        if plugins.guarded(plugins.FRONT_ENDS, front_end.name, partial(is_meant, front_end)):
            return front_end
    return None


def read(path: Path, format_name: str | None = None, options: ReadOptions = AS_GIVEN) -> Network:
    """Read a network from a file; the format is the named one, or is recognized.

    Raises InputError if the file cannot be read, has an unknown format or is damaged, and
    UnsupportedError for a network that the front end cannot represent.
    """
    return read_source(open_source(path, format_name, options))


def open_source(
    path: Path, format_name: str | None = None, options: ReadOptions = AS_GIVEN
) -> Source:
    """Return a file's bytes with its format: the named one, else by its bytes, else its suffix."""
    data = read_bytes(path)
    if format_name is not None:
        return Source(_named(format_name).name, path.name, data, options)
    front_end = recognized(data) or _by_suffix(path)
    if front_end is None:
        raise InputError(f"'{path.name}' is in no format that ethosgen reads: {_formats()}")
    for option, is_given, what in (
        (SHAPE, options.shapes, "shapes"),
        (LAYOUT, options.input_layout != AS_GIVEN.input_layout, "layout"),
    ):
        if is_given and option not in front_end.takes:
            raise InputError(
                f"{option} does not apply to '{path.name}': a {front_end.title} file has its own "
                f"{what}; omit it"
            )
    return Source(front_end.name, path.name, data, options)


def read_source(source: Source) -> Network:
    """Read the network from its source."""
    front_end = _named(source.format)
    if front_end.versions is None:
        return front_end.read(source)
    return converted(source, front_end.read, front_end.versions)


def examples_of(network: Network) -> Examples | None:
    """Return the samples with golden outputs that a network's file has, None if it has none."""
    find = _named(network.source.format).examples if network.source else None
    return find(network.source, network) if find and network.source else None


def origin_of(source: Source) -> Mapping[str, str]:
    """Return the facts that a file states about the program that wrote it, by name."""
    find = _named(source.format).origin
    return find(source) if find else {}


def choice_in(path: Path) -> LoweringChoice | None:
    """Return the NPU and accelerators that a file asks for, None without any or if unreadable."""
    try:
        source = open_source(path)
    except InputError:
        return None
    find = _named(source.format).choice
    return find(source) if find else None


def source_of(network: Network) -> Source:
    """Return a network's source; for a network without one, its .tflite or .tosa file."""
    return network.source or written(network)


def written(network: Network) -> Source:
    """Return a network's graphs as a file: .tosa for TOSA's operators, .tflite for TFLite's."""
    return tosa.written(network) if network.is_tosa else tflite.written(network)


def suffix_of(source: Source) -> str:
    """Return the suffix under which a source is stored."""
    return _named(source.format).suffixes[0]


def recognized(data: bytes) -> FrontEnd | None:
    """Return the front end whose format the bytes have, None if there is none."""
    return _first(lambda front_end: front_end.recognizes(data))


def read_bytes(path: Path) -> bytes:
    """Return a file's bytes; InputError if it cannot be read."""
    if path.is_dir():
        raise InputError(f"'{path}' is a folder, not a network's file; {_instead(path)}")
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read '{path}': {error.strerror or error}") from None


def _instead(folder: Path) -> str:
    """Return advice for a user who named a folder."""
    if (folder / PIPELINE_FILE).is_file() or (folder / PROJECT_FILE).is_file():
        where = shlex.quote(str(folder))
        return f"to check what was generated there: ethosgen build {where}; ethosgen run {where}"
    own = (path for path in sorted(folder.iterdir()) if path.is_file() and _by_suffix(path))
    example = next(own, None)
    return f"name a file, such as '{example}'" if example else "name the file"


def _by_suffix(path: Path) -> FrontEnd | None:
    return _first(lambda front_end: path.suffix.lower() in front_end.suffixes)


def _named(name: str) -> FrontEnd:
    reader = _first(lambda front_end: front_end.name == name)
    if reader is None:
        raise InputError(f"this ethosgen cannot read the format '{name}': it reads {_formats()}")
    return reader


def _formats() -> str:
    return ", ".join(
        f"{front_end.title} ({', '.join(front_end.suffixes)})" for front_end in front_ends()
    )
