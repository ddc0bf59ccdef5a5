"""Accelerators' folders: the file accelerator.toml, and what it names."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath

from ethosgen import plugins
from ethosgen.backend.wrapped.declaration import Declaration
from ethosgen.host.resources import resource_folder
from ethosgen.toml.faults import describe_place
from ethosgen.toml.files import check_tables, read_toml
from ethosgen.toml.lines import find_line
from ethosgen.values.errors import InputError
from ethosgen.values.grammar import counted, unknown

FILE = "accelerator.toml"
MOST_BYTES = 16 << 20
"""The most bytes of all files of an accelerator."""


@dataclass(frozen=True)
class AcceleratorFolder:
    """A declaration with the files that it names: content by path in the folder.

    `name` is the folder's. `origin` is the path that it was read from.
    """

    name: str
    origin: Path
    declaration: Declaration
    text: str = field(repr=False)
    files: dict[str, bytes] = field(repr=False)

    @property
    def slug(self) -> str:
        """The name as a part of C names."""
        return self.name.replace("-", "_").replace(".", "_")

    @property
    def toml(self) -> str:
        """The file's path, for messages."""
        return str(self.origin / FILE)

    @cached_property
    def headers(self) -> tuple[str, ...]:
        """The headers that the generated C includes, by their paths in the library."""
        return tuple(f"{self.name}/{header}" for header in self.declaration.headers)

    def line(self, field_name: str) -> int | None:
        """Return the line of a field of the file."""
        return find_line(self.text, field_name)

    def line_of(self, field_name: str, item: str) -> int | None:
        """Return the line of an item of a list of texts, or else of the list."""
        first = self.line(field_name)
        if first is not None:
            for number, content in enumerate(self.text.splitlines()[first - 1 :], first):
                if f'"{item}"' in content or f"'{item}'" in content:
                    return number
        return first


def shipped() -> list[str]:
    """Return the names of the accelerators that come with ethosgen, and those of plug-ins."""
    return sorted(_folders())


def _folders() -> dict[str, Path]:
    """Return the folders by name; a plug-in's must have the file, and its entry point's name."""
    own = {
        path.parent.name: path.parent for path in resource_folder("accelerators").glob(f"*/{FILE}")
    }
    door = plugins.ACCELERATORS
    more = dict(plugins.beside(door, own))
    for name, folder in list(more.items()):
        if folder.name != name or not (folder / FILE).is_file():
            plugins.reject(door, name, f"it must be a folder '{name}' with an {FILE}")
            del more[name]
    return own | more


def find_folder(name_or_path: str) -> Path:
    """Return an accelerator's folder; InputError lists the known names."""
    path = Path(name_or_path)
    if path.name == FILE:
        return path.parent
    if path.is_dir() and (path / FILE).is_file():
        return path
    if name_or_path in (known := _folders()):
        return known[name_or_path]
    if path.is_dir():
        raise InputError(f"'{path}' has no {FILE}; start one with: ethosgen accelerators new NAME")
    raise InputError(
        f"{unknown('accelerator', name_or_path, shipped())}, or pass a folder with an {FILE}"
        if shipped()
        else f"there is no accelerator '{name_or_path}'; pass a folder with an {FILE}"
    )


def read_folder(path: Path) -> AcceleratorFolder:
    """Read a folder; InputError names the file, the line and the field that is wrong."""
    toml = path / FILE
    text, tables = read_toml(toml, "accelerator file")
    declaration = check_tables(tables, Declaration, f"accelerator file '{toml}'", text)
    name = path.resolve().name
    if not all(c.isalnum() or c in "-_." for c in name) or not name.isascii():
        raise InputError(
            f"'{name}' is the folder's name and that of the accelerator; use only letters, digits, "
            "'-' and '_'"
        )
    files = {FILE: text.encode()}
    for field_name, file in _named(declaration, path):
        files[file] = _read(path, file, field_name, text)
    if sum(map(len, files.values())) > MOST_BYTES:
        raise InputError(f"the files of '{toml}' have more than {counted(MOST_BYTES, 'byte')}")
    return AcceleratorFolder(name, path, declaration, text, files)


def _named(declaration: Declaration, path: Path) -> Iterator[tuple[str, str]]:
    """Yield the field and the path of each file that a declaration names."""
    yield from (("headers", file) for file in declaration.headers)
    yield from (("sources", file) for file in declaration.sources)
    yield from (("files", file) for file in declaration.files)
    if declaration.python:
        yield "python", declaration.python.partition(":")[0]
    if declaration.device and declaration.device.model:
        yield "device.model", declaration.device.model.partition(":")[0]
    if declaration.device and declaration.device.verilog:
        verilog = declaration.device.verilog
        yield from (("device.verilog.sources", file) for file in verilog.sources)
    for number, operation in enumerate(declaration.operator):
        if operation.cycles_table:
            yield f"operator.{number}.cycles_table", operation.cycles_table
    for folder in declaration.include:
        headers = sorted((path / folder).rglob("*.h"))
        if not headers:
            yield "include", f"{folder}/*.h"
        yield from (("include", header.relative_to(path).as_posix()) for header in headers)


def _read(path: Path, file: str, field_name: str, text: str) -> bytes:
    where = f"accelerator file '{path / FILE}'{describe_place(text, field_name.split('.'))}"
    pure = PurePosixPath(file)
    if pure.is_absolute() or ".." in pure.parts or "\\" in file:
        raise InputError(f"{where}: '{file}' is outside the folder; copy the file into it")
    try:
        return (path / file).read_bytes()
    except OSError as error:
        raise InputError(f"{where}: cannot read '{path / file}': {error.strerror}") from None
