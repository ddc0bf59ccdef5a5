"""Networks of TOSA's operators on the NPU model, whole and in parts."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from ethosgen import frontend
from ethosgen.aot import compile_program
from ethosgen.backend.ethosu.accelerator import find_accelerator
from ethosgen.backend.ethosu.offload import (
    CompileTarget,
    Vela,
    cutting,
    find_errata,
    offload,
)
from ethosgen.backend.ethosu.offload.parts import Part, divide_graph, units
from ethosgen.backend.ethosu.offload.tosa_errata import TOSA_ERRATA
from ethosgen.backend.ethosu.stream import OWN_BASES
from ethosgen.cli import cli
from ethosgen.flow.planning import PlanSettings, make_plan
from ethosgen.oracle import TOSA
from ethosgen.oracle.tosa import reference_outputs
from ethosgen.values.allocation import Kept
from ethosgen.values.errors import NpuFault, RefusalError
from ethosgen.values.network import Network
from ethosgen.values.outcome import Arrays, OutputComparison, compare
from ethosgen.values.plan import IoStyle, Plan
from ethosgen.values.watch import Watch
from ethosgen.verdict.execution import simulate_samples
from tests.support.needs import needs_tosa
from tests.support.tosa_cases import CASES
from tests.support.tosa_models import MODELS, gated, wild
from tests.support.tosa_networks import TosaBuilder
from tests.support.tosa_rows import SAMPLES, case_network

U55, U65, U85 = "ethos-u55-128", "ethos-u65-256", "ethos-u85-256"
INSTANCES = 3
STYLES = (IoStyle.ARENA, IoStyle.CALLER)


def planned(network: Network, npu: str = U55, io: IoStyle = IoStyle.ARENA) -> Plan:
    allocation = find_errata(network, CompileTarget(npu, io), TOSA.name)
    return offload(network, find_accelerator(npu), io, allocation=allocation)


def compared(plan: Plan, samples: Sequence[Arrays]) -> OutputComparison:
    outputs = simulate_samples(plan, samples, Watch())
    comparison = compare("", list(outputs), reference_outputs(plan.network, samples))
    assert comparison.elements
    return comparison


def assert_equal(plan: Plan, samples: Sequence[Arrays]) -> None:
    comparison = compared(plan, samples)
    assert not comparison.mismatches, comparison.first and comparison.first.text()


@pytest.mark.slow
@needs_tosa
@pytest.mark.parametrize("name", CASES)
def test_each_operator_is_exact_where_vela_accepts_it(name: str) -> None:
    network, samples = case_network(name, INSTANCES)
    assert_equal(planned(network, U55, STYLES[len(name) % 2]), samples)


@needs_tosa
@pytest.mark.parametrize("io", STYLES)
@pytest.mark.parametrize("npu", [U55, U65])
@pytest.mark.parametrize("name", MODELS)
def test_whole_networks_are_exact(name: str, npu: str, io: IoStyle) -> None:
    net = MODELS[name]()
    plan = planned(net.network(), npu, io)
    if name == "gated":
        assert [cpu.code for cpu in plan.cpu_operators] == [
            "TOSA_GREATER",
            "TOSA_SELECT",
            "TOSA_GATHER",
        ]
        assert len(plan.partitions) == 3
    else:
        assert len(plan.partitions) == 1 and not plan.cpu_operators
    assert plan.npu_cycles
    assert_equal(plan, [net.sample() for _ in range(SAMPLES)])


@pytest.mark.slow
@needs_tosa
@pytest.mark.parametrize("seed", range(10))
def test_random_networks_are_exact_in_parts(seed: int) -> None:
    """The plan for C must exist too: it proves that no tensor is overwritten while it is live."""
    net, outputs = wild(seed)
    plan = planned(net.network(*outputs), (U55, U65)[seed // 2 % 2], STYLES[seed % 2])
    assert compile_program(plan, "wild").arena_bytes
    assert_equal(plan, [net.sample() for _ in range(SAMPLES)])


def test_the_cpus_operators_have_velas_reasons() -> None:
    plan = planned(gated().network())
    reasons = {cpu.code: cpu.reason for cpu in plan.cpu_operators}
    assert "(Gather) could not run on NPU" in reasons["TOSA_GATHER"]
    assert plan.npu_operators == len(plan.network.graph.operators) - len(plan.cpu_operators)
    assert "TOSA_GREATER" in plan.partitions[0].why_it_ends


def test_a_network_that_needs_too_much_memory_is_refused() -> None:
    shape, turned = (1, 5200, 5000, 1), (1, 5000, 5200, 1)
    net = TosaBuilder("large")
    x = net.op("TRANSPOSE", [net.input(shape, "int32")], turned, "int32", perms=(0, 2, 1, 3))
    y = net.op("ABS", [x], turned, "int32")
    parts = [net.op("TRANSPOSE", [t], shape, "int32", perms=(0, 2, 1, 3)) for t in (x, y)]
    net.op("ADD", parts, shape, "int32")
    with pytest.raises(RefusalError, match="MiB of memory for it, and the limit is 256"):
        Vela(find_accelerator(U85)).compile(net.network(), IoStyle.ARENA, None, ())


def test_a_user_keeps_operators_by_name() -> None:
    network = MODELS["resnet"]().network()
    plan = offload(network, find_accelerator(U55), ignore=("ADD",))
    assert {cpu.code for cpu in plan.cpu_operators} == {"TOSA_ADD"}
    assert {cpu.reason for cpu in plan.cpu_operators} == {"you asked for it"}


# ---- errata --------------------------------------------------------------------------------------


def _shift(net: TosaBuilder) -> int:
    inputs = [net.input((1, 4, 4, 8), "int32"), net.input((1, 4, 4, 8), "int32", 0, 31)]
    return net.op("ARITHMETIC_RIGHT_SHIFT", inputs, (1, 4, 4, 8), "int32", round=False)


def _cast(net: TosaBuilder) -> int:
    return net.op("CAST", [net.input((1, 4, 4, 8), "int32")], (1, 4, 4, 8), "int16")


def _channels(net: TosaBuilder) -> int:
    return net.rescale(net.input((1, 4, 4, 3), "int8"), "int8", [0.5, 0.7, 0.9])


def _product(net: TosaBuilder) -> int:
    inputs = [net.input((1, 4, 4, 8), "int32") for _ in range(2)]
    return net.op("MUL", [*inputs, net.constant([32], "int8")], (1, 4, 4, 8), "int32")


def _negated(net: TosaBuilder) -> int:
    points = [net.constant([0], "int32") for _ in range(2)]
    x = net.rescale(net.input((1, 4, 4, 8), "int16"), "int32", 1.0)
    x = net.op("NEGATE", [x, *points], (1, 4, 4, 8), "int32")
    return net.rescale(x, "int16", 0.15, rounding="DOUBLE_ROUND")


def _upsampled(
    net: TosaBuilder, size: Sequence[int], kernel: Sequence[int], pad: Sequence[int], stride: int
) -> int:
    """Add a TRANSPOSE_CONV2D; `pad` is out_pad."""
    sizes = ((n - 1) * stride + kernel[i] + sum(pad[2 * i : 2 * i + 2]) for i, n in enumerate(size))
    options = {"out_pad": tuple(pad), "stride": (stride, stride)}
    x = net.input((1, *size, 3), "int8")
    return net.layer("TRANSPOSE_CONV2D", x, (4, *kernel, 3), (1, *sizes, 4), **options)


def _single_row(net: TosaBuilder) -> int:
    return _upsampled(net, (2, 4), (4, 2), (-2, -3, 1, 1), 2)


def _row_of_padding(net: TosaBuilder) -> int:
    return _upsampled(net, (1, 3), (4, 3), (2, -3, 1, -2), 2)


def _volume(net: TosaBuilder, before: int) -> int:
    """Add a CONV3D over two images, with some more of padding before them."""
    x = net.input((1, 2, 3, 4, 2), "int8")
    options = {"pad": (before, 0, 0, 0, 0, 0), "stride": (1, 1, 1), "dilation": (1, 1, 1)}
    return net.layer("CONV3D", x, (3, 1, 1, 1, 2), (1, 2 + before, 3, 4, 3), **options)


def _image_of_padding(net: TosaBuilder) -> int:
    return _volume(net, 1)


def _narrow_shift(net: TosaBuilder) -> int:
    inputs = [net.input((1, 4, 4, 8), "int8"), net.input((1, 4, 4, 8), "int8", 0, 7)]
    return net.op("LOGICAL_RIGHT_SHIFT", inputs, (1, 4, 4, 8), "int8")


def _padded_pool(net: TosaBuilder) -> int:
    x = net.input((1, 3, 4, 6), "int16")
    options = {"kernel": (1, 8), "stride": (1, 8), "pad": (0, 0, 7, 5), "nan_mode": "PROPAGATE"}
    return net.op("MAX_POOL2D", [x], (1, 3, 2, 6), "int16", **options)


ERRATA: Mapping[str, Callable[[TosaBuilder], int]] = {
    "tosa-shift-rounds": _shift,
    "tosa-cast-saturates": _cast,
    "tosa-rescale-channels": _channels,
    "tosa-product-rounds-twice": _product,
    "tosa-negate-rounding": _negated,
    "tosa-transpose-conv-stride": _single_row,
    "tosa-transpose-conv-padding": _row_of_padding,
    "tosa-conv3d-padding": _image_of_padding,
    "tosa-shift-signs": _narrow_shift,
    "tosa-max-pool-padding": _padded_pool,
}
FAULTS = {
    "tosa-transpose-conv-padding": r"kernel and padding leave an IFM of \(0, 2, 3\)",
    "tosa-shift-signs": "LSR of a negative operand of less than 32 bits is not modelled",
    "tosa-max-pool-padding": "pooling MAX of only padding is not modelled",
}
"""What the NPU model says where it cannot compute what Vela made."""
NPUS = dict.fromkeys(("tosa-transpose-conv-stride", *FAULTS), U85)
"""The NPU of an erratum that U55 does not show."""


def test_each_erratum_has_a_network() -> None:
    assert set(ERRATA) == {erratum.name for erratum in TOSA_ERRATA}


@needs_tosa
@pytest.mark.parametrize("name", ERRATA)
def test_an_erratum_is_real_and_its_operator_stays_on_the_cpu(name: str) -> None:
    net = TosaBuilder("erratum", 1)
    network = net.network(ERRATA[name](net))
    samples = [net.sample() for _ in range(SAMPLES)]
    npu = NPUS.get(name, U55)
    trusted = offload(network, find_accelerator(npu))
    assert not trusted.cpu_operators
    if name in FAULTS:
        with pytest.raises(NpuFault, match=FAULTS[name]):
            simulate_samples(trusted, samples, Watch())
    else:
        assert compared(trusted, samples).mismatches
    plan = planned(network, npu)
    assert [cpu.erratum for cpu in plan.cpu_operators] == [name]
    assert_equal(plan, samples)


@needs_tosa
@pytest.mark.parametrize(
    ("size", "kernel", "pad", "stride"),
    [
        ((1, 4), (4, 2), (-2, -1, 1, 1), 2),  # a single row in and out: the stride has no effect
        ((2, 4), (4, 2), (-2, -2, 1, 1), 2),  # two rows out
        ((1, 3), (4, 3), (1, -2, 1, -2), 2),  # each row reads an element
        ((2, 3), (2, 2), (0, 0, 0, 0), 3),  # some rows have no weight
    ],
)
def test_other_transposed_convolutions_are_exact_on_u85(
    size: Sequence[int], kernel: Sequence[int], pad: Sequence[int], stride: int
) -> None:
    net = TosaBuilder("upsampled", 1)
    network = net.network(_upsampled(net, size, kernel, pad, stride))
    plan = planned(network, U85)
    assert not plan.cpu_operators
    assert_equal(plan, [net.sample() for _ in range(SAMPLES)])


@needs_tosa
@pytest.mark.parametrize(
    ("npu", "before"),
    [
        (U85, 1),  # U85 adds the biases
        (U55, 0),  # no padding
    ],
)
def test_other_convolutions_of_volumes_are_exact(npu: str, before: int) -> None:
    net = TosaBuilder("volume", 1)
    network = net.network(_volume(net, before))
    plan = planned(network, npu)
    assert not plan.cpu_operators
    assert_equal(plan, [net.sample() for _ in range(SAMPLES)])


@needs_tosa
def test_the_check_finds_what_no_erratum_lists(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("ethosgen.backend.ethosu.offload.errata.TOSA_ERRATA", ())
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    net = TosaBuilder("narrow", 1)
    x = net.conv2d(net.input((1, 6, 6, 4)), 5, (3, 3))
    x = net.op("CAST", [x], (1, 4, 4, 5), "int16")
    net.rescale(net.rescale(x, "int32", 0.5), "int8", 0.01)
    plan = make_plan(net.network(), PlanSettings(find_accelerator(U55)), Watch())
    assert [cpu.code for cpu in plan.cpu_operators] == ["TOSA_CAST"]
    assert plan.check and plan.check.oracle == TOSA.name
    (case,) = plan.check.cases
    stored = frontend.read(Path(case) / "network.tosa")
    assert [op.code for op in stored.graph.operators] == ["TOSA_CAST"]


# ---- parts ---------------------------------------------------------------------------------------


def chain(count: int, inputs: int = 1) -> TosaBuilder:
    """Return `count` additions in a row, of as many inputs as there are."""
    net = TosaBuilder("chain")
    sources = [net.input((2, 4), "int32") for _ in range(inputs)]
    x = sources[0]
    for i in range(count):
        x = net.op("ADD", [x, sources[i % inputs]], (2, 4), "int32")
    return net


def members(net: TosaBuilder, on_npu: set[int]) -> list[object]:
    steps = divide_graph(net.network().graph, on_npu)
    return [step.operators if isinstance(step, Part) else step.index for step in steps]


def test_a_part_never_waits_for_the_cpu() -> None:
    assert members(chain(5), {0, 1, 2, 3, 4}) == [(0, 1, 2, 3, 4)]
    assert members(chain(5), {0, 1, 3, 4}) == [(0, 1), 2, (3, 4)]
    assert members(chain(3), set()) == [0, 1, 2]


def test_a_branch_joins_the_part_before_the_operator_on_the_cpu() -> None:
    net = TosaBuilder("branch")
    x = net.input((2, 4), "int32")
    first = net.op("ABS", [x], (2, 4), "int32")
    slow = net.op("CLZ", [first], (2, 4), "int32")
    quick = net.op("ABS", [first], (2, 4), "int32")
    net.op("ADD", [slow, quick], (2, 4), "int32")
    assert members(net, {0, 2, 3}) == [(0, 2), 1, (3,)]


def test_a_part_has_base_pointers_for_all_its_ends() -> None:
    net = chain(12, inputs=8)
    steps = divide_graph(net.network().graph, set(range(12)))
    assert len(steps) > 1
    assert all(isinstance(step, Part) and step.ends <= OWN_BASES for step in steps)
    assert [i for step in steps if isinstance(step, Part) for i in step.operators] == [*range(12)]


def test_int48_sums_keep_their_operators_together() -> None:
    net = TosaBuilder("wide")
    x = net.conv2d(net.input((1, 4, 4, 2), "int16"), 3, (1, 1))
    x = net.rescale(x, "int16", 0.001)
    net.op("ABS", [net.rescale(x, "int32", 3.0)], (1, 4, 4, 3), "int32")
    graph = net.network().graph
    assert units(graph, ()) == [(0, 1), (2,), (3,)]
    assert units(graph, {1}) == [(2,), (3,)]
    plan = offload(net.network(), find_accelerator(U55), allocation={1: Kept("it is slow")})
    assert "int48" in {cpu.operator: cpu.reason for cpu in plan.cpu_operators}[0]


def test_a_part_that_vela_refuses_after_all_is_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Vela accepts each operator, but none after another."""
    real = cutting._Cutter._attempted

    def attempted(self: object, part: Part, limit_s: float | None) -> object:
        if {1, 2} <= set(part.operators):
            raise RefusalError("no", "these two do not fit")
        return real(self, part, limit_s)  # type: ignore[arg-type]

    def refuse(*_given: object) -> None:
        raise RefusalError("no", "not as a whole")

    monkeypatch.setattr(cutting, "_whole", refuse)
    monkeypatch.setattr(cutting._Cutter, "_attempted", attempted)
    plan = offload(chain(4).network(), find_accelerator(U55))
    assert len(plan.cpu_operators) == 1
    assert "these two do not fit" in plan.cpu_operators[0].reason


@pytest.mark.qemu
@needs_tosa
@pytest.mark.parametrize("io", ["arena", "caller"])
def test_a_network_in_parts_runs_in_firmware(io: str, tmp_path: Path) -> None:
    source = gated().network().source
    assert source
    file = tmp_path / "gated.tosa"
    file.write_bytes(source.data)
    options = ["--board", "corstone300", "--npu", U55, "--io", io, "--json"]
    result = CliRunner().invoke(cli, ["verify", str(file), *options])
    assert result.exit_code == 0, result.output
    assert '"mismatches": 0' in result.output and '"partitions": 3' in result.output
