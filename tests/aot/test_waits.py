"""Started accelerators beside the CPU: when they are awaited, and what their memory is worth."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from ethosgen.aot import compile_program
from ethosgen.aot.code import entry
from ethosgen.aot.code.routine import compile_routine
from ethosgen.aot.memory import plan as planner
from ethosgen.aot.schedule.schedule import make_schedule
from ethosgen.aot.schedule.waits import find_waits
from ethosgen.backend import load_wrapped
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.oracle.tflm import golden_outputs
from ethosgen.samples.drawing import random_samples
from ethosgen.values.errors import InternalError
from ethosgen.values.plan import CpuOperator, IoStyle, Plan
from ethosgen.values.program import Program
from tests.support.aot_harness import GeneratedC
from tests.support.lazy_accelerator import EAGER, LAZY, write_lazy_folder
from tests.support.needs import needs_gcc
from tests.support.networks import NetworkBuilder
from tests.support.toy_accelerator import PLAIN

FORMS = {"lazy": LAZY, "eager": EAGER}


def branches() -> bytes:
    """Return a network with sums that the toy takes, and others between them that it does not.

    What the first sum reads dies with it, so that operators beside it could reuse its bytes.
    """
    net = NetworkBuilder("branches", seed=4)
    x, y = net.input((1, 33), name="x", **PLAIN), net.input((1, 33), name="y", **PLAIN)
    left, right = net.relu(x, **PLAIN), net.relu(y, **PLAIN)
    first = net.add(left, right, **PLAIN)
    many = [net.add(x, y, scale=0.07 + i / 100, zero_point=i) for i in range(4)]
    other = net.add(net.add(*many[:2], scale=0.05), net.add(*many[2:], scale=0.05), scale=0.04)
    second = net.add(first, net.relu(first, **PLAIN), **PLAIN)
    more = net.mul(net.mul(other, y, scale=0.03, zero_point=3), other, scale=0.03, zero_point=3)
    return net.build(net.add(second, first, scale=0.05, zero_point=4), more, second)


def make_plan(folder: Path, io: IoStyle = IoStyle.ARENA) -> Plan:
    network = parse_network(branches(), "branches.tflite")
    plan = Plan(
        network,
        io,
        network.graph,
        origins={op.index: op.index for op in network.graph.operators},
        cpu_operators=tuple(
            CpuOperator(op.index, op.code, "", "") for op in network.graph.operators
        ),
    )
    compiled = load_wrapped(str(folder)).compile(plan, {})
    assert len(compiled.partitions) == 2
    return compiled


def outputs_equal(program: Program, folder: Path, place: Path) -> bool:
    """Return whether the program's outputs, run on this machine, are the oracle's."""
    place.mkdir()
    (place / "toy").symlink_to(folder)
    flags = [f"-I{place}", str(folder / "toy_add.c"), "-Wno-conversion"]
    compiled = GeneratedC(program, place, flags=flags)
    samples = random_samples(program.plan.network, 4, seed=3)
    for sample, wanted in zip(samples, golden_outputs(program.plan.network, samples), strict=True):
        status, outputs = compiled.run(sample)
        if status or any(not np.array_equal(outputs[name], wanted[name]) for name in wanted):
            return False
    return True


@needs_gcc
@pytest.mark.parametrize("io", IoStyle)
@pytest.mark.parametrize("form", FORMS)
def test_what_runs_beside_the_cpu_is_exact(form: str, io: IoStyle, tmp_path: Path) -> None:
    folder = write_lazy_folder(tmp_path / "toy", FORMS[form])
    program = compile_program(make_plan(folder, io), "branches")
    assert len(program.overlapped) == 2
    assert program.overlapped[0].endswith("on toy beside ADD, ADD, ADD, ADD, ADD, ADD, ADD")
    assert outputs_equal(program, folder, tmp_path / "run")


@needs_gcc
@pytest.mark.parametrize(("part", "form"), [("_ends", "lazy"), ("_users", "eager")])
def test_memory_that_is_not_kept_until_the_wait_is_found(
    part: str, form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without longer lifetimes the proof fails; without the proof, too, the outputs differ."""
    folder = write_lazy_folder(tmp_path / "toy", FORMS[form])
    plan = make_plan(folder)
    if part == "_ends":
        monkeypatch.setattr(planner, "_ends", lambda *_: ())
    else:
        whole = planner._users
        monkeypatch.setattr(
            planner, "_users", lambda *arguments: frozenset([min(whole(*arguments))])
        )
    with pytest.raises(InternalError, match="is disturbed"):
        compile_program(plan, "branches")
    monkeypatch.setattr("ethosgen.aot.memory.overlaps.check_waits", lambda *_: None)
    program = compile_program(plan, "branches")
    assert not outputs_equal(program, folder, tmp_path / "run")


def test_a_wait_comes_before_a_reader_a_start_and_a_step_that_may_fail(tmp_path: Path) -> None:
    schedule = make_schedule(make_plan(write_lazy_folder(tmp_path / "toy")))
    first, second = (i for i, step in enumerate(schedule.steps) if step.partition)
    waits = find_waits(schedule, ())
    for started in (first, second):
        (written,) = schedule.writes(schedule.steps[started])
        assert waits[started] == min(
            i for i, step in enumerate(schedule.steps) if written in schedule.reads(step)
        )
    alone = dataclasses.replace(schedule, steps=(*schedule.steps[:8], *schedule.steps[second:]))
    assert find_waits(alone, ())[first] == 8, "the accelerator's next start"
    assert find_waits(schedule, {first + 2})[first] == first + 2
    assert first not in find_waits(schedule, {first + 1}), "its wait follows at once"
    placed = dataclasses.replace(schedule.plan, offsets={written: 0})
    assert second not in find_waits(dataclasses.replace(schedule, plan=placed), ())


def test_no_line_of_a_cache_is_shared_with_what_a_device_writes(tmp_path: Path) -> None:
    plan = make_plan(write_lazy_folder(tmp_path / "toy"))
    body = entry.make_body(make_schedule(plan), "branches", compile_routine)
    assert body.schedule.waits
    for started in body.schedule.waits:
        for tensor in body.schedule.writes(body.schedule.steps[started]):
            block = body.memory.by_tensor[tensor]
            assert (block.offset or 0) % 32 == 0 and block.bytes % 32 == 0
