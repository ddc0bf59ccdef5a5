"""Vela's result for a network: partitions, the I/O contract, and every reason in words."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ethosgen.backend.ethosu.accelerator import ACCELERATORS, find_accelerator
from ethosgen.backend.ethosu.offload import offload, vela
from ethosgen.backend.ethosu.stream import RegionKind, read_only, scratch_bytes, stream_of
from ethosgen.frontend import read
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.values.errors import InputError, ToolError, UnsupportedError
from ethosgen.values.network import Network
from ethosgen.values.plan import IoStyle, Plan
from tests import ROOT
from tests.support.needs import needs_models
from tests.support.network_file import Spec, with_signatures
from tests.support.networks import NetworkBuilder

U55 = find_accelerator("ethos-u55-128")
SHARED_MODELS = ROOT.parent / "shared" / "models"


def parse(net: NetworkBuilder, *outputs: int) -> Network:
    return parse_network(net.build(*outputs), net.name)


def two_inputs(seed: int = 3) -> Network:
    """Both inputs used, three outputs of which one is an input, pooling in between."""
    net = NetworkBuilder("two_inputs", seed)
    a = net.input((1, 8, 8, 8), name="a")
    b = net.input((1, 8, 8, 8), scale=0.07, zero_point=-4, name="b")
    total = net.add(net.conv2d(a, 8), b, name="total")
    pooled = net.max_pool(total, (2, 2), name="pooled")
    last = net.add(net.conv2d(pooled, 8), pooled, name="last")
    return parse(net, last, total, b)


def names(plan: Plan, indices: tuple[int, ...]) -> list[str]:
    return [plan.residual.tensors[index].name for index in indices]


@pytest.mark.parametrize("accelerator", ACCELERATORS)
def test_a_whole_network_is_one_partition_on_every_npu(accelerator: str) -> None:
    plan = offload(two_inputs(), find_accelerator(accelerator))
    (partition,) = plan.partitions
    assert partition.operators == (0, 1, 2, 3, 4)
    assert plan.npu_operators == 5
    assert plan.cpu_operators == ()
    assert partition.why_it_ends == "the network ends here"
    assert stream_of(partition).bases == (RegionKind.READ_ONLY, RegionKind.SCRATCH)
    assert names(plan, partition.inputs) == ["a", "b"]
    assert names(plan, partition.outputs) == ["total", "last"]
    assert stream_of(partition).config_word & 0xF == plan.accelerator.macs.bit_length() - 1
    assert stream_of(partition).id_word >> 28 == (2 if "u85" in accelerator else 1)
    assert stream_of(partition).commands[:4] != b"COP1"
    assert scratch_bytes(plan) == plan.sram_bytes
    assert plan.npu_cycles > 0


def test_arena_offsets_lie_inside_scratch() -> None:
    plan = offload(two_inputs(), U55)
    for index in (*plan.residual.inputs, *plan.residual.outputs):
        assert plan.offsets[index] + plan.residual.tensors[index].bytes <= scratch_bytes(plan)
        assert plan.offsets[index] % 16 == 0


def test_the_residual_graph_keeps_the_signature() -> None:
    network = two_inputs()
    plan = offload(network, U55)
    assert [t.name for t in plan.residual.input_tensors()] == ["a", "b"]
    assert [t.name for t in plan.residual.output_tensors()] == ["last", "total", "b"]
    for ours, theirs in zip(plan.residual.output_tensors(), network.outputs, strict=True):
        assert (ours.shape, ours.dtype, ours.quantization) == (
            theirs.shape,
            theirs.dtype,
            theirs.quantization,
        )


def test_what_is_ignored_splits_the_network_and_says_so() -> None:
    plan = offload(two_inputs(), U55, ignore=("MAX_POOL_2D",))
    first, second = plan.partitions
    (pool,) = plan.cpu_operators
    assert (pool.code, pool.output, pool.reason) == ("MAX_POOL_2D", "pooled", "you asked for it")
    assert plan.residual.operators[pool.operator].code == "MAX_POOL_2D"
    assert (first.operators, second.operators) == ((0, 1), (3, 4))
    assert plan.npu_operators == 4
    assert first.why_it_ends == "MAX_POOL_2D 'pooled' follows on the CPU: you asked for it"
    assert second.why_it_ends == "the network ends here"
    assert names(plan, first.outputs) == ["total"]
    assert names(plan, second.inputs) == ["pooled"]
    assert read_only(plan)
    blobs = {plan.residual.operators[p.operator].inputs[1] for p in plan.partitions}
    assert len(blobs) == 1


def test_nothing_on_the_npu_is_a_plan_too() -> None:
    net = NetworkBuilder("cpu_only")
    net.max_pool(net.input((1, 8, 8, 4)), (2, 2))
    plan = offload(parse(net), U55, ignore=("MAX_POOL_2D",))
    assert (plan.partitions, scratch_bytes(plan), read_only(plan), plan.offsets) == ((), 0, b"", {})
    assert [operator.code for operator in plan.cpu_operators] == ["MAX_POOL_2D"]


@pytest.mark.parametrize("ignore", [(), ("MAX_POOL_2D",)])
def test_caller_style_gives_every_tensor_a_base_pointer(ignore: tuple[str, ...]) -> None:
    plan = offload(two_inputs(), U55, IoStyle.CALLER, ignore=ignore)
    assert plan.offsets == {}
    assert scratch_bytes(plan) < scratch_bytes(offload(two_inputs(), U55, ignore=ignore))
    for partition in plan.partitions:
        assert stream_of(partition).bases[:3] == (
            RegionKind.READ_ONLY,
            RegionKind.SCRATCH,
            RegionKind.SCRATCH,
        )
        assert stream_of(partition).bases[3:] == (*partition.inputs, *partition.outputs)


def test_too_many_tensors_for_caller_style() -> None:
    net = NetworkBuilder("crowd")
    total, *others = [net.input((1, 4, 4, 4)) for _ in range(6)]
    for other in others:
        total = net.add(total, other)
    network = parse(net)
    assert len(offload(network, U55).partitions) == 1
    with pytest.raises(UnsupportedError, match="use --io arena"):
        offload(network, U55, IoStyle.CALLER)


def sine(net: NetworkBuilder, x: int) -> int:
    return net.unary("SIN", x)


def floor(net: NetworkBuilder, x: int) -> int:
    return net.quantize(net.unary("FLOOR", net.dequantize(x)), "int8", 0.1, 0)


def wide_pool(net: NetworkBuilder, x: int) -> int:
    return net.average_pool(x, (9, 9), (1, 1), padding="SAME")


def custom(net: NetworkBuilder, x: int) -> int:
    spec = Spec(net.tensors[x].shape, "int8", 0.1, 0)
    return net.operator("CUSTOM", [x], [spec], custom_code="Mine")[0]


@pytest.mark.parametrize(
    ("layer", "reasons"),
    [
        (sine, {"SIN": "the NPU has no such operation"}),
        (
            floor,
            {
                "DEQUANTIZE": "the NPU has no such operation",
                "FLOOR": "the NPU has no such operation",
                "QUANTIZE": "the NPU does not compute in float32",
            },
        ),
        (wide_pool, {"AVERAGE_POOL_2D": "less than or equal to 8"}),
        (custom, {"CUSTOM Mine": "the NPU has no such operation"}),
    ],
)
def test_reasons_are_given(
    layer: Callable[[NetworkBuilder, int], int], reasons: dict[str, str]
) -> None:
    net = NetworkBuilder(layer.__name__)
    x = net.conv2d(net.input((1, 16, 16, 4)), 4)
    net.conv2d(layer(net, x), 4)
    plan = offload(parse(net), U55)
    assert {operator.code for operator in plan.cpu_operators} == set(reasons)
    for operator in plan.cpu_operators:
        assert reasons[operator.code] in operator.reason
        assert "\n" not in operator.reason
    assert len(plan.partitions) == 2
    assert "follows on the CPU" in plan.partitions[0].why_it_ends


def test_a_placement_in_the_file_does_not_become_velas() -> None:
    net = NetworkBuilder("placed")
    net.relu(net.conv2d(net.input((1, 8, 8, 4)), 8))
    plain = offload(parse(net), U55)
    net.metadata["OfflineMemoryAllocation"] = np.array([1, 0, 1, 4096], "<i4").tobytes()
    assert offload(parse(net), U55).offsets == plain.offsets


def test_a_compile_uses_no_standard_output(capfd: pytest.CaptureFixture[str]) -> None:
    net = NetworkBuilder("noisy")
    x = net.input((1, 4, 4, 4))
    net.unary("SIN", x)
    data = with_signatures(net.build(), {x: (-1, 4, 4, 4)})
    offload(parse_network(data, "noisy"), U55)
    assert capfd.readouterr() == ("", "")


def test_velas_refusal_is_one_sentence() -> None:
    with pytest.raises(UnsupportedError, match=r"Vela cannot compile 'two_inputs': .*SOMETHING"):
        offload(two_inputs(), U55, ignore=("SOMETHING",))


@pytest.mark.slow
def test_a_death_a_hang_and_a_missing_vela_are_sentences(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    network = two_inputs()
    stand_in = tmp_path / "vela.py"
    monkeypatch.setattr(vela, "__file__", str(stand_in))
    child = tmp_path / "regor.py"
    child.write_text("import os\ndef compile_network(*_): os.abort()\n")
    with pytest.raises(InputError, match=r"Vela crashes on 'two_inputs'.*SIGABRT"):
        offload(network, U55)
    child.write_text("def compile_network(*_): import no_such_vela\n")
    with pytest.raises(ToolError, match=r"-m pip install 'ethos-u-vela"):
        offload(network, U55)
    monkeypatch.setattr(vela, "LIMIT_S", 0.5)
    child.write_text("import time\ndef compile_network(*_): time.sleep(60)\n")
    with pytest.raises(InputError, match=r"did not finish in 0\.5 s"):
        offload(network, U55)


def test_other_memories_of_vela_can_be_chosen() -> None:
    plan = offload(
        two_inputs(),
        find_accelerator("ethos-u65-256"),
        system_config="Ethos_U65_High_End",
        memory_mode="Dedicated_Sram_384KB",
    )
    (partition,) = plan.partitions
    assert stream_of(partition).bases == (
        RegionKind.READ_ONLY,
        RegionKind.SCRATCH,
        RegionKind.SCRATCH_FAST,
    )
    assert scratch_bytes(plan, RegionKind.SCRATCH_FAST) > 0


@needs_models
def test_shared_models_run_wholly_on_the_npu() -> None:
    sram = {"kws_dscnn_int8": 22192, "ad_autoencoder_int8": 768, "vww_mobilenet_int8": 74480}
    for path in sorted(SHARED_MODELS.glob("*.tflite")):
        network = read(path)
        plan = offload(network, U55)
        assert len(plan.partitions) == 1
        assert plan.cpu_operators == ()
        assert plan.npu_operators == len(network.graph.operators)
        assert plan.sram_bytes == sram.get(path.stem, plan.sram_bytes)
