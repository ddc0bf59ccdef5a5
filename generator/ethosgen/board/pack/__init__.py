"""CMSIS packs: write a board file from a device's pack, with marked blanks.

cmsis-pack-manager finds and fetches packs. The facts that it omits (NPUs, Helium, clocks, and all
facts of packs that it cannot read) come from the packs' descriptions.
"""

from pathlib import Path

from ethosgen.board.pack.board_file import board_text, file_name
from ethosgen.board.pack.description import PackDevice, Selection, read_pack
from ethosgen.board.pack.descriptors import find_device
from ethosgen.values.errors import InputError, cannot_write

__all__ = ["PackDevice", "Selection", "find_in_pack", "start_from_pack", "write_board"]

LIMIT_S = 300.0
"""Time to fetch an index and its descriptions: the public index lists over a thousand."""


def start_from_pack(
    device: str,
    *,
    index: str | None = None,
    pack: Path | None = None,
    output: Path | None = None,
    limit_s: float = LIMIT_S,
) -> Path:
    """Write a board file for `[VENDOR::]DEVICE[:CORE]` and return its path.

    `pack` is a .pack or .pdsc file; otherwise `index` is the address of a pack index, by default
    the public one. InputError if there is no such device, if a pack is damaged or cannot be
    fetched, or if the file exists; ToolError if cmsis-pack-manager is not installed.
    """
    selection = Selection.parse(device)
    if output is not None:  # check it before minutes of fetching
        _check_name(output)
    if pack is not None:
        description = find_in_pack(pack, selection)
    else:
        description = find_device(selection, index, limit_s)
    processor = description.processor(selection.processor)
    path = output or Path(file_name(description, processor))
    _check_name(path)
    return write_board(path, board_text(description, processor, path))


def _check_name(path: Path) -> None:
    if path.suffix != ".toml":
        raise InputError(f"'{path}' is not a board file's name; it must end in .toml")
    if path.exists():
        raise InputError(f"'{path}' exists; name another with -o, or delete it")


def find_in_pack(pack: Path, selection: Selection) -> PackDevice:
    """Return a device from a .pack or .pdsc file; InputError lists devices of similar names."""
    description = read_pack(pack)
    devices = [d for d in description.devices() if selection.matches(d)]
    if not devices:
        names = [device.name for device in description.devices()]
        raise InputError(f"'{pack}' has no device '{selection.device}'{selection.similar(names)}")
    return devices[0]


def write_board(path: Path, text: str) -> Path:
    """Write a new file and return its path; InputError if it exists."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise InputError(f"'{path}' exists; name another with -o, or delete it") from None
    except OSError as error:
        raise cannot_write(path, error) from None
    return path
