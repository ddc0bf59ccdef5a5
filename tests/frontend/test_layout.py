"""Channels-last inputs of a .tflite file: what changes, and what does not."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ethosgen import frontend
from ethosgen.flow import create_project
from ethosgen.oracle.answers import Question, answer
from ethosgen.project import open_project
from ethosgen.samples.drawing import draw_samples
from ethosgen.values.errors import InputError
from ethosgen.values.layout import channels_first_inputs
from ethosgen.values.source import CHANNELS_LAST, ReadOptions
from ethosgen.values.watch import Watch
from tests.support.networks import NetworkBuilder
from tests.support.recipes import recipe

LAST = ReadOptions(input_layout=CHANNELS_LAST)


def build(net: NetworkBuilder, folder: Path, *outputs: int) -> Path:
    path = folder / "net.tflite"
    path.write_bytes(net.build(*outputs))
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file with two inputs, of which one is channels-first and moved twice."""
    net = NetworkBuilder("net", seed=3)
    x, vector = net.input((1, 3, 6, 5), name="picture"), net.input((1, 8), name="vector")
    y = net.conv2d(net.transpose(x, (0, 2, 3, 1)), 4)
    z = net.max_pool(net.transpose(x, (0, 2, 3, 1)), (2, 2))
    return build(net, tmp_path, y, z, net.fully_connected(vector, 4))


def test_the_outputs_are_those_of_the_same_picture(path: Path) -> None:
    first, last = frontend.read(path), frontend.read(path, options=LAST)
    assert [tensor.shape for tensor in last.inputs] == [(1, 6, 5, 3), (1, 8)]
    assert [tensor.name for tensor in last.inputs] == ["picture", "vector"]
    assert "TRANSPOSE" not in [operator.code for operator in last.graph.operators]
    samples = draw_samples(first, 8, seed=1)
    moved = [sample | {"picture": np.moveaxis(sample["picture"], 1, -1)} for sample in samples]
    theirs = answer(Question(first, samples)).outputs
    ours = answer(Question(replace(last, source=None), moved)).outputs
    for our, their in zip(ours, theirs, strict=True):
        assert all(np.array_equal(our[name], array) for name, array in their.items())


def test_a_project_states_its_channels_first_inputs(path: Path, tmp_path: Path) -> None:
    assert channels_first_inputs(frontend.read(path)) == ("picture",)
    assert not channels_first_inputs(frontend.read(path, options=LAST))
    create_project(recipe(path, check=False), directory=tmp_path / "project", watch=Watch())
    (info,) = open_project(tmp_path / "project").networks
    assert info.summary.channels_first == ("picture",)


def test_a_project_keeps_the_layout(path: Path, tmp_path: Path) -> None:
    asked = replace(recipe(path, check=False), reading=LAST)
    create_project(asked, directory=tmp_path / "project", watch=Watch())
    (info,) = open_project(tmp_path / "project").networks
    assert info.source.read_bytes() == path.read_bytes()
    again = frontend.read(info.source, options=LAST)
    assert again.inputs[0].shape == (1, 6, 5, 3)


@pytest.mark.parametrize("case", ["another order", "another reader", "the output", "no input"])
def test_what_has_no_such_move_is_refused(case: str, tmp_path: Path) -> None:
    net = NetworkBuilder("net", seed=3)
    x = net.input((1, 6, 6, 6))
    y = net.transpose(x, (0, 3, 1, 2) if case == "another order" else (0, 2, 3, 1))
    outputs = {
        "another order": [net.conv2d(y, 4)],
        "another reader": [net.conv2d(y, 4), net.max_pool(x, (2, 2))],
        "the output": [y],
        "no input": [net.conv2d(x, 4)],
    }[case]
    path = build(net, tmp_path, *outputs)
    assert not channels_first_inputs(frontend.read(path))
    with pytest.raises(InputError, match=r"--input-layout nhwc does not apply to 'net\.tflite'"):
        frontend.read(path, options=LAST)
