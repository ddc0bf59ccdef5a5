"""`ethosgen compare`, as a user types it."""

import csv
import io
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ethosgen.cli import cli
from ethosgen.commands.compare import best_for
from ethosgen.values.configurations import Setting
from ethosgen.values.errors import InputError
from ethosgen.values.schedule import USUAL_SCHEDULE
from tests.support.costs import make_cost
from tests.support.needs import needs_extra
from tests.support.small_models import image_net

QUICK = ("--npu", "ethos-u55-128,none", "--samples", "1", "--no-check")


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(image_net(tmp_path_factory.mktemp("compare") / "image_net.tflite"))


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, ["compare", *words], catch_exceptions=False)


def test_a_table(network: str) -> None:
    done = run(network, *QUICK, "--wide")
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert lines[0] == "image_net on corstone300 (CPU 32 MHz, NPU 32 MHz)"
    rows = {line.removeprefix("  *").split()[0] for line in lines[2:4]}
    assert rows == {"ethos-u55-128", "none"}
    assert done.stdout.count("4 equal") == 2
    assert "next: " in done.stderr and "verify" in done.stderr


def test_json_and_csv_say_the_same(network: str) -> None:
    told = json.loads(run(network, *QUICK, "--json").stdout)
    assert told["passed"] is True and "Vela" in told["versions"]
    rows = list(csv.DictReader(io.StringIO(run(network, *QUICK, "--csv").stdout)))
    assert [row["npu"] for row in rows] == ["ethos-u55-128", "none"]
    for row, result in zip(rows, told["results"], strict=True):
        assert row == {key: "" if v is None else str(v) for key, v in result.items()}
        assert result["exact"] is True and result["elements"] == 4


def test_nothing_measured_is_a_failure(network: str) -> None:
    done = run(network, "--npu", "ethos-u55-128", "--memory-mode", "dedicated_sram")
    assert done.exit_code == 1
    assert "refused: ethos-u55-128, dedicated_sram: ethos-u55-128 does not support" in done.stdout


def test_json_excludes_csv(network: str) -> None:
    assert run(network, "--json", "--csv").exit_code == 2


@needs_extra("plot")
def test_a_plot_is_written(network: str, tmp_path: Path) -> None:
    path = tmp_path / "plot.html"
    words = ("--npu", "none", "--samples", "0", "--no-check", "--plot", str(path))
    assert run(network, *words).exit_code == 0
    assert "image_net on corstone300" in path.read_text()


@needs_extra("plot")
@pytest.mark.parametrize(
    ("name", "said"), [("plot.pdf", "ends in none of"), ("none/at/all/../x/plot.svg", "")]
)
def test_a_plot_that_cannot_be_written_is_refused_first(
    network: str, tmp_path: Path, name: str, said: str
) -> None:
    place = tmp_path / "file"
    place.write_text("")
    path = place / name if not said else tmp_path / name
    with pytest.raises(InputError, match=said or "is not a folder"):
        run(network, "--plot", str(path))


def test_a_board_without_firmware_gets_a_library(network: str) -> None:
    done = run(network, "--board", "ra8p1", "--npu", "none", "--samples", "0", "--no-check")
    assert "project" in done.stderr and "--platform library" in done.stderr
    assert "\n* " not in done.stdout  # a single row is on the front anyway


@pytest.mark.parametrize(
    ("goal", "npu"),
    [
        ("ms", "ethos-u85-2048"),
        ("ram", "ethos-u55-32"),
        ("flash", "ethos-u65-256"),
        ("npu", "none"),
    ],
)
def test_the_proposed_configuration_is_best_at_the_goal(goal: str, npu: str) -> None:
    costs = {
        "ethos-u85-2048": make_cost(1000, 5000, constant_bytes=900),
        "ethos-u85-1024": make_cost(1000, 5000, constant_bytes=900),
        "ethos-u65-256": make_cost(3000, 4000, constant_bytes=700),
        "ethos-u55-32": make_cost(9000, 3000, constant_bytes=800),
        "none": make_cost(90_000, 6000, constant_bytes=950),
    }
    able = [
        (Setting("net", "corstone320", name, None, USUAL_SCHEDULE), cost)
        for name, cost in costs.items()
    ]
    wanted = "ethos-u85-1024" if goal == "ms" else npu  # as fast, and smaller
    assert best_for(goal, able).npu == wanted
