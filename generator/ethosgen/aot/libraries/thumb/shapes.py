"""The structs of ethosgen_thumb.h."""

from typing import Annotated

from ethosgen.aot.libraries.framework.core import PlaneWindows
from ethosgen.aot.tir.structs import Struct


class ThumbMatrix(Struct, name="ethosgen_thumb_matrix"):
    """Rows times weights."""

    depth: int
    channels: int
    stride: Annotated[int, "between the outputs of a row and those of the next"]
    low: Annotated[int, "the bounds of the outputs"]
    high: int
    words: Annotated[int, "of temporary memory that the product needs: none on Armv7-M"]


class ThumbDepthwise(PlaneWindows, name="ethosgen_thumb_depthwise"):
    """A depthwise convolution; rows and columns may be exchanged."""

    plane_row: Annotated[int, "bytes between a plane's row and the next"]
    plane: Annotated[int, "bytes of a plane"]
    rows: Annotated[int, "of outputs"]
    pixels: Annotated[int, "outputs in a row"]
    strip: Annotated[int, "rows of outputs whose inputs the plane holds"]
    output_row: int
    output_step: int
    low: int
    high: int
