"""The registry of front ends, and a second one that follows CONTRIBUTING's steps."""

import dataclasses
from pathlib import Path

import pytest

from ethosgen import flow, frontend
from ethosgen.frontend import FRONT_ENDS, open_source, read, source_of
from ethosgen.project import open_project
from ethosgen.values.errors import InputError
from ethosgen.values.recipe import Recipe
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import Inputs
from tests.plugins.toy.toy_plugin.frontend import TEXT, TOY
from tests.support.small_models import image_net


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Register the toy, and write one of its files."""
    monkeypatch.setattr(frontend, "FRONT_ENDS", [*FRONT_ENDS, TOY])
    path = tmp_path / "half.toy"
    path.write_bytes(TEXT)
    return path


def test_a_new_front_end_needs_nothing_but_its_entry(toy: Path) -> None:
    inputs = Inputs(None, 2, 0)
    report = flow.simulate(toy, npu="none", inputs=inputs, watch=Watch())
    assert report.passed and report.network == "half"


def test_a_project_stores_the_source_as_given(toy: Path, tmp_path: Path) -> None:
    recipe = Recipe((toy,), "corstone300", npu="none")
    place = tmp_path / "project"
    flow.create_project(recipe, directory=place, watch=Watch())
    (network,) = open_project(place).networks
    assert (network.source.name, network.format) == ("half.toy", "toy")
    assert network.source.read_bytes() == TEXT
    assert read(network.source, network.format).graph.operators[0].code == "RELU"


def test_the_bytes_decide_before_the_suffix(toy: Path) -> None:
    other = toy.rename(toy.with_suffix(".tflite"))
    assert open_source(other).format == "toy"
    other.write_bytes(b"something else")
    with pytest.raises(InputError, match=r"not a \.tflite file"):
        read(other)


def test_a_damaged_file_is_its_front_ends_to_refuse(toy: Path) -> None:
    toy.write_bytes(b"toy network\n")
    with pytest.raises(InputError, match="no operator with a size"):
        read(toy)


def test_an_unknown_file_gets_the_formats(toy: Path) -> None:
    path = toy.with_name("picture.png")
    path.write_bytes(b"\x89PNG")
    known = (
        r"reads: TensorFlow Lite \(\.tflite\), .*, ExecuTorch \(\.pte, \.bpte\), .*Toy \(\.toy\)"
    )
    with pytest.raises(InputError, match=rf"'picture\.png' is in no format that ethosgen {known}"):
        read(path)
    with pytest.raises(InputError, match="cannot read the format 'gone'"):
        read(toy, "gone")


def test_an_edited_network_is_its_own_source(tmp_path: Path) -> None:
    network = read(image_net(tmp_path / "net.tflite"))
    assert source_of(network) is network.source
    edited = dataclasses.replace(network.edited(network.graph), name="made")
    assert (source_of(edited).format, source_of(edited).name) == ("tflite", "made.tflite")
