"""Vela still has each erratum; it applies to its network; by default it is avoided."""

from collections.abc import Callable, Sequence

import pytest

from ethosgen.aot import table_of
from ethosgen.backend.ethosu.accelerator import find_accelerator
from ethosgen.backend.ethosu.offload import CompileTarget, find_errata
from ethosgen.backend.ethosu.offload.errata_table import ERRATA, STREAM_ERRATA
from ethosgen.backend.ethosu.offload.erratum import Erratum, is_open, vela_version
from ethosgen.frontend import read
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.samples.drawing import draw_samples
from ethosgen.values.allocation import Allocation, OperatorIndex
from ethosgen.values.errors import NpuFault, UnsupportedError
from ethosgen.values.network import Network
from ethosgen.values.plan import EXACT, IoStyle, Plan
from ethosgen.values.watch import Watch
from ethosgen.verdict.exactness import exact_plan
from ethosgen.verdict.execution import simulate_samples
from ethosgen.verdict.judgement import golden_answer
from tests import ROOT
from tests.support.errata_networks import (
    FOLDER,
    NETWORKS,
    NPU,
    PAGE,
    build_network,
    npu_of,
    page,
)
from tests.support.errata_trials import compiled, differs
from tests.support.networks import NetworkBuilder
from tests.support.planners import FunctionPlanner

BY_NAME = {erratum.name: erratum for erratum in (*ERRATA, *STREAM_ERRATA)}


def network_of(name: str) -> Network:
    return read(FOLDER / f"{name}.tflite")


def plan_of(name: str, network: Network) -> Plan:
    def compile_part(part: Network, allocation: Allocation[OperatorIndex]) -> Plan:
        return compiled(name, part, allocation)

    planner = FunctionPlanner(find_accelerator(npu_of(name)), compile_part)
    return exact_plan(network, planner, EXACT, Watch())


@pytest.mark.slow
@pytest.mark.parametrize("name", NETWORKS)
def test_vela_still_has_the_erratum(name: str) -> None:
    network = network_of(name)
    assert differs(network, compiled(name, network, is_trusted=True))


@pytest.mark.slow
@pytest.mark.parametrize("name", [erratum.name for erratum in ERRATA])
def test_the_erratum_is_avoided(name: str) -> None:
    network = network_of(name)
    oracle = golden_answer(network, draw_samples(network, 1, 1)).oracle.name
    kept = find_errata(network, CompileTarget(npu_of(name), table_of=table_of), oracle)
    assert name in {why.erratum for why in kept.values()}
    try:
        plan = plan_of(name, network)
    except UnsupportedError as error:
        assert f"(erratum {name})" in str(error)
        assert "--trust-compiler" in str(error)
    else:
        assert not differs(network, plan)


@pytest.mark.slow
@pytest.mark.parametrize("name", [erratum.name for erratum in STREAM_ERRATA])
def test_an_erratum_of_streams_keeps_nothing_on_the_cpu(name: str) -> None:
    network = network_of(name)
    plan = plan_of(name, network)
    assert not plan.cpu_operators
    assert plan.check and plan.check.elements
    assert not differs(network, plan)


ONLY_BEFORE_U85 = (
    "transpose-uint8",
    "table-uint8",
    "lut-beyond-shram",
    "stepped-operand",
    "multiplied-part",
    "product-into-part",
    "resize-cascade",
)


@pytest.mark.slow
@pytest.mark.parametrize("name", ONLY_BEFORE_U85)
def test_u85_lacks_some_errata(name: str) -> None:
    network, npu = network_of(name), "ethos-u85-128"
    kept = find_errata(network, CompileTarget(npu, table_of=table_of))
    assert name not in {why.erratum for why in kept.values()}
    assert not differs(network, compiled(name, network, npu=npu))


def test_a_resize_to_more_channels_faults_on_u85() -> None:
    network = network_of("resize-depth")
    plan = compiled("resize-depth", network, npu="ethos-u85-128")
    with pytest.raises(NpuFault, match="RESIZE cannot have IFM and OFM depths 2 and 4"):
        simulate_samples(plan, draw_samples(network, 1, 1), Watch())


def test_every_erratum_names_its_source_once() -> None:
    assert len(BY_NAME) == len(ERRATA) + len(STREAM_ERRATA)
    for erratum in BY_NAME.values():
        assert erratum.source
        assert not erratum.sentence.endswith(".")


def test_every_erratum_has_its_network_in_the_folder() -> None:
    assert set(NETWORKS) == set(BY_NAME)
    assert {path.name for path in FOLDER.iterdir()} == {PAGE, *(f"{n}.tflite" for n in NETWORKS)}
    assert (FOLDER / PAGE).read_text() == page()
    for name in NETWORKS:
        assert (FOLDER / f"{name}.tflite").read_bytes() == build_network(name), name


@pytest.mark.parametrize(
    ("rows", "factor", "aligned", "is_one"),
    [
        (8, 8, True, True),
        (4, 8, True, True),
        (3, 8, True, False),
        (8, 4, True, False),
        (8, 2, False, True),
        (3, 4, False, False),
    ],
)
def test_only_steps_that_may_share_a_buffer_are_an_erratum(
    rows: int, factor: int, aligned: bool, is_one: bool
) -> None:
    net = NetworkBuilder("column", seed=1)
    x = net.input((1, rows, 1, 2), "int8", 0.05, 0)
    enlarged = (rows - 1) * factor + 1 if aligned else rows * factor
    out = net.apply("RESIZE_NEAREST_NEIGHBOR", x, [enlarged, 1], align_corners=aligned)
    network = parse_network(net.build(out), "column")
    assert bool(find_errata(network, CompileTarget(NPU, table_of=table_of))) == is_one


def _part(net: NetworkBuilder, steps: Sequence[int], code: str = "STRIDED_SLICE") -> int:
    """Add an input of two batches, and its right part from the second row and column on."""
    x = net.input((2, 8, 8, 4), "int8", 0.05, 0)
    if code == "SLICE":
        return net.apply(code, x, [0, 1, 1, 0], (2, -(-7 // steps[0]), -(-7 // steps[1]), 4))
    return net.apply(code, x, [0, 1, 1, 0], (2, 8, 8, 4), (1, *steps, 1))


def _pooled(net: NetworkBuilder, x: int) -> int:
    return net.max_pool(x, (3, 3), (1, 1), padding="SAME")


def _padded(net: NetworkBuilder, x: int) -> int:
    return net.conv2d(net.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0))), 4, padding="VALID")


def _with_another(net: NetworkBuilder, x: int) -> int:
    return net.maximum(x, net.input((2, 4, 4, 4), "int8", 0.05, 0))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("steps", "code", "read", "erratum"),
    [
        ((1, 1), "SLICE", lambda net, x: net.conv2d(x, 4), "padded-part"),
        ((1, 1), "SLICE", _pooled, "padded-part"),
        ((1, 1), "SLICE", _padded, "padded-part"),
        ((1, 1), "SLICE", lambda net, x: net.conv2d(x, 4, padding="VALID"), None),
        ((1, 1), "SLICE", lambda net, x: net.conv2d(x, 4, (2, 2)), None),
        ((1, 1), "SLICE", lambda net, x: net.relu(x), None),
        ((2, 1), "STRIDED_SLICE", lambda net, x: net.conv2d(x, 4, (3, 1)), "padded-part"),
        ((2, 2), "STRIDED_SLICE", lambda net, x: net.conv2d(x, 4, padding="VALID"), None),
        ((2, 2), "STRIDED_SLICE", _with_another, "stepped-operand"),
        ((2, 2), "STRIDED_SLICE", lambda net, x: net.mean(x), None),
        ((2, 2), "STRIDED_SLICE", lambda net, x: net.relu(x), None),
    ],
)  # fmt: skip
def test_a_part_is_kept_where_its_reader_is_wrong(
    steps: Sequence[int], code: str, read: Callable[[NetworkBuilder, int], int], erratum: str | None
) -> None:
    net = NetworkBuilder("part", seed=2)
    network = parse_network(net.build(read(net, _part(net, steps, code))), "part")
    kept = find_errata(network, CompileTarget(NPU, table_of=table_of))
    assert [why.erratum for why in kept.values()] == ([erratum] if erratum else [])
    assert differs(network, compiled("part", network)) == (erratum is not None)
    assert not differs(network, compiled("part", network, kept))


def _sliced(
    net: NetworkBuilder, shape: Sequence[int], start: Sequence[int], size: Sequence[int]
) -> int:
    return net.apply("SLICE", net.input(shape, "int8", 0.05, 7), start, size)


def _product(net: NetworkBuilder, x: int, adj_x: bool = False) -> int:
    *before, rows, depth = net.tensors[x].shape
    rows, depth = (depth, rows) if adj_x else (rows, depth)
    y = net.input((*before, depth, 5), "int8", 0.4, 7)
    return net.apply("BATCH_MATMUL", x, y, adj_x=adj_x, scale=1.8, zero_point=3)


def _dynamic(net: NetworkBuilder, x: int) -> int:
    weights = net.input((5, net.tensors[x].shape[1]), "int8", 0.4, 7)
    return net.apply("FULLY_CONNECTED", x, weights, scale=1.8, zero_point=3)


def _second_operand(net: NetworkBuilder, x: int) -> int:
    rows = net.input((1, 1, 2, net.tensors[x].shape[2]), "int8", 0.05, 7)
    return net.apply("BATCH_MATMUL", rows, x, scale=1.8, zero_point=3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "start", "size", "read", "is_one"),
    [
        ((1, 1, 8, 14), (0, 0, 2, 0), (1, 1, 3, 14), _product, True),
        ((1, 1, 3, 20), (0, 0, 0, 2), (1, 1, 3, 14), _product, True),
        ((1, 6, 3, 14), (0, 2, 0, 0), (1, 3, 3, 14), _product, True),
        ((3, 1, 3, 14), (1, 0, 0, 0), (1, 1, 3, 14), _product, True),
        ((8, 14), (2, 0), (1, 14), _dynamic, True),
        ((6, 3, 14), (2, 0, 0), (1, 3, 14), _product, False),
        ((4, 3, 3, 14), (1, 0, 0, 0), (2, 3, 3, 14), _product, False),
        ((1, 1, 8, 14), (0, 0, 2, 0), (1, 1, 3, 14), lambda n, x: _product(n, x, True), False),
        ((1, 1, 8, 14), (0, 0, 2, 0), (1, 1, 3, 14), _second_operand, False),
    ],
)
def test_a_part_is_kept_where_a_product_reads_it_first(
    shape: Sequence[int],
    start: Sequence[int],
    size: Sequence[int],
    read: Callable[[NetworkBuilder, int], int],
    is_one: bool,
) -> None:
    net = NetworkBuilder("part", seed=2)
    network = parse_network(net.build(read(net, _sliced(net, shape, start, size))), "part")
    kept = find_errata(network, CompileTarget(NPU, table_of=table_of))
    assert [why.erratum for why in kept.values()] == (["multiplied-part"] if is_one else [])
    assert differs(network, compiled("part", network)) == is_one
    assert not differs(network, compiled("part", network, kept))


def _joined(net: NetworkBuilder, x: int, axis: int) -> int:
    before = net.input(net.tensors[x].shape, "int8", 1.8, 3)
    return net.concat((before, x), axis)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "join", "is_one"),
    [
        ((1, 2, 3, 14), lambda net, x: _joined(net, x, 2), True),
        ((2, 3, 14), lambda net, x: _joined(net, net.reshape(x, (1, 2, 3, 5)), 2), True),
        ((1, 2, 3, 14), lambda net, x: net.pad(x, ((0, 0), (1, 0), (0, 0), (0, 0))), True),
        ((2, 3, 14), lambda net, x: _joined(net, x, 1), False),
        ((2, 2, 3, 14), lambda net, x: _joined(net, x, 2), False),
        ((1, 2, 3, 14), lambda net, x: _joined(net, net.relu(x), 2), False),
    ],
)
def test_a_joiner_is_kept_where_a_product_writes_into_it(
    shape: Sequence[int], join: Callable[[NetworkBuilder, int], int], is_one: bool
) -> None:
    net = NetworkBuilder("joined", seed=2)
    network = parse_network(net.build(join(net, _product(net, net.input(shape)))), "joined")
    kept = find_errata(network, CompileTarget(NPU, table_of=table_of))
    assert [why.erratum for why in kept.values()] == (["product-into-part"] if is_one else [])
    assert differs(network, compiled("joined", network)) == is_one
    assert not differs(network, compiled("joined", network, kept))


def test_an_erratum_ends_with_the_version_that_mends_it() -> None:
    mended = Erratum("one", "Vela", lambda _site: True, "it is wrong", "here", fixed="5.10.0")
    assert is_open(mended, "5.2.0")
    assert not is_open(mended, "5.10.0")
    assert is_open(BY_NAME["mirror-pad-axes"], vela_version())


def test_the_demo_keeps_its_offload() -> None:
    network = read(ROOT / "demo" / "digits_int8.tflite")
    assert not find_errata(network, CompileTarget("ethos-u55-128", table_of=table_of))


def test_operators_on_reals_have_no_errata() -> None:
    net = NetworkBuilder("reals", seed=1)
    x, y = (net.input((2, 3), "float32", None) for _ in range(2))
    network = parse_network(net.build(net.apply("SQUARED_DIFFERENCE", x, y)), "reals")
    for who in ("tflm", "litert"):
        assert not find_errata(
            network, CompileTarget("ethos-u55-128", IoStyle.ARENA, table_of), who
        )
