"""llvm-objdump's text becomes instructions that llvm-mca takes."""

from pathlib import Path

import pytest

from ethosgen.cycles.code import CodeText, read_code
from ethosgen.cycles.models import model_of
from ethosgen.values.errors import InputError
from tests.cycles.test_costs import LOOP, TEXT
from tests.support.needs import needs_llvm


def test_blocks_are_found_by_their_addresses() -> None:
    code = CodeText(TEXT.splitlines())
    assert [line.text for line in code.block(LOOP)] == ["ldr r2, [r5]", "subs r1, #1", "bne #4"]
    assert [line.mnemonic for line in code.block((0x110, 0x116))] == ["le", "bx"]
    assert code.function(0x10C) == "first" and code.function(0x114) == "second"
    assert code.function(0x10) == "0x10"


def test_functions_are_found_by_their_names() -> None:
    code = CodeText(TEXT.splitlines())
    assert code.addresses("first") == (0x100, 0x114)
    assert code.addresses("second") == (0x114, 0x115), "as far as its last instruction begins"
    assert code.addresses("third") is None


@needs_llvm
def test_a_file_that_is_no_elf_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "text.elf"
    file.write_text("text")
    with pytest.raises(InputError, match="cannot read the code of"):
        read_code(file, model_of("cortex-m55"))
