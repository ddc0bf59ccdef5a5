"""The NPU model on the memory of the generated C itself: no copy hides an overlap."""

import ctypes
from pathlib import Path

import numpy as np

from ethosgen.aot import compile_program, make_evaluator
from ethosgen.backend.ethosu.accelerator import EthosU
from ethosgen.backend.ethosu.simulator.host import PartitionRunner
from ethosgen.backend.ethosu.simulator.machine import Machine
from ethosgen.backend.ethosu.simulator.memory import Bus, Segment
from ethosgen.backend.ethosu.stream import RegionKind, stream_of
from ethosgen.values.outcome import Arrays
from ethosgen.values.plan import Plan
from ethosgen.values.program import Program
from tests.support.aot_harness import GUARD_BYTES, GeneratedC, assert_equal, samples_and_golden

STREAM_ADDR, READ_ONLY_ADDR, ARENA_ADDR, CALLER_ADDR = (1 << 28, 2 << 28, 3 << 28, 4 << 28)


class ArenaNpu:
    """Runs command streams at the addresses that the C passes, with the arena as its scratch."""

    def __init__(self, program: Program) -> None:
        self.plan = program.plan
        self.generated: GeneratedC | None = None

    def __call__(self, stream: int, bases: list[int]) -> int:
        assert self.generated is not None and isinstance(self.plan.accelerator, EthosU)
        partition = self.plan.partitions[stream]
        commands = np.frombuffer(stream_of(partition).commands, np.uint8)
        arena = self.generated.arena[GUARD_BYTES:-GUARD_BYTES]
        segments = [
            Segment(STREAM_ADDR, commands, False, "commands"),
            Segment(READ_ONLY_ADDR, self.generated.read_only, False, "read_only"),
            Segment(ARENA_ADDR, arena, True, "arena"),
        ]
        addresses = []
        wanted = stream_of(partition).bases
        for number, (base, pointer) in enumerate(zip(wanted, bases, strict=False)):
            if base is RegionKind.READ_ONLY:
                addresses.append(READ_ONLY_ADDR)
            elif isinstance(base, RegionKind) or 0 <= pointer - arena.ctypes.data < arena.size:
                addresses.append(ARENA_ADDR + pointer - arena.ctypes.data)
            else:
                size = self.plan.residual.tensors[base].bytes
                memory = np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(pointer))
                addresses.append(CALLER_ADDR + (number << 24))
                segments.append(Segment(addresses[-1], memory, True, f"base {number}"))
        machine = Machine(self.plan.accelerator, Bus(segments))
        machine.run(STREAM_ADDR, len(stream_of(partition).commands), addresses)
        return 0


def check_program(plan: Plan, folder: Path, count: int = 3) -> Program:
    """Run the generated C twice over some samples, and `evaluate` once; check all outputs."""
    program = compile_program(plan, "net")
    npu = ArenaNpu(program)
    npu.generated = GeneratedC(program, folder, npu)
    samples, golden = samples_and_golden(plan.network, count)
    for _ in range(2):
        npu.generated.reset()
        for sample, wanted in zip(samples, golden, strict=True):
            status, outputs = npu.generated.run(sample)
            assert status == 0
            assert_equal(outputs, wanted)
    runner = PartitionRunner(plan) if plan.partitions else _no_partition
    evaluate = make_evaluator(plan)
    for sample, wanted in zip(samples, golden, strict=True):
        assert_equal(evaluate(sample, runner), wanted)
    return program


def _no_partition(*_: object) -> Arrays:
    raise AssertionError("a partition in a plan without one")
