"""Reads images as a camera's frames."""

from pathlib import Path
from typing import Any

import numpy as np

from ethosgen.host.extras import EXTRAS
from ethosgen.samples.pictures import open_picture
from ethosgen.values.errors import InputError, reason_of

_FORMATS = ("PNG", "JPEG", "BMP", "GIF", "PPM", "TIFF", "WEBP")


def load_picture(
    path: Path, width: int, height: int, channels: int
) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Return an image in a camera's size, (height, width, channels), in grey or in colour.

    Transparent parts are black. InputError for another file, ToolError without Pillow.
    """
    EXTRAS["images"].require("reading images")
    from PIL import Image, UnidentifiedImageError

    try:
        with open_picture(path, _FORMATS) as image:
            whole = Image.new("RGBA", image.size, "black")
            whole.alpha_composite(image.convert("RGBA"))
            shown = whole.convert("L" if channels == 1 else "RGB")
            if shown.size != (width, height):
                shown = shown.resize((width, height), Image.Resampling.BILINEAR)
            return np.asarray(shown, np.uint8).reshape(height, width, channels)
    except FileNotFoundError:
        raise InputError(f"there is no image '{path}'") from None
    except UnidentifiedImageError:
        raise InputError(f"'{path}' is not an image that Pillow reads, such as a .png") from None
    except (OSError, ValueError, SyntaxError, MemoryError) as error:
        raise InputError(f"cannot read the image '{path}': {reason_of(error)}") from None
