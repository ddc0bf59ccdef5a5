"""The table of commands, and its two directions."""

import itertools

import numpy as np
import pytest

from ethosgen.backend.ethosu import isa
from ethosgen.backend.ethosu.simulator.decode import decode
from tests.support.assembling import assemble, encode


def test_codes_and_names_are_unique() -> None:
    assert len(isa.BY_CODE) == len(isa.BY_NAME) == len(isa.COMMANDS)


@pytest.mark.parametrize("command", isa.COMMANDS, ids=lambda c: c.name)
def test_fields_fit_the_operand_and_do_not_overlap(command: isa.Command) -> None:
    bits = 16 if command.control == isa.CMD0 else 48
    assert all(f.lsb + f.bits <= bits for f in command.fields)
    for field, other in itertools.combinations(command.fields, 2):
        assert field.lsb + field.bits <= other.lsb or other.lsb + other.bits <= field.lsb


@pytest.mark.parametrize("command", isa.COMMANDS, ids=lambda c: c.name)
def test_decoding_inverts_assembling(command: isa.Command) -> None:
    random = np.random.default_rng(command.code)
    for _ in range(20):
        fields = {f.name: int(random.integers(f.limit)) for f in command.fields}
        (instruction,) = decode(encode(command.name, fields))
        assert instruction.command is command
        assert instruction.fields == fields


# Words that Vela 5.2 prints for its own streams (--verbose-register-command-stream).
@pytest.mark.parametrize(
    ("name", "fields", "words"),
    [
        ("NPU_OP_STOP", {"mask": 0xFFFF}, [0xFFFF0000]),
        ("NPU_SET_IFM_PRECISION", {"activation_type": 1, "activation_format": 1}, [0x00410105]),
        (
            "NPU_SET_OFM_PRECISION",
            {
                "activation_type": 1,
                "activation_precision": 2,
                "activation_format": 1,
                "scale_mode": 1,
                "round_mode": 2,
            },
            [0x81450114],
        ),
        ("NPU_SET_OFM_SCALE", {"shift": 38, "scale": 0x83126E98}, [0x00264024, 0x83126E98]),
        (
            "NPU_SET_ACTIVATION",
            {"activation_function": 16, "activation_clip_range": 3},
            [0x30100125],
        ),
        (
            "NPU_SET_KERNEL_STRIDE",
            {"stride_x_lsb": 1, "stride_y_lsb": 1, "weight_order": 1},
            [0x00070122],
        ),
        ("NPU_SET_IFM_ZERO_POINT", {"zero_point": -128}, [0xFF800109]),
        ("NPU_SET_OFM_STRIDE_Y", {"addr": -16}, [0x00FF4015, 0xFFFFFFF0]),
    ],
)
def test_words_are_those_of_the_hardware(
    name: str, fields: dict[str, int], words: list[int]
) -> None:
    assert encode(name, fields) == np.array(words, "<u4").tobytes()


def test_a_value_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="does not fit in 7 bits"):
        encode("NPU_SET_IFM_PAD_TOP", {"pad": 128})
    with pytest.raises(KeyError, match="no field 'nonsense'"):
        assemble([("NPU_OP_CONV", {"nonsense": 1})])
