"""Profiles: what is subtracted, and that nothing is lost."""

from dataclasses import replace

from ethosgen.values.profile import Count, NpuOperation, ProgramStep, Unit, make_profile
from ethosgen.values.time import InferenceCycles

STEPS = (
    ProgramStep("CONV_2D + RELU", "conv", "cpu"),
    ProgramStep("partition_0", "sum", "npu"),
    ProgramStep("partition_0", "sum", "npu", is_wait=True),
)


def test_the_sum_of_all_places_is_the_whole() -> None:
    counts = (Count(1010), Count(210, 700), Count(30, 5))
    profile = make_profile(STEPS, Unit("instructions", 2.0), Count(50), counts, 10.0)
    assert [cost.count for cost in profile.steps] == [500, 100, 10]
    assert (profile.outside, profile.total, profile.hook) == (20, 630, 5.0)
    assert profile.npu_cycles == 705


def test_a_place_never_costs_less_than_nothing() -> None:
    profile = make_profile(STEPS[:1], Unit("cycles", 1.0), Count(3), (Count(2),), 4.0)
    assert (profile.outside, profile.steps[0].count, profile.total) == (0, 0, 0)
    assert profile.as_json()["steps"][0]["share"] == 0


def inner(name: str, inside: int, branch: str) -> ProgramStep:
    return ProgramStep(name, name.lower(), "cpu", inside=inside, branch=branch, subgraph="main")


def test_a_loop_is_entered_again_after_each_of_its_subgraphs() -> None:
    """Three turns of a loop, whose body has an IF with a loop of two turns in one branch."""
    steps = (
        ProgramStep("WHILE", "x", "cpu"),
        inner("LESS", 1, "cond"),
        inner("IF", 1, "body"),
        inner("WHILE", 3, "then"),
        inner("LESS", 4, "cond"),
        inner("ADD", 4, "body"),
        inner("RELU", 3, "else"),
        inner("MUL", 1, "body"),
    )
    counts = [
        Count(208, entries=1 + 4 + 3),
        Count(140, entries=4),
        Count(66, entries=3 + 3),
        Count(96, entries=1 + 3 + 2),
        Count(33, entries=3),
        Count(62, entries=2),
        Count(44, entries=2),
        Count(60, entries=3),
    ]
    profile = make_profile(steps, Unit("cycles", 1.0), Count(10), counts, 10.0)
    assert [cost.runs for cost in profile.steps] == [1, 4, 3, 1, 3, 2, 2, 3]
    assert [cost.count for cost in profile.steps] == [128, 100, 6, 36, 3, 42, 24, 30]
    assert profile.total == sum(count.ticks for count in counts) - 10 * sum(
        c.entries for c in counts
    )


def test_what_did_not_run_costs_nothing() -> None:
    steps = (ProgramStep("IF", "x", "cpu"), inner("RELU", 1, "then"), inner("TANH", 1, "else"))
    counts = [Count(25, entries=2), Count(0, entries=0), Count(30)]
    profile = make_profile(steps, Unit("cycles", 1.0), Count(10), counts, 10.0)
    assert [(cost.runs, cost.count) for cost in profile.steps] == [(1, 5), (0, 0), (1, 20)]


def test_json_has_each_step_and_operation() -> None:
    profile = make_profile(
        STEPS, Unit("cycles", 1.0), Count(5), (Count(80), Count(10, 64), Count(5)), 0.0
    )
    operations = (
        NpuOperation("CONV 1x1x8", 60, "CONV_2D", "conv"),
        NpuOperation("DMA 16 bytes", 4),
    )
    steps = (profile.steps[0], replace(profile.steps[1], operations=operations), profile.steps[2])
    answer = replace(profile, steps=steps).as_json()
    assert (answer["unit"], answer["total"], answer["outside"]) == ("cycles", 100, 5)
    assert [step["share"] for step in answer["steps"]] == [0.8, 0.1, 0.05]
    assert [step["step"] for step in answer["steps"]] == [1, 2, 3]
    assert answer["steps"][0]["npu_cycles"] is None
    assert answer["steps"][1] == {
        "step": 2,
        "name": "partition_0",
        "output": "sum",
        "on": "npu",
        "is_wait": False,
        "inside": 0,
        "branch": "",
        "subgraph": "",
        "count": 10,
        "cycles": None,
        "share": 0.1,
        "runs": 1,
        "npu_cycles": 64,
        "npu_operations": [
            {"name": "CONV 1x1x8", "cycles": 60, "operator": "CONV_2D", "layer": "conv"},
            {"name": "DMA 16 bytes", "cycles": 4, "operator": "", "layer": ""},
        ],
    }


def test_cycles_of_steps_that_ran_once_are_joined_and_may_replace_the_counts() -> None:
    steps = tuple(ProgramStep(name, name, "cpu") for name in ("a", "b"))
    counts = [Count(20), Count(30)]
    profile = make_profile(steps, Unit("instructions", 1.0), Count(5), counts, 0.0)
    assert profile.cycles is None and profile.in_cycles() is profile
    assert profile.with_cycles(InferenceCycles(9, 9)) is profile, "no steps were counted"
    timed = profile.with_cycles(InferenceCycles(108, 8, (60, 40)))
    assert (timed.cycles, timed.total) == (108, 55)
    assert [step["cycles"] for step in timed.as_json()["steps"]] == [60, 40]
    replaced = timed.in_cycles()
    assert (replaced.unit, replaced.total, replaced.outside) == ("cycles", 108, 8)


def test_steps_of_a_loop_have_no_cycles() -> None:
    step = ProgramStep("a", "a", "cpu")
    counts = [Count(20, entries=2)]
    profile = make_profile([step], Unit("instructions", 1.0), Count(5), counts, 0.0)
    assert profile.with_cycles(InferenceCycles(9, 4, (5,))) is profile
