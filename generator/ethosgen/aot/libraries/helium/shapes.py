"""The structs of ethosgen_kernels.h and ethosgen_kernels_s16.h."""

from typing import Annotated

from ethosgen.aot.libraries.framework.core import CorePool
from ethosgen.aot.libraries.framework.products import OutputRange
from ethosgen.aot.loops.layer import Layer
from ethosgen.aot.tir.quantization import zero_point_of
from ethosgen.aot.tir.structs import Struct


def output_of(layer: Layer) -> OutputRange:
    """Return the zero point and the bounds of a layer's outputs."""
    low, high = layer.whole_bounds
    return OutputRange(zero_point=zero_point_of(layer.target), low=low, high=high)


class HeliumMatrix(Struct, name="ethosgen_matrix"):
    """Rows of `depth` bytes; each is multiplied by `channels` weight vectors."""

    rows: int
    depth: int
    channels: int
    output: OutputRange
    has_common_shifts: Annotated[int, "1 if all shifts are from -22 to -2, else 0"]


class HeliumAxis(Struct, name="ethosgen_axis"):
    """One axis of a convolution's input and output."""

    size: Annotated[int, "of the input, in pixels"]
    input_step: Annotated[int, "bytes from a pixel of the input to the next"]
    padding: Annotated[int, "before the input"]
    stride: int
    dilation: int
    outputs: int
    output_step: Annotated[int, "bytes from an output to the next"]


class HeliumConvolution(Struct, name="ethosgen_convolution"):
    """A convolution, and its strip: a copy of some rows of the input, as columns.

    Pixel x of row y is at (x * height + y) * depth, so each window is contiguous in the strip: a
    row of the matrix. The axis `along` the strip may be the height or the width of the picture;
    `across` is the other axis. Phases are those of struct ethosgen_depthwise. In place there is no
    strip, and windows are in the input.
    """

    depth: Annotated[int, "bytes of a pixel"]
    zero_point: Annotated[int, "of the input"]
    along: HeliumAxis
    across: HeliumAxis
    phases: int
    pixels: Annotated[int, "at most, outputs of a row that are computed from the same strip"]
    columns: Annotated[int, "of the strip"]
    height: Annotated[int, "rows of a window"]
    window_step: Annotated[int, "bytes from a window to the next"]
    bytes: Annotated[int, "of the strip, or of the input in place"]
    matrix: HeliumMatrix


class Two(Struct, name="ethosgen_two"):
    """A convolution to one or two channels, whose windows are inside it; steps are in bytes."""

    rows: Annotated[int, "of outputs"]
    pixels: Annotated[int, "of a row of outputs"]
    row_step: Annotated[int, "from the first window of a row to that of the next"]
    pixel_step: Annotated[int, "from a window to the next in its row"]
    taps: Annotated[int, "rows of a window, each one piece of the input"]
    tap_step: Annotated[int, "from a row of a window to the next"]
    tap_bytes: int
    channels: int
    output: OutputRange


class HeliumWindow(Struct, name="ethosgen_window"):
    """A window over an input of `height` x `width` pixels.

    It also works on the bytes of int16 values, whose zero point is 0.
    """

    height: int
    width: int
    channels: Annotated[int, "bytes that are copied of each pixel"]
    taps_y: int
    taps_x: int
    dilation_y: int
    dilation_x: int
    zero_point: Annotated[int, "of the input: the value of its padding"]
    pixel: Annotated[int, "bytes in a pixel"]


class HeliumDepthwise(Struct, name="ethosgen_depthwise"):
    """A depthwise convolution, and its lines: each has one channel of some rows of the input.

    Its columns are the input's: byte (x * height + y) is pixel x of row y. So a window is
    contiguous in it. The axis `along` the lines may be the height or the width of the picture;
    `across` is the other axis.

    If the windows are dilated along the lines, the outputs are computed in phases: a phase reads
    columns of the input at equal distances, and the lines have only these. Long rows are computed
    piece by piece.
    """

    channels: int
    copies: Annotated[int, "adjacent outputs for each channel of the input"]
    zero_point: Annotated[int, "of the input"]
    along: HeliumAxis
    across: HeliumAxis
    phases: int
    pixels: Annotated[int, "at most, outputs of a row that are computed from the same lines"]
    block: Annotated[int, "channels that have lines at a time; a multiple of 8"]
    columns: Annotated[int, "of a line"]
    height: Annotated[int, "bytes of a column"]
    line_bytes: Annotated[int, "of a line, divided by the channels that share it"]
    rows: Annotated[int, "rows of a window"]
    shared: Annotated[int, "rows of outputs that are computed from the same lines"]
    second: Annotated[int, "bytes to a second set of lines, if outputs lie over inputs, else 0"]
    window_step: Annotated[int, "bytes from a window to the next in its line"]
    taps: Annotated[int, "bytes of a window, of which some have weight 0"]
    vectors: Annotated[int, "vectors of 16 bytes in a window"]
    output: OutputRange


class HeliumPad(Struct, name="ethosgen_pad"):
    """Rows of an input, and the padding around them, in bytes; all padding has one value."""

    rows: int
    row_bytes: int
    before: Annotated[int, "the first row"]
    between: Annotated[int, "two rows"]
    after: Annotated[int, "the last row"]
    value: int


class Transpose(Struct, name="ethosgen_transpose"):
    """A matrix of a tensor's elements: a part of them, if steps are longer than rows."""

    rows: int
    columns: int
    input_step: Annotated[int, "bytes from a row of the input to the next"]
    output_step: Annotated[int, "bytes from a row of the output to the next"]


class HeliumPool(CorePool, name="ethosgen_pool"):
    """A pool over pixels of `channels` bytes, and the bounds of its outputs."""


class ScaledInput(Struct, name="ethosgen_scaled"):
    """An input of a sum: its zero point, and its scale divided by twice the larger scale."""

    zero_point: int
    mantissa: int
    shift: Annotated[int, "0 or negative"]


class Add(Struct, name="ethosgen_add"):
    """A sum or a difference; each sign is 1 or -1."""

    first: ScaledInput
    second: ScaledInput
    first_sign: int
    second_sign: int
    mantissa: int
    shift: Annotated[int, "0 or negative"]
    output: OutputRange


class Mul(Struct, name="ethosgen_mul"):
    """The product of two inputs."""

    first_zero_point: int
    second_zero_point: int
    mantissa: int
    shift: Annotated[int, "0 or negative"]
    output: OutputRange


class HeliumMultiplier(Struct, name="ethosgen_multiplier"):
    """A factor of any size: value * 2^left * mantissa / 2^31 * 2^right, rounded twice."""

    mantissa: int
    left: int
    right: Annotated[int, "0 or negative"]


class HeliumSvdf(Struct, name="ethosgen_svdf"):
    """An SVDF: the filters of a unit are adjacent, `rank` for each."""

    depth: int
    units: int
    rank: int
    memory: Annotated[int, "time steps in the state of each filter"]
    into: Annotated[HeliumMultiplier, "from sums of features to the state"]
    out: HeliumMultiplier
    output: OutputRange


class HeliumLstm(Struct, name="ethosgen_lstm"):
    """An LSTM. Its gates are in the order input, forget, cell, output."""

    steps: int
    row_step: Annotated[int, "rows from a time step to the next, in the input and in the output"]
    features: int
    units: int
    forward: Annotated[
        tuple[HeliumMultiplier, HeliumMultiplier, HeliumMultiplier, HeliumMultiplier],
        "from the sums of each gate with the input to 2^-12",
    ]
    back: Annotated[
        tuple[HeliumMultiplier, HeliumMultiplier, HeliumMultiplier, HeliumMultiplier],
        "the same with the hidden state",
    ]
    kept: HeliumMultiplier
    added: HeliumMultiplier
    hidden: HeliumMultiplier
    cell_low: int
    cell_high: int
    cell_factor: Annotated[int, "with the right shift, from the cell state to the argument of tanh"]
    cell_shift: int
    output: OutputRange


class HeliumDepthwiseS16(Struct, name="ethosgen_depthwise_s16"):
    """A depthwise convolution of int16; elements count int16_t values."""

    channels: int
    row_elements: Annotated[int, "between a tap and the one below"]
    tap_elements: Annotated[int, "between a tap and the next in its row"]
    weight_row: Annotated[int, "weights between a tap and the one below"]
    output: OutputRange


class AddS16(Struct, name="ethosgen_add_s16"):
    """A sum or a difference.

    Rescaling halves the input with the larger scale, which is exact after the shift; so it is the
    first input.
    """

    first_factor: Annotated[int, "2^14; -2^14 if it is subtracted"]
    second_sign: Annotated[int, "1; -1 if it is subtracted"]
    second_mantissa: int
    second_shift: Annotated[int, "negative"]
    mantissa: int
    shift: Annotated[int, "negative"]
    low: int
    high: int


class MulS16(Struct, name="ethosgen_mul_s16"):
    """The product of two inputs."""

    mantissa: int
    shift: Annotated[int, "negative"]
    low: int
    high: int


class HeliumPoolS16(Struct, name="ethosgen_pool_s16"):
    """A pool over pixels of `channels` elements; the steps are in elements, too."""

    row_step: int
    channels: int
    low: int
    high: int


class HeliumCurveS16(Struct, name="ethosgen_curve_s16"):
    """A logistic function or tanh. The argument is input * factor / 2^shift / (3 * 4096)."""

    factor: int
    shift: int
    is_tanh: int


class HeliumProductS16(Struct, name="ethosgen_product_s16"):
    """The product of two run-time matrices: `rows` x `columns` vectors of `depth` elements."""

    rows: int
    depth: int
    columns: int
    scale: Annotated[tuple[int, int, int, int], "as one channel's of ethosgen_matrix_wide_s16"]


class HeliumSoftmaxS16(Struct, name="ethosgen_softmax_s16"):
    """A softmax of rows, and the factor from a distance to the largest element to the curve."""

    rows: int
    depth: Annotated[int, "below 65536"]
    scale: HeliumMultiplier
