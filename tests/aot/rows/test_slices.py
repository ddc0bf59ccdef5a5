"""Inferences in slices, and inputs that come by rows: the bits of whole ones."""

import ctypes
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ethosgen.aot import compile_program
from ethosgen.values.outcome import Arrays
from ethosgen.values.plan import OffloadOptions, Plan
from ethosgen.values.schedule import Schedule, Streaming
from ethosgen.values.status import Status
from tests.aot.rows.test_chain import NETWORKS
from tests.support.aot_harness import (
    POISON,
    GeneratedC,
    assert_equal,
    cpu_plan,
    samples_and_golden,
)
from tests.support.needs import needs_gcc
from tests.support.networks import NetworkBuilder

FED, LEFT = 2, 3


def _plan(name: str, schedule: Schedule) -> Plan:
    net = NetworkBuilder("network", seed=4)
    plan = cpu_plan(net.build(NETWORKS[name](net)))
    return replace(plan, options=OffloadOptions(schedule=schedule))


class SlicedC(GeneratedC):
    """Runs an inference slice by slice, its input `count` rows at a time."""

    count = 1
    slices = 0

    def infer(self, inputs: Arrays) -> Arrays:
        program = self.program
        inside = self.arena[64:-64]
        self._poison ^= 0xFF
        inside[:] = self._poison
        entry = getattr(self.library, f"{program.name}_entry")
        progress = (ctypes.c_int32 * 4).in_dll(self.library, f"{program.name}_progress")
        assert list(progress[:2]) == [0, 0]
        progress[FED] = progress[LEFT] = 0
        (port,) = program.inputs
        data = np.ascontiguousarray(inputs[port.tensor.name])
        pointers = [inside.ctypes.data, self.read_only.ctypes.data]
        self.slices, status = 0, int(Status.MORE)
        if program.feed:
            rows = data.reshape(program.feed.rows, program.feed.elements)
            for first in range(0, program.feed.read, self.count):
                portion = rows[first : min(first + self.count, program.feed.read)].copy()
                progress[LEFT] = len(portion)
                while progress[LEFT]:
                    at = portion[progress[FED] - first :].ctypes.data
                    status = entry(*map(ctypes.c_void_p, (*pointers, at)))
                    self.slices += 1
            pointers.append(0)
        else:
            assert port.offset is not None
            inside[port.offset : port.offset + port.tensor.bytes] = data.view(np.uint8).ravel()
        while status == Status.MORE:
            status = entry(*map(ctypes.c_void_p, pointers))
            self.slices += 1
        assert status == 0
        assert (self.arena[:64] == POISON).all() and (self.arena[-64:] == POISON).all()
        return {
            p.tensor.name: inside[p.offset : p.offset + p.tensor.bytes]
            .view(p.tensor.dtype)
            .reshape(p.tensor.shape)
            .copy()
            for p in program.outputs
            if p.offset is not None
        }


@needs_gcc
@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("stream", [Streaming.AUTO, Streaming.ALWAYS])
def test_rows_in_any_portions_have_the_bits_of_a_whole_input(
    name: str, stream: Streaming, tmp_path: Path
) -> None:
    plan = _plan(name, Schedule(stream=stream, feed=True))
    program = compile_program(plan, "net")
    assert [port.offset for port in program.inputs] == [None]
    generated = SlicedC(program, tmp_path)
    samples, golden = samples_and_golden(plan.network, 3)
    assert program.feed is not None
    for count, sample, wanted in zip((1, 5, program.feed.rows), samples, golden, strict=True):
        generated.count = count
        assert_equal(generated.infer(sample), wanted)


@needs_gcc
@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("stream", [Streaming.OFF, Streaming.ALWAYS])
def test_slices_have_the_bits_of_a_whole_inference(
    name: str, stream: Streaming, tmp_path: Path
) -> None:
    plan = _plan(name, Schedule(stream=stream, steps=True))
    program = compile_program(plan, "net")
    generated = SlicedC(program, tmp_path)
    for sample, wanted in zip(*samples_and_golden(plan.network, 2), strict=True):
        assert_equal(generated.infer(sample), wanted)
        assert generated.slices == sum(step.turns for step in program.slices)
    has_turns = any(step.inside for step in program.steps)
    assert any(step.turns > 1 for step in program.slices) == has_turns
    indices = [index for step in program.slices for index in step.shares]
    assert len(indices) == len(set(indices)) and set(indices) <= {
        op.index for op in plan.network.graph.operators
    }


def test_a_slice_has_a_share_of_each_operator() -> None:
    """32 rows in turns of one: each is 1 of 32, and of a layer behind a stride 1 of 16."""
    net = NetworkBuilder("network", seed=4)
    x = net.conv2d(net.input((1, 32, 16, 4)), 32)
    plan = cpu_plan(net.build(net.conv2d(x, 4, stride=(2, 2))))
    tight = Schedule(arena_bytes=1600, steps=True)
    program = compile_program(replace(plan, options=OffloadOptions(schedule=tight)), "net")
    (step,) = program.slices
    assert 16 < step.turns <= 40
    assert set(step.shares.values()) <= {1 / 32, 2 / 32, 1 / 16}
