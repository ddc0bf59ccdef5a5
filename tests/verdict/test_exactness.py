"""Exact by default: errata avoided, plans checked, what differs found and kept on the CPU."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ethosgen.backend.ethosu.accelerator import find_accelerator
from ethosgen.backend.ethosu.offload import offload
from ethosgen.commands.wording import plan_lines
from ethosgen.frontend import read
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.oracle.answers import Answer
from ethosgen.values.allocation import Allocation, OperatorIndex
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.network import Network
from ethosgen.values.outcome import Arrays
from ethosgen.values.plan import EXACT, IoStyle, OffloadOptions, Plan
from ethosgen.values.watch import Watch
from ethosgen.verdict.cpu_only import plan_cpu_only
from ethosgen.verdict.errata import known_errata
from ethosgen.verdict.exactness import Ask, ask_oracles, exact_plan
from tests import ROOT
from tests.support.network_file import Spec
from tests.support.networks import NetworkBuilder
from tests.support.planners import FunctionPlanner

U55 = find_accelerator("ethos-u55-128")


def reduced_rows() -> Network:
    """REDUCE_MAX over the last axis without keep_dims, between two pools."""
    net = NetworkBuilder("reduced", seed=1)
    x = net.max_pool(net.input((1, 4, 6, 8)), (1, 1))
    return parse_network(net.build(net.apply("REDUCE_MAX", x, [3], keep_dims=False)), "reduced")


def two_layers() -> Network:
    net = NetworkBuilder("two_layers", seed=2)
    x = net.conv2d(net.input((1, 6, 6, 4)), 4, (3, 3))
    x = net.average_pool(x, (2, 2), (2, 2))
    x = net.conv2d(x, 3, (1, 1))
    return parse_network(net.build(x), "two_layers")


def plan_of(
    network: Network,
    options: OffloadOptions = EXACT,
    npu: str = "ethos-u55-128",
    ask: Ask = ask_oracles,
) -> Plan:
    accelerator = find_accelerator(npu)

    def compile_part(part: Network, allocation: Allocation[OperatorIndex]) -> Plan:
        return offload(part, accelerator, allocation=allocation)

    planner = FunctionPlanner(accelerator, compile_part)
    return exact_plan(network, planner, options, Watch(), ask)


def test_an_erratum_keeps_its_operator_on_the_cpu_and_says_so() -> None:
    plan = plan_of(reduced_rows())
    (cpu,) = plan.cpu_operators
    assert (cpu.code, cpu.erratum) == ("REDUCE_MAX", "reduce-dropped-axis")
    assert "keep_dims" in cpu.reason
    assert plan.npu_operators == 1
    assert plan.check is not None
    assert (plan.check.oracle, plan.check.samples) == ("tflm", 5)


def test_trust_compiler_offloads_what_vela_offloads() -> None:
    plan = plan_of(reduced_rows(), OffloadOptions(trust_compiler=True))
    assert not plan.cpu_operators
    assert plan.check is None


def test_errata_are_avoided_without_a_check_too() -> None:
    plan = plan_of(reduced_rows(), OffloadOptions(check=False))
    assert [cpu.erratum for cpu in plan.cpu_operators] == ["reduce-dropped-axis"]
    assert plan.check is None


@pytest.mark.slow
def test_what_the_table_does_not_know_is_found_by_the_check_and_kept_to_report(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("ethosgen.backend.ethosu.offload.errata.ERRATA", ())
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    plan = plan_of(reduced_rows())
    (cpu,) = plan.cpu_operators
    assert (cpu.code, cpu.erratum) == ("REDUCE_MAX", "found-by-check")
    assert plan.npu_operators == 1
    assert plan.check is not None
    (case,) = map(Path, plan.check.cases)
    assert case.parent == tmp_path / "ethosgen" / "cases"
    alone = read(case / "network.tflite")
    assert [op.code for op in alone.graph.operators] == ["REDUCE_MAX"]
    with np.load(case / "expected.npz") as expected, np.load(case / "npu.npz") as got:
        assert any(not np.array_equal(expected[name], got[name]) for name in expected.files)
    before = (case / "README.txt").stat().st_mtime_ns
    assert plan_of(reduced_rows()).check == plan.check
    assert (case / "README.txt").stat().st_mtime_ns == before


def _lowest(net: NetworkBuilder) -> int:
    """Add a mean of int16 that is wrong only where every value is the lowest, behind a table."""
    x = net.input((1, 256, 256, 1), "int16", 1 / 32768, 0)
    return net.average_pool(net.tanh(x), (256, 256))


def lowest_inside() -> Network:
    net = NetworkBuilder("lowest", seed=3)
    return parse_network(net.build(_lowest(net)), "lowest")


def test_an_operator_is_driven_to_ends_that_no_sample_of_the_network_reaches(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("ethosgen.backend.ethosu.offload.errata.ERRATA", ())
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    plan = plan_of(lowest_inside())
    assert [(cpu.code, cpu.erratum) for cpu in plan.cpu_operators] == [
        ("AVERAGE_POOL_2D", "found-by-check")
    ]
    assert plan.check is not None and plan.check.driven == 2
    (case,) = map(Path, plan.check.cases)
    alone = read(case / "network.tflite")
    assert [op.code for op in alone.graph.operators] == ["AVERAGE_POOL_2D"]


def test_an_operator_that_the_oracle_lacks_does_not_hide_the_others(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """TFLite Micro has no GELU; LiteRT answers for the whole network instead."""
    monkeypatch.setattr("ethosgen.backend.ethosu.offload.errata.ERRATA", ())
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    net = NetworkBuilder("lacking", seed=5)
    outputs = _lowest(net), net.unary("GELU", net.input((1, 4), "int8", 0.04, 26), scale=0.03)
    network = parse_network(net.build(*outputs), "lacking")
    plan = plan_of(network, OffloadOptions(oracle="tflm"), ask=lambda *q: ask_oracles(*q[:2], None))
    assert ("AVERAGE_POOL_2D", "found-by-check") in [
        (cpu.code, cpu.erratum) for cpu in plan.cpu_operators
    ]
    assert plan.check is not None and plan.check.driven == 2


def test_a_plan_for_the_cpu_alone_is_checked_too() -> None:
    planner = FunctionPlanner(None, lambda part, _kept: plan_cpu_only(part, IoStyle.ARENA))

    def checked(ask: Ask) -> Plan:
        return exact_plan(two_layers(), planner, EXACT, Watch(), ask)

    plan = checked(ask_oracles)
    assert plan.check is not None and plan.check.samples == 5 and plan.check.driven == 0
    with pytest.raises(UnsupportedError, match=r"with every operator on the CPU; nothing was"):
        checked(wrong_everywhere)


def wrong_everywhere(
    network: Network, samples: Sequence[Arrays], oracle: str | None
) -> Answer | str:
    said = ask_oracles(network, samples, oracle)
    assert isinstance(said, Answer)
    outputs = [{name: array ^ 1 for name, array in output.items()} for output in said.outputs]
    return replace(said, outputs=outputs)


def test_a_plan_that_cannot_be_mended_is_refused() -> None:
    with pytest.raises(UnsupportedError, match=r"cannot be made exact: .* outputs differ"):
        plan_of(two_layers(), ask=wrong_everywhere)


def mixed() -> Network:
    """A mean that Vela gets wrong, and a quotient that LiteRT refuses where a sum is 0."""
    net = NetworkBuilder("mixed", seed=3)
    x = net.input((4, 1, 1, 3, 4), "int8", 0.05, 0)
    mean = net.apply("MEAN", x, [0])
    y, z = (net.input((3,), "int16", None, name=name) for name in "yz")
    divided = net.apply("FLOOR_DIV", y, net.maximum(y, z))
    return parse_network(net.build(mean, divided), "mixed")


@pytest.mark.slow
def test_samples_that_the_oracle_refuses_are_left_out_of_the_check(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("ethosgen.backend.ethosu.offload.errata.ERRATA", ())
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    plan = plan_of(mixed())
    assert plan.check is not None
    assert plan.check.oracle == "litert"
    assert 0 < plan.check.samples < 5
    assert ("MEAN", "found-by-check") in {(cpu.code, cpu.erratum) for cpu in plan.cpu_operators}


def converted(code: str, dtype: str, low: float) -> Network:
    """A pool for the NPU, and a float from `low` to -low in steps of `low` / 128 as an integer."""
    net = NetworkBuilder("converted", seed=3)
    pooled = net.max_pool(net.input((1, 4, 4, 4)), (2, 2))
    real = net.dequantize(net.input((1, 4), "int8", -low / 128, 0, "x"))
    (whole,) = net.operator(
        code, (real,), (Spec((1, 4), dtype, 1.0 if code == "QUANTIZE" else None),)
    )
    return parse_network(net.build(pooled, whole), "converted")


def other_compiler(network: Network, samples: Sequence[Arrays], oracle: str | None) -> Answer | str:
    """Answer as the oracle of a processor that converts a float that does not fit to 77."""
    said = ask_oracles(network, samples, oracle)
    assert isinstance(said, Answer)
    name, span = network.outputs[1].name, np.iinfo(network.outputs[1].dtype)
    assert network.inputs[1].quantization is not None
    (scale,) = network.inputs[1].quantization.scale
    reach = np.iinfo(np.int32) if network.graph.operators[-1].code == "QUANTIZE" else span
    outputs = []
    for sample, answer in zip(samples, said.outputs, strict=True):
        real = sample["x"] * float(scale)
        undefined = (real < reach.min) | (real >= reach.max + 1.0)
        outputs.append(answer | {name: np.where(undefined, 77, answer[name]).astype(span.dtype)})
    return replace(said, outputs=outputs)


@pytest.mark.parametrize(
    ("code", "dtype", "low"), [("CAST", "uint32", -50.0), ("QUANTIZE", "int8", -4e9)]
)
def test_outputs_that_cpp_leaves_undefined_are_left_out(code: str, dtype: str, low: float) -> None:
    check = plan_of(converted(code, dtype, low), ask=other_compiler).check
    assert check is not None and check.oracle == "tflm"
    assert check.samples == 5
    assert 5 * 16 < check.elements < 5 * (16 + 4)


def test_a_defined_result_that_differs_is_not_excused() -> None:
    with pytest.raises(UnsupportedError, match="cannot be made exact"):
        plan_of(converted("CAST", "uint32", -50.0), ask=wrong_everywhere)


def never_defined(outputs: int) -> Network:
    """A pool of negative floats cast to uint32; with two outputs, also a pool of an input."""
    net = NetworkBuilder("never", seed=3)
    more = [net.input((1, 4, 4, 4)) for _ in range(outputs - 1)]
    real = net.dequantize(net.input((1, 4, 4, 4), "int8", 1.0, 0, "x"))
    far = net.constant(np.full((1, 1, 1, 1), -500.0, np.float32))
    cast = net.apply("CAST", net.apply("ADD", real, far), dtype="uint32")
    again = net.apply("CAST", cast, dtype="int8", scale=1.0)
    pools = [net.max_pool(x, (2, 2)) for x in (again, *more)]
    return parse_network(net.build(*pools), "never")


def test_a_check_without_a_defined_output_is_skipped_and_says_so() -> None:
    check = plan_of(never_defined(1), ask=wrong_everywhere).check
    assert check is not None and check.oracle is None
    assert check.skipped.startswith("C++ leaves the result of CAST with output")


def test_an_output_that_does_not_depend_on_an_undefined_one_is_not_excused() -> None:
    with pytest.raises(UnsupportedError, match="cannot be made exact"):
        plan_of(never_defined(2), ask=wrong_everywhere)


FAULTY = ROOT / "tests" / "errata" / "multiplied-part.tflite"
"""Vela's command stream for it writes outside its own scratch."""


def no_answer(_network: Network, _samples: Sequence[Arrays], _oracle: str | None) -> Answer | str:
    return "no oracle has it"


@pytest.mark.slow
@pytest.mark.parametrize("options", [EXACT, OffloadOptions(check=False)])
def test_a_write_outside_the_memories_is_found_without_golden_outputs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, options: OffloadOptions
) -> None:
    monkeypatch.setattr("ethosgen.backend.ethosu.offload.errata.ERRATA", ())
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    plan = plan_of(read(FAULTY), options, ask=no_answer)
    assert [cpu.erratum for cpu in plan.cpu_operators] == ["found-by-check"]
    assert "write outside the memories" in plan.cpu_operators[0].reason
    assert plan.check is None or plan.check.skipped == "no oracle has it"


def test_a_trusted_plan_that_writes_outside_its_memories_is_refused() -> None:
    with pytest.raises(UnsupportedError, match=r"accesses memory .*write outside the memories"):
        plan_of(read(FAULTY), OffloadOptions(trust_compiler=True))


def test_an_operator_that_one_oracle_lacks_has_the_errata_of_the_other() -> None:
    net = NetworkBuilder("unsigned", seed=4)
    x = net.input((1, 8), "uint8", 0.05, 100)
    weights = net.constant(np.full((4, 8), 90, np.uint8), None, 0.02, 128)
    layer = net.apply("FULLY_CONNECTED", x, weights)
    network = parse_network(net.build(layer), "unsigned")
    for oracle in ("tflm", "litert"):
        kept = known_errata(network, FunctionPlanner(U55, lambda *_: pytest.fail()), oracle)
        assert [why.erratum for why in kept.values()] == ["fully-connected-rounding"]


def test_an_ordinary_network_stays_on_the_npu() -> None:
    plan = plan_of(two_layers())
    assert not plan.cpu_operators
    assert plan.check is not None
    assert plan.check.elements == 5 * 27


def test_a_u85_is_checked_as_the_others_are() -> None:
    plan = plan_of(two_layers(), npu="ethos-u85-256")
    assert plan.check is not None
    assert (plan.check.oracle, plan.check.skipped) == ("tflm", "")
    assert plan.check.has_checked_accesses


def test_without_an_oracle_only_accesses_are_checked_and_the_report_says_so() -> None:
    plan = plan_of(two_layers(), ask=no_answer)
    assert plan.check is not None and plan.check.has_checked_accesses
    (line,) = (text for text in plan_lines(plan.summary()) if text.startswith("  check"))
    assert line == (
        "  check     skipped: no oracle has it; "
        "only the NPU's memory accesses were checked, not its results"
    )
