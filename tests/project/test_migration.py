"""Manifests that older ethosgens wrote, from git's history, and formats that nobody knows."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ethosgen import __version__, flow
from ethosgen.project import migration, open_project
from ethosgen.project.info import ProjectInfo
from ethosgen.project.migration import FORMAT, OLDEST, migrate
from ethosgen.values.errors import InputError
from ethosgen.values.plan import OffloadMode
from ethosgen.values.schedule import USUAL_SCHEDULE
from ethosgen.values.watch import Watch
from tests import ROOT
from tests.support.recipes import recipe

STORED = ROOT / "tests" / "golden" / "manifests"
DIGITS = ROOT / "demo" / "digits_int8.tflite"
OLDER = range(OLDEST, FORMAT)


def stored(number: int) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((STORED / f"format_{number}.json").read_bytes())
    assert content["format"] == number
    return content


def opened(content: dict[str, Any], place: Path) -> ProjectInfo:
    (place / "model").mkdir(parents=True)
    (place / "model" / "ethosgen.json").write_text(json.dumps(content))
    return open_project(place)


@pytest.fixture(scope="module")
def today(tmp_path_factory: pytest.TempPathFactory) -> ProjectInfo:
    """Return the project that this ethosgen makes of the same network and options."""
    place = tmp_path_factory.mktemp("today") / "p"
    asked = recipe(DIGITS, npu="ethos-u55-128", cpu_ops=("MAX_POOL_2D",))
    flow.create_project(asked, directory=place, watch=Watch())
    return open_project(place)


@pytest.mark.parametrize("number", OLDER)
def test_an_older_project_is_read(number: int, tmp_path: Path, today: ProjectInfo) -> None:
    """What a user asked for then is what this ethosgen reads, and means the same."""
    old = opened(stored(number), tmp_path / "p")
    network, now = old.network, today.network
    assert (old.board.name, old.npu, old.io) == (today.board.name, today.npu, today.io)
    assert (old.platform, old.memory_mode) == (today.platform, today.memory_mode)
    assert (old.accelerators, old.app, network.weights) == ((), None, None)
    assert (network.name, network.format) == ("digits_int8", "tflite")
    assert network.source == tmp_path / "p" / "model" / "digits_int8.tflite"
    assert network.options == now.options
    assert network.options.cpu_ops == ("MAX_POOL_2D",)
    assert network.options.mode is OffloadMode.ALL
    assert network.options.schedule == USUAL_SCHEDULE
    assert (network.inputs, network.outputs) == (now.inputs, now.outputs)
    assert network.parts == {part: int(size) for part, size in raw_parts(number).items()}
    assert [one.code for one in network.summary.cpu_operators] == ["MAX_POOL_2D"]
    assert bool(network.steps) == (number >= 10), "only these count as profiles do today"
    assert old.files == stored(number)["files"]


def raw_parts(number: int) -> dict[str, int]:
    parts: dict[str, int] = stored(number)["networks"][0]["parts"]
    return parts


def test_what_was_asked_for_survives(tmp_path: Path) -> None:
    asked = stored(4)
    asked["networks"][0] |= {"trust_vela": True, "check": False, "oracle": "litert"}
    options = opened(asked, tmp_path / "p").network.options
    assert (options.trust_compiler, options.check, options.oracle) == (True, False, "litert")


def test_each_step_leads_to_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every older format has one step, one stored manifest, and is met once."""
    assert list(migration._STEPS) == list(OLDER)
    kept = {path.stem for path in STORED.glob("*.json")}
    assert kept == {f"format_{number}" for number in range(1, FORMAT)}
    met: list[int] = []

    def recorded(number: int, step: Callable[[migration.Content], None]) -> None:
        def record(content: migration.Content) -> None:
            met.append(number)
            step(content)

        monkeypatch.setitem(migration._STEPS, number, record)

    for number, step in list(migration._STEPS.items()):
        recorded(number, step)
    assert migrate(stored(5), "p")["format"] == FORMAT
    assert met == list(range(5, FORMAT))


def test_a_newer_format_names_the_ethosgen_that_reads_it(tmp_path: Path) -> None:
    newer = {"format": FORMAT + 1, "ethosgen": "9.1.0", "unknown": 1}
    with pytest.raises(InputError, match=r"use ethosgen 9\.1\.0 or newer") as refused:
        opened(newer, tmp_path / "p")
    assert f"this ethosgen {__version__} reads up to {FORMAT}" in str(refused.value)


def test_the_first_format_is_too_old(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has format 1, .* generate the project again elsewhere"):
        opened(stored(1), tmp_path / "p")


@pytest.mark.parametrize("damage", ["networks", "board", "files"])
def test_a_damaged_old_manifest_is_one_sentence(damage: str, tmp_path: Path) -> None:
    content = stored(OLDEST)
    del content[damage]
    with pytest.raises(InputError, match="is damaged"):
        opened(content, tmp_path / "p")
