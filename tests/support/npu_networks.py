"""Runs small networks on the NPU model and on TFLite Micro, and compares."""

from collections.abc import Iterator

import numpy as np

from ethosgen.backend.ethosu.accelerator import EthosU, find_accelerator
from ethosgen.backend.ethosu.offload import offload
from ethosgen.backend.ethosu.simulator.machine import Machine, RunReport
from ethosgen.backend.ethosu.simulator.memory import Bus, Segment
from ethosgen.backend.ethosu.stream import RegionKind, read_only, scratch_bytes, stream_of
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.oracle.tflm import golden_outputs
from ethosgen.samples.drawing import random_samples
from ethosgen.values.network import Network, Tensor
from ethosgen.values.outcome import Arrays
from ethosgen.values.plan import Plan

STREAM, READ_ONLY, SCRATCH, FAST = (n << 28 for n in (1, 2, 3, 4))


class Simulation:
    """A plan with one partition, on the NPU model."""

    def __init__(self, plan: Plan) -> None:
        assert len(plan.partitions) == 1 and not plan.cpu_operators, plan.cpu_operators
        (self.partition,) = plan.partitions
        self.plan = plan
        self.scratch = np.zeros(scratch_bytes(plan) + 16, np.uint8)
        fast = np.zeros(scratch_bytes(plan, RegionKind.SCRATCH_FAST) + 16, np.uint8)
        stream = np.frombuffer(stream_of(self.partition).commands, np.uint8)
        weights = np.frombuffer(read_only(plan).ljust(16, b"\0"), np.uint8)
        assert isinstance(plan.accelerator, EthosU)
        self.machine = Machine(
            plan.accelerator,
            Bus(
                [
                    Segment(STREAM, stream, False, "stream"),
                    Segment(READ_ONLY, weights, False, "read_only"),
                    Segment(SCRATCH, self.scratch, True, "scratch"),
                    Segment(FAST, fast, True, "scratch_fast"),
                ]
            ),
        )
        self.bases = [self._base(base) for base in stream_of(self.partition).bases]

    def _base(self, base: RegionKind | int) -> int:
        if base is RegionKind.READ_ONLY:
            return READ_ONLY
        if base is RegionKind.SCRATCH:
            return SCRATCH
        assert base is RegionKind.SCRATCH_FAST
        return FAST if scratch_bytes(self.plan, RegionKind.SCRATCH_FAST) else SCRATCH

    def view(self, tensor: Tensor) -> np.ndarray:
        start = self.plan.offsets[tensor.index]
        return self.scratch[start : start + tensor.bytes].view(tensor.dtype).reshape(tensor.shape)

    def run(self, sample: Arrays) -> tuple[Arrays, RunReport]:
        """Run one sample, with inputs and outputs where Vela placed them."""
        for tensor in self.plan.residual.input_tensors():
            self.view(tensor)[...] = sample[tensor.name]
        report = self.machine.run(STREAM, len(stream_of(self.partition).commands), self.bases)
        outputs = self.plan.residual.output_tensors()
        return {tensor.name: self.view(tensor).copy() for tensor in outputs}, report


def simulations(network: Network, accelerators: tuple[str, ...]) -> Iterator[Simulation]:
    """Compile for each accelerator."""
    for name in accelerators:
        yield Simulation(offload(network, find_accelerator(name)))


def assert_exact(
    data: bytes, accelerators: tuple[str, ...], samples: int = 2, name: str = "net"
) -> None:
    """Compare the NPU model with TFLite Micro on random inputs; every element must be equal."""
    network = parse_network(data, name)
    inputs = random_samples(network, samples, 7)
    golden = golden_outputs(network, inputs)
    for npu, simulation in zip(accelerators, simulations(network, accelerators), strict=True):
        for sample, expected in zip(inputs, golden, strict=True):
            got, _ = simulation.run(sample)
            assert got.keys() == expected.keys()
            for key, value in expected.items():
                assert got[key].dtype == value.dtype
                different = int(np.count_nonzero(got[key].reshape(value.shape) != value))
                where = f"{key} on {npu}"
                assert different == 0, f"{different} of {value.size} elements of {where} differ"
