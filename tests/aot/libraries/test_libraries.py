"""A toy library of kernels, added as CONTRIBUTING says: a C function that adds."""

from pathlib import Path

import pytest

from ethosgen import aot
from ethosgen.aot import libraries
from ethosgen.aot.libraries import LIBRARIES, cheapest
from ethosgen.aot.libraries.framework.library import Library
from ethosgen.aot.libraries.helium.elementwise import ADDITION
from ethosgen.aot.registry import estimate_cycles
from ethosgen.board import load_board
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.project import render
from ethosgen.values.errors import InternalError
from ethosgen.values.network import Network, Operator
from tests.plugins.toy.toy_plugin.adder import DRIVER
from tests.plugins.toy.toy_plugin.kernels import Adder, call
from tests.support.aot_harness import GeneratedC, assert_equal, cpu_plan, samples_and_golden
from tests.support.needs import needs_gcc
from tests.support.networks import NetworkBuilder


def _network() -> Network:
    """Two sums that the library takes, one before a table, and one that needs rescaling."""
    net = NetworkBuilder("sums", seed=3)
    plain = {"scale": 0.05, "zero_point": 0}
    x, y = net.input((2, 40), **plain), net.input((2, 40), **plain)
    total = net.add(x, y, **plain)
    z = net.tanh(
        net.add(
            net.max_pool(net.reshape(total, (1, 2, 8, 5)), (1, 1)),
            net.reshape(y, (1, 2, 8, 5)),
            **plain,
        )
    )
    return parse_network(net.build(total, z, net.add(x, y, scale=0.07, zero_point=2)), "sums")


def _add(monkeypatch: pytest.MonkeyPatch, cycles: int | None) -> Library:
    adder: Library = Adder(cycles)
    monkeypatch.setattr(libraries, "LIBRARIES", (*LIBRARIES, lambda: adder))
    return adder


@needs_gcc
def test_the_generated_c_calls_its_function(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _add(monkeypatch, 20)
    program = aot.compile_program(cpu_plan(_network()), "net")
    text = program.sources["net_graph.c"]
    assert text.count("toy_add(") == 2 and '#include "toy_add.h"' in text
    assert "ethosgen_add_s8(" in text, "the third sum needs rescaling"
    assert {"toy_add.c", "toy_add.h", "ethosgen_add.c"} <= set(program.sources)
    assert program.fused == ("ADD + TANH",)
    project = render(program, load_board("corstone300"))
    assert project.files["model/toy_add.c"] == DRIVER.encode()
    assert b"toy_add.c" in project.files["model/CMakeLists.txt"]
    generated = GeneratedC(program, tmp_path)
    generated.check(*samples_and_golden(program.plan.network))


@needs_gcc
def test_it_needs_no_micro_kernels(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(libraries, "LIBRARIES", (lambda: Adder(20),))
    program = aot.compile_program(cpu_plan(_network()), "net")
    assert set(program.sources) == {"net_graph.c", "net_graph.h", "toy_add.c", "toy_add.h"}
    generated = GeneratedC(program, tmp_path)
    for sample, wanted in zip(*samples_and_golden(program.plan.network), strict=True):
        assert_equal(generated.run(sample)[1], wanted)


def test_the_cheapest_offer_is_chosen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    graph = _network().graph
    first, last = graph.operators[0], graph.operators[-1]
    micro, _ = libraries.libraries()
    theirs = micro.offers(graph, {})[0].cycles
    plain = estimate_cycles(first, graph.tensors)
    assert theirs is not None and plain is not None and theirs < plain

    def sources(cycles: int | None, operator: Operator = first, *, alone: bool = False) -> set[str]:
        toy = _add(monkeypatch, cycles)
        kernel = cheapest(graph, operator, (toy,) if alone else libraries.libraries())
        return set(kernel.sources) if kernel else set()

    assert sources(theirs - 1) == {"toy_add.c"}
    assert aot.cpu_cycles(first, graph) == theirs - 1
    assert sources(theirs) == sources(None) == ADDITION
    assert sources(1, last) == ADDITION, "the library refuses it"
    assert sources(None, alone=True) == {"toy_add.c"}, "an unknown cost is below the plain one"
    assert sources(plain, alone=True) == sources(1, last, alone=True) == set()


def test_a_file_that_no_library_has_is_a_bug() -> None:
    graph = _network().graph
    with pytest.raises(InternalError, match=r"no library has toy_add\.c"):
        libraries.library_code({0: call(graph.operators[0], graph)}, libraries.libraries())
