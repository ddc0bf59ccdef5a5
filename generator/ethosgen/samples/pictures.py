"""Pictures as samples: decoded by Pillow, in the input's size, channels and scale."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ethosgen.host.extras import EXTRAS
from ethosgen.samples.quantizing import quantized
from ethosgen.values.errors import InputError
from ethosgen.values.grammar import counted
from ethosgen.values.network import Tensor

if TYPE_CHECKING:
    from PIL.Image import Image

Array = np.ndarray[Any, Any]

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp")
_FORMATS = ("PNG", "JPEG", "BMP")
STRETCH, CROP = "stretch", "crop"
RESIZES = (STRETCH, CROP)
_MODES = {1: "L", 3: "RGB"}
_EIGHT_BITS = ("1", "L", "LA", "P", "PA", "RGB", "RGBA", "RGBX", "CMYK", "YCbCr")
"""Pillow's modes with 8 bits for each channel, or fewer."""
_BYTES = {"uint8": 0, "int8": -128}
"""What is added to a pixel that becomes an integer of the input as it is."""


@dataclass(frozen=True)
class Preparation:
    """The conversion of a pixel p, 0 to 255, to (p - mean) / std, which is then quantized.

    Each has one value, or one for each channel. Without both, p is the integer of a uint8 input,
    and p - 128 that of an int8 one. A picture of another size is refused, unless `resize` says to
    STRETCH it, or to CROP it to the input's proportions from the middle first. `pad` is for sounds:
    add silence, or cut off the end.
    """

    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()
    resize: str | None = None
    pad: bool = False


AS_IT_IS = Preparation()


@dataclass(frozen=True)
class _Layout:
    """An image input: its size, and the place of its channels."""

    height: int
    width: int
    channels: int
    is_first: bool


def require_usable(tensor: Tensor, preparation: Preparation) -> None:
    """Raise InputError for an input that takes no pictures, or none with this preparation."""
    layout = _layout(tensor)
    for name, values in (("mean", preparation.mean), ("std", preparation.std)):
        if len(values) not in (0, 1, layout.channels):
            raise InputError(
                f"--{name} has {counted(len(values), 'value')}, but '{tensor.name}' has "
                f"{counted(layout.channels, 'channel')}; give one value, or one for each"
            )
    if 0 in preparation.std:
        raise InputError("--std 0 would divide by zero")
    if not (preparation.mean or preparation.std) and tensor.dtype not in _BYTES:
        raise InputError(
            f"'{tensor.name}' is {tensor.dtype}, so pixels need the scale of training: a pixel p "
            "from 0 to 255 becomes (p - mean) / std; name --mean and --std"
        )


def meaning(tensor: Tensor, preparation: Preparation) -> str:
    """Return a sentence about the conversion of a pixel."""
    if preparation.mean or preparation.std:
        mean, std = (
            ",".join(f"{value:g}" for value in values) or default
            for values, default in ((preparation.mean, "0"), (preparation.std, "1"))
        )
        return f"(p - {mean}) / {std}, quantized"
    offset = _BYTES[tensor.dtype]
    return f"{f'p - {-offset}' if offset else 'p'} as {tensor.dtype}; else name --mean and --std"


def read_picture(path: Path, tensor: Tensor, preparation: Preparation) -> Array:
    """Return a picture in an input's shape and type; InputError names the file and the fault."""
    layout = _layout(tensor)
    pixels = np.asarray(_open(path, layout, preparation.resize))
    pixels = pixels.reshape(layout.height, layout.width, layout.channels)
    if preparation.mean or preparation.std:
        mean = np.array(preparation.mean or 0.0, np.float32)
        std = np.array(preparation.std or 1.0, np.float32)
        array = quantized((pixels.astype(np.float32) - mean) / std, tensor)
    else:
        array = (pixels.astype(np.int16) + _BYTES[tensor.dtype]).astype(tensor.dtype)
    return (array.transpose(2, 0, 1) if layout.is_first else array).reshape(tensor.shape)


def _layout(tensor: Tensor) -> _Layout:
    """Return the layout of (1, H, W, C), (1, C, H, W), (H, W, C), or (1, H, W) with gray values."""
    shape = tensor.shape[1:] if tensor.shape[:1] == (1,) else tensor.shape
    if len(shape) == 2:
        return _Layout(*shape, channels=1, is_first=False)
    if len(shape) == 3 and shape[2] in _MODES:
        return _Layout(*shape, is_first=False)
    if len(shape) == 3 and shape[0] in _MODES:
        return _Layout(*shape[1:], channels=shape[0], is_first=True)
    raise InputError(
        f"input '{tensor.name}' has the shape {list(tensor.shape)}, which takes no pictures: they "
        "need 1 or 3 channels; pass arrays"
    )


@contextmanager
def open_picture(path: Path, formats: tuple[str, ...]) -> Iterator["Image"]:
    """Open a picture of one of Pillow's formats, whatever its name says.

    Other decoders never see the file: EPS's would start Ghostscript. Pillow's exceptions pass;
    InputError for a picture that would unpack to more pixels than Pillow thinks safe.
    """
    from PIL import Image

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        try:
            with Image.open(path, formats=formats) as file:
                yield file
        except (Image.DecompressionBombWarning, Image.DecompressionBombError):
            most = counted(Image.MAX_IMAGE_PIXELS or 0, "pixel")
            raise InputError(f"{path}: has more than {most}; make it smaller") from None


def _open(path: Path, layout: _Layout, resize: str | None) -> "Image":
    """Return a picture in the input's size and channels."""
    EXTRAS["images"].require("reading pictures")
    from PIL import Image, ImageOps

    try:
        with open_picture(path, _FORMATS) as file:
            if file.mode not in _EIGHT_BITS:
                raise InputError(
                    f"{path}: has pixels of more than 8 bits (Pillow's mode {file.mode}); save it "
                    "with 8 bits for each channel"
                )
            picture = ImageOps.exif_transpose(file).convert(_MODES[layout.channels])
    except (OSError, ValueError, SyntaxError, MemoryError):
        raise InputError(f"{path}: not a readable picture") from None
    size = (layout.width, layout.height)
    if picture.size == size:
        return picture
    if resize is None:
        have, need = ("x".join(map(str, extent)) for extent in (picture.size, size))
        raise InputError(
            f"{path}: has the size {have}, but the input needs {need}; resize it as for "
            f"training, or with --resize {STRETCH} or {CROP}"
        )
    if resize == CROP:
        return ImageOps.fit(picture, size, Image.Resampling.BILINEAR)
    return picture.resize(size, Image.Resampling.BILINEAR)
