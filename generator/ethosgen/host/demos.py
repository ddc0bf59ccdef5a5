"""Demos that come with ethosgen: their files, and the commands that run them."""

from dataclasses import dataclass
from pathlib import Path

from ethosgen.host.resources import resource_folder
from ethosgen.values.errors import InputError
from ethosgen.values.grammar import unknown

DEMO_FOLDER = "demo"
"""The folder of the files: in the package when installed, else at the repository's root."""


@dataclass(frozen=True)
class Demo:
    """A demo: its files below DEMO_FOLDER, and the commands for the folder with their copies."""

    name: str
    title: str
    files: tuple[str, ...]
    commands: tuple[str, ...]


DEMOS = (
    Demo(
        "digits",
        "reads handwritten digits of 8x8 pixels",
        ("digits_int8.tflite",),
        ("ethosgen verify digits_int8.tflite --board corstone300",),
    ),
    Demo(
        "anomaly",
        "finds a damaged bearing in a motor's vibration",
        ("vibration_int8.tflite", "vibration.py"),
        (
            "python vibration.py motor.csv  # needs numpy",
            "ethosgen project vibration_int8.tflite --board corstone300 --app anomaly -o motor",
            "ethosgen build motor",
            "ethosgen run motor motor.csv",
        ),
    ),
    Demo(
        "kws",
        "spots eight spoken words in a stream of sound",
        ("kws_front_end.tflite", "kws_int8.tflite", "kws_words.wav"),
        (
            "ethosgen project kws_front_end.tflite kws_int8.tflite --board corstone300 --app kws"
            " -o listener",
            "ethosgen build listener",
            "ethosgen run listener kws_words.wav",
        ),
    ),
)
DEMO_FILES = tuple(name for demo in DEMOS for name in demo.files)


def find_demo(name: str) -> Demo:
    """Return a demo; InputError for an unknown name."""
    known = {demo.name: demo for demo in DEMOS}
    if name not in known:
        raise InputError(unknown("demo", name, known))
    return known[name]


def copy_demo(demo: Demo, folder: Path) -> tuple[Path, ...]:
    """Copy a demo's files to a folder, created if missing; return the copies.

    Equal files may already exist; InputError for different ones, before anything is written.
    """
    source = resource_folder(DEMO_FOLDER)
    content = {folder / name: (source / name).read_bytes() for name in demo.files}
    try:
        for place, data in content.items():
            if place.exists() and (not place.is_file() or place.read_bytes() != data):
                raise InputError(
                    f"'{place}' exists and is not the demo's; choose another folder with -o FOLDER"
                )
        folder.mkdir(parents=True, exist_ok=True)
        for place, data in content.items():
            place.write_bytes(data)
    except OSError as error:
        raise InputError(
            f"cannot copy the demo to '{folder}': {error.strerror}; choose another folder with "
            "-o FOLDER"
        ) from None
    return tuple(content)
