"""Steps whose functions differ only in their constants call one function."""

from pathlib import Path

from ethosgen.aot import compile_program
from ethosgen.aot.code.csource import call_shared, share
from tests.support.aot_harness import GeneratedC, assert_equal, cpu_plan, samples_and_golden
from tests.support.needs import needs_gcc
from tests.support.networks import NetworkBuilder


def test_the_first_function_of_a_text_stands_for_the_others() -> None:
    texts = {
        "one": "static void one(int x) { f(x); }",
        "two": "static void two(int x) { f(x); }",
        "three": "static void three(int x) { f(x, 1); }",
    }
    shared = share(texts)
    assert shared == {"one": "one", "two": "one", "three": "three"}
    assert call_shared("two(1); two_more(2); three(3)", shared) == "one(1); two_more(2); three(3)"


@needs_gcc
def test_equal_layers_are_one_function(tmp_path: Path) -> None:
    net = NetworkBuilder("network", seed=4)
    x = net.input((1, 6, 5, 8))
    for _ in range(3):
        x = net.conv2d(net.depthwise(x), 8, (1, 1))
    plan = cpu_plan(net.build(x))
    program = compile_program(plan, "net")
    source = program.sources["net_graph.c"]
    assert source.count("\nstatic void ") == 2
    assert source.count("; 3 steps */") == 2
    generated = GeneratedC(program, tmp_path)
    for sample, wanted in zip(*samples_and_golden(plan.network), strict=True):
        assert_equal(generated.run(sample)[1], wanted)
