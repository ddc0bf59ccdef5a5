"""The table of `ethosgen ops`: what it says of the CPU and of an NPU is what networks meet."""

import json
from collections.abc import Iterator

import pytest
from click.testing import CliRunner

from ethosgen.aot.registry import registry
from ethosgen.aot.schedule.twins import twin_builds
from ethosgen.backend.ethosu.accelerator import find_accelerator
from ethosgen.backend.ethosu.offload import npu_operators, offload
from ethosgen.backend.ethosu.payload import CUSTOM_CODE
from ethosgen.cli import cli
from ethosgen.frontend.tflite.compression import DECODE, DECODED_DTYPES
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.studies.coverage import Coverage, survey, table
from ethosgen.values.network import Network
from ethosgen.values.plan import Plan
from tests.support.catalogue.bench import Bench
from tests.support.catalogue.cases import CASES

VELA_GIVES_UP = {
    "EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL", "SELECT_V2",
    "PRELU", "RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR",
}  # fmt: skip
"""Vela 5.2 rewrites these before it finds that it cannot run the result, and compiles nothing."""
VELA_LINGERS = {"ARG_MAX", "REDUCE_MAX", "REDUCE_MIN"}
"""Vela 5.2 does not come back within two minutes from some shapes of these."""

TFLITE_MICRO = """
    ABS ADD ADD_N ARG_MAX ARG_MIN ASSIGN_VARIABLE AVERAGE_POOL_2D BATCH_MATMUL
    BATCH_TO_SPACE_ND BROADCAST_ARGS BROADCAST_TO CALL_ONCE CAST CEIL CONCATENATION CONV_2D
    COS CUMSUM DEPTHWISE_CONV_2D DEPTH_TO_SPACE DEQUANTIZE DIV DYNAMIC_UPDATE_SLICE ELU
    EMBEDDING_LOOKUP EQUAL EXP EXPAND_DIMS FILL FLOOR FLOOR_DIV FLOOR_MOD FULLY_CONNECTED
    GATHER GATHER_ND GREATER GREATER_EQUAL HARD_SWISH IF L2_NORMALIZATION L2_POOL_2D
    LEAKY_RELU LESS LESS_EQUAL LOG LOGICAL_AND LOGICAL_NOT LOGICAL_OR LOGISTIC LOG_SOFTMAX
    MAXIMUM MAX_POOL_2D MEAN MINIMUM MIRROR_PAD MUL NEG NOT_EQUAL PACK PAD PADV2 PRELU
    QUANTIZE READ_VARIABLE REDUCE_ALL REDUCE_MAX REDUCE_MIN RELU RELU6 RESHAPE
    RESIZE_BILINEAR RESIZE_NEAREST_NEIGHBOR REVERSE_V2 ROUND RSQRT SELECT_V2 SHAPE SIN SLICE
    SOFTMAX SPACE_TO_BATCH_ND SPACE_TO_DEPTH SPLIT SPLIT_V SQRT SQUARE SQUARED_DIFFERENCE
    SQUEEZE STRIDED_SLICE SUB SUM SVDF TANH TRANSPOSE TRANSPOSE_CONV
    UNIDIRECTIONAL_SEQUENCE_LSTM UNPACK VAR_HANDLE WHILE ZEROS_LIKE
""".split()
"""Builtin operators of its micro_mutable_op_resolver.h (90b983c2), in the order of names."""

TFLITE_MICRO_CUSTOM = """
    CIRCULAR_BUFFER SignalDelay SignalEnergy SignalFftAutoScale SignalFilterBank
    SignalFilterBankLog SignalFilterBankSpectralSubtraction SignalFilterBankSquareRoot
    SignalFramer SignalIrfft SignalOverlapAdd SignalPCAN SignalRfft SignalStacker SignalWindow
    TFLM_DECODE TFLite_Detection_PostProcess
""".split()
"""Its custom ones, but for ethos-u."""

ROWS = {row.operator: row for row in survey()}


def test_the_cpu_column_is_what_the_compiler_finds() -> None:
    listed = {(name, dtype, ulp) for name, row in ROWS.items() for dtype, ulp in row.cpu.items()}
    registered = {(*key, registration.ulp) for key, registration in registry().items()}
    registered |= {(code, dtype, 0) for code, dtype in twin_builds()}
    assert listed - {(DECODE, dtype, 0) for dtype in DECODED_DTYPES} == {
        entry for entry in registered if entry[0] != "COPY"
    }


def test_the_npu_column_is_what_regor_says() -> None:
    for product, known in npu_operators().items():
        listed = {name for name, row in ROWS.items() if product in row.npu}
        without = {name for name, operator in known.items() if not operator.dtypes}
        assert listed == set(known) - without
        assert without == ({"ASSIGN_VARIABLE", "READ_VARIABLE"} if product == "u85" else set())


def test_of_u85_regor_tells_no_types() -> None:
    """So they are measured (tests/corpus/taken.py); were it to tell them one day, it could."""
    told = {operator.conditions for operator in npu_operators()["u85"].values()}
    types = {line for lines in told for line in lines if "dataTypes must be one of" in line}
    assert len(types) == 1


@pytest.mark.slow
@pytest.mark.parametrize("npu", ["ethos-u55-128", "ethos-u65-256"])
def test_vela_offloads_nothing_that_is_not_listed(npu: str) -> None:
    """Compile every case of an integer type: where the NPU takes one, its row says so.

    In small networks: Vela's time grows with the square of the number of operators.
    """
    product = find_accelerator(npu).product
    took: set[str] = set()
    for dtype in ("int8", "int16"):
        for network in _networks(dtype, VELA_GIVES_UP | VELA_LINGERS):
            offloaded = _offloaded(offload(network, find_accelerator(npu)))
            for code in offloaded:
                assert dtype in ROWS[code].npu.get(product, ()), code
            took |= offloaded
    assert {"LEAKY_RELU", "RELU", "TANH", "TRANSPOSE"} <= took


def _networks(dtype: str, without: set[str], size: int = 8) -> Iterator[Network]:
    """Yield networks of a few cases of a type each."""
    cases = [case for case in CASES.values() if case[1] == dtype and case[0] not in without]
    for start in range(0, len(cases), size):
        net = Bench(2)
        outputs = [i for _, _, build in cases[start : start + size] for i in build(net, dtype)]
        yield parse_network(net.build(*outputs), "bench.tflite")


def test_vela_offloads_nothing_to_an_ethos_u85_that_is_not_listed() -> None:
    """In small networks: over a large one it sits for half a minute."""
    took: set[str] = set()
    for network in _networks("int8", VELA_LINGERS):
        offloaded = _offloaded(offload(network, find_accelerator("ethos-u85-256")))
        assert not [code for code in offloaded if "int8" not in ROWS[code].npu.get("u85", ())]
        took |= offloaded
    assert {"LEAKY_RELU", "DIV", "PRELU"} <= took


def _offloaded(plan: Plan) -> set[str]:
    """Return the operators of which nothing stayed on the CPU."""
    stayed = {op.code for op in plan.residual.operators if op.custom_code != CUSTOM_CODE}
    return {op.code for op in plan.network.graph.operators} - stayed


def test_tolerances_are_told() -> None:
    assert ROWS["ADD"].exactness == "exact (LiteRT: u8)"
    assert ROWS["TANH"].exactness == "exact; float32 within 4 ulp (LiteRT: u8)"
    assert ROWS["SIN"].exactness == "float32 within 4 ulp"
    assert ROWS["GELU"].exactness == "exact; float32 within 16 ulp (LiteRT)"
    assert Coverage("TILE", {"u55": ("int8",)}, {}).exactness == ""


def test_tflite_micros_list_is_covered() -> None:
    listed = {*TFLITE_MICRO, *TFLITE_MICRO_CUSTOM}
    assert {name for name in listed if name not in ROWS or not ROWS[name].cpu} == set()


def test_the_table_has_one_line_an_operator() -> None:
    lines = table(ROWS.values())
    assert len(lines) == len(ROWS) + 1
    (add,) = (line for line in lines if line.startswith("ADD "))
    assert add.endswith("  exact (LiteRT: u8)")
    assert "i8 u8 i16 i32 f32" in add
    assert "u55/u65/u85: i8 u8 i16 i32  " in add


def test_the_command_prints_what_is_asked_for() -> None:
    done = CliRunner().invoke(cli, ["ops", "add", "cumsum"])
    assert done.exit_code == 0
    assert [line.split()[0] for line in done.output.splitlines()] == ["operator", "ADD", "CUMSUM"]
    done = CliRunner().invoke(cli, ["ops", "SignalFramer"])
    assert done.output.splitlines()[1].split() == ["SignalFramer", "-", "i16", "exact"]
    rows = json.loads(CliRunner().invoke(cli, ["ops", "--json", "CUMSUM"]).output)
    assert rows == [{"operator": "CUMSUM", "npu": {}, "cpu": {"float32": 0, "int8": 0}}]


def test_operators_of_tosa_name_their_own_oracle() -> None:
    assert ROWS["TOSA_RESCALE"].exactness == "exact (TOSA's reference model)"
    floats = "exact; float32 within 4 ulp (TOSA's reference model)"
    assert ROWS["TOSA_CONV2D"].exactness == floats
