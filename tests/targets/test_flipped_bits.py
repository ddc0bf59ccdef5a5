"""One flipped bit in each constant of a library: the self-test of the firmware finds it."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import Section, SymbolTableSection

from ethosgen import flow, targets
from ethosgen.backend.ethosu.accelerator import find_accelerator
from ethosgen.project import open_project
from ethosgen.values.accelerator import NO_NPU
from ethosgen.values.errors import TargetError
from ethosgen.values.watch import Watch
from tests import ROOT
from tests.support.needs import needs_qemu
from tests.support.recipes import recipe
from tests.support.small_models import recurrent_net

pytestmark = needs_qemu

WORDS = ROOT / "demo" / "kws_int8.tflite"
UNREAD = {
    "identity": "`ethosgen identify` reads it, and no run does",
}
"""Constants of a library that the self-test need not find, and why."""
CHECKS = "parts"
"""The test's own table: addresses, sizes, CRCs, and what to report, which nobody reads if all is
well."""
CHECK_BYTES, REPORTED = 16, 12
OTHERS = SH_FLAGS.SHF_STRINGS | SH_FLAGS.SHF_EXECINSTR | SH_FLAGS.SHF_WRITE


class LibraryConstant(NamedTuple):
    """A constant of a library, by its name and its bytes in an object file."""

    name: str
    size: int


def constants_of(folder: Path) -> Iterator[LibraryConstant]:
    """Yield all constants of a library's object files; each byte but of texts has a name."""
    files = sorted(folder.rglob("*_model.dir/*.obj"))
    assert len(files) > 3
    for file in files:
        with file.open("rb") as opened:
            elf = ELFFile(opened)
            symbols = elf.get_section_by_name(".symtab")
            assert isinstance(symbols, SymbolTableSection)
            functions = {
                s.name for s in symbols.iter_symbols() if s["st_info"]["type"] == "STT_FUNC"
            }
            for number, section in enumerate(elf.iter_sections()):
                if is_constant(section):
                    named = [
                        LibraryConstant(s.name, s["st_size"])
                        for s in symbols.iter_symbols()
                        if s["st_shndx"] == number and s["st_info"]["type"] == "STT_OBJECT"
                    ]
                    rest = section["sh_size"] - sum(each.size for each in named)
                    is_table = section.name.removeprefix(".rodata.") in functions  # of jumps
                    assert 0 <= rest < 16 * len(named) or is_table, (file.name, section.name)
                    yield from named


def is_constant(section: Section) -> bool:
    """Whether a section has constants other than texts."""
    flags, data = section["sh_flags"], section["sh_type"] == "SHT_PROGBITS"
    return bool(data and flags & SH_FLAGS.SHF_ALLOC and not flags & OTHERS and section["sh_size"])


def flip(elf: Path, constant: LibraryConstant, to: Path) -> None:
    """Write a firmware in which one bit of a constant differs; which one depends on its name."""
    data = bytearray(elf.read_bytes())
    with elf.open("rb") as opened:
        parsed = ELFFile(opened)
        symbols = parsed.get_section_by_name(".symtab")
        assert isinstance(symbols, SymbolTableSection)
        places = [
            parsed.get_section(s["st_shndx"])["sh_offset"]
            + s["st_value"]
            - parsed.get_section(s["st_shndx"])["sh_addr"]
            for s in symbols.get_symbol_by_name(constant.name) or ()
        ]
    drawn = random.Random(constant.name)
    place = drawn.randrange(constant.size)
    if constant.name == CHECKS and place % CHECK_BYTES >= REPORTED:
        place -= REPORTED
    bit = 1 << drawn.randrange(8)
    for start in places:
        data[start + place] ^= bit
    to.write_bytes(data)


@pytest.mark.parametrize(
    ("board", "npu", "apart"),
    [
        ("corstone300", NO_NPU, False),
        ("corstone300", "ethos-u55-128", False),
        ("corstone320", "ethos-u85-256", False),
        ("mps2-an386", NO_NPU, False),
        ("qemu-cortex-m0", NO_NPU, False),
        ("mps2-an386", NO_NPU, True),
        ("corstone300", "ethos-u55-128", True),
    ],
)
@pytest.mark.parametrize("network", ["kws", "lstm"])
def test_a_flipped_bit_in_each_constant_is_found(
    network: str, board: str, npu: str, apart: bool, tmp_path: Path
) -> None:
    source = WORDS if network == "kws" else recurrent_net(tmp_path / "net.tflite")
    asked = recipe(source, board=board, npu=npu, apart=apart, names=("net",))
    flow.create_project(asked, directory=tmp_path / "p", watch=Watch())
    built = flow.build_project(tmp_path / "p", self_test=True, watch=Watch())
    info = open_project(tmp_path / "p")
    zeros = {t.name: np.zeros(t.shape, t.dtype) for t in info.networks[0].inputs}
    attach = None if npu == NO_NPU else flow.attach_model(find_accelerator(npu))
    flipped = tmp_path / "flipped.elf"
    missed = {}
    for constant in constants_of(built.elf.parent):
        if constant.name not in UNREAD:
            flip(built.elf, constant, flipped)
            try:
                targets.run(flipped, info, [zeros], attach=attach)
                missed[constant.name] = constant.size
            except TargetError as error:
                print(constant.name, str(error)[:90])
    assert missed == {}
