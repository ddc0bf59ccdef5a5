"""The steps of the generated C: numbered hooks before each call, and their description."""

import re
from pathlib import Path

import pytest

from ethosgen.aot import compile_program
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.values.plan import IoStyle
from ethosgen.values.profile import ProgramStep
from ethosgen.values.program import Program
from ethosgen.verdict.cpu_only import plan_cpu_only
from tests.aot.test_compiler import mixed_plan
from tests.aot.test_waits import make_plan
from tests.support.control_networks import nested
from tests.support.lazy_accelerator import write_lazy_folder
from tests.support.networks import NetworkBuilder

HOOK = re.compile(r"ETHOSGEN_STEP\((\d+)\);\n\s*(?:int32_t \w+ = )?(\w+)")


def hooks(program: Program) -> list[tuple[int, str]]:
    """Return the hooks of the entry: their numbers, and what comes next."""
    text = program.sources[f"{program.name}_graph.c"]
    entry = text[text.index(f"int32_t {program.name}_entry") :]
    assert entry.count("ETHOSGEN_STEP") == len(HOOK.findall(entry))
    return [(int(number), following) for number, following in HOOK.findall(entry)]


@pytest.mark.parametrize("io", IoStyle)
def test_each_call_has_its_number(io: IoStyle) -> None:
    net = NetworkBuilder("net", seed=1)
    x = net.conv2d(net.input((1, 8, 8, 3)), channels=8, kernel=(3, 3))
    y = net.max_pool(x, (2, 2))
    program = compile_program(mixed_plan(net.build(net.logistic(y)), io, ("LOGISTIC",)), "net")
    assert [number for number, _ in hooks(program)] == [1, 2, 0]
    assert [after for _, after in hooks(program)] == ["net_partition_0", "net_logistic_1", "return"]
    assert [(step.name, step.on) for step in program.steps] == [
        ("partition_0", "npu"),
        ("LOGISTIC", "cpu"),
    ]
    assert program.steps[1].output == program.outputs[0].tensor.name


def test_a_wait_is_a_step_of_its_own(tmp_path: Path) -> None:
    program = compile_program(make_plan(write_lazy_folder(tmp_path / "toy")), "branches")
    called = [after for _, after in hooks(program)]
    assert len(called) == len(program.steps) + 1
    waits = [i for i, step in enumerate(program.steps) if step.is_wait]
    assert waits == [i for i, name in enumerate(called) if name.endswith("_wait")] != []
    starts = [i for i, step in enumerate(program.steps) if step.on == "toy" and not step.is_wait]
    assert [program.steps[i] for i in starts] == [
        ProgramStep(step.name, step.output, "toy") for step in (program.steps[i] for i in waits)
    ]


def on_cpu(data: bytes) -> Program:
    plan = plan_cpu_only(parse_network(data, "net.tflite"), IoStyle.ARENA)
    return compile_program(plan, "net")


def test_fused_operators_are_one_step() -> None:
    net = NetworkBuilder("net", seed=2)
    program = on_cpu(net.build(net.relu(net.add(net.input((1, 16)), net.input((1, 16))))))
    assert [step.name for step in program.steps] == list(program.fused) == ["ADD + RELU"]


def test_operators_in_subgraphs_follow_what_runs_them() -> None:
    net = NetworkBuilder("net", seed=2)
    program = on_cpu(net.build(*nested(net)))
    assert [(s.name, s.inside, s.branch, s.subgraph) for s in program.steps] == [
        ("WHILE", 0, "", ""),
        ("LESS", 1, "cond", "cond"),
        ("LESS", 1, "body", "outer"),
        ("IF", 1, "body", "outer"),
        ("WHILE", 4, "then", "then"),
        ("LESS", 5, "cond", "cond"),
        ("CONV_2D", 5, "body", "inner"),
        ("ADD", 5, "body", "inner"),
        ("RELU", 4, "else", "else"),
        ("ADD", 1, "body", "outer"),
    ]
    text = program.sources["net_graph.c"]
    functions = re.findall(r"^(?:static )?int32_t (\w+)\([^{]*\{(.*?)^\}", text, re.M | re.S)
    marks = {
        name.removeprefix("net_"): [int(n) for n in re.findall(r"ETHOSGEN_STEP\((\d+)\)", body)]
        for name, body in functions
        if "ETHOSGEN_STEP" in body
    }
    # Each subgraph ends with the number of what runs it.
    assert marks == {
        "entry": [1, 0],
        "while_0_cond": [2, 1],
        "while_0_body": [3, 4, 10, 1],
        "while_0_body_if_1_then": [5, 4],
        "while_0_body_if_1_then_while_0_cond": [6, 5],
        "while_0_body_if_1_then_while_0_body": [7, 8, 5],
        "while_0_body_if_1_else": [9, 4],
    }


def test_a_copy_in_place_is_no_step() -> None:
    net = NetworkBuilder("net", seed=2)
    x = net.reshape(net.softmax(net.input((1, 16))), (16,))
    program = on_cpu(net.build(net.relu(x)))
    assert "RESHAPE" not in [step.name for step in program.steps]
    assert [number for number, _ in hooks(program)] == [*range(1, len(program.steps) + 1), 0]
