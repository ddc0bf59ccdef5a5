"""The structs of ethosgen_thumb.h."""

from typing import Annotated

from ethosgen.aot.tir.structs import Struct


class ThumbMatrix(Struct, name="ethosgen_thumb_matrix"):
    """Rows times weights."""

    depth: int
    channels: int
    stride: Annotated[int, "between the outputs of a row and those of the next"]
    low: Annotated[int, "the bounds of the outputs"]
    high: int
    words: Annotated[int, "of temporary memory that the product needs: none on Armv7-M"]


class ThumbDepthwise(Struct, name="ethosgen_thumb_depthwise"):
    """A depthwise convolution; rows and columns may be exchanged."""

    height: Annotated[int, "of the input, in rows"]
    width: Annotated[int, "columns of the input that are used"]
    channels: int
    copies: Annotated[int, "adjacent outputs for each channel of the input"]
    row_bytes: int
    column_bytes: int
    zero_point: Annotated[int, "of the input: the value of its padding"]
    taps_y: int
    taps_x: int
    dilation_y: int
    dilation_x: int
    stride_y: int
    stride_x: int
    before_y: Annotated[int, "padding"]
    before_x: int
    plane_row: Annotated[int, "bytes between a plane's row and the next"]
    plane: Annotated[int, "bytes of a plane"]
    rows: Annotated[int, "of outputs"]
    pixels: Annotated[int, "outputs in a row"]
    strip: Annotated[int, "rows of outputs whose inputs the plane holds"]
    output_row: int
    output_step: int
    low: int
    high: int
