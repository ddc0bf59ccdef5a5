"""The table of a profile."""

from dataclasses import replace

from ethosgen.commands.profile_table import profile_lines
from ethosgen.values.profile import Count, NpuOperation, ProgramStep, Unit, make_profile


def test_the_table_adds_up() -> None:
    steps = (
        ProgramStep("CONV_2D + RELU", "conv", "cpu"),
        ProgramStep("partition_0", "sum", "npu"),
        ProgramStep("partition_0", "sum", "npu", is_wait=True),
    )
    counts = (Count(6000), Count(2500, 1200), Count(1000))
    made = make_profile(steps, Unit("instructions", 1.0), Count(500), counts, 0.0)
    ran = replace(made.steps[1], operations=(NpuOperation("ADD 8x8x16", 1200, "sum"),))
    lines = profile_lines(replace(made, steps=(made.steps[0], ran, made.steps[2])))
    assert lines[0].startswith("  profile   of the inference with the median cost, 3 steps; ")
    assert [line.split() for line in lines[1:]] == [
        ["step", "operators", "on", "instructions", "share", "NPU", "cycles"],
        ["1", "CONV_2D", "+", "RELU", "(conv)", "cpu", "6,000", "60.0%"],
        ["2", "partition_0", "(sum)", "npu", "2,500", "25.0%", "1,200"],
        ["sum:", "ADD", "8x8x16", "~1,200"],
        ["3", "wait", "for", "partition_0", "npu", "1,000", "10.0%", "0"],
        ["outside", "of", "steps", "cpu", "500", "5.0%"],
        ["sum", "10,000", "100.0%", "1,200"],
    ]
    assert len({len(line) for line in lines if line.endswith("%")}) == 1, "figures are aligned"


def test_a_long_name_is_cut() -> None:
    made = make_profile(
        [ProgramStep("CONV_2D", "x" * 300, "cpu")], Unit("cycles", 1.0), Count(1), [Count(9)], 0.0
    )
    assert all(len(line) <= 110 for line in profile_lines(made)[1:])
