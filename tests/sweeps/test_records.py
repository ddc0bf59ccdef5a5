"""Results as bytes are the same results."""

from dataclasses import replace

from ethosgen.sweeps.records import read_results, results_bytes
from ethosgen.values.comparison import Energy, Exactness
from ethosgen.values.schedule import Schedule, Strategy
from tests.support.costs import make_cost, make_result


def test_results_come_back_equal() -> None:
    plain = make_result()
    rich = replace(
        make_result(cost=replace(make_cost(9), energy=Energy(1 / 3, "a page"))),
        setting=replace(plain.setting, memory_mode=None, schedule=Schedule(Strategy.SIZE, 4096)),
        exactness=Exactness("oracle", 5, 50, 1, 0.1),
        notes=("one", "two"),
    )
    refused = make_result(cost=None, refusal="nö: 不")
    results = (plain, rich, refused)
    assert read_results(results_bytes(results)) == results


def test_what_is_no_result_is_none() -> None:
    for data in (b"", b"{}", b"[1]", b'[{"setting": 1}]', b"\xff"):
        assert read_results(data) is None
