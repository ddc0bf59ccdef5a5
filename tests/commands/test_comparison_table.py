"""The tables of `ethosgen compare`."""

from dataclasses import replace

from ethosgen.commands.comparison_table import choice_lines, report_lines
from ethosgen.values.configurations import ComparisonReport, Exactness, Result, SramChoice, Tried
from ethosgen.values.schedule import Schedule, Strategy
from tests.support.costs import make_cost, make_result


def text(*results: Result, width: int = 200) -> str:
    return "\n".join(report_lines(ComparisonReport(results, {}), width))


def test_a_wide_table_has_all_columns() -> None:
    shown = text(make_result(on_front=True), make_result("ethos-u85-256"))
    assert shown.startswith("net on corstone300 (CPU 1 MHz, NPU 1 MHz)\n")
    head, first, second = shown.splitlines()[1:4]
    assert [head.split()[0], *head.split()[-2:]] == ["NPU", "energy", "exact"]
    assert first.split() == [
        *("*", "ethos-u55-128", "shared_sram", "1,300", "1,000", "1,000", "300", "1.3"),
        *("4.0", "KiB", "4.0", "KiB", "2.0", "KiB", "-", "60", "equal"),
    ]
    assert second.split()[0] == "ethos-u85-256"
    assert "\n* no other row" in shown


def test_a_narrow_table_fits() -> None:
    shown = text(make_result(), make_result("ethos-u65-512"), width=80)
    table = shown.splitlines()[:4]
    assert max(map(len, table)) <= 80
    assert "Vela" not in table[1] and "SRAM" in table[1]


def test_a_schedule_is_shown_if_there_are_several() -> None:
    assert "schedule" not in text(make_result())
    limited = make_result(schedule=Schedule(Strategy.PERFORMANCE, 32768))
    shown = text(make_result(), limited, make_result(schedule=Schedule(Strategy.SIZE)))
    assert [line.split("  ")[3] for line in shown.splitlines()[2:5]] == [
        "performance",
        "performance ≤ 32.0 KiB",
        "size",
    ]


def test_only_what_ran_on_an_npu_model_says_so() -> None:
    alone, on_npu = make_result("none"), make_result()
    refused = make_result(cost=None, exactness=None, refusal="no")
    assert "the outputs of the NPU model, compared with" in text(on_npu)
    assert "the outputs of this machine's CPU, compared with" in text(alone, refused)
    assert "the outputs of the NPU model and this machine's CPU, compared with" in text(
        alone, on_npu
    )


def test_what_was_refused_has_its_reason() -> None:
    refused = make_result("ethos-u55-32", cost=None, exactness=None, refusal="it is too deep")
    shown = text(make_result(), refused, make_result(misfit="arena needs 5 bytes more"))
    assert "  refused: ethos-u55-32, shared_sram: it is too deep" in shown
    assert "  too large: ethos-u55-128, shared_sram: arena needs" in shown
    assert "net on corstone300\n  refused" in text(refused)


def test_a_difference_is_no_dash() -> None:
    differing = make_result(exactness=Exactness("tflm", 5, 60, 2))
    assert "2 of 60 outputs differ" in text(differing)
    unmeasured = make_result(exactness=None, unmeasured="no oracle runs it")
    assert "not compared: ethos-u55-128, shared_sram: no oracle runs it" in text(unmeasured)


def test_figures_that_nobody_knows() -> None:
    shown = text(make_result(cost=make_cost(npu_hz=None)))
    assert "NPU at an unknown clock" in shown
    partial = text(make_result(cost=make_cost(unknown_operators=2, without=("CUMSUM",))))
    assert "1,300 + ?" in partial and "1.3 + ?" in partial
    assert "+ ?: without CUMSUM, whose cycles are unknown." in partial


def test_notes_are_shown_once() -> None:
    noted = make_result(notes=("a clock is unverified",))
    assert text(noted, replace(noted, on_front=True)).count("a clock is unverified") == 1


def test_a_choice_names_its_neighbours() -> None:
    def tried(cycles: int, sram: int, limit: int | None = None) -> Tried:
        return Tried(Schedule(arena_bytes=limit), make_cost(cycles, sram, start_cycles=0))

    chosen = tried(2000, 4096, 4000)
    shown = list(choice_lines(SramChoice("net", 5120, chosen, None, tried(1500, 8192))))
    assert shown[0] == (
        "  limit     net in 5.0 KiB: performance ≤ 3.9 KiB: 4.0 KiB of SRAM, 2,000 cycles, 2 ms"
    )
    assert shown[1].strip() == "it is the smallest there is"
    assert shown[2].strip() == (
        "larger: performance: 8.0 KiB of SRAM, 1,500 cycles, 1.5 ms (-25.0%)"
    )
    shown = list(choice_lines(SramChoice("net", 5120, chosen, tried(3000, 2048), None)))
    assert "smaller: performance: 2.0 KiB of SRAM, 3,000 cycles, 3 ms (+50.0%)" in shown[1]
    assert shown[2].strip() == "more SRAM would not make it faster"


def test_a_table_without_figures_explains_none() -> None:
    refused = make_result(cost=None, exactness=None, refusal="no")
    assert text(refused).splitlines() == [
        "net on corstone300",
        "  refused: ethos-u55-128, shared_sram: no",
    ]
