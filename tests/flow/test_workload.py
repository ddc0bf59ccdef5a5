"""Networks that compute much: fewer samples, shared out, and a second opinion that may be late."""

import threading
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ethosgen import aot
from ethosgen.backend.ethosu.accelerator import find_accelerator
from ethosgen.commands.wording import comparison_text
from ethosgen.flow.planning import PlanSettings, make_plan
from ethosgen.frontend.tflite.reader import decode_network
from ethosgen.host.child import ChildError
from ethosgen.oracle import DEFAULT, SECOND, answers, interpreters
from ethosgen.oracle.tflm import golden_outputs
from ethosgen.samples import drawing
from ethosgen.samples.drawing import default_samples, draw_samples
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.network import Network
from ethosgen.values.outcome import OutputComparison
from ethosgen.values.watch import Watch
from ethosgen.verdict import exactness
from ethosgen.verdict.judgement import Inputs, choose_samples, judge
from tests.support.catalogue.recurrent import lstm, svdf
from tests.support.networks import NetworkBuilder


def convolved() -> Network:
    net = NetworkBuilder("net")
    net.conv2d(net.input((1, 8, 8, 4), name="x"), 6, (3, 3))
    return decode_network(net.build(), "net")


def test_the_work_of_layers_is_what_they_multiply() -> None:
    assert convolved().multiplications == 8 * 8 * 6 * (3 * 3 * 4)
    net = NetworkBuilder("net")
    net.fully_connected(net.depthwise(net.input((1, 8, 8, 4)), (3, 3)), 10)
    network = decode_network(net.build(), "net")
    assert network.multiplications == 8 * 8 * 4 * 9 + 10 * 256


def test_layers_with_a_state_use_all_their_weights_in_each_step() -> None:
    net = NetworkBuilder("net")
    network = decode_network(net.build(lstm(net, net.input((2, 3, 4)), 5)), "net")
    biases = 4 * 5
    assert network.multiplications == 2 * 3 * (4 * 5 * (4 + 5) + biases)
    net = NetworkBuilder("net")
    network = decode_network(net.build(svdf(net, net.input((2, 6)), 5, 7)), "net")
    assert network.multiplications == 2 * (5 * 6 + 5 * 7 + 5)


def test_the_check_takes_fewer_samples_of_a_network_that_computes_much(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    network = convolved()
    assert len(exactness.draw(network)) == 5
    monkeypatch.setattr(exactness, "MOST_WORK", 2 * network.multiplications)
    assert len(exactness.draw(network)) == 2


@pytest.mark.parametrize(
    ("npu", "what"), [("ethos-u55-128", "load_operators"), (None, "load")], ids=["npu", "cpu"]
)
def test_the_operators_load_while_the_oracle_works(
    npu: str | None, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, loaded = threading.Event(), threading.Event()

    def ask(*_: Any) -> str:
        asked.set()
        return "no answer" if loaded.wait(60) else "nothing was loaded"

    def load() -> None:
        assert asked.wait(60)
        loaded.set()

    monkeypatch.setattr(aot, what, load)
    monkeypatch.setattr(exactness, "SAMPLES", 1)
    plan = make_plan(convolved(), PlanSettings(npu and find_accelerator(npu)), Watch(), ask)
    assert plan.check is not None and plan.check.skipped == "no answer"


def test_a_network_that_computes_much_gets_fewer_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    network, automatic = convolved(), Inputs(None, None, 0)
    assert default_samples(network) == 10
    drawn = automatic.drawn(network, 10)
    assert drawn is not None and not drawn.is_short
    monkeypatch.setattr(drawing, "MOST_WORK", 3 * network.multiplications)
    assert len(choose_samples(network, automatic)) == 3
    assert len(choose_samples(network, Inputs(None, 7, 0))) == 7
    drawn = automatic.drawn(network, 3)
    assert drawn is not None and drawn.is_short
    monkeypatch.setattr(drawing, "MOST_WORK", 1)
    assert default_samples(network) == 1


def calls_of(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    calls, call = [], interpreters.call

    def counting(*arguments: Any, **more: Any) -> Any:
        calls.append(len(arguments[3]))
        return call(*arguments, **more)

    monkeypatch.setattr(interpreters, "call", counting)
    monkeypatch.setattr(interpreters, "_SPLIT_WORK", 1)
    monkeypatch.setattr(interpreters.os, "cpu_count", lambda: 2)
    return calls


def test_samples_shared_out_come_back_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    network = convolved()
    samples = draw_samples(network, 5, 0)
    whole = golden_outputs(network, samples)
    calls = calls_of(monkeypatch)
    for ours, theirs in zip(golden_outputs(network, samples), whole, strict=True):
        assert all(np.array_equal(ours[name], theirs[name]) for name in theirs)
    assert sorted(calls) == [2, 3]


def test_samples_of_a_network_with_a_state_stay_together(monkeypatch: pytest.MonkeyPatch) -> None:
    net = NetworkBuilder("state")
    y = lstm(net, net.input((1, 3, 4), name="x"), 5)
    network = decode_network(net.build(y), "state")
    calls = calls_of(monkeypatch)
    golden_outputs(network, draw_samples(network, 3, 0))
    assert calls == [3]


def test_a_late_second_opinion_is_skipped_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    network, call = convolved(), interpreters.call
    samples = draw_samples(network, 2, 0)
    outputs = golden_outputs(network, samples)

    def slow(script: Any, function: str, *arguments: Any, limit_s: float) -> Any:
        if function == "run_litert" and limit_s == answers.SECOND_S:
            raise ChildError("late", "it did not finish")
        return call(script, function, *arguments, limit_s=limit_s)

    monkeypatch.setattr(interpreters, "call", slow)
    golden, second = judge(network, samples, outputs, Watch())
    assert golden is not None and golden.mismatches == 0
    assert second is not None and "longer than 30 s" in second.skipped
    assert comparison_text(second) == "skipped, it took longer than 30 s"


def test_litert_has_all_its_time_where_it_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    network, call = convolved(), interpreters.call
    samples = draw_samples(network, 2, 0)
    outputs = golden_outputs(network, samples)

    def other(script: Any, function: str, *arguments: Any, limit_s: float) -> Any:
        if function == "run_tflite_micro":
            raise ChildError("raised", "no such operator")
        if limit_s == answers.SECOND_S:
            raise ChildError("late", "it did not finish")
        return call(script, function, *arguments, limit_s=limit_s)

    monkeypatch.setattr(interpreters, "call", other)
    golden, second = judge(network, samples, outputs, Watch())
    assert golden is not None and golden.oracle == "litert" and golden.elements and second is None


def test_both_oracles_work_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    network = convolved()
    both, met = threading.Barrier(2), []

    def meet(*_: Any, **__: Any) -> Any:
        if len(met) < 2:
            met.append(both.wait(60))
        raise UnsupportedError("neither")

    monkeypatch.setattr(answers, "DEFAULT", replace(DEFAULT, run=meet))
    monkeypatch.setattr(answers, "SECOND", replace(SECOND, run=meet))
    with suppress(UnsupportedError):  # without either, the operators are asked about one by one
        judge(network, draw_samples(network, 1, 0), [{}], Watch())
    assert sorted(met) == [0, 1]


def test_a_skipped_comparison_has_no_figures() -> None:
    from tests.commands.test_report import report

    told = report(second=OutputComparison("litert", 0, 0, 0.0, skipped="too long")).as_json()
    assert told["oracles"]["litert"] == {"skipped": "too long"}
