"""Programs around streams that Vela compiled: TFLite Micro answers for the networks they are of."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ethosgen.backend import compiled_for
from ethosgen.backend.ethosu.stream import RegionKind, scratch_bytes
from ethosgen.flow.planning import PlanSettings, make_plan
from ethosgen.frontend.pte.reader import parse_network
from ethosgen.frontend.tflite.reader import parse_network as parse_tflite
from ethosgen.oracle.tflm import golden_outputs
from ethosgen.samples.drawing import random_samples
from ethosgen.values.errors import InputError
from ethosgen.values.network import Network, Quantization
from ethosgen.values.outcome import Arrays
from ethosgen.values.plan import IoStyle, Plan
from ethosgen.values.watch import Watch
from ethosgen.verdict.execution import simulate_samples
from tests.support.networks import NetworkBuilder
from tests.support.program_file import ProgramFile, compile_raw, vela_stream

U55, U65 = "ethos-u55-128", "ethos-u65-256"
DEDICATED = (
    "--config", "Arm/vela.ini", "--system-config", "Ethos_U65_High_End",
    "--memory-mode", "Dedicated_Sram_384KB",
)  # fmt: skip
"""What ExecuTorch passes to Vela for a U65."""

Folder = pytest.TempPathFactory


def small(seed: int, channels: int = 4) -> bytes:
    """A network from (1, 8, 8, 4) to (1, 8, 8, channels)."""
    net = NetworkBuilder("small", seed)
    x = net.conv2d(net.input((1, 8, 8, 4), name="x"), 8, activation="RELU")
    net.conv2d(net.add(x, net.conv2d(x, 8)), channels)
    return net.build()


@lru_cache(maxsize=8)
def stream(folder: Path, seed: int, npu: str = U55, *options: str, **how: int) -> bytes:
    """Return the delegate of a small network."""
    place = folder / f"{seed}-{npu}-{len(options)}"
    place.mkdir(exist_ok=True)
    return vela_stream(compile_raw(place, small(seed), npu, *options), **how)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: Folder) -> Path:
    return tmp_path_factory.mktemp("raw")


def planned(network: Network) -> Plan:
    return make_plan(network, PlanSettings(compiled_for(network)), Watch())


def run(network: Network, inputs: Sequence[Arrays]) -> list[Arrays]:
    """Simulate samples whose arrays are in the order of the inputs."""
    names = [tensor.name for tensor in network.inputs]
    samples = [dict(zip(names, sample.values(), strict=True)) for sample in inputs]
    return simulate_samples(planned(network), samples, Watch())


def answers(seed: int, samples: Sequence[Arrays]) -> list[np.ndarray[Any, Any]]:
    """Return TFLite Micro's outputs for the small network."""
    return [next(iter(answer.values())) for answer in golden_outputs(_original(seed), samples)]


def _original(seed: int) -> Network:
    return parse_tflite(small(seed), "small")


def drawn(seed: int, count: int = 3) -> list[Mapping[str, np.ndarray[Any, Any]]]:
    return list(random_samples(_original(seed), count, 7))


@pytest.mark.parametrize("segments", [False, True], ids=["inline", "segments"])
def test_a_delegate_gives_its_networks_answer(folder: Path, segments: bool) -> None:
    program = ProgramFile()
    x, y = program.tensor((1, 8, 8, 4)), program.tensor((1, 8, 8, 4))
    program.call(stream(folder, 1), x, y)
    network = parse_network(program.build([x], [y], segments=segments), "one.pte")
    assert [t.name for t in (*network.inputs, *network.outputs)] == ["input_0", "output_0"]
    samples = drawn(1)
    got = run(network, samples)
    for mine, theirs in zip(got, answers(1, samples), strict=True):
        np.testing.assert_array_equal(mine["output_0"], theirs)
    plan = planned(network)
    assert scratch_bytes(plan) == plan.sram_bytes
    assert scratch_bytes(plan, RegionKind.SCRATCH_FAST) == 0


def test_the_same_program_in_both_forms_is_one_network(folder: Path) -> None:
    program = ProgramFile()
    x, y = program.tensor((1, 8, 8, 4)), program.tensor((1, 8, 8, 4))
    program.call(stream(folder, 1), x, y)
    inline, apart = (
        parse_network(program.build([x], [y], segments=segments), "one.pte")
        for segments in (False, True)
    )
    assert inline.graphs == apart.graphs and inline.metadata == apart.metadata


def test_delegates_with_weights_of_their_own_share_the_memories(folder: Path) -> None:
    """The second reads what the first wrote, and the first's output is needed after it."""
    program = ProgramFile()
    x, y, z = (program.tensor((1, 8, 8, 4)) for _ in range(3))
    program.call(stream(folder, 1), x, y)
    program.call(stream(folder, 2), y, z)
    network = parse_network(program.build([x], [z, y]), "two.pte")
    samples = drawn(1)
    first = answers(1, samples)
    second = answers(2, [{"x": values} for values in first])
    for mine, y1, z1 in zip(run(network, samples), first, second, strict=True):
        np.testing.assert_array_equal(mine["output_0"], z1)
        np.testing.assert_array_equal(mine["output_1"], y1)
    plan = planned(network)
    first_stream, two = (op.inputs[1] for op in network.graph.operators if op.custom_code)
    sizes = [network.graph.tensors[i].bytes for i in (first_stream, two)]
    assert len(plan.partitions) == 2
    assert plan.part_bytes("weights") in range(sum(sizes), sum(sizes) + 16)


def test_equal_weights_are_stored_once(folder: Path) -> None:
    program = ProgramFile()
    x, y, z = (program.tensor((1, 8, 8, 4)) for _ in range(3))
    program.call(stream(folder, 1), x, y)
    program.call(stream(folder, 1), y, z)
    network = parse_network(program.build([x], [z]), "twice.pte")
    samples = drawn(1)
    wanted = answers(1, [{"x": values} for values in answers(1, samples)])
    for mine, theirs in zip(run(network, samples), wanted, strict=True):
        np.testing.assert_array_equal(mine["output_0"], theirs)
    first = network.graph.operators[1].inputs[1]
    assert planned(network).part_bytes("weights") == network.graph.tensors[first].bytes


def test_the_fast_scratch_has_the_size_that_the_stream_reaches(folder: Path) -> None:
    program = ProgramFile()
    x, y = program.tensor((1, 8, 8, 4)), program.tensor((1, 8, 8, 4))
    program.call(stream(folder, 1, U65, *DEDICATED), x, y)
    network = parse_network(program.build([x], [y]), "u65.pte")
    plan = planned(network)
    fast = scratch_bytes(plan, RegionKind.SCRATCH_FAST)
    with np.load(folder / f"1-{U65}-{len(DEDICATED)}" / "raw" / "net_vela.npz") as raw:
        (said,) = raw["scratch_fast_shape"]  # ExecuTorch does not store it
    assert said - 16 < fast <= said
    samples = drawn(1)
    for mine, theirs in zip(run(network, samples), answers(1, samples), strict=True):
        np.testing.assert_array_equal(mine["output_0"], theirs)


def test_channels_last_tensors_have_the_shape_that_they_have_in_memory(folder: Path) -> None:
    program = ProgramFile()
    x = program.tensor((1, 4, 8, 8), order=(0, 2, 3, 1))
    y = program.tensor((1, 4, 8, 8), order=(0, 2, 3, 1))
    program.call(stream(folder, 1), x, y)
    network = parse_network(program.build([x], [y]), "last.pte")
    assert network.inputs[0].shape == network.outputs[0].shape == (1, 8, 8, 4)
    samples = drawn(1)
    for mine, theirs in zip(run(network, samples), answers(1, samples), strict=True):
        np.testing.assert_array_equal(mine["output_0"], theirs)


@pytest.mark.parametrize("backend", ["EthosUBackend", "ArmBackend"])
def test_older_files_permute_at_the_ends(folder: Path, backend: str) -> None:
    """Before ExecuTorch 1.0, shapes had 4 dimensions, and the runtime turned NCHW into NHWC."""
    program = ProgramFile()
    x, y = program.tensor((1, 4, 8, 8)), program.tensor((1, 4, 8, 8))
    program.call(stream(folder, 1, dimensions=4), x, y, backend=backend)
    network = parse_network(program.build([x], [y]), "old.pte")
    samples = drawn(1)
    turned = [{"x": np.moveaxis(sample["x"], 3, 1).copy()} for sample in samples]
    for mine, theirs in zip(run(network, turned), answers(1, samples), strict=True):
        np.testing.assert_array_equal(np.moveaxis(mine["output_0"], 1, 3), theirs)


def test_newer_files_never_permute(folder: Path) -> None:
    """The same tensors with 6 dimensions: bytes are copied as they are."""
    program = ProgramFile()
    x, y = program.tensor((1, 4, 8, 8)), program.tensor((1, 4, 8, 8))
    program.call(stream(folder, 1), x, y)
    network = parse_network(program.build([x], [y]), "new.pte")
    samples = drawn(1)
    flat = [{"x": sample["x"].reshape(1, 4, 8, 8)} for sample in samples]
    for mine, theirs in zip(run(network, flat), answers(1, samples), strict=True):
        np.testing.assert_array_equal(mine["output_0"].reshape(1, 8, 8, 4), theirs)


def test_a_tensor_at_the_place_of_another_is_a_view_of_it(folder: Path) -> None:
    """ExecuTorch leaves out the instruction of a view; memory is reused after the last use."""
    program = ProgramFile()
    x, y = program.tensor((256,)), program.tensor((1, 8, 8, 4))
    image = program.tensor((1, 8, 8, 4), view_of=x)
    flat = program.tensor((4, 64), view_of=y)
    program.call(stream(folder, 1), image, y)
    network = parse_network(program.build([x], [flat]), "view.pte")
    samples = drawn(1)
    as_rows = [{"x": sample["x"].reshape(256)} for sample in samples]
    for mine, theirs in zip(run(network, as_rows), answers(1, samples), strict=True):
        np.testing.assert_array_equal(mine["output_0"], theirs.reshape(4, 64))


def test_a_view_of_bytes_that_were_overwritten_is_refused(folder: Path) -> None:
    program = ProgramFile()
    x, y = program.tensor((1, 8, 8, 4)), program.tensor((1, 8, 8, 4))
    early, late = (program.tensor((64,), view_of=y), program.tensor((256,), view_of=x))
    z = program.tensor((1, 8, 8, 4), view_of=x)
    program.call(stream(folder, 1), x, y)
    program.call(stream(folder, 1), y, z)
    late_network = parse_network(program.build([x], [late]), "late.pte")
    assert late_network.graph.operators[-1].code == "RESHAPE"
    with pytest.raises(InputError, match=f"returns value {early}, which nothing has written"):
        parse_network(program.build([x], [early]), "early.pte")


def test_data_may_be_elsewhere_in_the_file(folder: Path) -> None:
    whole = stream(folder, 1)
    start = whole.index(b"weight_data") + 32
    size = int.from_bytes(whole[start - 16 : start - 12], "little")
    place = folder / f"1-{U55}-0" / "raw" / "net_vela.npz"
    program = ProgramFile()
    program.named_data["k" * 64] = whole[start : start + size]
    x, y = program.tensor((1, 8, 8, 4)), program.tensor((1, 8, 8, 4))
    program.call(vela_stream(place, external={"weight_data": "k" * 64}), x, y)
    network = parse_network(program.build([x], [y], segments=True), "named.pte")
    samples = drawn(1)
    for mine, theirs in zip(run(network, samples), answers(1, samples), strict=True):
        np.testing.assert_array_equal(mine["output_0"], theirs)


def test_zeros_for_the_scratch_are_its_size(folder: Path) -> None:
    """ExecuTorch stored the scratch itself until 0.6."""
    place = folder / f"1-{U55}-0" / "raw" / "net_vela.npz"
    stream(folder, 1)
    program = ProgramFile()
    x, y = program.tensor((1, 8, 8, 4)), program.tensor((1, 8, 8, 4))
    program.call(vela_stream(place, scratch_data=bytes(4096)), x, y)
    network = parse_network(program.build([x], [y]), "zeros.pte")
    assert scratch_bytes(planned(network)) == 4096


def test_inputs_and_outputs_may_be_the_callers(folder: Path) -> None:
    """They are copied into the scratch and out of it anyway."""
    program = ProgramFile()
    x, y = program.tensor((1, 8, 8, 4)), program.tensor((1, 8, 8, 4))
    program.call(stream(folder, 1), x, y)
    network = parse_network(program.build([x], [y]), "one.pte")
    plan = make_plan(network, PlanSettings(compiled_for(network), io=IoStyle.CALLER), Watch())
    samples = drawn(1)
    renamed = [{"input_0": sample["x"]} for sample in samples]
    got = simulate_samples(plan, renamed, Watch())
    for mine, theirs in zip(got, answers(1, samples), strict=True):
        np.testing.assert_array_equal(mine["output_0"], theirs)


def test_methods_that_return_scales_describe_the_ends(folder: Path) -> None:
    program = ProgramFile()
    program.constant_methods = {
        "input0_scale": 0.25, "input0_zp": 7, "output0_scale": -1.0, "output0_zp": 3,
    }  # fmt: skip
    x, y = program.tensor((1, 8, 8, 4)), program.tensor((1, 8, 8, 4))
    program.call(stream(folder, 1), x, y)
    network = parse_network(program.build([x], [y]), "scales.pte")
    assert network.inputs[0].quantization == Quantization((0.25,), (7,))
    assert network.outputs[0].quantization is None  # a negative scale is none
