"""The table of a profile."""

from dataclasses import replace

from ethosgen.commands.profile_table import profile_lines
from ethosgen.values.profile import Count, NpuOperation, ProgramStep, Unit, make_profile
from ethosgen.values.time import InferenceCycles


def test_the_table_adds_up() -> None:
    steps = (
        ProgramStep("CONV_2D + RELU", "conv", "cpu"),
        ProgramStep("partition_0", "sum", "npu"),
        ProgramStep("partition_0", "sum", "npu", is_wait=True),
    )
    counts = (Count(6000), Count(2500, 1200), Count(1000))
    profile = make_profile(steps, Unit("instructions", 1.0), Count(500), counts, 0.0)
    ran = replace(profile.steps[1], operations=(NpuOperation("ADD 8x8x16", 1200, "ADD", "sum"),))
    lines = profile_lines(replace(profile, steps=(profile.steps[0], ran, profile.steps[2])))
    assert lines[0].startswith("  profile   of the inference with the median cost, 3 steps; ")
    assert [line.split() for line in lines[1:]] == [
        ["step", "operators", "on", "instructions", "share", "NPU", "cycles"],
        ["1", "CONV_2D", "+", "RELU", "(conv)", "cpu", "6,000", "60.0%"],
        ["2", "partition_0", "(sum)", "npu", "2,500", "25.0%", "1,200"],
        ["ADD", "(sum)", "~1,200"],
        ["3", "wait", "for", "partition_0", "npu", "1,000", "10.0%", "0"],
        ["outside", "of", "steps", "cpu", "500", "5.0%"],
        ["sum", "10,000", "100.0%", "1,200"],
    ]
    assert len({len(line) for line in lines if line.endswith("%")}) == 1, "figures are aligned"


def test_operators_in_subgraphs_are_rows_below_what_runs_them() -> None:
    def inner(name: str, inside: int, branch: str) -> ProgramStep:
        return ProgramStep(name, "y", "cpu", inside=inside, branch=branch, subgraph=f"my_{branch}")

    steps = (
        ProgramStep("WHILE", "x", "cpu"),
        inner("LESS", 1, "cond"),
        inner("IF", 1, "body"),
        inner("RELU", 3, "then"),
        inner("ADD", 1, "body"),
    )
    counts = (
        Count(100, entries=1001 + 1000 + 1),
        Count(2000, entries=1001),
        Count(50, entries=1000 + 1000),
        Count(300, entries=1000),
        Count(40, entries=1000),
    )
    profile = make_profile(steps, Unit("cycles", 1.0), Count(10), counts, 0.0)
    assert profile_lines(profile)[1:] == [
        "    step  operators             on    runs  cycles   share  NPU cycles",
        "       1  WHILE (x)             cpu      1     100    4.0%",
        "            cond 'my_cond'",
        "       2      LESS (y)          cpu  1,001   2,000   80.0%",
        "            body 'my_body'",
        "       3      IF (y)            cpu  1,000      50    2.0%",
        "                then 'my_then'",
        "       4          RELU (y)      cpu  1,000     300   12.0%",
        "       5      ADD (y)           cpu  1,000      40    1.6%",
        "          outside of steps      cpu             10    0.4%",
        "          sum                                2,500  100.0%",
    ]


def test_cycles_by_the_cores_model_have_a_column() -> None:
    steps = (ProgramStep("CONV_2D", "x", "cpu"),)
    profile = make_profile(steps, Unit("instructions", 1.0), Count(10), [Count(900)], 0.0)
    assert profile_lines(profile.with_cycles(InferenceCycles(1212, 12, (1200,))))[1:] == [
        "    step  operators         on   instructions   share  cycles  NPU cycles",
        "       1  CONV_2D (x)       cpu           900   98.9%   1,200",
        "          outside of steps  cpu            10    1.1%      12",
        "          sum                             910  100.0%   1,212",
    ]


def test_a_long_name_is_cut() -> None:
    profile = make_profile(
        [ProgramStep("CONV_2D", "x" * 300, "cpu")], Unit("cycles", 1.0), Count(1), [Count(9)], 0.0
    )
    assert all(len(line) <= 110 for line in profile_lines(profile)[1:])


def operation_lines(*operations: NpuOperation) -> list[str]:
    steps = [ProgramStep("partition_0", "x", "npu")]
    profile = make_profile(steps, Unit("cycles", 1.0), Count(1), [Count(9, 60)], 0.0)
    profile = replace(profile, steps=(replace(profile.steps[0], operations=operations),))
    return [" ".join(line.split()) for line in profile_lines(profile)[3:-2]]


def test_operations_of_one_operator_are_one_line_and_so_are_copies() -> None:
    lines = operation_lines(
        NpuOperation("CONV 4x4x8", 20, "CONV_2D", "a"),
        NpuOperation("DMA 16 bytes", 1),
        NpuOperation("POOL MAX 4x4x8", 5, "SOFTMAX", "b"),
        NpuOperation("DMA 32 bytes", 2),
        NpuOperation("SUB 4x4x8", 32, "SOFTMAX", "b"),
    )
    assert lines == [
        "CONV_2D (a) ~20",
        "2 copies ~3",
        "SOFTMAX (b): 2 operations ~37",
    ]


def test_without_layers_each_operation_has_a_line() -> None:
    lines = operation_lines(
        NpuOperation("CONV 4x4x8", 20), NpuOperation("CONV 4x4x8", 30), NpuOperation("DMA 8", 10)
    )
    assert lines == ["CONV 4x4x8 ~20", "CONV 4x4x8 ~30", "1 copy ~10"]
