"""Profiles of firmware on QEMU, and of what cannot count."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from ethosgen import flow
from ethosgen.cli import cli
from ethosgen.frontend import read
from ethosgen.values.errors import InputError
from ethosgen.values.profile import Profile
from ethosgen.values.report import FirmwareReport, Report
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import Inputs
from tests.support.control_networks import nested
from tests.support.needs import needs_gcc, needs_qemu, needs_qemu_user
from tests.support.networks import NetworkBuilder
from tests.support.recipes import recipe
from tests.support.small_models import image_net, two_inputs

RANDOM = Inputs(None, 2, 11)
SPLIT = ("FULLY_CONNECTED", "SOFTMAX")


def verify(*paths: Path, profile: bool = True, **options: object) -> Report | FirmwareReport:
    return flow.verify(
        recipe(*paths, **options), flow.RunOptions(RANDOM, profile=profile), watch=Watch()
    )


def profile_of(report: Report | FirmwareReport) -> Profile:
    assert isinstance(report, Report) and report.passed and report.profile is not None
    return report.profile


@needs_qemu
def test_the_steps_are_the_whole(tmp_path: Path) -> None:
    path = image_net(tmp_path / "n.tflite")
    report = verify(path, cpu_ops=SPLIT)
    assert isinstance(report, Report) and report.npu_pmu is not None
    profile = profile_of(report)
    assert profile.unit == "instructions"
    assert [(cost.step.name, cost.step.on) for cost in profile.steps] == [
        ("partition_0", "npu"),
        ("FULLY_CONNECTED", "cpu"),
        ("SOFTMAX", "cpu"),
    ]
    counts = [cost.count for cost in profile.steps]
    assert min(counts) > 0
    assert report.cpu_instructions is not None
    assert report.cpu_instructions >= profile.total == profile.outside + sum(counts)
    first, *rest = profile.steps
    assert first.npu_cycles == profile.npu_cycles == report.npu_pmu["cycles"] > 0
    assert first.npu_cycles == sum(operation.cycles for operation in first.operations)
    assert not any(cost.npu_cycles or cost.operations for cost in rest)
    graph = read(path).graph
    assert {operation.layer for operation in first.operations} - {""} == {
        graph.tensors[op.outputs[0]].name
        for op in graph.operators
        if op.code in ("CONV_2D", "DEPTHWISE_CONV_2D", "AVERAGE_POOL_2D")
    }


@needs_qemu
def test_counting_changes_nothing_but_the_hooks(tmp_path: Path) -> None:
    path = image_net(tmp_path / "n.tflite")
    plain, report = verify(path, profile=False, npu="none"), verify(path, npu="none")
    profile = profile_of(report)
    assert isinstance(plain, Report) and plain.profile is None and plain.cpu_instructions
    assert len(profile.steps) > 3 and 5 < profile.hook < 100
    # The C compiler keeps values across the hooks, and each count is rounded: a few instructions.
    assert abs(profile.total - plain.cpu_instructions) <= 8 * (len(profile.steps) + 1)


@needs_qemu
def test_each_network_has_its_own_profile(tmp_path: Path) -> None:
    names = [image_net(tmp_path / "one.tflite"), two_inputs(tmp_path / "two.tflite")]
    report = verify(*names, npu="none")
    assert isinstance(report, FirmwareReport) and report.passed
    first, second = (profile_of(each) for each in report.reports)
    assert len(first.steps) > len(second.steps) > 1
    alone = profile_of(verify(names[1], npu="none"))
    assert [cost.step for cost in alone.steps] == [cost.step for cost in second.steps]
    for cost, other in zip(alone.steps, second.steps, strict=True):
        assert abs(cost.count - other.count) <= 8
    assert first.npu_cycles == second.npu_cycles == 0


@needs_qemu
def test_operators_in_loops_have_steps_and_runs(tmp_path: Path) -> None:
    net = NetworkBuilder("loops", seed=5)
    path = tmp_path / "loops.tflite"
    path.write_bytes(net.build(*nested(net)))
    plain, report = verify(path, profile=False, npu="none"), verify(path, npu="none")
    profile = profile_of(report)
    assert isinstance(plain, Report) and plain.cpu_instructions
    assert [(cost.step.name, cost.runs) for cost in profile.steps] == [
        ("WHILE", 1),
        ("LESS", 4),
        ("LESS", 3),
        ("IF", 3),
        ("WHILE", 2),
        ("LESS", 8),
        ("CONV_2D", 6),
        ("ADD", 6),
        ("RELU", 1),
        ("ADD", 3),
    ]
    assert abs(profile.total - plain.cpu_instructions) <= 8 * sum(c.runs for c in profile.steps)
    layer = max(profile.steps, key=lambda cost: cost.count)
    assert layer.step.name == "CONV_2D" and layer.count > 0.9 * profile.total


@needs_qemu
def test_the_commands_of_the_page(tmp_path: Path) -> None:
    place, network = str(tmp_path / "p"), str(image_net(tmp_path / "n.tflite"))
    for command in (
        ["project", network, "--board", "corstone300", "--npu", "none", "-o", place],
        ["build", place, "--profile"],
        ["run", place, "--profile", "--samples", "2"],
    ):
        result = CliRunner().invoke(cli, command)
        assert result.exit_code == 0, result.output
    assert "  profile   of the inference with the median cost" in result.output
    as_json = CliRunner().invoke(cli, [*command, "--json"])
    answer = json.loads(as_json.stdout)
    profile = answer["profile"]
    counts = [step["count"] for step in profile["steps"]]
    assert profile["total"] == profile["outside"] + sum(counts) > 0
    assert sum(step["share"] for step in profile["steps"]) == pytest.approx(1, abs=0.02)
    assert f"{profile['total']:,}" in result.output


@needs_qemu_user
def test_a_program_for_linux_counts_nanoseconds(tmp_path: Path) -> None:
    options = {"board": "aarch64-linux", "platform": "linux", "npu": "none"}
    profile = profile_of(verify(image_net(tmp_path / "n.tflite"), **options))
    assert profile.unit == "nanoseconds"
    assert profile.steps and profile.hook > 0  # which a busy machine makes longer than a step


@needs_gcc
def test_a_firmware_says_if_it_was_not_built_for_profiles(tmp_path: Path) -> None:
    asked = recipe(image_net(tmp_path / "n.tflite"), npu="none")
    flow.create_project(asked, directory=tmp_path / "p", watch=Watch())
    built = flow.build_project(tmp_path / "p", watch=Watch())
    plain = built.elf.read_bytes()
    counting = flow.build_project(tmp_path / "p", profile=True, watch=Watch())
    assert counting.sizes.flash["code"] > built.sizes.flash["code"]
    again = flow.build_project(tmp_path / "p", watch=Watch())
    assert again.elf.read_bytes() == plain


@needs_qemu
def test_a_run_without_a_profile_is_one_sentence(tmp_path: Path) -> None:
    asked = recipe(image_net(tmp_path / "n.tflite"), npu="none")
    flow.create_project(asked, directory=tmp_path / "p", watch=Watch())
    flow.build_project(tmp_path / "p", watch=Watch())
    with pytest.raises(InputError, match=r"the firmware has no profile .*build DIR --profile"):
        flow.run_project(tmp_path / "p", flow.RunOptions(RANDOM, profile=True), watch=Watch())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            "table",
            "cannot count the turns of loops; take app/server.c, app/profile.c and app/profile",
        ),
        ("app", r"has no ethosgen_profile_step\(\); take app/main.c, app/server.c and app/profile"),
    ],
)
def test_an_older_project_is_one_sentence(tmp_path: Path, change: str, said: str) -> None:
    place = tmp_path / "p"
    asked = recipe(image_net(tmp_path / "n.tflite"), npu="none")
    flow.create_project(asked, directory=place, watch=Watch())
    if change == "app":
        for file in (place / "app").glob("*.c"):
            file.write_text(file.read_text().replace("ethosgen_profile_step", "other"))
    else:
        path = place / "app" / "profile.h"
        path.write_text(path.read_text().replace("entries", "others"))
    with pytest.raises(InputError, match=said):
        flow.build_project(place, profile=True, watch=Watch())


def test_what_has_no_counter_is_one_sentence(tmp_path: Path) -> None:
    for platform, on, said in (
        ("zephyr", "native", "the clock of native_sim stops while a network runs"),
        (
            "csolution",
            "qemu",
            "add ETHOSGEN_PROFILE to define in firmware.csolution.yml, and build it without",
        ),
    ):
        asked = recipe(image_net(tmp_path / "n.tflite"), npu="none", platform=platform)
        flow.create_project(asked, directory=tmp_path / platform, watch=Watch())
        with pytest.raises(InputError, match=said):
            flow.build_project(tmp_path / platform, on=on, profile=True, watch=Watch())
