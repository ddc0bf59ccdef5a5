"""The library accelerators/acl: exact where it says so; what is said without it, or of another."""

import json
from pathlib import Path

import pytest

from ethosgen import flow
from ethosgen.backend.wrapped.accelerator import load_wrapped
from ethosgen.backend.wrapped.declaration import External
from ethosgen.backend.wrapped.external import find_external
from ethosgen.values.errors import InputError
from ethosgen.values.plan import OffloadOptions
from ethosgen.values.report import Report
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import Inputs
from tests.support.acl_page import ADVICE, FIGURES, PAGE, with_table
from tests.support.needs import needs_acl
from tests.support.networks import NetworkBuilder
from tests.support.recipes import recipe

VERSION = "lib/aarch64-linux-gnu/pkgconfig/arm_compute_core.pc"


def declared() -> External:
    external = load_wrapped("acl").folder.declaration.external
    assert external is not None
    return external


def unpacked(place: Path, version: str) -> Path:
    """Write the two files by which the library is known."""
    for file, text in ((declared().marker, ""), (VERSION, f"Version: {version}+dfsg\n")):
        (place / file).parent.mkdir(parents=True)
        (place / file).write_text(text)
    return place


def test_a_missing_library_is_said_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("ARM_COMPUTE_PATH", raising=False)
    folder = load_wrapped("acl").folder
    external = declared().model_copy(update={"default": "/nonexistent"})
    object.__setattr__(folder.declaration, "external", external)
    with pytest.raises(InputError, match=r"install it with: .*libarm-compute-dev:arm64, or set"):
        find_external(folder)


def test_another_folder_or_version_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ARM_COMPUTE_PATH", str(tmp_path))
    with pytest.raises(InputError, match="is not the folder that has include/"):
        find_external(load_wrapped("acl").folder)
    monkeypatch.setenv("ARM_COMPUTE_PATH", str(unpacked(tmp_path / "new", "23.08")))
    with pytest.raises(InputError, match=r"has another version: there is no 'Version: 20\.08' in"):
        find_external(load_wrapped("acl").folder)


def test_firmware_cannot_have_it(tmp_path: Path) -> None:
    network = layers(tmp_path / "layers.tflite")
    wanted = recipe(
        network, board="corstone300", npu="none", accelerators=("acl",),
        check=False,
    )  # fmt: skip
    with pytest.raises(InputError, match="'acl' is only for --platform linux, not baremetal"):
        flow.create_project(wanted, directory=tmp_path / "out", watch=Watch())
    assert not (tmp_path / "out").exists()


def test_the_page_has_what_was_measured() -> None:
    rows = json.loads(FIGURES.read_text())
    page = PAGE.read_text()
    assert page == with_table(page, rows), ADVICE
    for chain, row in zip(load_wrapped("acl").chains, rows, strict=True):
        assert (" + ".join(chain.members), chain.dtypes[0]) == (row["operator"], row["dtype"])
        assert row["elements"] > 0 and row["largest"] <= chain.steps == row["steps"]


def layers(path: Path) -> Path:
    """Write a network whose convolutions are exact in the library, and whose sum is not."""
    net = NetworkBuilder("layers", seed=3)
    x = net.input((1, 11, 9, 5))
    y = net.conv2d(x, 19, (3, 2), (2, 1), "SAME", "RELU6", per_channel=True)
    z = net.conv2d(y, 19, (1, 1), (1, 1), "VALID", "NONE", per_channel=False)
    path.write_bytes(net.build(net.add(y, z, scale=0.09, zero_point=3)))
    return path


def simulated(path: Path, steps: float) -> Report:
    return flow.simulate(
        path, npu="none", accelerators=("acl",), inputs=Inputs(None, 20, 1),
        options=OffloadOptions(steps=steps), watch=Watch(),
    )  # fmt: skip


@needs_acl
def test_without_leave_only_exact_operators_run_there(tmp_path: Path) -> None:
    report = simulated(layers(tmp_path / "layers.tflite"), 0)
    assert report.verdict == "PASS" and report.plan.shares[0].operators == 2
    (cpu,) = report.plan.cpu_operators
    assert cpu.code == "ADD" and "--allow-difference 1" in cpu.reason


@needs_acl
def test_with_leave_a_sum_may_differ_by_one_step(tmp_path: Path) -> None:
    report = simulated(layers(tmp_path / "layers.tflite"), 1)
    assert report.verdict == "PASS within 1 step" and report.plan.shares[0].operators == 3
    assert report.golden is not None and report.golden.max_abs_diff <= 1


@needs_acl
def test_a_program_with_the_library_equals_the_oracle(tmp_path: Path) -> None:
    path = layers(tmp_path / "layers.tflite")
    wanted = recipe(
        path, board="aarch64-linux", platform="linux", npu="none", accelerators=("acl",),
        check=False,
    )  # fmt: skip
    report = flow.verify(wanted, flow.RunOptions(Inputs(None, 5, 0)), watch=Watch())
    assert isinstance(report, Report)
    assert report.verdict == "PASS" and report.plan.shares[0].operators == 2
