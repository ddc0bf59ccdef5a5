"""U85's table of commands, beside that of U55 and U65."""

import itertools

import numpy as np
import pytest

from ethosgen.backend.ethosu import isa
from ethosgen.backend.ethosu.accelerator import find_accelerator
from ethosgen.backend.ethosu.isa_u85 import U85, instruction_set
from ethosgen.backend.ethosu.simulator.decode import decode
from ethosgen.backend.ethosu.simulator.disassembly import disassemble
from ethosgen.values.errors import NpuFault
from tests.support.assembling import assemble, encode


def test_codes_and_names_are_unique() -> None:
    assert len(U85.by_code) == len(U85.by_name) == len(U85.commands) == 111


@pytest.mark.parametrize("command", U85.commands, ids=lambda c: c.name)
def test_fields_fit_and_decoding_inverts_assembling(command: isa.Command) -> None:
    bits = 16 if command.control == isa.CMD0 else 48
    assert all(f.lsb + f.bits <= bits for f in command.fields)
    for field, other in itertools.combinations(command.fields, 2):
        assert field.lsb + field.bits <= other.lsb or other.lsb + other.bits <= field.lsb
    random = np.random.default_rng(command.code)
    fields = {f.name: int(random.integers(f.limit)) for f in command.fields}
    (instruction,) = decode(encode(command.name, fields, U85), U85)
    assert instruction.command is command
    assert instruction.fields == fields


def test_every_region_register_exists() -> None:
    for address, region in U85.region_registers.items():
        assert {f"NPU_SET_{address}", f"NPU_SET_{region}"} <= U85.by_name.keys()


@pytest.mark.parametrize(
    ("name", "fields", "words"),
    [  # by hand, from Arm's description of the registers
        ("NPU_SET_ACC_FORMAT", {"acc_input": 2, "acc_output": 1, "microblock": 3}, [0x03600124]),
        ("NPU_SET_WEIGHT_FORMAT", {"weight_format": 1, "weight_sparsity": 1}, [0x0011012E]),
        ("NPU_SET_OFM_SCALE", {"shift": 42, "round_mode": 1, "scale": 5}, [0x202A4024, 5]),
    ],
)
def test_words_are_those_of_the_hardware(
    name: str, fields: dict[str, int], words: list[int]
) -> None:
    assert encode(name, fields, U85) == np.array(words, "<u4").tobytes()


def test_a_generation_does_not_know_the_others_commands() -> None:
    resize = encode("NPU_OP_RESIZE", {}, U85)
    with pytest.raises(NpuFault, match="is not a command of Ethos-U55 or U65"):
        list(decode(resize))
    opa = encode("NPU_SET_DMA0_SKIP0", {"addr": 1})  # another register's code on U85
    (instruction,) = decode(opa, U85)
    assert instruction.command.name == "NPU_SET_DMA0_SRC_STRIDE0"


def test_the_configuration_selects_the_set() -> None:
    names = ("ethos-u55-32", "ethos-u65-512", "ethos-u85-2048")
    sets = [instruction_set(find_accelerator(name).config_word) for name in names]
    assert sets == [isa.U55, isa.U55, U85]


def test_a_listing_names_codes_addresses_and_operations() -> None:
    stream = assemble(
        [
            ("NPU_SET_DMA0_IDX_REGION", {"region": 1}),
            ("NPU_SET_DMA0_IDX", {"addr": 64}),
            ("NPU_SET_RESIZE_X_OFFSET", {"resize_x_offset": -3}),
            ("NPU_SET_DMA0_LEN", {"addr": 16}),
            ("NPU_OP_DMA_START", {}),
            ("NPU_OP_BRANCH", {"branch_cond": 1, "branch_target": 8}),
            ("NPU_OP_STOP", {"mask": 1}),
        ],
        U85,
    )
    lines = list(disassemble(stream, find_accelerator("ethos-u85-256")))
    assert lines[1].fields == {"addr": "1:0x40"}
    assert lines[2].fields == {"resize_x_offset": -3}
    assert lines[4].summary == "DMA 16 bytes 0:0x0 -> 0:0x0"
    assert lines[5].fields == {"branch_cond": "RF_TRUE", "branch_target": 8}
    assert not lines[5].summary
