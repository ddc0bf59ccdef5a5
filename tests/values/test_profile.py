"""Profiles: what is subtracted, and that nothing is lost."""

from dataclasses import replace

from ethosgen.values.profile import Count, NpuOperation, ProgramStep, Unit, make_profile

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


def test_json_has_each_step_and_operation() -> None:
    made = make_profile(
        STEPS, Unit("cycles", 1.0), Count(5), (Count(80), Count(10, 64), Count(5)), 0.0
    )
    operations = (
        NpuOperation("CONV 1x1x8", 60, "CONV_2D", "conv"),
        NpuOperation("DMA 16 bytes", 4),
    )
    steps = (made.steps[0], replace(made.steps[1], operations=operations), made.steps[2])
    answer = replace(made, steps=steps).as_json()
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
        "count": 10,
        "share": 0.1,
        "npu_cycles": 64,
        "npu_operations": [
            {"name": "CONV 1x1x8", "cycles": 60, "operator": "CONV_2D", "layer": "conv"},
            {"name": "DMA 16 bytes", "cycles": 4, "operator": "", "layer": ""},
        ],
    }
