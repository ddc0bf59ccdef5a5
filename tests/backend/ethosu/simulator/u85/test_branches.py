"""Streams with branches, which Vela makes of TOSA's control flow for U85."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ethosgen.backend.ethosu.accelerator import find_accelerator
from ethosgen.backend.ethosu.isa_u85 import U85
from ethosgen.backend.ethosu.offload.regions import shifted
from ethosgen.backend.ethosu.payload import strip_header
from ethosgen.backend.ethosu.simulator import walk
from ethosgen.backend.ethosu.simulator.generation import registers_of
from ethosgen.backend.ethosu.simulator.machine import Machine, RunReport
from ethosgen.backend.ethosu.simulator.memory import Bus, Segment
from ethosgen.backend.ethosu.simulator.walk import Walk
from ethosgen.frontend.tosa.writer import write_network
from ethosgen.oracle.tosa import reference_outputs
from ethosgen.values.errors import NpuFault
from ethosgen.values.network import Network
from ethosgen.values.outcome import Arrays
from tests.frontend.tosa.test_control import branches, loop, samples_of
from tests.support.assembling import assemble
from tests.support.needs import needs_tosa

NPU = find_accelerator("ethos-u85-256")
STREAM, WEIGHTS, SCRATCH = 0x10_0000, 0x20_0000, 0x30_0000


class Compiled:
    """A network that runs on the NPU as a whole: Vela's raw output."""

    def __init__(self, network: Network, folder: Path) -> None:
        file = folder / f"{network.name}.tosa"
        file.write_bytes(write_network(network))
        command = ["--accelerator-config", NPU.name, "--output-format", "raw"]
        vela = Path(sys.executable).with_name("vela")
        subprocess.run(
            [vela, *command, "--output-dir", folder, file], check=True, capture_output=True
        )
        with np.load(folder / f"{network.name}_vela.npz", allow_pickle=True) as raw:
            self.raw = dict(raw)
        self.network = network
        self.commands = strip_header(self.raw["cmd_data"].tobytes()).commands

    def weights(self) -> bytes:
        # numpy strips zeros from the end of a byte string
        raw = self.raw["weight_data"]
        return bytes(raw.tobytes().ljust(raw.dtype.itemsize, b"\0"))

    def run(self, sample: Arrays, commands: bytes, blob: bytes) -> tuple[Arrays, RunReport]:
        scratch = np.zeros(int(self.raw["scratch_size"]), np.uint8)
        for tensor, offset in zip(self.network.inputs, self.raw["input_offset"], strict=True):
            data = np.frombuffer(sample[tensor.name].tobytes(), np.uint8)
            scratch[offset : offset + data.size] = data
        memories = ((STREAM, commands), (WEIGHTS, blob))
        segments = [Segment(base, np.frombuffer(data, np.uint8), False) for base, data in memories]
        bus = Bus([*segments, Segment(SCRATCH, scratch, True)])
        report = Machine(NPU, bus).run(STREAM, len(commands), (WEIGHTS, SCRATCH, SCRATCH))
        outputs = {
            tensor.name: scratch[offset : offset + tensor.bytes]
            .copy()
            .view(tensor.dtype)
            .reshape(tensor.shape)
            for tensor, offset in zip(self.network.outputs, self.raw["output_offset"], strict=True)
        }
        return outputs, report


@pytest.fixture(scope="module", params=[branches, loop], ids=lambda make: make.__name__)
def compiled(request: Any, tmp_path_factory: Any) -> Compiled:
    return Compiled(request.param(), tmp_path_factory.mktemp("branches"))


@needs_tosa
@pytest.mark.parametrize("place", [0, 4096])
def test_the_npu_follows_branches(compiled: Compiled, place: int) -> None:
    """Also after the stream was rewritten, which moves the branches' targets."""
    samples = samples_of(compiled.network)
    commands, blob = compiled.commands, bytes(place) + compiled.weights()
    if place:
        commands = shifted(commands, 0, place, U85)
        assert len(commands) != len(compiled.commands)
    expected = reference_outputs(compiled.network, samples)
    for sample, golden in zip(samples, expected, strict=True):
        outputs, _ = compiled.run(sample, commands, blob)
        for name, values in golden.items():
            np.testing.assert_array_equal(outputs[name], values)


@needs_tosa
def test_a_loop_runs_as_often_as_it_says(tmp_path: Path) -> None:
    network = loop()
    compiled = Compiled(network, tmp_path)
    count, x = (tensor.name for tensor in network.inputs)
    runs = [
        compiled.run(
            {count: np.array([n], np.int32), x: np.arange(-3, 3, dtype=np.int32).reshape(2, 3)},
            compiled.commands,
            compiled.weights(),
        )
        for n in (0, 1, 7)
    ]
    results = [list(outputs.values())[1].ravel().tolist() for outputs, _ in runs]
    assert results == [[v << n for v in range(-3, 3)] for n in (0, 1, 7)]
    operations, cycles = ([getattr(r, what) for _, r in runs] for what in ("operations", "cycles"))
    body = operations[1] - operations[0]
    assert body > 3 and operations[2] - operations[0] == 7 * body
    assert cycles[0] < cycles[1] < cycles[2]


Commands = list[tuple[str, dict[str, int]]]


def fault_of(commands: Commands) -> NpuFault:
    stream = assemble([*commands, ("NPU_OP_STOP", {"mask": 1})], U85)
    bus = Bus([Segment(STREAM, np.frombuffer(stream, np.uint8), False)])
    with pytest.raises(NpuFault) as caught:
        Machine(NPU, bus).run(STREAM, len(stream), (STREAM,))
    return caught.value


def always(target: int) -> tuple[str, dict[str, int]]:
    return "NPU_OP_BRANCH", {"branch_cond": 0, "branch_target": target}


@pytest.mark.parametrize("target", [2, 12, 0xFFFFFFFC])
def test_a_branch_out_of_the_stream_is_a_fault(target: int) -> None:
    fault = fault_of([always(target)])
    assert (fault.kind, fault.offset, fault.command) == ("branch", 0, "NPU_OP_BRANCH")
    assert f"0x{target:x} is not a command" in fault.reason


def test_a_loop_without_an_end_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walk, "MOST_COMMANDS", 1000)
    fault = fault_of([("NPU_OP_KERNEL_WAIT", {"n": 0}), always(0)])
    assert fault.kind == "timeout"
    assert "does not end within 1,000 commands" in fault.reason


def test_a_branch_is_not_taken_before_any_result() -> None:
    """COND_STATUS is 0 after a reset."""
    skipped = ("NPU_OP_BRANCH", {"branch_cond": 1, "branch_target": 0})
    stream = assemble([skipped, ("NPU_OP_STOP", {"mask": 1})], U85)
    bus = Bus([Segment(STREAM, np.frombuffer(stream, np.uint8), False)])
    assert Machine(NPU, bus).run(STREAM, len(stream), (STREAM,)).commands == 2


def test_the_flag_of_several_results_is_unknown() -> None:
    reading = Walk(
        assemble([("NPU_OP_BRANCH", {"branch_cond": 1, "branch_target": 0})], U85),
        registers_of(NPU),
        follows=True,
    )
    reading.flag = None
    with pytest.raises(NpuFault, match="has several results"):
        list(reading.steps())
