"""Labelled data from files and folders."""

from pathlib import Path

import numpy as np
import pytest

from ethosgen.samples.labelled import Labelled, load_labelled
from ethosgen.values.errors import InputError
from ethosgen.values.network import Quantization, Tensor

IMAGE = Tensor(0, "image", (1, 2), "int8", Quantization((0.5,), (0,)))
OTHER = Tensor(1, "other", (1,), "int8")
FLOATS = np.array([[0.5, 1.0], [1.5, 2.0], [2.5, 3.0]])
LABELS = np.array([1, 0, 1])


def archive(path: Path, **arrays: np.ndarray) -> Path:
    np.savez(path, **arrays)
    return path


def folder(path: Path, **classes: list[int]) -> Path:
    for name, values in classes.items():
        (path / name).mkdir(parents=True)
        for value in values:
            np.save(path / name / f"{value}.npy", np.full((1, 2), value, np.int8))
    return path


def firsts(data: Labelled) -> list[int]:
    return [int(data.steps(index)[0]["image"].reshape(-1)[0]) for index in range(len(data))]


@pytest.mark.parametrize("name", ["image", "x"])
def test_an_archive_with_its_labels(tmp_path: Path, name: str) -> None:
    path = archive(tmp_path / "d.npz", **{name: FLOATS, "y": LABELS})
    data = load_labelled(path, [IMAGE], None)
    assert (firsts(data), data.labels.tolist(), data.names) == ([1, 3, 5], [1, 0, 1], ())
    assert data.steps(0)[0]["image"].shape == IMAGE.shape


def test_labels_and_names_of_classes_in_files(tmp_path: Path) -> None:
    path = archive(tmp_path / "d.npz", image=FLOATS, y=LABELS)
    np.save(tmp_path / "l.npy", LABELS.reshape(3, 1) + 1)
    assert load_labelled(path, [IMAGE], tmp_path / "l.npy").labels.tolist() == [2, 1, 2]
    (tmp_path / "l.txt").write_text("cat\n\ndog \n")
    assert load_labelled(path, [IMAGE], tmp_path / "l.txt").names == ("cat", "dog")


def test_a_folder_for_each_class(tmp_path: Path) -> None:
    path = folder(tmp_path / "d", dog=[7, 5], cat=[3])
    data = load_labelled(path, [IMAGE], None)
    assert (firsts(data), data.labels.tolist(), data.names) == (
        [3, 5, 7],
        [0, 1, 1],
        ("cat", "dog"),
    )
    (tmp_path / "l.txt").write_text("dog\nowl\ncat")
    data = load_labelled(path, [IMAGE], tmp_path / "l.txt")
    assert (data.labels.tolist(), data.names) == ([2, 0, 0], ("dog", "owl", "cat"))


def test_folders_that_are_numbers_are_the_labels(tmp_path: Path) -> None:
    path = folder(tmp_path / "d", **{"10": [1], "2": [2]})
    data = load_labelled(path, [IMAGE], None)
    assert (firsts(data), data.labels.tolist(), data.names) == ([1, 2], [10, 2], ())


@pytest.mark.parametrize("digits", [10, 20, 5000])
def test_a_label_beyond_any_class_is_refused(tmp_path: Path, digits: int) -> None:
    path = folder(tmp_path / "d", cat=[3])
    table = tmp_path / "labels.csv"
    table.write_text(f"cat/3.npy,{'9' * digits}\n")
    with pytest.raises(InputError, match=r"the label 999999999\.\.\. is larger than any class"):
        load_labelled(path, [IMAGE], table)
    if digits < 255:  # the longest name of a folder
        numbers = folder(tmp_path / "n", **{"9" * digits: [3]})
        with pytest.raises(InputError, match="is larger than any class"):
            load_labelled(numbers, [IMAGE], None)


def test_the_digest_changes_with_data_and_labels(tmp_path: Path) -> None:
    plain = Labelled({"image": np.zeros((2, 1, 2), np.int8)}, np.array([0, 1]))
    others = [
        Labelled({"image": np.eye(2, dtype=np.int8).reshape(2, 1, 2)}, plain.labels),
        Labelled(plain.inputs, np.array([1, 0])),
        Labelled({"other": plain.inputs["image"]}, plain.labels),
    ]
    assert len({data.digest() for data in (plain, *others)}) == 4
    assert plain.digest() == Labelled(dict(plain.inputs), plain.labels.copy()).digest()


@pytest.mark.parametrize(
    ("arrays", "says"),
    [
        ({"image": FLOATS}, "has no labels; add them as 'y'"),
        ({"image": FLOATS, "y": LABELS[:2]}, "input 'image' has 3 samples, but there are 2 labels"),
        ({"image": FLOATS, "y": LABELS - 1}, "labels must be integers from 0"),
        ({"image": FLOATS, "y": LABELS.astype(float)}, "labels must be integers from 0"),
        ({"image": FLOATS * np.nan, "y": LABELS}, "'image' has NaN"),
        ({"picture": FLOATS, "y": LABELS}, "no input is called 'picture'"),
        ({"image": FLOATS[:, :1], "y": LABELS}, "has shape"),
    ],
)
def test_bad_archives(tmp_path: Path, arrays: dict[str, np.ndarray], says: str) -> None:
    with pytest.raises(InputError, match=says):
        load_labelled(archive(tmp_path / "d.npz", **arrays), [IMAGE], None)


def test_bad_folders(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"has no files \(\.npy, \.png"):
        load_labelled(tmp_path / "empty", [IMAGE], None)
    path = folder(tmp_path / "d", cat=[1])
    with pytest.raises(InputError, match="a folder has data for one input, but there are 2"):
        load_labelled(path, [IMAGE, OTHER], None)
    np.save(tmp_path / "l.npy", LABELS)
    with pytest.raises(InputError, match="the subfolders of a folder are its labels"):
        load_labelled(path, [IMAGE], tmp_path / "l.npy")
    (tmp_path / "l.txt").write_text("dog")
    with pytest.raises(InputError, match="no class is called 'cat'"):
        load_labelled(path, [IMAGE], tmp_path / "l.txt")
    (tmp_path / "l.txt").write_text("cat\ncat")
    with pytest.raises(InputError, match="must name each class once"):
        load_labelled(path, [IMAGE], tmp_path / "l.txt")
    with pytest.raises(InputError, match="not a readable text file"):
        load_labelled(path, [IMAGE], tmp_path / "none.txt")


def test_sequences_of_inputs(tmp_path: Path) -> None:
    sequences = np.arange(12, dtype=np.int8).reshape(2, 3, 1, 2)
    data = load_labelled(archive(tmp_path / "d.npz", x=sequences, y=[1, 0]), [IMAGE], None, True)
    assert len(data) == 2
    steps = [[int(step["image"][0, 0]) for step in data.steps(index)] for index in range(2)]
    assert steps == [[0, 2, 4], [6, 8, 10]]
    other = load_labelled(archive(tmp_path / "o.npz", x=sequences[:, 0], y=[1, 0]), [IMAGE], None)
    assert other.digest() != data.digest()
    for bad in ({"x": sequences[0, 0], "y": [1]}, {"x": sequences[:, :0], "y": [1, 0]}):
        with pytest.raises(InputError, match=r"must have the shape \(samples, steps, an input's"):
            load_labelled(archive(tmp_path / "b.npz", **bad), [IMAGE], None, True)


def test_each_file_of_a_folder_is_a_sequence(tmp_path: Path) -> None:
    for name, length in (("cat", 3), ("dog", 2)):
        (tmp_path / "d" / name).mkdir(parents=True)
        np.save(tmp_path / "d" / name / "1.npy", np.full((length, 1, 2), length, np.int8))
    data = load_labelled(tmp_path / "d", [IMAGE], None, True)
    assert (data.lengths, data.labels.tolist()) == ((3, 2), [0, 1])
    assert [len(data.steps(index)) for index in range(2)] == [3, 2]
