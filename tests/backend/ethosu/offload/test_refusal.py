"""Networks that Vela refuses for one operator: the operator stays, the rest compiles."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from ethosgen.aot import make_evaluator
from ethosgen.backend.ethosu.accelerator import find_accelerator
from ethosgen.backend.ethosu.offload import offload, vela
from ethosgen.backend.ethosu.offload.refusal import ATTEMPTS, LATE_S, compile_around
from ethosgen.backend.ethosu.offload.vela import Compiled, DeathError
from ethosgen.backend.ethosu.simulator.host import PartitionRunner
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.oracle.tflm import golden_outputs
from ethosgen.samples.drawing import random_samples
from ethosgen.values.errors import RefusalError
from ethosgen.values.network import Network
from ethosgen.values.plan import IoStyle, Plan
from tests.support.catalogue.recurrent import lstm
from tests.support.networks import NetworkBuilder

ACCELERATOR = find_accelerator("ethos-u55-128")


def _prelu(net: NetworkBuilder, x: int) -> int:
    """A slope of each sign in 16 bits, for which Regor makes a MUL that the NPU lacks."""
    wide = net.quantize(x, "int16", 0.001, 0)
    alpha = net.constant(np.array([[[127, -127, 3, 0]]]), "int8", 0.01)
    return net.quantize(net.apply("PRELU", wide, alpha, scale=0.0013), "int8", 0.3, 1)


def _select(net: NetworkBuilder, x: int) -> int:
    """An input of type bool, for which Regor makes a NOT_EQUAL that the NPU lacks."""
    chosen = net.input((1, 8, 8, 4), "bool", None, 0)
    return net.apply("SELECT_V2", chosen, x, x)


def _compare(net: NetworkBuilder, x: int) -> int:
    """A network that ends in bool."""
    return net.apply("LESS", x, net.input((1, 8, 8, 4)))


def _network(layer: Callable[[NetworkBuilder, int], int]) -> Network:
    net = NetworkBuilder("refused", seed=1)
    x = net.conv2d(net.conv2d(net.input((1, 8, 8, 4)), 4), 4)
    y = layer(net, x)
    if net.tensors[y].dtype != "bool":
        y = net.conv2d(y, 4)
    return parse_network(net.build(y), "refused")


@pytest.mark.slow
@pytest.mark.parametrize("io", IoStyle)
@pytest.mark.parametrize(
    ("layer", "reason"),
    [
        (_prelu, "with it Vela refuses the whole network (Non-passthrough operation (Mul) could"),
        (_select, "the NPU does not compute in bool (tensor 'input_"),
        (_compare, "the NPU does not compute in bool (tensor 'less_"),
    ],
)
def test_what_is_refused_stays_and_the_rest_compiles(
    layer: Callable[[NetworkBuilder, int], int], reason: str, io: IoStyle
) -> None:
    plan = offload(_network(layer), ACCELERATOR, io)
    (kept,) = plan.cpu_operators
    assert kept.reason.startswith(reason)
    assert plan.partitions
    _check(plan)


def _check(plan: Plan) -> None:
    samples = random_samples(plan.network, 2, 1)
    runner = PartitionRunner(plan)
    evaluate = make_evaluator(plan)
    for sample, wanted in zip(samples, golden_outputs(plan.network, samples), strict=True):
        for name, array in evaluate(sample, runner).items():
            np.testing.assert_array_equal(array, wanted[name])


def _refuse(bad: Callable[[set[int]], bool], count: int) -> Callable[[Mapping[int, str]], int]:
    """Return an attempt that fails where `bad` says so of the operators that are offered."""
    tried = [0]

    def attempt(kept: Mapping[int, str], _limit_s: float | None = None, /) -> int:
        tried[0] += 1
        assert tried[0] <= ATTEMPTS + 2
        if bad(set(range(count)) - set(kept)):
            raise RefusalError("Vela cannot: words", "words")
        return tried[0]

    return attempt


@pytest.mark.parametrize("wrong", [{0}, {63}, {5, 6}, {0, 17, 40, 63}])
def test_each_operator_that_is_refused_is_found_and_no_other(wrong: set[int]) -> None:
    _, kept = compile_around(_refuse(lambda offered: bool(offered & wrong), 64), range(64))
    assert set(kept) == wrong
    assert set(kept.values()) == {"with it Vela refuses the whole network (words)"}


def _counted(bad: Callable[[set[int]], bool], count: int) -> tuple[Any, list[int]]:
    tried: list[int] = []
    attempt = _refuse(bad, count)

    def counting(kept: Mapping[int, str], limit_s: float | None = None, /) -> int:
        tried.append(len(kept))
        return attempt(kept, limit_s)

    return counting, tried


def test_many_of_a_kind_take_no_more_attempts_than_a_few() -> None:
    """24 operators that end Vela took 97 compilations, of which each may take a second."""
    wrong = set(range(1, 48, 2))
    attempt, tried = _counted(lambda offered: bool(offered & wrong), 49)
    _, kept = compile_around(attempt, ["odd" if i in wrong else i for i in range(49)])
    assert set(kept) == wrong and len(tried) <= 16


def test_those_of_a_kind_that_vela_takes_are_given_back() -> None:
    attempt, tried = _counted(lambda offered: 10 in offered, 64)
    _, kept = compile_around(attempt, ["one kind" if i % 8 == 2 else i for i in range(64)])
    assert set(kept) == {10} and len(tried) <= 20


def test_several_kinds_of_refused_operators_are_found_one_after_the_other() -> None:
    wrong = {3, 11, 19, 6, 14}
    attempt, _ = _counted(lambda offered: bool(offered & wrong), 24)
    _, kept = compile_around(attempt, [i % 8 for i in range(24)])
    assert set(kept) == wrong


def test_operators_that_are_refused_only_together_stay_together() -> None:
    attempt = _refuse(lambda offered: {3, 4} <= offered, 8)
    assert {3, 4} & set(compile_around(attempt, range(8))[1])


def test_the_search_ends() -> None:
    _, kept = compile_around(_refuse(bool, 500), range(500))
    assert len(kept) == 500


def test_after_one_that_does_not_come_back_attempts_have_less_time() -> None:
    limits: list[float | None] = []

    def attempt(kept: Mapping[int, str], limit_s: float | None = None, /) -> str:
        limits.append(limit_s)
        if 3 not in kept:
            raise DeathError("Vela did not survive", "it did not finish in 120 s", is_late=True)
        return "made"

    compiled, kept = compile_around(attempt, range(8))
    assert (compiled, set(kept)) == ("made", {3})
    assert "did not finish" in kept[3]
    assert limits[0] is None and set(limits[1:-1]) == {LATE_S} and limits[-1] is None


def test_an_operator_that_ends_vela_goes_to_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Vela itself, but for a stand-in that dies where it sees a MAX_POOL_2D."""
    real = vela.compile_network

    def fragile(network: Network, *arguments: Any) -> Compiled:
        if any(op.code == "MAX_POOL_2D" for op in network.graph.operators):
            raise DeathError("Vela did not survive", "it was ended by SIGSEGV", is_late=False)
        return real(network, *arguments)

    monkeypatch.setattr(vela, "compile_network", fragile)
    plan = offload(_network(lambda net, x: net.max_pool(x, (2, 2), (2, 2))), ACCELERATOR)
    (kept,) = plan.cpu_operators
    assert kept.code == "MAX_POOL_2D" and "SIGSEGV" in kept.reason
    _check(plan)


def test_an_operator_stays_without_which_the_cpu_can_follow_the_plan() -> None:
    net = NetworkBuilder("followed", 3)
    x = net.conv2d(net.input((1, 6, 6, 4)), 4, (3, 3))
    network = parse_network(
        net.build(net.conv2d(net.average_pool(x, (2, 2)), 3, (1, 1))), "followed"
    )

    def require(plan: Plan) -> None:
        if any(1 in partition.operators for partition in plan.partitions):
            raise RefusalError("no room; use --npu none", "no room")

    plan = offload(network, ACCELERATOR, require=require)
    assert [(cpu.code, "no room" in cpu.reason) for cpu in plan.cpu_operators] == [
        ("AVERAGE_POOL_2D", True)
    ]
    assert plan.npu_operators == 2


def test_what_no_choice_mends_is_refused_in_velas_words() -> None:
    with pytest.raises(RefusalError, match=r"^Vela cannot: words$"):
        compile_around(_refuse(lambda _: True, 4), range(4))


@pytest.mark.parametrize("io", IoStyle)
def test_an_output_that_vela_leaves_unwritten_is_made(io: IoStyle) -> None:
    """Vela drops an output that BATCH_MATMUL of the same partition reads transposed."""
    net = NetworkBuilder("unwritten", seed=1)
    x = net.input((1, 10, 7), "int8", 0.03, 0)
    y = net.quantize(x, "int8", 0.39, 12)
    z = net.apply("BATCH_MATMUL", x, y, adj_y=True, scale=2.2)
    plan = offload(parse_network(net.build(y, z), "unwritten"), ACCELERATOR, io)
    (kept,) = plan.cpu_operators
    assert kept.code == "BATCH_MATMUL"
    assert "no part of Vela's output writes" in kept.reason
    _check(plan)


@pytest.mark.slow
def test_a_tensor_that_vela_writes_in_two_partitions_is_written_once() -> None:
    """Vela puts a PAD's edges into a partition before an operator of the CPU, its middle behind."""
    net = NetworkBuilder("twice", seed=1)
    x = net.pad(net.input((2, 6), "int16", 2e-5), ((1, 1), (0, 0)))
    z = net.apply("BATCH_MATMUL", net.input((2, 6), "int16", 3e-5), x, adj_y=True, scale=0.001)
    padded = net.pad(net.quantize(z, "int16", 0.07, 0), ((2, 2), (0, 2)))
    layer = lstm(net, net.input((3, 4, 6), "int16", 2.0**-13), 1)
    plan = offload(parse_network(net.build(layer, padded), "twice"), ACCELERATOR)
    written = [index for op in plan.residual.operators for index in op.outputs]
    assert len(written) == len(set(written))
    _check(plan)
