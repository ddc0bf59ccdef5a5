"""The cache of converted networks: what it keeps, what it notices, and its limit."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ethosgen.frontend import conversions
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.host.folders import NO_CACHE
from ethosgen.values.network import Network
from ethosgen.values.source import ReadOptions, Source
from tests.support.networks import NetworkBuilder

Reader = Callable[[Source], Network]


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Turn the cache on, in a folder of the test's own."""
    monkeypatch.delenv(NO_CACHE, raising=False)
    monkeypatch.setattr(conversions, "cache_folder", lambda: tmp_path)
    return tmp_path / "networks"


@pytest.fixture
def reads() -> list[Source]:
    """The sources that a front end has read."""
    return []


@pytest.fixture
def read(reads: list[Source]) -> Reader:
    """A front end."""

    def reader(source: Source) -> Network:
        reads.append(source)
        net = NetworkBuilder("network", seed=3)
        x = net.conv2d(net.input((1, 5, 6, 3)), 4, per_channel=True)
        graph = parse_network(net.build(net.logistic(x)), "network").graph
        return Network("network", (graph,), source=source, in_float={"y": "it has no scale"})

    return reader


SOURCE = Source("onnx", "network.onnx", b"the bytes")


def _converted(source: Source, read: Reader, versions: str = "tvm 1") -> Network:
    return conversions.converted(source, read, lambda: versions)


@pytest.mark.usefixtures("folder")
def test_a_network_is_converted_once(read: Reader, reads: list[Source]) -> None:
    first = _converted(SOURCE, read)
    assert _converted(SOURCE, read) == first
    assert len(reads) == 1


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "source",
    [
        replace(SOURCE, data=b"the bytez"),
        replace(SOURCE, name="other.onnx"),
        replace(SOURCE, format="pt2"),
        replace(SOURCE, options=ReadOptions(input_layout="nhwc")),
        replace(SOURCE, options=ReadOptions((("x", (1, 3)),))),
    ],
)
def test_another_source_is_converted(source: Source, read: Reader, reads: list[Source]) -> None:
    _converted(SOURCE, read)
    _converted(source, read)
    assert reads == [SOURCE, source]


@pytest.mark.usefixtures("folder")
def test_other_packages_convert_anew(read: Reader, reads: list[Source]) -> None:
    _converted(SOURCE, read)
    _converted(SOURCE, read, "tvm 2")
    assert len(reads) == 2


@pytest.mark.parametrize("size", [0, 100, -1])
def test_a_damaged_file_is_written_anew(
    size: int, folder: Path, read: Reader, reads: list[Source]
) -> None:
    network = _converted(SOURCE, read)
    (path,) = folder.glob("*.npz")
    data = path.read_bytes()
    path.write_bytes(data[:size])
    assert _converted(SOURCE, read) == network
    assert _converted(SOURCE, read) == network
    assert len(reads) == 2
    assert path.stat().st_size == len(data)


def test_a_file_of_another_kind_is_written_anew(
    folder: Path, read: Reader, reads: list[Source]
) -> None:
    _converted(SOURCE, read)
    (path,) = folder.glob("*.npz")
    np.savez(path, facts=np.frombuffer(b'{"graph": 3}', np.uint8))
    _converted(SOURCE, read)
    assert len(reads) == 2


def test_what_was_not_used_for_longest_goes_first(
    folder: Path, read: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = [replace(SOURCE, data=bytes([k])) for k in range(3)]
    paths = []
    for age, source in zip((30, 20, 10), sources[:2], strict=False):
        _converted(source, read)
        (path,) = set(folder.glob("*.npz")) - set(paths)
        os.utime(path, (1000 - age, 1000 - age))
        paths.append(path)
    monkeypatch.setattr(conversions, "MOST_BYTES", 2 * paths[0].stat().st_size + 10)
    _converted(sources[2], read)
    assert not paths[0].exists()
    assert paths[1].exists()
    assert len(list(folder.glob("*.npz"))) == 2


def test_a_network_that_is_too_large_is_not_kept(
    folder: Path, read: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversions, "MOST_BYTES", 100)
    _converted(SOURCE, read)
    assert not list(folder.glob("*"))


def test_a_network_that_a_file_cannot_say_is_not_kept(folder: Path, read: Reader) -> None:
    _converted(SOURCE, lambda source: replace(read(source), metadata={"x": b"y"}))
    assert not list(folder.glob("*"))


def test_a_folder_of_someone_else_does_no_harm(
    folder: Path, read: Reader, reads: list[Source]
) -> None:
    folder.write_text("a file")
    _converted(SOURCE, read)
    _converted(SOURCE, read)
    assert len(reads) == 2


def test_the_variable_turns_it_off(
    folder: Path, read: Reader, reads: list[Source], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(NO_CACHE, "1")
    _converted(SOURCE, read)
    _converted(SOURCE, read)
    assert len(reads) == 2
    assert not folder.exists()
