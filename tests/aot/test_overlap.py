"""Orders of steps in which devices work at once: their time, their memory, and their C."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ethosgen.aot import compile_program
from ethosgen.aot.schedule.overlap import StepTime, duration, overlapping_order
from ethosgen.aot.schedule.schedule import StepSchedule, make_schedule
from ethosgen.aot.schedule.waits import find_waits
from ethosgen.backend import load_wrapped
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.oracle.tflm import golden_outputs
from ethosgen.project.memory_facts import memory_facts
from ethosgen.proof.ownership import Ownership
from ethosgen.samples.drawing import random_samples
from ethosgen.values.plan import IoStyle, OffloadOptions, Plan
from ethosgen.values.program import Program
from ethosgen.values.schedule import Schedule
from ethosgen.verdict.cpu_only import plan_cpu_only
from tests.support.aot_harness import GeneratedC
from tests.support.lazy_accelerator import write_lazy_instances
from tests.support.needs import needs_gcc
from tests.support.networks import NetworkBuilder
from tests.support.toy_accelerator import PLAIN, changed
from tests.support.twin_accelerator import write_twins


def branches(folder: Path, instances: int = 2, *, small: bool = False, **options: Any) -> Plan:
    """Return the plan of two branches in sequence: a convolution, then a product on the CPU.

    Of a `small` branch little remains in memory.
    """
    net = NetworkBuilder("branches", seed=4)
    x = net.input((1, 12, 12, 8), name="x")
    ends = []
    for _ in range(2):
        conv = net.conv2d(x, 8, (3, 3), padding="VALID")
        ends.append(net.max_pool(conv, (5, 5), (5, 5)) if small else net.mul(conv, conv))
    network = parse_network(net.build(net.add(*ends)), "branches.tflite")
    plan = plan_cpu_only(network, IoStyle.ARENA)
    plan = replace(plan, options=OffloadOptions(schedule=Schedule(**options)))
    return load_wrapped(str(write_twins(folder, folder / "told", instances))).compile(plan, {})


def codes(schedule: StepSchedule, order: list[int]) -> list[str]:
    steps = (schedule.steps[i] for i in order)
    return [step.partition.unit if step.partition else step.operator.code for step in steps]


def costs(schedule: StepSchedule) -> dict[int, StepTime]:
    return {
        step.operator.index: StepTime(10, 1000) if step.partition else StepTime(100)
        for step in schedule.steps
    }


def test_both_branches_start_before_the_first_is_awaited(tmp_path: Path) -> None:
    schedule = make_schedule(branches(tmp_path))
    known = costs(schedule)
    waiting = replace(schedule, waits=find_waits(schedule, ()))
    assert duration(waiting, known) == 2 * 1110 + 100
    order = overlapping_order(schedule, known, (), 2)
    assert codes(schedule, order) == ["twin[0]", "twin[1]", "MUL", "MUL", "ADD"]
    sooner = replace(schedule, steps=tuple(schedule.steps[i] for i in order))
    sooner = replace(sooner, waits=find_waits(sooner, ()))
    # The second start ends 10 cycles later, and its product follows the first's.
    assert duration(sooner, known) == 10 + 1000 + 3 * 100
    assert overlapping_order(schedule, known, (), 1)[0] == 0
    assert overlapping_order(schedule, known, range(5), 2) == [0, 1, 2, 3, 4]


def test_one_device_computes_beside_the_other_branch(tmp_path: Path) -> None:
    schedule = make_schedule(branches(tmp_path, 1))
    order = overlapping_order(schedule, costs(schedule), (), 1)
    assert codes(schedule, order) == ["twin", "twin", "MUL", "MUL", "ADD"]
    sooner = replace(schedule, steps=tuple(schedule.steps[i] for i in order))
    assert find_waits(sooner, ()) == {1: 3}, "the first is awaited before the second starts"


def entry_of(program: Program) -> str:
    text = program.sources["branches_graph.c"]
    return text[text.index("int32_t branches_entry(") :]


def test_the_network_waits_for_what_runs_before_it_returns_a_status(tmp_path: Path) -> None:
    program = compile_program(branches(tmp_path), "branches")
    assert program.overlapped[0].startswith("'conv_2d_3' on twin[0] beside 'conv_2d_7' on twin[1]")
    entry = entry_of(program)
    second = entry[entry.index("branches_partition_1(") :]
    failed = second[second.index("!= 0) {") : second.index("}")]
    assert "(void)branches_partition_0_wait();" in failed and "return status_1;" in failed


def test_the_order_stays_where_memory_does_not_suffice(tmp_path: Path) -> None:
    free = compile_program(branches(tmp_path, small=True), "branches")
    less = branches(tmp_path, small=True, arena_bytes=free.arena_bytes - 1)
    tight = compile_program(less, "branches")
    assert "'conv_2d_3' on twin[0] beside 'conv_2d_7' on twin[1]" in free.overlapped
    assert free.arena_bytes > tight.arena_bytes
    assert not any("twin[0]" in line for line in tight.overlapped)
    same = branches(tmp_path, small=True, arena_bytes=free.arena_bytes)
    assert compile_program(same, "branches").overlapped == free.overlapped


def test_a_step_that_may_end_the_run_is_not_passed(tmp_path: Path) -> None:
    schedule = make_schedule(branches(tmp_path))
    order = overlapping_order(schedule, costs(schedule), (), 2)
    moved = replace(schedule, steps=tuple(schedule.steps[i] for i in order))
    assert find_waits(moved, ()) == {0: 2, 1: 3}
    assert find_waits(moved, {2}) == {0: 2}, "the second is awaited at once"


def compiled_c(program: Program, folder: Path, place: Path) -> GeneratedC:
    """Return the program's C, compiled with the toy's."""
    place.mkdir()
    (place / "toy").symlink_to(folder)
    flags = [f"-I{place}", str(folder / "toy_add.c"), "-Wno-conversion"]
    return GeneratedC(program, place, flags=flags)


def random_sums(seed: int) -> bytes:
    """Return a random network of sums that the toy takes, and of others that it does not."""
    random = np.random.default_rng(seed)
    net = NetworkBuilder("sums", seed=seed)
    shape = (1, int(random.integers(17, 90)))
    tensors = [net.input(shape, name=name, **PLAIN) for name in "xy"]
    for number in range(int(random.integers(8, 24))):
        x, other = (
            tensors[int(i)] for i in random.integers(max(0, len(tensors) - 7), len(tensors), 2)
        )
        if random.random() < 0.6 and x != other:
            tensors.append(net.add(x, other, **PLAIN))
        elif random.random() < 0.5:
            tensors.append(net.relu(x, **PLAIN))
        else:
            product = net.mul(x, other, scale=0.03, zero_point=number)
            tensors.append(net.quantize(product, "int8", **PLAIN))
    count = int(random.integers(1, 4))
    return net.build(*dict.fromkeys(tensors[-count:]))


@needs_gcc
@pytest.mark.slow
@pytest.mark.parametrize("form", ["lazy", "eager"])
@pytest.mark.parametrize("seed", range(12))
def test_random_networks_on_several_devices_are_exact(seed: int, form: str, tmp_path: Path) -> None:
    """Lazy and eager devices disagree about when they use memory: see lazy_accelerator.py."""
    folder = write_lazy_instances(tmp_path / "toy", form, 2 + seed % 2)
    network = replace(parse_network(random_sums(seed), "sums.tflite"), name="sums")
    io = list(IoStyle)[seed % 2]
    plan = load_wrapped(str(folder)).compile(plan_cpu_only(network, io), {})
    program = compile_program(plan, "sums")
    compiled = compiled_c(program, folder, tmp_path / "run")
    samples = random_samples(network, 3, seed=seed)
    for sample, wanted in zip(samples, golden_outputs(network, samples), strict=True):
        status, outputs = compiled.run(sample)
        assert status == 0
        assert all(np.array_equal(outputs[name], wanted[name]) for name in wanted)
    Ownership(json.loads(json.dumps(memory_facts(program))), lambda _: ()).walk()


@needs_gcc
def test_after_a_call_has_failed_nothing_is_at_work(tmp_path: Path) -> None:
    """Else the first device would refuse the start of the next run, with another status."""
    folder = write_lazy_instances(tmp_path / "toy", "lazy", 2)
    driver = folder / "toy_add.c"
    told = "    jobs[instance].one = a;\n"
    fails = f"    if (instance == 1) {{ return 78; }}\n{told}"
    driver.write_text(changed(told, fails, driver.read_text()))
    net = NetworkBuilder("sums", seed=1)
    x, y = net.input((1, 40), name="x", **PLAIN), net.input((1, 40), name="y", **PLAIN)
    left, right = net.add(x, y, **PLAIN), net.add(y, x, **PLAIN)
    data = net.build(net.mul(left, right, scale=0.03))
    network = replace(parse_network(data, "sums.tflite"), name="sums")
    plan = load_wrapped(str(folder)).compile(plan_cpu_only(network, IoStyle.ARENA), {})
    program = compile_program(plan, "sums")
    assert program.overlapped == ("'add_2' on toy[0] beside 'add_3' on toy[1]",)
    compiled = compiled_c(program, folder, tmp_path / "run")
    (sample,) = random_samples(network, 1, seed=0)
    assert [compiled.run(sample)[0] for _ in range(3)] == [78, 78, 78]
