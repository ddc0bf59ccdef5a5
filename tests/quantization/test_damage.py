"""Damaged float networks: one sentence each, and nothing is written.

96 seeded truncations and mutations of each format, or DAMAGES=N. What is damaged but valid is
quantized.
"""

import io
import json
import os
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ethosgen.quantization import scripts
from ethosgen.studies.quantization import quantize
from ethosgen.values.errors import InputError
from ethosgen.values.quantization import QuantizationRequest
from ethosgen.values.watch import Watch
from tests.support.float_networks import float_network
from tests.support.mutations import mutate
from tests.support.needs import needs_extra, needs_torch
from tests.support.pt2_files import pt2_files

DAMAGES = int(os.environ.get("DAMAGES", "96"))
"""For each format; more, if the variable says so."""
PARTS = 4
MOST_S = 240.0
LONGEST = 700
"""The number of characters in a sentence, with a path of pytest's in it."""

Reader = Callable[[pytest.TempPathFactory], bytes]


def onnx_bytes(factory: pytest.TempPathFactory) -> bytes:
    from tests.support.float_onnx import small_onnx

    return small_onnx(factory.mktemp("good") / "float.onnx").read_bytes()


def tflite_bytes(factory: pytest.TempPathFactory) -> bytes:
    return float_network(factory.mktemp("good") / "float.tflite").read_bytes()


def pt2_bytes(factory: pytest.TempPathFactory) -> bytes:
    return pt2_files(factory, "float", "linear_relu")[0].read_bytes()


GOOD: dict[str, tuple[Reader, str, tuple[int, ...]]] = {
    ".onnx": (onnx_bytes, "image", (3, 8, 8)),
    ".tflite": (tflite_bytes, "image", (8, 8, 3)),
    ".pt2": (pt2_bytes, "x", (2, 24)),
}
"""By suffix: a good file, and name and shape of its input."""


SUFFIXES = [
    pytest.param(".onnx", marks=needs_extra("onnx")),
    pytest.param(".tflite", marks=needs_extra("quantize")),
    pytest.param(".pt2", marks=needs_torch),
]


@pytest.fixture
def limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """End a quantizer that hangs; the machine may be busy with other tests."""
    monkeypatch.setattr(scripts, "LIMIT_S", MOST_S)


def fate(folder: Path, suffix: str, data: bytes) -> str:
    """Quantize a damaged file; return "" if it is valid after all, else the sentence."""
    _, name, shape = GOOD[suffix]
    network, output = folder / f"float{suffix}", folder / f"made{suffix}"
    network.write_bytes(data)
    values = np.random.default_rng(5).standard_normal((2, *shape)).astype(np.float32)
    np.savez(folder / "data.npz", **{name: values})
    output.unlink(missing_ok=True)
    said = ""
    try:
        quantize(QuantizationRequest(network, folder / "data.npz", output), Watch())
    except InputError as error:
        said = str(error)
        assert said and "\n" not in said and len(said) < LONGEST, said
        assert "it did not finish" not in said, said
    left = {path.name for path in folder.iterdir()}
    assert left == {network.name, "data.npz", *([] if said else [output.name])}
    return said


def contents_changed(data: bytes, random: np.random.Generator) -> bytes:
    """Damage a member of an archive, whose checksums then agree with it."""
    changed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as original, zipfile.ZipFile(changed, "w") as written:
        members = {name: original.read(name) for name in original.namelist()}
        program = next(name for name in members if name.endswith("models/model.json"))
        others = [name for name, held in members.items() if held and name != program]
        if random.random() < 0.3:
            chosen = str(random.choice(others))
            members[chosen] = mutate(members[chosen], random)
        else:
            tree = json.loads(members[program])
            replace_value(tree, random)
            members[program] = json.dumps(tree).encode()
        for name, held in members.items():
            written.writestr(name, held)
    return changed.getvalue()


def replace_value(tree: Any, random: np.random.Generator) -> None:
    """Replace one value somewhere in nested lists and dictionaries."""
    values: list[Any] = [None, -1, 0, 3, 1 << 70, "x", [], {}, {"as_int": 7}, True, 0.5]
    while True:
        keys = list(tree) if isinstance(tree, dict) else list(range(len(tree)))
        key = keys[int(random.integers(len(keys)))]
        if isinstance(tree[key], dict | list) and tree[key] and random.random() < 0.85:
            tree = tree[key]
            continue
        tree[key] = values[int(random.integers(len(values)))]
        return


@pytest.mark.slow
@pytest.mark.usefixtures("limited")
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_damaged_networks(
    suffix: str, part: int, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    data, outcomes = GOOD[suffix][0](tmp_path_factory), Counter[bool]()
    for seed in range(part * DAMAGES // PARTS, (part + 1) * DAMAGES // PARTS):
        random = np.random.default_rng(seed)
        damage = contents_changed if suffix == ".pt2" and seed % 2 else mutate
        try:
            outcomes[bool(fate(tmp_path, suffix, damage(data, random)))] += 1
        except Exception as error:
            raise AssertionError(f"seed {seed}: {type(error).__name__}: {error}") from error
    assert sum(outcomes.values()) == DAMAGES // PARTS
    assert outcomes[True] > 0


@pytest.mark.slow
@pytest.mark.usefixtures("limited")
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_undamaged_network_is_quantized(
    suffix: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    assert fate(tmp_path, suffix, GOOD[suffix][0](tmp_path_factory)) == ""
