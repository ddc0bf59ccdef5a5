"""Finds a device in the packs of an index, in bounded time even if the network hangs."""

import logging
import re
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from ethosgen.board.pack.description import PackDevice, Selection, read_pack
from ethosgen.host.child import ChildError, call
from ethosgen.host.extras import EXTRAS
from ethosgen.values.errors import EthosgenError, InputError

_LOG = logging.getLogger(__name__)

_DEVICE = re.compile(rb'\b(?:Dname|Dvariant)\s*=\s*"([^"]+)"')
_END = b"</package>"
_VERSION = re.compile(r"(?P<pack>[^.]+\.[^.]+)\.(?P<version>\d.*)\.pdsc")


def find_device(selection: Selection, index: str | None, limit_s: float) -> PackDevice:
    """Return the device from the packs that an index names, None for the public index.

    It searches the packs' descriptions itself: cmsis-pack-manager omits all devices of a pack in
    which one overrides a core two levels below its family, or which has a core that it does not
    know, and it crashes on a release without release notes.
    InputError if there is no such device, if several packs have it, or if nothing can be fetched.
    """
    if index is not None and not index.startswith(("http://", "https://")):
        raise InputError(
            f"'{index}' is not the address of a pack index; it must begin with http:// or https://"
        )
    with tempfile.TemporaryDirectory(prefix="ethosgen-packs-") as scratch:
        # The public index's files stay in the cache for the next time. Others may change.
        folder = None if index is None else str(Path(scratch) / "descriptions")
        place, known = _fetch(index, folder, scratch, limit_s)
        files = _newest(place.glob("*.pdsc"))
        if not files:
            raise InputError(_unreachable(index))
        return _choose(selection, files, known, index)


def _fetch(
    index: str | None, folder: str | None, scratch: str, limit_s: float
) -> tuple[Path, list[str]]:
    """Return the folder of the descriptions, and the devices that cmsis-pack-manager knows."""
    script = Path(__file__).with_name("fetch.py")
    note = Path(scratch) / "place.txt"
    try:
        answer = call(script, "fetch", index, folder, scratch, limit_s=limit_s)
    except ChildError as error:
        if error.how != "died" or not note.is_file():
            raise _refusal(index, error, limit_s) from None
        _LOG.warning("cmsis-pack-manager crashed on the descriptions (%s)", error)
        return Path(note.read_text(encoding="utf-8")), []
    _LOG.debug("%s", answer.log)
    return Path(note.read_text(encoding="utf-8")), answer.value


def _refusal(index: str | None, error: ChildError, limit_s: float) -> EthosgenError:
    if "No module named" in str(error):
        return EXTRAS["packs"].lacking("reading packs")
    if error.how == "late":
        return InputError(
            f"{_index(index)} was not fetched within {limit_s:g} s; try again, or download the "
            "pack and name it with --pack FILE"
        )
    return InputError(f"{_unreachable(index)} ({error})")


def _index(index: str | None) -> str:
    return f"pack index '{index}'" if index else "the public pack index"


def _unreachable(index: str | None) -> str:
    return (
        f"{_index(index)} cannot be fetched, or names no usable pack; check the address and "
        "the network, or download the pack and name it with --pack FILE"
    )


def _newest(files: Iterable[Path]) -> list[Path]:
    """Return one file for each pack: a cache also has old versions."""
    newest: dict[str, tuple[list[tuple[int, str]], Path]] = {}
    for file in sorted(files):
        parts = _VERSION.fullmatch(file.name)
        pack, version = (parts["pack"], parts["version"]) if parts else (file.name, "")
        order = [
            (int(word), "") if word.isdigit() else (-1, word)
            for word in re.split(r"[.+-]", version)
        ]
        if pack not in newest or newest[pack][0] < order:
            newest[pack] = (order, file)
    return [file for _, file in newest.values()]


def _choose(
    selection: Selection, files: list[Path], known: list[str], index: str | None
) -> PackDevice:
    texts = {file: file.read_bytes() for file in files}
    devices = list(_matching(selection, texts))
    if not devices:
        names = {*known, *(name for text in texts.values() for name in _names(text))}
        raise InputError(
            f"{_index(index)} has no device '{selection.device}'"
            f"{f' of {selection.vendor!r}' if selection.vendor else ''}"
            f"{selection.similar(sorted(names))}{_damage(texts)}"
        )
    if len({device.pack for device in devices}) > 1:
        packs = ", ".join(f"{d.vendor}::{d.name} in {d.pack}" for d in devices)
        raise InputError(
            f"several packs have a device '{selection.device}': {packs}; name its vendor, as in "
            f"{devices[0].vendor}::{devices[0].name}, or the pack with --pack FILE"
        )
    if devices[0].name not in known:
        _LOG.warning("cmsis-pack-manager cannot read %s; its description was", devices[0].pack)
    return devices[0]


def _matching(selection: Selection, texts: dict[Path, bytes]) -> Iterator[PackDevice]:
    """Yield the matching devices; parse only files that contain the name.

    A damaged file is an error if no other file has the device.
    """
    wanted, damage, has_some = selection.device.casefold(), None, False
    for file, text in texts.items():
        if wanted not in {name.casefold() for name in _names(text)}:
            continue
        try:
            devices = [d for d in read_pack(file).devices() if selection.matches(d)]
        except InputError as error:
            damage = error
            continue
        has_some = has_some or bool(devices)
        yield from devices
    if damage is not None and not has_some:
        raise damage


def _names(text: bytes) -> set[str]:
    return {name.decode("utf-8", "replace") for name in _DEVICE.findall(text)}


def _damage(texts: dict[Path, bytes]) -> str:
    """Return the names of truncated descriptions: the device may be in one of them."""
    cut = [file.name for file, text in texts.items() if not text.rstrip().endswith(_END)]
    return f"; it may be in one of these truncated files: {', '.join(cut)}" if cut else ""
