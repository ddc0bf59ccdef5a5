"""Pictures as samples: their sizes, channels and scales."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from ethosgen.samples.labelled import Labelled, load_labelled
from ethosgen.samples.pictures import Preparation, meaning, read_picture, require_usable
from ethosgen.values.errors import InputError
from ethosgen.values.network import Quantization, Tensor

RGB = Tensor(0, "image", (1, 2, 4, 3), "int8", Quantization((1 / 127.5,), (-1,)))
GRAY = replace(RGB, shape=(1, 2, 4, 1))
PIXELS = np.random.default_rng(2).integers(0, 256, (2, 4, 3), np.uint8)
PIXELS[0, :2, 0] = 0, 255
AS_IT_IS = Preparation()


def picture(path: Path, pixels: np.ndarray = PIXELS, **options: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path, **options)  # type: ignore[arg-type]
    return path


@pytest.mark.parametrize(
    ("tensor", "expected"),
    [
        (RGB, PIXELS.astype(int) - 128),
        (replace(RGB, dtype="uint8"), PIXELS),
        (replace(RGB, shape=(2, 4, 3)), PIXELS.astype(int) - 128),
        (replace(RGB, shape=(1, 3, 2, 4)), PIXELS.transpose(2, 0, 1).astype(int) - 128),
    ],
)
def test_pixels_become_integers(tmp_path: Path, tensor: Tensor, expected: np.ndarray) -> None:
    pixels = read_picture(picture(tmp_path / "p.png"), tensor, AS_IT_IS)
    assert pixels.dtype == tensor.dtype and pixels.shape == tensor.shape
    assert np.array_equal(pixels.reshape(expected.shape), expected)


@pytest.mark.parametrize("shape", [(1, 2, 4, 1), (1, 2, 4), (2, 4), (1, 1, 2, 4)])
def test_colours_become_gray_if_the_input_is(tmp_path: Path, shape: tuple[int, ...]) -> None:
    tensor = replace(GRAY, shape=shape, dtype="uint8")
    pixels = read_picture(picture(tmp_path / "p.png"), tensor, AS_IT_IS)
    luma = PIXELS @ np.array([299, 587, 114]) / 1000  # ITU-R 601
    assert pixels.shape == shape
    assert np.abs(pixels.reshape(2, 4) - luma).max() <= 0.5 + 1e-9


def test_gray_pictures_and_those_with_alpha_fit_three_channels(tmp_path: Path) -> None:
    tensor = replace(RGB, dtype="uint8")
    gray = read_picture(picture(tmp_path / "g.png", PIXELS[..., 0]), tensor, AS_IT_IS)[0]
    assert all(np.array_equal(gray[..., channel], PIXELS[..., 0]) for channel in range(3))
    alpha = np.dstack([PIXELS, np.full((2, 4), 9, np.uint8)])
    assert np.array_equal(
        read_picture(picture(tmp_path / "a.png", alpha), tensor, AS_IT_IS)[0], PIXELS
    )


def test_pixels_are_normalised_and_quantized(tmp_path: Path) -> None:
    path = picture(tmp_path / "p.png")
    pixels = read_picture(path, RGB, Preparation((127.5,), (127.5,)))[0]
    exact = (PIXELS - 127.5) / 127.5 * 127.5 - 1
    assert np.abs(pixels - np.clip(exact, -128, 127)).max() <= 0.5 + 1e-4
    floats = replace(RGB, dtype="float32", quantization=None)
    mean, std = (123.7, 116.3, 103.5), (58.4, 57.1, 57.4)
    each = read_picture(path, floats, Preparation(mean, std))[0]
    assert np.allclose(each, (PIXELS - np.array(mean)) / np.array(std), rtol=1e-5)
    assert meaning(RGB, Preparation(mean)) == "(p - 123.7,116.3,103.5) / 1, quantized"
    assert meaning(RGB, AS_IT_IS).startswith("p - 128 as int8")
    assert meaning(replace(RGB, dtype="uint8"), AS_IT_IS).startswith("p as uint8")


def test_another_size_is_refused_or_resized(tmp_path: Path) -> None:
    wide = np.zeros((20, 160, 3), np.uint8)
    wide[:, :40, 0] = wide[:, 40:120, 1] = wide[:, 120:, 2] = 240
    path, tensor = picture(tmp_path / "wide.png", wide), replace(RGB, dtype="uint8")
    with pytest.raises(
        InputError, match=r"wide\.png: has the size 160x20, but the input needs 4x2"
    ):
        read_picture(path, tensor, AS_IT_IS)
    stretched = read_picture(path, tensor, Preparation(resize="stretch"))[0]
    assert stretched.argmax(-1).tolist() == [[0, 1, 1, 2]] * 2
    cropped = read_picture(path, tensor, Preparation(resize="crop"))[0]
    assert cropped.argmax(-1).tolist() == [[1, 1, 1, 1]] * 2


def test_a_turned_photograph_is_upright(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # turned by 90 degrees
    path = picture(tmp_path / "p.png", np.rot90(PIXELS).copy(), exif=exif)
    assert np.array_equal(read_picture(path, replace(RGB, dtype="uint8"), AS_IT_IS)[0], PIXELS)


def test_jpeg_is_read(tmp_path: Path) -> None:
    flat = np.full((2, 4, 3), 77, np.uint8)
    pixels = read_picture(picture(tmp_path / "p.JPG", flat), replace(RGB, dtype="uint8"), AS_IT_IS)
    assert np.abs(pixels.astype(int) - 77).max() <= 2


@pytest.mark.parametrize("cut", [0, 20, 60])
def test_damaged_pictures(tmp_path: Path, cut: int) -> None:
    path = picture(
        tmp_path / "p.png", np.random.default_rng(1).integers(0, 256, (2, 3, 3), np.uint8)
    )
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(InputError, match=r"p\.png: not a readable picture"):
        read_picture(path, RGB, AS_IT_IS)


def test_deep_pictures_are_refused(tmp_path: Path) -> None:
    path = picture(tmp_path / "p.png", np.zeros((2, 3), np.uint16))
    with pytest.raises(InputError, match="pixels of more than 8 bits"):
        read_picture(path, GRAY, AS_IT_IS)


@pytest.mark.parametrize(
    ("tensor", "preparation", "says"),
    [
        (replace(RGB, shape=(1, 2, 3, 4)), AS_IT_IS, "takes no pictures: they need 1 or 3"),
        (replace(RGB, shape=(1, 784)), AS_IT_IS, "takes no pictures"),
        (replace(RGB, dtype="float32"), AS_IT_IS, "name --mean and --std"),
        (replace(RGB, dtype="int16"), AS_IT_IS, "is int16, so pixels need the scale"),
        (RGB, Preparation(mean=(1.0, 2.0)), "--mean has 2 values, but 'image' has 3 channels"),
        (RGB, Preparation(std=(1.0, 0.0, 1.0)), "--std 0 would divide by zero"),
    ],
)
def test_inputs_that_take_no_pictures(tensor: Tensor, preparation: Preparation, says: str) -> None:
    with pytest.raises(InputError, match=says):
        require_usable(tensor, preparation)


def values(data: Labelled) -> list[int]:
    """Return the first pixel of each sample."""
    return [int(data.steps(index)[0]["image"].flat[0]) for index in range(len(data))]


def filled(paths: Sequence[Path]) -> None:
    """Write a picture of its own value to each path."""
    for value, path in enumerate(paths):
        picture(path, np.full((2, 4, 3), value, np.uint8))


def test_a_folder_of_pictures_for_each_class(tmp_path: Path) -> None:
    filled([tmp_path / "dog" / "a.png", tmp_path / "cat" / "b.png", tmp_path / "dog" / "c.bmp"])
    (tmp_path / "dog" / "notes.txt").write_text("not a picture")
    data = load_labelled(tmp_path, [RGB], None)
    assert (data.names, data.labels.tolist()) == (("cat", "dog"), [0, 1, 1])
    assert values(data) == [1 - 128, 0 - 128, 2 - 128]
    assert data.note.startswith("p - 128 as int8")
    turned = load_labelled(tmp_path, [RGB], None, preparation=Preparation((0.0,), (255.0,)))
    assert turned.digest() != data.digest() and turned.note == "(p - 0) / 255, quantized"


@pytest.mark.parametrize("head", ["", "file,label\n"])
def test_a_table_of_pictures_and_labels(tmp_path: Path, head: str) -> None:
    filled([tmp_path / "d" / "a.png", tmp_path / "d" / "more" / "b, c.png"])
    table = tmp_path / "labels.csv"
    table.write_text(f'{head}"more/b, c.png",7\na.png, 2\n')
    data = load_labelled(tmp_path / "d", [RGB], table)
    assert (data.names, data.labels.tolist(), values(data)) == ((), [7, 2], [-127, -128])
    table.write_text(f"{head}a.png,dog\n\na.png,cat\n")
    data = load_labelled(tmp_path / "d", [RGB], table)
    assert (data.names, data.labels.tolist()) == (("cat", "dog"), [1, 0])


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ("", "has no lines FILE,LABEL"),
        ("file,label\n", "has no lines FILE,LABEL"),
        ("a.png,1\nb.png,1\n", "line 2: .*b.png' is not a file of these"),
        ("a.png\n", "line 1: must be FILE,LABEL"),
        ("a.png,\n", "line 1: must be FILE,LABEL"),
    ],
)
def test_bad_tables(tmp_path: Path, lines: str, says: str) -> None:
    filled([tmp_path / "a.png"])
    table = tmp_path / "labels.csv"
    table.write_text(lines)
    with pytest.raises(InputError, match=says):
        load_labelled(tmp_path, [RGB], table)


def test_a_table_goes_with_a_folder(tmp_path: Path) -> None:
    np.savez(tmp_path / "d.npz", x=np.zeros((1, 2, 4, 3), np.int8))
    (tmp_path / "labels.csv").write_text("a.png,1\n")
    with pytest.raises(InputError, match="goes with a folder as --data"):
        load_labelled(tmp_path / "d.npz", [RGB], tmp_path / "labels.csv")


@pytest.mark.parametrize("most", [7, 3])
def test_a_picture_that_unpacks_to_too_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    path = picture(tmp_path / "p.png")  # 8 pixels; Pillow warns above its limit, and fails at twice
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", most)
    with pytest.raises(InputError, match=rf"p.png: has more than {most} pixels; make it smaller"):
        read_picture(path, RGB, AS_IT_IS)


def test_a_name_chooses_no_decoder(tmp_path: Path) -> None:
    picture(tmp_path / "p.ppm")
    (tmp_path / "p.ppm").rename(tmp_path / "p.png")
    with pytest.raises(InputError, match="not a readable picture"):
        read_picture(tmp_path / "p.png", RGB, AS_IT_IS)
    picture(tmp_path / "q.jpg").rename(tmp_path / "q.png")
    assert read_picture(tmp_path / "q.png", RGB, AS_IT_IS).shape == RGB.shape
