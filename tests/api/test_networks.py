"""Networks and samples as values."""

from pathlib import Path

import numpy as np
import pytest

from ethosgen.api.networks import draw_samples, files_of, names_of, read
from ethosgen.api.samples import inputs_of
from ethosgen.frontend import read as read_file
from ethosgen.samples.drawing import draw_samples as draw
from ethosgen.values.errors import InputError
from ethosgen.verdict.judgement import choose_samples
from tests.support.networks import NetworkBuilder


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    net = NetworkBuilder("network", seed=1)
    place = tmp_path_factory.mktemp("api") / "two words.tflite"
    place.write_bytes(net.build(net.conv2d(net.input((1, 4, 4, 2)), 3)))
    return place


@pytest.fixture(scope="module")
def two_inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    net = NetworkBuilder("network", seed=1)
    place = tmp_path_factory.mktemp("api") / "sum.tflite"
    place.write_bytes(net.build(net.add(net.input((1, 4)), net.input((1, 4)))))
    return place


def test_a_network_that_was_read_is_its_file_again(path: Path) -> None:
    network = read(path)
    assert network.name == "two_words"
    with files_of([network, path]) as (places, _):
        assert places[0].read_bytes() == path.read_bytes()
        assert places[0].name == path.name
        assert places[1] == path
    assert not places[0].exists()
    assert names_of([network, path], ()) == ("two_words", "two_words")
    assert names_of([path], ()) == ()
    assert names_of([network], ["other"]) == ("other",)


def test_what_has_no_file_is_refused(path: Path) -> None:
    edited = read(path).edited(read(path).graph)
    for networks, why in (((), "at least one network"), ((edited,), "has no file")):
        with pytest.raises(InputError, match=why), files_of(networks):
            pass


def test_networks_with_other_reading_options_are_refused(path: Path) -> None:
    with pytest.raises(InputError, match="--shape does not apply"):
        read(path, shapes={"x": (1, 2)})


def test_samples_are_those_of_the_commands(path: Path) -> None:
    drawn = draw_samples(path, 6, seed=3)
    network = read(path)
    (name,) = drawn
    assert drawn[name].shape == (6, 1, 4, 4, 2)
    wanted = draw(read_file(path), 6, 3)
    np.testing.assert_array_equal(drawn[name], np.stack([sample[name] for sample in wanted]))
    for arrays in (drawn, drawn[name]):
        chosen = choose_samples(network, inputs_of(network, {"inputs": arrays}))
        assert len(chosen) == 6
        np.testing.assert_array_equal(chosen[5][name], wanted[5][name])
        assert inputs_of(path, {"inputs": arrays}).drawn(network, 6) is None


def test_wrong_arrays_are_named(path: Path, two_inputs: Path) -> None:
    network = read(path)
    with pytest.raises(InputError, match=r"inputs: input .* is float64, but must be int8"):
        choose_samples(network, inputs_of(network, {"inputs": np.zeros((1, 4, 4, 2))}))
    with pytest.raises(InputError, match="inputs: no input is called 'y'"):
        choose_samples(network, inputs_of(network, {"inputs": {"y": np.zeros(1)}}))
    with pytest.raises(InputError, match="has 2 inputs; pass an array for each"):
        inputs_of(two_inputs, {"inputs": np.zeros((1, 4), np.int8)})
    with pytest.raises(InputError, match="samples=0: nothing to compare"):
        inputs_of(path, {"samples": 0})
    with pytest.raises(InputError, match="a single network"):
        inputs_of(None, {"inputs": np.zeros((1, 4), np.int8)})
