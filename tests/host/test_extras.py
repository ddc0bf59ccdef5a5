"""Extras: the table is whole, and each way of installing ethosgen has a command that works."""

import json
import shlex
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from ethosgen.cli import cli
from ethosgen.host import extras, installation
from ethosgen.host.environments import ENVIRONMENTS
from ethosgen.host.extras import EXTRAS, Extra, declared, name_of
from ethosgen.host.installation import install_extra
from ethosgen.values.errors import ToolError
from ethosgen.values.watch import Watch
from tests import ROOT
from tests.host.test_environments import wheel

REQUIRED = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
PIP = f"{shlex.quote(sys.executable)} -m pip install"


def away_from_the_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ["numpy>=2", "toy>=1,<2; extra == 'place'", 'play==2; extra == "place"']
    monkeypatch.setattr(extras, "is_checkout", lambda: False)
    monkeypatch.setattr("importlib.metadata.requires", lambda _: lines)


def test_the_table_has_every_extra_and_package() -> None:
    assert set(EXTRAS) | set(ENVIRONMENTS) == set(REQUIRED)
    for name in EXTRAS.keys() - {"dev"}:
        packages = {package.lower() for package in EXTRAS[name].packages.values()} - {"dask"}
        assert packages == {name_of(line) for line in REQUIRED[name]}, name


def test_a_checkout_names_its_folder() -> None:
    assert EXTRAS["sweep"].install_command == f"{PIP} -e {shlex.quote(f'{ROOT}[sweep]')}"


def test_elsewhere_the_requirements_are_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    away_from_the_checkout(monkeypatch)
    assert EXTRAS["place"].install_command == f"{PIP} 'toy>=1,<2' play==2"


def test_pipx_injects_into_its_own_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "ethosgen"
    place.mkdir()
    (place / "pipx_metadata.json").touch()
    monkeypatch.setattr(sys, "prefix", str(place))
    wanted = [shlex.quote(line) for line in declared("images")]
    assert EXTRAS["images"].install_command == f"pipx inject ethosgen {' '.join(wanted)}"


def test_an_environment_without_pip_is_uvs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "is_here", lambda name: name != "pip")
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    command = EXTRAS["plot"].install_command
    assert command.startswith(f"uv pip install --python {shlex.quote(sys.executable)} -e ")


def test_what_is_missing_is_named_with_its_remedy() -> None:
    extra = replace(EXTRAS["place"], packages={"no_toy": "toy", "no_play": "play", "os": "os"})
    assert extra.missing == ["toy", "play"]
    extra.require("this", "os")
    with pytest.raises(ToolError) as caught:
        extra.require("placing", otherwise=", or not")
    remedy = extra.install_command
    assert str(caught.value) == f"placing needs toy and play; install them with: {remedy}, or not"


def test_doctor_lists_every_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    lacking = replace(EXTRAS["plot"], packages={"no_such_package": "matplotlib"})
    monkeypatch.setitem(EXTRAS, "plot", lacking)
    said = CliRunner().invoke(cli, ["doctor"]).output
    lines = [line.split() for line in said.splitlines()]
    assert REQUIRED.keys() <= {words[1] for words in lines if len(words) > 1}
    what = "draws comparisons, sweeps and placements"
    after = said.partition(f"{what}; not installed: matplotlib\n")[2]
    assert after.strip().startswith(f"remedy:  {lacking.install_command}\n")


def test_a_wheel_has_no_extras_of_the_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    away_from_the_checkout(monkeypatch)
    said = CliRunner().invoke(cli, ["doctor"]).output
    assert "quantizes float .tflite" in said and "checks its style" not in said


class Toy(Extra):
    """An extra whose command is that of the test."""

    wanted: tuple[str, ...]

    @property
    def command(self) -> tuple[str, ...]:
        return self.wanted


def toy(*command: object) -> Toy:
    extra = Toy("toy", "plays", {"toy": "toy"})
    object.__setattr__(extra, "wanted", tuple(map(str, command)))
    return extra


@pytest.mark.slow
def test_an_extra_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path / "made"))
    (tmp_path / "made").mkdir()
    pip = (sys.executable, "-m", "pip", "install", "--target", tmp_path / "made")
    extra = toy(*pip, wheel(tmp_path, ""))
    said: list[str] = []
    install_extra(extra, Watch(said.append))
    assert not extra.missing
    assert said[0].startswith("installing the extra 'toy'")
    install_extra(toy("/no/program"), Watch())  # it is there


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("/no/pipx",), "cannot install the extra 'toy': there is no program '/no/pipx'"),
        (("sh", "-c", "echo ERROR: no network; exit 1"), "the extra 'toy': no network; correct"),
        (("true",), "'true' succeeded, but toy cannot be found"),
    ],
)
def test_an_installation_that_fails_is_one_sentence(command: tuple[str, ...], words: str) -> None:
    with pytest.raises(ToolError, match=words) as caught:
        install_extra(toy(*command), Watch())
    assert "\n" not in str(caught.value)


def test_doctor_installs_what_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(installation, "install_extra", lambda extra, _: asked.append(extra.name))
    wanted = ["onnx", "quantize", "sweep", "place", "plot", "images", "packs"]
    options = [word for name in wanted for word in ("--install", name)]
    done = CliRunner().invoke(cli, ["doctor", *options, "--json"])
    assert asked == wanted and done.exit_code == 0
    assert [entry["name"] for entry in json.loads(done.stdout)] == wanted
