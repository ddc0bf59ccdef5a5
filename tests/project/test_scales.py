"""Scales in the header: any C and C++ reads them, and every bit is as in the network."""

import dataclasses
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from ethosgen.board.any_board import any_board
from ethosgen.platforms import LIBRARY_ONLY
from ethosgen.project import render, write
from ethosgen.values.network import Quantization
from tests.support.programs import make_program

BITS = [0x3DFCD6EA, 0x00000001, 0x3F7FFFFF, 0x7F7FFFFF, 0x33D6BF95, 0x00800000]
CHECK = """
#include "plus_one.h"
#include <cstdio>
#include <cstring>
int main()
{
    const float scale = PLUS_ONE_INPUT_SCALE;
    uint32_t bits;
    std::memcpy(&bits, &scale, sizeof bits);
    std::printf("%08x", static_cast<unsigned>(bits));
    return PLUS_ONE_INPUT_ZERO_POINT;
}
"""


def scaled(bits: int, place: Path) -> Path:
    """Write a library whose input has the scale of these bits; return its folder."""
    program, scale = make_program(), float(np.array(bits, np.uint32).view(np.float32))
    port = program.inputs[0]
    tensor = dataclasses.replace(port.tensor, quantization=Quantization((scale,), (0,)))
    program = dataclasses.replace(program, inputs=(dataclasses.replace(port, tensor=tensor),))
    write(render(program, any_board(), platform=LIBRARY_ONLY), place)
    return place / "model"


@pytest.mark.compiler("g++")
@pytest.mark.parametrize("standard", ["c++11", "c++14"])
def test_the_header_is_cpp_and_its_scale_has_every_bit(tmp_path: Path, standard: str) -> None:
    (tmp_path / "check.cpp").write_text(CHECK)
    strict = [f"-std={standard}", "-Wall", "-Wextra", "-Wconversion", "-pedantic-errors", "-Werror"]
    for bits in BITS if standard == "c++11" else BITS[:1]:
        network = scaled(bits, tmp_path / f"{bits:08x}")
        program = tmp_path / "check"
        command = ["g++", *strict, f"-I{network}", "check.cpp", "-o", str(program)]
        subprocess.run(command, cwd=tmp_path, check=True)
        done = subprocess.run([program], capture_output=True, text=True, check=True)
        assert int(done.stdout, 16) == bits


def test_no_header_has_a_hexadecimal_float() -> None:
    project = render(make_program(), any_board(), platform=LIBRARY_ONLY)
    headers = [project.files[path].decode() for path in project.library if path.endswith(".h")]
    assert not any(re.search(r"0x[0-9a-f]*\.", text) for text in headers)
