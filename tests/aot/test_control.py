"""Subgraphs and variables: the C and this machine equal TFLite Micro, call after call."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ethosgen.aot import compile_program, make_evaluator
from ethosgen.aot.host.direct import Invoke
from ethosgen.backend.ethosu.offload import offload
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.network import Network
from ethosgen.values.plan import IoStyle
from tests.support.aot_harness import (
    ACCELERATOR,
    GeneratedC,
    assert_equal,
    cpu_plan,
    samples_and_golden,
)
from tests.support.arena_npu import check_program
from tests.support.control_networks import (
    BOOL,
    COUNT,
    HANDLE,
    IMAGE,
    NETWORKS,
    assign,
    below,
    branch,
    handle,
    is_positive,
    loop,
    plus_one,
    read,
    subgraph,
)
from tests.support.needs import needs_gcc
from tests.support.networks import NetworkBuilder, Spec


def network_of(name: str) -> Network:
    net = NetworkBuilder(name, seed=7)
    return parse_network(net.build(*NETWORKS[name](net)), name)


def no_npu(*_: object) -> dict[str, object]:
    raise AssertionError("there is no partition")


unused: Invoke = no_npu  # type: ignore[assignment]


@needs_gcc
@pytest.mark.parametrize("name", NETWORKS)
def test_equals_tflite_micro(name: str, tmp_path: Path) -> None:
    """The arena is poisoned before every call; what is kept is kept outside it."""
    network = network_of(name)
    samples, golden = samples_and_golden(network, 3)
    styles = list(IoStyle) if name in ("carried", "accumulator") else [IoStyle.ARENA]
    for io in styles:
        plan, folder = cpu_plan(network, io), tmp_path / io.value
        folder.mkdir()
        generated = GeneratedC(compile_program(plan, "net"), folder)
        for start in ("built", "reset"):
            for sample, wanted in zip(samples, golden, strict=True):
                status, outputs = generated.run(sample)
                assert status == 0, start
                assert_equal(outputs, wanted)
            generated.reset()
    evaluate = make_evaluator(plan)
    for sample, wanted in zip(samples, golden, strict=True):
        assert_equal(evaluate(sample, unused), wanted)


def test_a_loop_changes_in_place_what_it_can() -> None:
    """The count and the sum need no room beside the outputs; what is swapped does."""
    program = compile_program(cpu_plan(network_of("carried"), IoStyle.CALLER), "net")
    text = program.sources["net_graph.c"]
    turn = text[text.index("while (") :]
    assert turn.count("memcpy") < text[: text.index("while (")].count("memcpy")


def test_branches_share_their_room() -> None:
    """Only one of them runs: the workspace is the larger one's, not the sum."""
    net = NetworkBuilder("branches", seed=3)
    x = net.input((1, 8, 8, 8), scale=0.05)
    y = branch(net, is_positive(net), x, (3, 3))
    both = compile_program(cpu_plan(net.build(y), IoStyle.CALLER), "net").arena_bytes
    net = NetworkBuilder("one", seed=3)
    y = branch(net, is_positive(net), net.input((1, 8, 8, 8), scale=0.05), (3, 1))
    assert both == compile_program(cpu_plan(net.build(y), IoStyle.CALLER), "net").arena_bytes


# ---- what is refused -----------------------------------------------------------------------------


def _missing_in_a_branch(net: NetworkBuilder) -> list[int]:
    numbers = []
    for name in ("then", "else"):
        inner, (x,) = subgraph(name, [IMAGE])
        rounded = inner.operator("ROUND", [x], [IMAGE])[0]  # TFLite knows it for float32 only
        numbers.append(net.subgraph(inner, inner.relu(rounded)))
    options = dict(zip(("then_subgraph_index", "else_subgraph_index"), numbers, strict=True))
    x = net.input(IMAGE.shape, scale=0.05)
    return list(net.operator("IF", [is_positive(net), x], [IMAGE], options))


def _calls_itself(net: NetworkBuilder) -> list[int]:
    body, (count,) = subgraph("body", [COUNT])
    results = loop(body, [count], 1, 2)
    cond = below(net, [COUNT])
    number = net.subgraph(body, *results)
    return list(loop(net, [net.input((1,), "int32", None)], cond, number))


def _no_such_subgraph(net: NetworkBuilder) -> list[int]:
    return list(loop(net, [net.input((1,), "int32", None)], 1, 7))


def _never_assigned(net: NetworkBuilder) -> list[int]:
    return [net.add(net.input(IMAGE.shape, scale=0.05), read(net, "nothing"))]


def _chosen_handle(net: NetworkBuilder) -> list[int]:
    numbers = []
    for name in ("a", "b"):
        inner, _ = subgraph(name, [])
        numbers.append(net.subgraph(inner, handle(inner, name)))
        assign(net, name, net.constant(np.zeros((3,)), "float32"))
    options = dict(zip(("then_subgraph_index", "else_subgraph_index"), numbers, strict=True))
    chosen = net.operator("IF", [is_positive(net)], [HANDLE], options)[0]
    return list(net.operator("READ_VARIABLE", [chosen], [Spec((3,), "float32")]))


def _two_sizes(net: NetworkBuilder) -> list[int]:
    assign(net, "v", net.constant(np.zeros(3), "float32"))
    return [net.relu(net.input(IMAGE.shape, scale=0.05)), read(net, "v", Spec((4,), "float32"))]


def _another_type(net: NetworkBuilder) -> list[int]:
    body, (count,) = subgraph("body", [COUNT])
    wide = {"in_data_type": "int32", "out_data_type": "float32"}
    cast = body.apply("CAST", plus_one(body, count), **wide)
    cond = below(net, [COUNT])
    return list(loop(net, [net.input((1,), "int32", None)], cond, net.subgraph(body, cast)))


REFUSED: dict[str, tuple[Callable[[NetworkBuilder], list[int]], str]] = {
    "an operator of a branch": (
        _missing_in_a_branch,
        r"operator 1 of 2 in 'then' \(then of IF\), ROUND that makes 'round_1', cannot be "
        r"compiled: there is no CPU code for int8; change",
    ),
    "recursion": (
        _calls_itself,
        "operator 1 of 1 of subgraph 'body', WHILE, calls subgraph 2, which calls itself",
    ),
    "a subgraph that is not there": (_no_such_subgraph, "calls subgraph 1, which does not exist"),
    "a variable without a value": (
        _never_assigned,
        "READ_VARIABLE, reads the variable 'nothing', but no ASSIGN",
    ),
    "a handle that is chosen": (_chosen_handle, "IF, outputs a handle"),
    "a variable of two sizes": (_two_sizes, "'v' has 12 bytes in one place and 16"),
    "a loop that changes a type": (_another_type, "'body' has inputs or outputs of another type"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_refused_with_its_place(name: str) -> None:
    build, words = REFUSED[name]
    net = NetworkBuilder("refused", seed=1)
    with pytest.raises(UnsupportedError, match=words):
        compile_program(cpu_plan(net.build(*build(net))), "net")


def test_a_handle_is_no_input() -> None:
    net = NetworkBuilder("handles", seed=1)
    handle = net.tensor(HANDLE)
    net.inputs.append(handle)
    net.input((1,), "bool", None)
    values = net.operator("READ_VARIABLE", [handle], [BOOL])
    with pytest.raises(UnsupportedError, match="is a variable's handle"):
        parse_network(net.build(*values), "handles")


# ---- beside the NPU ------------------------------------------------------------------------------


@needs_gcc
@pytest.mark.parametrize("io", IoStyle)
@pytest.mark.parametrize("name", ["computed_condition", "accumulator"])
def test_layers_around_it_run_on_the_npu(name: str, io: IoStyle, tmp_path: Path) -> None:
    plan = offload(network_of(name), ACCELERATOR, io)
    assert plan.partitions
    assert any("no Ethos-U runs subgraphs" in cpu.reason for cpu in plan.cpu_operators)
    check_program(plan, tmp_path)


@needs_gcc
def test_what_a_variable_takes_from_an_input_outlives_no_partition(tmp_path: Path) -> None:
    """Vela gives an input's bytes to the NPU once it was assigned (wild network 800676)."""
    net = NetworkBuilder("kept_input", seed=7)
    x = net.conv2d(net.conv2d(net.input((1, 8, 8, 4)), 16), 8)
    network = parse_network(net.build(x, *NETWORKS["passed_handle"](net)), net.name)
    check_program(offload(network, ACCELERATOR), tmp_path)
