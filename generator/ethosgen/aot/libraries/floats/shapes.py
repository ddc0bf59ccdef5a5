"""The structs of ethosgen_floats.h."""

from typing import Annotated

from ethosgen.aot.tir.structs import Struct


class FloatMatrix(Struct, name="ethosgen_matrix_f32"):
    """Rows times weights; the steps are numbers of floats from a row to the next."""

    rows: int
    depth: int
    channels: int
    input_step: int
    output_step: int


def contiguous(rows: int, depth: int, channels: int) -> FloatMatrix:
    """Return the struct for rows that follow each other."""
    return FloatMatrix(
        rows=rows, depth=depth, channels=channels, input_step=depth, output_step=channels
    )


class FloatWindows(Struct, name="ethosgen_windows_f32"):
    """Windows along an axis."""

    source: Annotated[int, "elements of the input"]
    source_step: Annotated[int, "floats from one of them to the next"]
    taps: int
    stride: int
    dilation: int
    padding: int
    target: Annotated[int, "outputs"]
    target_step: Annotated[int, "floats from one of them to the next"]


class FloatConvolution(Struct, name="ethosgen_convolution_f32"):
    """A convolution.

    A column of outputs is computed from a strip: the input's rows under their windows, as wide as
    one window, with zeros outside the input. There the products of a window follow one another in
    their order.
    """

    vertical: FloatWindows
    horizontal: FloatWindows
    depth: Annotated[int, "channels of the input in a group"]
    groups: int
    group_weights: Annotated[int, "floats of a group's weights"]
    outputs: Annotated[int, "most outputs of a strip"]
    is_shared: Annotated[int, "whether windows share rows of the strip; else each has its own"]
    channels: Annotated[int, "channels of the output in a group"]


class FloatDepthwise(Struct, name="ethosgen_depthwise_f32"):
    """A depthwise convolution; the steps are numbers of floats."""

    channels: Annotated[int, "of the output"]
    tap_floats: Annotated[int, "from a tap to the next in its row of the input"]
    row_floats: Annotated[int, "from a tap to the one below"]
    weight_row: Annotated[int, "the same for the weights, in which taps are `channels` apart"]


class FloatPool(Struct, name="ethosgen_pool_f32"):
    """A pool; the steps are numbers of floats."""

    channels: int
    tap_floats: Annotated[int, "from an element of a window to the next in its row"]
    row_floats: Annotated[int, "from an element of a window to the one below"]
