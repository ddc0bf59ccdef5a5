"""Damaged calibration data and labels: one sentence each, and nothing is written.

200 seeded truncations and mutations of each kind of file, and forged headers.
"""

import io
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ethosgen.host.child import ChildError
from ethosgen.quantization.scripts import Quantizer
from ethosgen.studies.quantization import quantize
from ethosgen.values.errors import EthosgenError
from ethosgen.values.quantization import QuantizationRequest
from ethosgen.values.watch import Watch
from tests.support.mutations import mutate

DAMAGES = 200
LONGEST = 700
"""The number of characters in a sentence, with a path of pytest's in it."""


@pytest.fixture
def reading(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the quantizer say what it was given, in place of quantizing it."""

    def call(quantizer: Quantizer, steps: Sequence[Any], folder: Path) -> list[Any]:
        if steps[0][0] == "inspect":
            port = ["image", [-1, 3, 8, 8], "float32"]
            return [({"inputs": [port], "outputs": [["scores", [1, 5], "float32"]]}, {})]
        raise ChildError("refused", "the data are valid")

    monkeypatch.setattr(Quantizer, "_call", call)
    monkeypatch.setattr(Quantizer, "require", lambda quantizer: None)


def stored(kind: str) -> bytes:
    """Return the good file that is damaged."""
    images = np.random.default_rng(5).standard_normal((4, 3, 8, 8)).astype(np.float32)
    stream = io.BytesIO()
    if kind == "npz":
        np.savez(stream, image=images)
    elif kind == "packed":
        np.savez_compressed(stream, image=images)
    else:
        np.save(stream, np.arange(4) if kind == "labels" else images)
    return stream.getvalue()


def read_damaged(folder: Path, kind: str, data: bytes) -> str:
    """Return the sentence about damaged data; whether they are valid, it says too."""
    (folder / "float.onnx").write_bytes(b"any")
    data_path, labels = folder / "data.npz", None
    data_path.write_bytes(stored("npz"))
    if kind == "folder":
        data_path = folder / "data"
        data_path.mkdir(exist_ok=True)
        (data_path / "0.npy").write_bytes(stored("folder"))
        (data_path / "1.npy").write_bytes(data)
    elif kind == "labels":
        labels = folder / "labels.npy"
        labels.write_bytes(data)
    else:
        data_path.write_bytes(data)
    output = folder / "made.onnx"
    with pytest.raises(EthosgenError) as caught:
        quantize(
            QuantizationRequest(folder / "float.onnx", data_path, output, labels=labels), Watch()
        )
    said = str(caught.value)
    assert said and "\n" not in said and len(said) < LONGEST, said
    assert not [path for path in folder.iterdir() if path.name.startswith((".", "made"))]
    return said


@pytest.mark.usefixtures("reading")
@pytest.mark.parametrize("kind", ["npz", "packed", "folder", "labels"])
def test_two_hundred_damaged_data(kind: str, tmp_path: Path) -> None:
    data, refused = stored(kind), 0
    assert "are valid" in read_damaged(tmp_path, kind, data)
    for seed in range(DAMAGES):
        random = np.random.default_rng(seed)
        part = data[:160] if seed % 2 else data  # the headers, which are read first
        damaged = mutate(part, random) + data[len(part) :]
        try:
            refused += "are valid" not in read_damaged(tmp_path, kind, damaged)
        except Exception as error:
            raise AssertionError(f"seed {seed}: {type(error).__name__}: {error}") from error
    assert refused > DAMAGES // 4


HEADERS = [
    b"{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627776, 3, 8, 8), }",
    b"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296, 3), }",
    b"{'descr': '<f4', 'fortran_order': False, 'shape': (-1, 3, 8, 8), }",
    b"{'descr': '|O', 'fortran_order': False, 'shape': (4, 3, 8, 8), }",
    b"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (4, 3, 8, 8), }",
    b"{'descr': '<f4', 'fortran_order': False, 'shape': " + b"(" * 5000,
    b"{'descr': '<f4'",
    b"\xff\xfe",
]


@pytest.mark.usefixtures("reading")
@pytest.mark.parametrize("header", [*HEADERS, None], ids=range(len(HEADERS) + 1))
@pytest.mark.parametrize("kind", ["npz", "folder"])
def test_a_forged_header_is_one_sentence(kind: str, header: bytes | None, tmp_path: Path) -> None:
    """None is a member that is no array at all, of which numpy returns the bytes."""
    forged = b"no array"
    if header is not None:
        forged = b"\x93NUMPY\x01\x00" + len(header + b"\n").to_bytes(2, "little") + header + b"\n"
        forged += bytes(64)
    if kind == "npz":
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w") as archive:
            archive.writestr("image.npy", forged)
        forged = stream.getvalue()
    assert "are valid" not in read_damaged(tmp_path, kind, forged)
