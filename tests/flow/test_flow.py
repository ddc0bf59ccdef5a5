from pathlib import Path

import numpy as np
import pytest

from ethosgen import flow
from ethosgen.backend.ethosu.accelerator import ACCELERATORS, find_accelerator
from ethosgen.backend.ethosu.simulator.machine import load
from ethosgen.backend.ethosu.stream import stream_of
from ethosgen.samples.files import load_samples
from ethosgen.values.errors import InputError
from ethosgen.values.plan import OffloadOptions
from ethosgen.values.report import Report
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import Inputs
from tests.support.needs import needs_models, needs_qemu
from tests.support.networks import NetworkBuilder
from tests.support.recipes import recipe
from tests.support.small_models import SHARED_MODELS, image_net, product, recurrent_net, two_inputs

RANDOM = Inputs(None, 2, 11)
PMU_FIGURES = """
    cycles npu_active mac_active axi0_rd_data_beat_received axi1_rd_data_beat_received
    axi0_wr_data_beat_written axi1_wr_data_beat_written
""".split()


def verify(path: Path, **options: object) -> Report:
    return flow.verify(recipe(path, **options), flow.RunOptions(RANDOM), watch=Watch())  # type: ignore[arg-type]


def npu_cycles(path: Path, cpu_ops: list[str]) -> int:
    """Return the cycles of all partitions by the model's estimate."""
    network = flow.read(path, None, Watch())
    accelerator = find_accelerator("ethos-u55-128")
    options = OffloadOptions(cpu_ops=tuple(cpu_ops))
    plan = flow.make_plan(network, flow.PlanSettings(accelerator, options), Watch())
    return sum(load(stream_of(p).commands, accelerator).activity.cycles for p in plan.partitions)


@pytest.mark.slow
@pytest.mark.parametrize("npu", list(ACCELERATORS))
def test_simulate_equals_tflm_on_every_npu(tmp_path: Path, npu: str) -> None:
    report = flow.simulate(image_net(tmp_path / "n.tflite"), npu=npu, inputs=RANDOM, watch=Watch())
    assert report.passed
    assert report.golden.elements == 2 * 4
    assert report.plan.partitions == 1
    assert report.plan.cpu_operators == ()


def test_simulate_runs_what_stays_on_the_cpu(tmp_path: Path) -> None:
    report = flow.simulate(
        image_net(tmp_path / "n.tflite"),
        npu=None,
        inputs=RANDOM,
        watch=Watch(),
        options=OffloadOptions(cpu_ops=("AVERAGE_POOL_2D",)),
    )
    assert report.passed
    assert [c.code for c in report.plan.cpu_operators] == ["AVERAGE_POOL_2D"]


@needs_qemu
@pytest.mark.parametrize("io", ["arena", "caller"])
def test_firmware_equals_tflm(tmp_path: Path, io: str) -> None:
    report = verify(image_net(tmp_path / "n.tflite"), io=io)
    assert report.passed and report.ended
    assert report.flash_bytes is not None and report.flash_bytes["weights"] > 0
    assert report.cpu_instructions is not None and 0 < report.cpu_instructions <= 400
    assert report.init_instructions is not None and 0 < report.init_instructions <= 300
    assert report.stack_bytes is not None and 0 < report.stack_bytes <= 512
    assert report.npu_pmu is not None and list(report.npu_pmu) == PMU_FIGURES
    assert report.npu_pmu["cycles"] == report.npu_pmu["npu_active"] > report.npu_pmu["mac_active"]
    # Weights come through the port that REGIONCFG gives region 0; the arena's is the other one.
    assert report.npu_pmu["axi1_rd_data_beat_received"] > 0
    assert report.npu_pmu["axi0_wr_data_beat_written"] > 0


@needs_qemu
@pytest.mark.parametrize("io", ["arena", "caller"])
def test_a_mixed_network_runs_in_turns(tmp_path: Path, io: str) -> None:
    report = verify(image_net(tmp_path / "n.tflite"), io=io, cpu_ops=["AVERAGE_POOL_2D"])
    assert report.passed
    assert report.plan.partitions == 2
    # The NPU is reset before each part, and the PMU with it: the firmware adds them up.
    assert report.npu_pmu is not None
    assert report.npu_pmu["cycles"] == npu_cycles(tmp_path / "n.tflite", ["AVERAGE_POOL_2D"])


@needs_qemu
@pytest.mark.parametrize("io", ["arena", "caller"])
def test_several_inputs_and_outputs_on_u65(tmp_path: Path, io: str) -> None:
    report = verify(two_inputs(tmp_path / "n.tflite"), npu="ethos-u65-512", io=io)
    assert report.passed
    assert report.golden.elements == 2 * (128 + 32)


@needs_qemu
def test_the_npu_copies_more_of_a_buffer_than_the_tensor_has(tmp_path: Path) -> None:
    report = verify(product(tmp_path / "n.tflite"), io="caller")
    assert report.passed
    assert report.plan.npu_operators == 1


@needs_qemu
@pytest.mark.parametrize("cpu_ops", [[], ["UNIDIRECTIONAL_SEQUENCE_LSTM"]])
def test_a_state_lives_from_sample_to_sample(tmp_path: Path, cpu_ops: list[str]) -> None:
    report = verify(recurrent_net(tmp_path / "n.tflite"), cpu_ops=cpu_ops)
    assert report.passed
    assert len(report.plan.cpu_operators) == len(cpu_ops)


@needs_qemu
@needs_models
def test_a_public_network_on_the_firmware() -> None:
    assert verify(SHARED_MODELS / "kws_dscnn_int8.tflite").passed


@needs_qemu
def test_a_project_in_three_commands(tmp_path: Path) -> None:
    network = image_net(tmp_path / "n.tflite")
    place = tmp_path / "net"
    watch = Watch()
    written = flow.create_project(recipe(network, names=("net",)), directory=place, watch=watch)
    assert written.files
    with pytest.raises(InputError, match="not built"):
        flow.run_project(place, flow.RunOptions(RANDOM), watch=watch)
    flow.build_project(place, watch=watch)
    images = np.random.default_rng(3).integers(-128, 128, (3, 8, 8, 3), np.int8)
    np.savez(tmp_path / "x.npz", image=images)
    report = flow.run_project(
        place,
        flow.RunOptions(Inputs(tmp_path / "x.npz", 1, 0), output_path=tmp_path / "y.npz"),
        watch=watch,
    )
    assert report.passed and report.samples == 3
    model_outputs = flow.read(network, "net", watch).outputs
    assert len(load_samples(tmp_path / "y.npz", model_outputs)) == 3
    again = flow.create_project(recipe(network, names=("net",)), directory=place, watch=watch)
    assert again.files == frozenset()


@needs_qemu
@pytest.mark.parametrize("npu", ["ethos-u55-128", "none"])
def test_a_network_of_constants_is_a_network(tmp_path: Path, npu: str) -> None:
    net = NetworkBuilder("constants", seed=1)
    pooled = net.average_pool(net.constant(net.random_integers((1, 6, 6, 4)), scale=0.5), (2, 2))
    path = tmp_path / "n.tflite"
    path.write_bytes(net.build(pooled))
    report = flow.verify(
        recipe(path, npu=npu), flow.RunOptions(Inputs(None, None, 0)), watch=Watch()
    )
    assert report.passed and report.golden.elements == 3 * 3 * 4, "one sample: all are the same"
