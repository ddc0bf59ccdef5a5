"""Image classification: on QEMU, with Zephyr, and what it expects."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ethosgen.applications import APPLICATIONS
from ethosgen.applications.labels import load_labels
from ethosgen.applications.pictures import load_picture
from ethosgen.flow import build_project, create_project
from ethosgen.frontend import read
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.values.errors import InputError
from ethosgen.values.plan import OffloadOptions
from ethosgen.values.recipe import Recipe
from ethosgen.values.schedule import Schedule
from ethosgen.values.watch import Watch
from tests import ROOT
from tests.support.application_projects import create, edited, run
from tests.support.needs import needs_extra, needs_qemu, needs_zephyr
from tests.support.networks import NetworkBuilder

IMAGE = APPLICATIONS["image"]
DIGITS = ROOT / "demo" / "digits_int8.tflite"
SEVEN = (
    "########",
    "########",
    "......##",
    ".....##.",
    "....##..",
    "...##...",
    "..##....",
    ".##.....",
)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return create(tmp_path_factory.mktemp("image"), [("digits", DIGITS.read_bytes())], "image")


def write_seven(path: Path, scale: int = 10) -> Path:
    from PIL import Image

    pixels = np.array([[255 * (mark == "#") for mark in row] for row in SEVEN], np.uint8)
    Image.fromarray(np.kron(pixels, np.ones((scale, scale), np.uint8))).save(path)
    return path


@needs_qemu
def test_every_frame_follows_from_the_oracles_outputs(project: Path) -> None:
    report = run(project)
    assert report.passed and report.items == len(report.lines) > 2
    assert [line.split()[1] for line in report.lines] == [str(i) for i in range(report.items)]
    assert all(line.count("class") == 3 for line in report.lines)


@needs_qemu
@needs_extra("images")
def test_a_png_becomes_a_frame_of_the_camera(project: Path, tmp_path: Path) -> None:
    report = run(project, write_seven(tmp_path / "seven.png"), write_seven(tmp_path / "7.png", 1))
    assert report.passed and report.items == 2
    assert [line.split("class")[1].split()[0] for line in report.lines] == ["7", "7"]


@needs_qemu
def test_labels_name_the_classes(tmp_path: Path) -> None:
    names = "zero one two three four five six seven eight nine".split()
    (tmp_path / "labels.txt").write_text("\n".join(names) + "\n")
    labels = tmp_path / "labels.txt"
    place = create(tmp_path, [("digits", DIGITS.read_bytes())], "image", labels=labels)
    report = run(place, seed=4)
    assert report.passed
    assert {word for line in report.lines for word in line.split()[3::2]} <= set(names)


@needs_qemu
def test_an_application_that_shows_the_wrong_frame_fails(project: Path) -> None:
    with edited(project, "camera.c", "buffers[filling];", "buffers[(filling + 1u) % BUFFERS];"):
        report = run(project)
    assert report.verdict == "FAIL" and "frame" in report.first


@needs_qemu
def test_lines_of_a_camera_are_fed_without_a_whole_frame(tmp_path: Path) -> None:
    model = tmp_path / "digits.tflite"
    model.write_bytes(DIGITS.read_bytes())
    fed = OffloadOptions(check=False, schedule=Schedule(feed=True))
    wanted = Recipe((model,), "corstone300", "none", app="image", options=fed)
    place = tmp_path / "fed"
    create_project(wanted, directory=place, watch=Watch())
    build_project(place, watch=Watch())
    report = run(place, seed=4)
    assert report.passed and report.items == len(report.lines) > 2
    with edited(place, "application.c", "line = (line + 1u)", "line = (line + 2u)"):
        report = run(place)
    assert report.verdict == "FAIL" and not any("class" in line for line in report.lines)
    with pytest.raises(InputError, match="writes whole inputs; leave out --feed"):
        create_project(replace(wanted, app="mlperf"), directory=tmp_path / "a", watch=Watch())


@needs_zephyr
@needs_qemu
@pytest.mark.slow
def test_it_runs_with_zephyr(tmp_path: Path) -> None:
    report = run(create(tmp_path, [("digits", DIGITS.read_bytes())], "image", "zephyr"))
    assert report.passed and len(report.lines) == report.items


def test_networks_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    IMAGE.check([read(DIGITS)])
    net = NetworkBuilder("flat")
    flat = parse_network(net.build(net.fully_connected(net.input((1, 16)), 3)), "flat")
    with pytest.raises(InputError, match=r"a network of one image, .* 'flat' is \(1, 16\)"):
        IMAGE.check([flat])
    with pytest.raises(InputError, match="one network, which classifies images, but got 2"):
        IMAGE.check([flat, flat])
    huge = NetworkBuilder("huge")
    scores = huge.reshape(huge.input((1, 2, 2, 1), scale=1e12), (1, 4))
    with pytest.raises(InputError, match=r"cannot show the scores of 'huge' in 64 bits"):
        IMAGE.check([parse_network(huge.build(scores), "huge")])
    wide = NetworkBuilder("wide")
    x = wide.quantize(wide.input((1, 4, 4, 1), dtype="int16"), "int8", 0.1, 0)
    with pytest.raises(InputError, match="the input of 'wide' is int16"):
        IMAGE.check([parse_network(wide.build(x), "wide")])


def test_nothing_is_written_if_the_network_does_not_fit(tmp_path: Path) -> None:
    net = NetworkBuilder("flat")
    flat = net.build(net.fully_connected(net.input((1, 16)), 3))
    with pytest.raises(InputError, match="--app image"):
        create(tmp_path, [("flat", flat)], "image", build=False)
    assert not (tmp_path / "image_baremetal").exists()
    with pytest.raises(InputError, match="--app image is for --platform baremetal or zephyr"):
        create(tmp_path, [("digits", DIGITS.read_bytes())], "image", "csolution", build=False)


@needs_extra("images")
def test_pictures_get_the_cameras_size(tmp_path: Path) -> None:
    path = write_seven(tmp_path / "seven.png")
    assert load_picture(path, 8, 8, 1).shape == (8, 8, 1)
    colour = load_picture(path, 5, 7, 3)
    assert colour.shape == (7, 5, 3) and (colour[..., 0] == colour[..., 2]).all()
    (tmp_path / "none.png").write_text("text")
    with pytest.raises(InputError, match="is not an image"):
        load_picture(tmp_path / "none.png", 8, 8, 1)
    with pytest.raises(InputError, match="there is no image"):
        load_picture(tmp_path / "missing.png", 8, 8, 1)


@needs_extra("images")
def test_a_picture_that_unpacks_to_too_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_seven(tmp_path / "seven.png")
    monkeypatch.setattr("PIL.Image.MAX_IMAGE_PIXELS", 10)
    with pytest.raises(InputError, match="has more than 10 pixels; make it smaller"):
        load_picture(path, 8, 8, 1)


@needs_extra("images")
def test_no_other_decoder_of_pillow_gets_a_picture(tmp_path: Path) -> None:
    from PIL import Image

    path = tmp_path / "seven.png"
    Image.new("RGB", (8, 8)).save(path, "EPS")  # Pillow's decoder starts Ghostscript
    with pytest.raises(InputError, match="is not an image"):
        load_picture(path, 8, 8, 1)


@pytest.mark.parametrize(
    ("text", "fault"),
    [("a\nb\n", "has 2 labels, but the network has 3 classes"), ('a\n"b"\nc', "line 2 of")],
)
def test_bad_labels_get_a_sentence(text: str, fault: str, tmp_path: Path) -> None:
    (tmp_path / "labels.txt").write_text(text)
    with pytest.raises(InputError, match=fault):
        load_labels(tmp_path / "labels.txt", 3)
