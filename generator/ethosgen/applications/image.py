"""Image classification: a camera with two buffers, the best classes of each frame."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ethosgen.applications.application import (
    TEMPLATES,
    Networks,
    Run,
    Settings,
    require_networks,
    require_one_port,
)
from ethosgen.applications.pictures import load_picture
from ethosgen.values.errors import InputError
from ethosgen.values.network import Tensor

_TYPES = ("int8", "uint8")
_PART_OF_SCORE = 65536
"""A score's step is a number of these parts of a thousandth; as in application.c."""
_MOST_PARTS = 1 << 54
"""Times the 9 bits of a score without its zero point, these fit into an int64."""
_THOUSAND = 1000
_TOP = 3
_DRAWN = 4
_CHANNELS = (1, 3)
_RANK = 4


@dataclass(frozen=True)
class Image:
    """Classifies the frames of a camera."""

    name: str = "image"
    templates: str = TEMPLATES
    title: str = "classify the frames of a camera with two buffers"
    accepts: str = "images, such as .png"
    files: tuple[str, ...] = (
        "application.c",
        "cache.h",
        "camera.c",
        "camera.h",
        "camera_dma_host.c",
        "labels.h",
        "settings.h",
    )

    def check(self, networks: Networks) -> None:
        """Raise InputError unless there is one network from an image to a score for each class."""
        require_networks(self.name, networks, 1, "one network, which classifies images")
        require_one_port(self.name, networks[0], _TYPES)
        tensor = networks[0].inputs[0]
        if len(tensor.shape) != _RANK or tensor.shape[0] != 1 or tensor.shape[3] not in _CHANNELS:
            raise InputError(
                f"--app {self.name} needs a network of one image, (1, height, width, 1 or 3), but "
                f"the input of '{networks[0].name}' is {tensor.shape}"
            )
        quantization = networks[0].outputs[0].quantization
        if quantization is None or not quantization.is_per_tensor:
            raise InputError(
                f"the scores of --app {self.name} need a scale, but the output of "
                f"'{networks[0].name}' has none"
            )
        if _score_parts(networks[0].outputs[0]) > _MOST_PARTS:
            raise InputError(
                f"--app {self.name} cannot show the scores of '{networks[0].name}' in 64 bits: "
                f"their scale is {quantization.scale[0]:g}"
            )

    def facts(self, networks: Networks) -> dict[str, Any]:
        """Return the labels, the number of them that is shown, and the step of a score."""
        tensor = networks[0].outputs[0]
        return {
            "labels": [f"class {number}" for number in range(tensor.elements)],
            "top": min(_TOP, tensor.elements),
            "score_parts": _score_parts(tensor),
            "part_of_score": _PART_OF_SCORE,
        }

    def item_bytes(self, networks: Networks) -> int:
        """Return the size of a frame."""
        return networks[0].inputs[0].elements

    def row_bytes(self, networks: Networks) -> int:
        """Return the size of a line of a frame."""
        return self.item_bytes(networks) // networks[0].inputs[0].shape[1]

    def item_s(self, settings: Settings) -> float | None:
        """Return None: cameras differ."""
        return None

    def load(self, paths: Sequence[Path], networks: Networks) -> list[bytes]:
        """Read images as frames of the camera."""
        _, height, width, channels = networks[0].inputs[0].shape
        return [load_picture(path, width, height, channels).tobytes() for path in paths]

    def draw(self, networks: Networks, seed: int) -> list[bytes]:
        """Return frames with a bright shape on a dark ground, and noise."""
        _, height, width, channels = networks[0].inputs[0].shape
        rng = np.random.default_rng(seed)
        rows, columns = np.mgrid[0:height, 0:width]
        frames = []
        for _ in range(_DRAWN):
            y, x = rng.uniform(0.3, 0.7, 2) * (height, width)
            distance = np.hypot((rows - y) / height, (columns - x) / width)
            shape = np.where(distance < rng.uniform(0.1, 0.4), 1.0, 0.1)[..., None]
            colour = rng.uniform(0.5, 1.0, channels) * 255
            noise = rng.normal(0, 8, (height, width, channels))
            frames.append(np.clip(shape * colour + noise, 0, 255).astype(np.uint8).tobytes())
        return frames

    def expect(
        self, items: Sequence[bytes], networks: Networks, run: Run, settings: Settings
    ) -> list[str]:
        """Return a line for each frame: its number, and the best classes with their scores."""
        source, output_tensor = networks[0].inputs[0], networks[0].outputs[0]
        low = int(np.iinfo(source.dtype).min)
        frames = [np.frombuffer(item, np.uint8).astype(np.int64) + low for item in items]
        inputs = [frame.astype(source.dtype).reshape(source.shape) for frame in frames]
        outputs = run(0, [{source.name: picture} for picture in inputs])
        return [
            f"frame{number:>5}{_best(output[output_tensor.name].ravel(), output_tensor, settings)}"
            for number, output in enumerate(outputs)
        ]


def _score_parts(tensor: Tensor) -> int:
    assert tensor.quantization is not None
    return round(tensor.quantization.scale[0] * _THOUSAND * _PART_OF_SCORE)


def _best(scores: np.ndarray[Any, Any], tensor: Tensor, settings: Settings) -> str:
    """Return the best classes with their scores; equal ones in their order."""
    assert tensor.quantization is not None
    text = ""
    for index in sorted(range(len(scores)), key=lambda i: (-int(scores[i]), i))[: settings["TOP"]]:
        parts = (int(scores[index]) - tensor.quantization.zero_point[0]) * _score_parts(tensor)
        size = abs(parts) // _PART_OF_SCORE
        sign = "-" if parts < 0 else " "
        text += f" {sign}{size // _THOUSAND}.{size % _THOUSAND:03} {settings.labels[index]}"
    return text


IMAGE = Image()
