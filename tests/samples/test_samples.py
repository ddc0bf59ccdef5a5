from pathlib import Path

import numpy as np
import pytest

from ethosgen.samples.files import load_samples, save_samples
from ethosgen.values.errors import InputError
from ethosgen.values.network import Tensor

IMAGE = Tensor(0, "image", (1, 2, 3), "int8")
BIAS = Tensor(1, "bias", (4,), "int16")


def write(path: Path, **arrays: np.ndarray) -> Path:
    np.savez(path, **arrays)
    return path


@pytest.mark.parametrize("shape", [(1, 2, 3), (1, 1, 2, 3)])
def test_one_sample(tmp_path: Path, shape: tuple[int, ...]) -> None:
    values = np.arange(6, dtype=np.int8).reshape(shape)
    (sample,) = load_samples(write(tmp_path / "x.npz", image=values), [IMAGE])
    assert sample["image"].shape == (1, 2, 3)
    assert sample["image"].reshape(-1).tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("shape", [(5, 1, 2, 3), (5, 2, 3)])
def test_many_samples_in_either_form(tmp_path: Path, shape: tuple[int, ...]) -> None:
    values = np.arange(30, dtype=np.int8).reshape(shape)
    samples = load_samples(write(tmp_path / "x.npz", image=values), [IMAGE])
    assert [s["image"][0, 0, 0] for s in samples] == [0, 6, 12, 18, 24]


def test_what_is_saved_can_be_loaded(tmp_path: Path) -> None:
    samples = [{"image": np.full((1, 2, 3), i, np.int8)} for i in range(3)]
    save_samples(tmp_path / "y.npz", samples)
    loaded = load_samples(tmp_path / "y.npz", [IMAGE])
    assert [s["image"].max() for s in loaded] == [0, 1, 2]
    assert [p.name for p in tmp_path.iterdir()] == ["y.npz"]


@pytest.mark.parametrize(
    ("arrays", "says"),
    [
        ({"photo": np.zeros((1, 2, 3), np.int8)}, "no input is called 'photo'"),
        ({}, "input 'image' is missing"),
        ({"image": np.zeros((1, 2, 3), np.float32)}, "is float32, but must be int8"),
        ({"image": np.zeros((3, 2, 1), np.int8)}, r"has shape \(3, 2, 1\)"),
        ({"image": np.zeros((0, 2, 3), np.int8)}, "has no samples"),
    ],
)
def test_wrong_arrays_are_named(tmp_path: Path, arrays: dict, says: str) -> None:
    with pytest.raises(InputError, match=says):
        load_samples(write(tmp_path / "x.npz", **arrays), [IMAGE])


def test_different_numbers_of_samples_are_refused(tmp_path: Path) -> None:
    path = write(
        tmp_path / "x.npz", image=np.zeros((2, 2, 3), np.int8), bias=np.zeros((3, 4), np.int16)
    )
    with pytest.raises(InputError, match="different numbers of samples"):
        load_samples(path, [IMAGE, BIAS])


def test_a_sample_without_outputs_is_saved_as_zeros(tmp_path: Path) -> None:
    path = tmp_path / "outputs.npz"
    save_samples(path, [{}, {"y": np.ones(3, np.int8)}])
    with np.load(path) as saved:
        assert saved["y"].tolist() == [[0, 0, 0], [1, 1, 1]]


def test_what_is_no_npz_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.npz").write_bytes(b"nonsense")
    (tmp_path / "pickle.npz").write_bytes(b"\x80\x04]\x94.")
    np.save(tmp_path / "plain.npy", np.zeros(3))
    for name in ("x.npz", "pickle.npz", "plain.npy"):
        with pytest.raises(InputError, match=r"not an \.npz file"):
            load_samples(tmp_path / name, [IMAGE])
    with pytest.raises(InputError, match="no such file"):
        load_samples(tmp_path / "absent.npz", [IMAGE])


def test_an_output_file_must_be_npz_and_writable(tmp_path: Path) -> None:
    sample = {"image": np.zeros((1, 2, 3), np.int8)}
    with pytest.raises(InputError, match=r"end in \.npz"):
        save_samples(tmp_path / "y.txt", [sample])
    with pytest.raises(InputError, match="cannot write"):
        save_samples(tmp_path / "absent" / "y.npz", [sample])


def test_a_folder_has_a_file_for_each_input(tmp_path: Path) -> None:
    np.save(tmp_path / "image.npy", np.arange(12, dtype=np.int8).reshape(2, 2, 3))
    np.save(tmp_path / "bias.npy", np.arange(8, dtype=np.int16).reshape(2, 4))
    samples = load_samples(tmp_path, [IMAGE, BIAS])
    assert [s["image"].ravel().tolist() for s in samples] == [[*range(6)], [*range(6, 12)]]
    assert [s["bias"].tolist() for s in samples] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    (tmp_path / "bias.npy").unlink()
    with pytest.raises(InputError, match="input 'bias' is missing"):
        load_samples(tmp_path, [IMAGE, BIAS])


def test_a_folder_has_any_files_for_a_single_input(tmp_path: Path) -> None:
    np.save(tmp_path / "b.npy", np.full((1, 2, 3), 1, np.int8))
    np.save(tmp_path / "a.npy", np.zeros((2, 1, 2, 3), np.int8))
    samples = load_samples(tmp_path, [IMAGE])
    assert [s["image"].max() for s in samples] == [0, 0, 1]


def test_bad_folders_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has no \.npy files"):
        load_samples(tmp_path, [IMAGE])
    np.save(tmp_path / "a.npy", np.zeros((1, 2, 4), np.int8))
    with pytest.raises(InputError, match=r"a\.npy: input 'image' has shape \(1, 2, 4\)"):
        load_samples(tmp_path, [IMAGE])
    np.save(tmp_path / "a.npy", np.array([{}]), allow_pickle=True)
    with pytest.raises(InputError, match=r"a\.npy: not an \.npy file"):
        load_samples(tmp_path, [IMAGE])


@pytest.mark.parametrize(
    ("stored", "read_shape"),
    [((4, 2, 9), (4, 1, 2, 9)), ((2, 1, 2, 9), (2, 1, 2, 9)), ((1, 2, 9), (1, 1, 2, 9))],
)
def test_an_open_dimension_has_the_size_of_the_array(
    tmp_path: Path, stored: tuple[int, ...], read_shape: tuple[int, ...]
) -> None:
    open_ended = Tensor(0, "image", (-1, 2, -1), "int8")
    path = write(tmp_path / "x.npz", image=np.zeros(stored, np.int8))
    samples = load_samples(path, [open_ended])
    assert (len(samples), *samples[0]["image"].shape) == read_shape
