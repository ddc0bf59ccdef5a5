"""Self-tests on QEMU: what a firmware reports when one bit of what it has is wrong."""

import re
from pathlib import Path

import pytest

from ethosgen import flow
from ethosgen.project import open_project
from ethosgen.project.manifest import LIBRARY
from ethosgen.values.errors import TargetError
from ethosgen.values.plan import OffloadOptions
from ethosgen.values.recipe import Recipe
from ethosgen.values.report import FirmwareReport, Report
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import Inputs
from tests import ROOT
from tests.support.needs import needs_qemu

pytestmark = needs_qemu

DIGITS = ROOT / "demo" / "digits_int8.tflite"
KWS = ROOT / "demo" / "kws_int8.tflite"
SAMPLES = Inputs(None, 2, 0)
OPTIONS = flow.RunOptions(SAMPLES, self_test=True)
INIT_END = "    return status;\n}\n\nint main(void)"
"""The end of the application's init(), behind the self-test."""
SELF_TEST = "        status = ethosgen_networks_self_test();"


def create(place: Path, recipe: Recipe) -> Path:
    flow.create_project(recipe, directory=place, watch=Watch())
    return place


def run(project: Path, *, self_test: bool = True) -> Report | FirmwareReport:
    flow.build_project(project, self_test=self_test, watch=Watch())
    return flow.run_project(project, OPTIONS, watch=Watch())


def change(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert text.count(old) == 1, (file, old)
    file.write_text(text.replace(old, new))


def flip(file: Path) -> None:
    """Flip the lowest bit of the last number in a file's last array."""
    text = file.read_text()
    number = re.findall(r"(-?\w+?)u?,\n\};", text)[-1]
    at = text.rindex(number)
    value = int(number, 0) ^ 1
    changed = f"0x{value:08x}" if number.startswith("0x") else str(value)
    file.write_text(text[:at] + changed + text[at + len(number) :])


@pytest.mark.parametrize(
    ("network", "board", "npu", "apart"),
    [
        (DIGITS, "corstone300", "ethos-u55-128", False),
        (DIGITS, "corstone300", "ethos-u55-128", True),
        (DIGITS, "corstone320", "ethos-u85-256", False),
        (DIGITS, "corstone300", "none", False),
        (DIGITS, "corstone300", "none", True),
    ],
)
def test_an_intact_firmware_passes(network: Path, board: str, npu: str, apart: bool) -> None:
    recipe = Recipe((network,), board, npu, apart=apart)
    report = flow.verify(recipe, OPTIONS, watch=Watch())
    assert isinstance(report, Report) and report.passed
    assert report.findings["self-test"] == "passed when the firmware started"
    assert report.as_json()["self_test"] == "passed"


def test_networks_that_share_an_arena_pass(tmp_path: Path) -> None:
    """One has operators on both processors."""
    mixed = Recipe(
        (DIGITS, KWS),
        "corstone300",
        "ethos-u55-128",
        options=OffloadOptions(cpu_ops=("FULLY_CONNECTED",)),
    )
    project = create(tmp_path / "p", mixed)
    assert any(network.summary.cpu_operators for network in open_project(project).networks)
    assert run(project).passed
    model = project / LIBRARY
    (folder,) = model.glob("kws*/")
    flip(folder / f"{folder.name}_weights.c")
    with pytest.raises(TargetError, match="could not start: ETHOSGEN_SELF_TEST_WEIGHTS: weights"):
        run(project)


@pytest.fixture(scope="module", params=["ethos-u55-128", "ethos-u85-256"])
def project(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp(request.param) / "p"
    board = "corstone320" if "u85" in request.param else "corstone300"
    return create(place, Recipe((DIGITS,), board, request.param, ("digits",)))


def damaged(project: Path, what: str) -> None:
    model = project / LIBRARY
    if what in ("weights", "commands"):
        flip(model / f"digits_{what}.c")
    elif what == "output":
        file = model / "digits_self_test.c"
        (crc,) = re.findall(r"GOLDEN_CRC 0x(\w+)u", file.read_text())
        change(file, f"0x{crc}u", f"0x{int(crc, 16) ^ 1:08x}u")
    elif what.startswith("config"):
        bit = int(what.removeprefix("config "))
        change(
            model / "digits_self_test.c",
            "DIGITS_NPU_CONFIG",
            f"DIGITS_NPU_CONFIG ^ (1u << {bit}u)",
        )
    else:
        change(project / "app" / "main.c", SELF_TEST, f"ethosgen_npu_is_taken = 1u;\n{SELF_TEST}")


@pytest.mark.parametrize(
    ("what", "status"),
    [
        ("weights", "SELF_TEST_WEIGHTS: weights or other constants in memory are not as"),
        ("commands", "SELF_TEST_COMMANDS: the NPU's commands in memory are not as"),
        ("output", "SELF_TEST_OUTPUT: an inference of the known input does not give"),
        ("config 28", "NPU_OTHER_PRODUCT"),
        ("config 0", "NPU_OTHER_MACS"),
        ("config 4", "NPU_OTHER_VERSION"),
        ("busy", "BUSY"),
    ],
)
def test_one_wrong_bit_has_its_status(project: Path, what: str, status: str) -> None:
    model = project / LIBRARY
    touched = [*model.glob("digits_*.c"), project / "app" / "main.c"]
    intact = {path: path.read_bytes() for path in touched}
    try:
        damaged(project, what)
        with pytest.raises(TargetError, match=f"could not start: ETHOSGEN_{status}"):
            run(project)
    finally:
        for path, data in intact.items():
            path.write_bytes(data)


@pytest.mark.parametrize("npu", ["ethos-u55-128", "none"])
def test_a_file_of_weights_that_changes_is_refused(npu: str, tmp_path: Path) -> None:
    project = create(tmp_path / "p", Recipe((DIGITS,), "corstone300", npu, ("digits",), apart=True))
    main = project / "app" / "main.c"
    intact = main.read_text()

    def with_flip(place: int, before: str) -> None:
        flipped = f"    ((volatile uint8_t *)(uintptr_t)board_weights[0].start)[{place}] ^= 1u;\n"
        main.write_text(intact.replace(before, f"{flipped}{before}"))

    with_flip(40, SELF_TEST)  # the digest
    with pytest.raises(
        TargetError, match="could not start: ETHOSGEN_WEIGHTS_CHANGED: the file was"
    ):
        run(project)
    with_flip(1000, SELF_TEST)
    with pytest.raises(TargetError, match="could not start: ETHOSGEN_WEIGHTS_DAMAGED"):
        run(project)
    with_flip(16, INIT_END)  # after the start: the next run finds it
    with pytest.raises(TargetError, match="WEIGHTS_CHANGED"):
        run(project, self_test=False)
