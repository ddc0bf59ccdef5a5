"""The structs of ethosgen_dsp.h and ethosgen_dsp_s16.h."""

from typing import Annotated

from ethosgen.aot.libraries.framework.core import (
    CoreCell,
    CoreMultiplier,
    CoreScale,
    PlaneWindows,
)
from ethosgen.aot.tir.structs import Struct, Unsigned


class DspMatrix(Struct, name="ethosgen_dsp_matrix"):
    """Rows times weights."""

    depth: int
    first: Annotated[int, "steps of 4 in the first part of the depth: those that the others leave"]
    part: Annotated[int, "steps in each other part, a multiple of 4; 0 if there is none"]
    channels: int
    stride: Annotated[int, "between the outputs of a row and those of the next"]
    low: Annotated[int, "the bounds of the outputs"]
    high: int


class DspDepthwise(PlaneWindows, name="ethosgen_dsp_depthwise"):
    """A depthwise convolution; rows and columns may be exchanged."""

    plane_row: Annotated[int, "values between a plane's row and the next, even"]
    plane: Annotated[int, "values in a plane"]
    rows: Annotated[int, "of outputs"]
    pixels: Annotated[int, "outputs in a row"]
    strip: Annotated[int, "rows of outputs whose inputs the planes hold"]
    output_row: int
    output_step: int
    is_3x3: Annotated[int, "steps of 1 or 2 columns, adjacent taps, rows and columns not exchanged"]
    low: int
    high: int


class DspLanes(Struct, name="ethosgen_dsp_lanes"):
    """A depthwise convolution whose outputs are computed 4 channels at a time, in blocks."""

    height: Annotated[int, "of the input"]
    width: int
    channels: int
    zero_point: Annotated[int, "of the input: the value of its padding"]
    taps_y: int
    taps_x: int
    dilation_y: int
    dilation_x: int
    stride_y: int
    stride_x: int
    before_y: Annotated[int, "padding"]
    before_x: int
    rows: Annotated[int, "of outputs"]
    columns: int
    outputs: Annotated[int, "channels of the output"]
    blocks: int
    low: int
    high: int


class DspProduct(Struct, name="ethosgen_dsp_product"):
    """The product of two matrices.

    A part of the depth has an extra place if the second has a zero point.
    """

    rows: int
    depth: int
    columns: int
    first_step: Annotated[int, "between places of the depth in the first matrix"]
    first_next: Annotated[int, "between its rows"]
    first_zero: int
    second_step: Annotated[int, "between places of the depth in the second matrix"]
    second_next: Annotated[int, "between its columns"]
    second_zero: int
    panel: Annotated[int, "columns that are packed at a time, even"]
    parts: Annotated[int, "of the depth"]
    part_depth: Annotated[int, "places in each part but the last"]
    part: Annotated[int, "steps of 4 places in each part"]
    scales: Annotated[tuple[CoreScale, CoreScale], "of an even column, and of an odd one"]


class DspMatrixS16(Struct, name="ethosgen_dsp_matrix_s16"):
    """Rows times weights."""

    depth: int
    part: Annotated[
        int, "pairs of places whose sum fits in 32 bits; 0 if all do and no shift is negative"
    ]
    channels: int
    stride: Annotated[int, "between the outputs of a row and those of the next"]
    low: Annotated[int, "the bounds of the outputs"]
    high: int


class DspDepthwiseS16(Struct, name="ethosgen_dsp_depthwise_s16"):
    """A depthwise convolution; steps are between values."""

    channels: Annotated[int, "of the outputs"]
    copies: Annotated[int, "adjacent outputs for each channel of the input"]
    row: Annotated[int, "from a row under a window to the next"]
    tap: Annotated[int, "from a tap's pixel to the next"]
    weight_row: int
    low: int
    high: int


class DspPoolS16(Struct, name="ethosgen_dsp_pool_s16"):
    """A pool over pixels of at least 2 `channels`, and the bounds of its outputs."""

    row_step: Annotated[int, "values from a row of the input to the next"]
    channels: int
    low: int
    high: int


class DspLstmS16(Struct, name="ethosgen_dsp_lstm_s16"):
    """An LSTM: the gates of all units from the features, and from the hidden state."""

    steps: int
    row_step: Annotated[int, "rows from a time step to the next, in the input and in the output"]
    forward: Annotated[DspMatrixS16, "from the features"]
    back: Annotated[DspMatrixS16, "from the hidden state"]
    cell: CoreCell


class DspProductS16(Struct, name="ethosgen_dsp_product_s16"):
    """A product of matrices. Sums become outputs as with a struct ethosgen_dsp_scale_s16."""

    rows: int
    depth: int
    columns: int
    place_step: Annotated[int, "between a place of a column and the next, in the second matrix"]
    column_step: Annotated[int, "between a column and the next"]
    low: Unsigned
    high: int
    mantissa: int
    shift: int


class DspCurveS16(Struct, name="ethosgen_dsp_curve_s16"):
    """The logistic function or tanh of (value * factor + half) / 2^shift, rounded down."""

    factor: int
    half: int
    shift: int
    is_tanh: int


class DspSoftmaxS16(Struct, name="ethosgen_dsp_softmax_s16"):
    """Rows of a SOFTMAX of int16; `scale` is from distances to the argument of exp."""

    depth: int
    scale: CoreMultiplier
