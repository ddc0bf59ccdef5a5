"""The memory that a firmware reserves for weights apart from its code, by its symbols."""

import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path

from elftools.elf.elffile import ELFFile

from ethosgen.project.info import ProjectInfo
from ethosgen.values.errors import InputError
from ethosgen.values.grammar import counted
from ethosgen.values.status import Status

_FAILED_TESTS = {
    Status.SELF_TEST_WEIGHTS: "weights or other constants in memory are not as they were generated",
    Status.SELF_TEST_COMMANDS: "the NPU's commands in memory are not as they were generated",
    Status.SELF_TEST_OUTPUT: "an inference of the known input does not give the golden output",
}
"""What a self-test found when the firmware started."""

_START, _END = "board_slot_", "board_slot_end_"
"""The application's symbols (board_weights.c), before a network's name."""

_REFUSALS = {
    Status.NO_WEIGHTS: "the application passes no file; give each slot to NAME_init()",
    Status.WEIGHTS_MISALIGNED: "the slot's address is not a multiple of what the NPU needs; align "
    "it in the application's board_weights.c",
    Status.WEIGHTS_TRUNCATED: "the file is cut short, or its slot is too small; load all of {file}",
    Status.WEIGHTS_UNKNOWN: "the slot holds no file of weights, but erased flash or something "
    "else; load {file}",
    Status.WEIGHTS_TOO_OLD: "the file has an older format than the firmware reads; {make}",
    Status.WEIGHTS_TOO_NEW: "the file has a newer format than the firmware reads; {make}, with the "
    "ethosgen that generated the project",
    Status.WEIGHTS_DAMAGED: "the file's CRC is wrong, so bytes of it have changed; load {file} "
    "again, and if it is damaged itself, {make}",
    Status.WEIGHTS_CHANGED: "the file was overwritten after NAME_init() had accepted it; call "
    "NAME_init() again for another file",
    Status.WEIGHTS_OTHER_NETWORK: "the file is for a network of another name; {make}",
    Status.WEIGHTS_OTHER_CODE: "the file is for other code, for example of an older project; "
    "{make}, or build the firmware again",
}
"""What is wrong with a file of weights that a firmware refuses, and what to do."""

_MEMSZ = slice(20, 24)
"""The field p_memsz of an Elf32_Phdr."""


def find_slots(elf: Path, info: ProjectInfo) -> dict[int, Path]:
    """Return the file of weights for each address at which the firmware expects one.

    An application that has the weights in its image, or no such slot, needs none. InputError if a
    file is missing, or longer than its slot.
    """
    if not info.is_apart:
        return {}
    slots = _slots(elf)
    files = {}
    for network in info.networks:
        if network.weights is None or network.name not in slots:
            continue
        address, size = slots[network.name]
        file = network.weights.file
        try:
            needed = file.stat().st_size
        except OSError as error:
            raise InputError(f"cannot read the weights '{file}': {error.strerror}") from None
        if needed > size:
            raise InputError(
                f"the weights '{file}' have {counted(needed, 'byte')}, but their slot has {size}; "
                f"enlarge {network.name.upper()}_SLOT_BYTES in the application's board_weights.h, "
                "and build it again"
            )
        files[address] = file
    return files


def describe_refusal(status: int, info: ProjectInfo) -> str:
    """Return why a firmware refuses weights or failed its self-test, with the remedy; else ""."""
    if status in _FAILED_TESTS:
        return (
            f": {_FAILED_TESTS[Status(status)]}; build the firmware again, and on a board flash it "
            "again; if that does not help, look for memory that is damaged or overwritten"
        )
    files = [str(network.weights.file) for network in info.networks if network.weights is not None]
    text = _REFUSALS.get(Status(status), "") if status in set(Status) else ""
    if not text or not files:
        return ""
    file = " or ".join(f"'{file}'" for file in files)
    project = shlex.quote(str(info.directory))
    make = f"create it again with: ethosgen weights build NETWORK --for {project}"
    return ": " + text.format(file=file, make=make)


def without_slots(elf: Path, slots: Iterable[int]) -> bytes:
    """Return an ELF whose segments do not clear the slots at these addresses.

    QEMU refuses to load a file to addresses of an ELF segment, even one without content.
    """
    data = bytearray(elf.read_bytes())
    with elf.open("rb") as file:
        image = ELFFile(file)
        place, size = image["e_phoff"], image["e_phentsize"]
        for number, segment in enumerate(image.iter_segments()):
            start, end = segment["p_vaddr"], segment["p_vaddr"] + segment["p_memsz"]
            if segment["p_type"] == "PT_LOAD" and any(start <= slot < end for slot in slots):
                header = memoryview(data)[place + number * size :][:size]
                header[_MEMSZ] = segment["p_filesz"].to_bytes(4, "little")
    return bytes(data)


def _slots(elf: Path) -> Mapping[str, tuple[int, int]]:
    """Return address and size of each slot without content, by the network's name."""
    with elf.open("rb") as file:
        image = ELFFile(file)
        symbols = image.get_section_by_name(".symtab")
        if symbols is None:
            return {}
        sections = list(image.iter_sections())
        named = {s.name: s for s in symbols.iter_symbols() if s.name.startswith(_START)}
        slots = {}
        for name, end in named.items():
            network = name.removeprefix(_END)
            start = named.get(f"{_START}{network}")
            if not name.startswith(_END) or start is None:
                continue
            section = start["st_shndx"]
            if isinstance(section, int) and sections[section]["sh_type"] == "SHT_NOBITS":
                address = start["st_value"]
                slots[network] = (address, end["st_value"] - address)
        return slots
