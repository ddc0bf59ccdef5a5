"""Each sentence on why an operator is on the CPU has a code that `ethosgen explain` knows."""

import pytest

from ethosgen.flow.wrapping import ASKED
from ethosgen.values.grounds import ground, grounded, grounds
from ethosgen.verdict.cpu_only import REASON
from tests.backend.ethosu.offload.test_reasons import LOG, reasons


@pytest.mark.parametrize(
    ("reason", "code"),
    [
        (REASON, "no-npu"),
        (ASKED, "asked"),
        ("you asked for --offload none", "asked"),
        ("it was left on the CPU when the file was compiled", "compiled-before"),
        ("with the NPU nothing fits 2,000 bytes of SRAM", "nothing-fits"),
        ("it is estimated faster here: 20 cycles on the CPU, 300 on the NPU", "faster-there"),
        ("estimated at 900 cycles, but 300 on the CPU", "faster-there"),
        ("mine: estimated at 900 cycles, more than yours", "faster-there"),
        ("it computes floats: the front end found no scale", "float-operator"),
        ("the NPU does not compute in float32 (tensor 'x')", "float-operator"),
        ("the NPU does not compute in int64", "npu-type"),
        ("the NPU does not store int48, and another operator of its sum is", "npu-type"),
        ("the NPU has no such operation", "npu-operation"),
        ("ethos-u55-128: the NPU does not support custom operators", "npu-operation"),
        ("no Ethos-U runs subgraphs, and variables stay on the CPU", "state"),
        ("the CPU also uses 'mask', where Vela's true is -1", "bool-tensor"),
        ("Vela divides it into 9,000 operations, and more than 2,000 take", "too-many-pieces"),
        ("kernel height: 300 out of range (Vela requires: IF ...)", "npu-constraint"),
    ],
)
def test_a_sentence_has_its_code(reason: str, code: str) -> None:
    assert ground(reason, "") == code
    assert ground(reason, "relu6-scale") == "relu6-scale", "an erratum has its own"
    assert grounded(reason, "")["explain"] == code


def test_what_regor_prints_has_codes_too() -> None:
    codes = {operator: ground(why, "") for operator, why in reasons(LOG).items()}
    assert codes["SIN"] == "npu-operation"
    assert codes["AVERAGE_POOL_2D"] == "npu-constraint"
    assert {ground(why, "") for why in reasons(LOG, ("SIN",)).values()} >= {"asked"}
    assert set(codes.values()) <= {explanation.code for explanation in grounds()}
