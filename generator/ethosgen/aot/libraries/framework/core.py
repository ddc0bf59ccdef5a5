"""The structs of ethosgen_core.h, for all processors without Helium."""

from typing import Annotated

from ethosgen.aot.tir.structs import Struct


class CoreScale(Struct, name="ethosgen_core_scale"):
    """The conversion of a channel's sums to outputs."""

    bias: Annotated[
        int, "with DSP instructions doubled, except that of an even channel of a matrix"
    ]
    mantissa: int
    addend: Annotated[int, "half a step of the shift, and the zero point shifted left"]
    shift: Annotated[int, "to the right"]


class CoreWindow(Struct, name="ethosgen_core_window"):
    """A window over `height` x `width` pixels, for each of `rows` x `columns` outputs."""

    height: int
    width: int
    pixel: Annotated[int, "bytes between a pixel of the input and the next"]
    channels: Annotated[int, "bytes of a pixel under the window"]
    taps_y: int
    taps_x: int
    dilation_y: int
    dilation_x: int
    stride_y: int
    stride_x: int
    before_y: Annotated[int, "padding"]
    before_x: int
    zero_point: Annotated[int, "of the input: the value of its padding"]
    rows: int
    columns: int
    row_step: Annotated[int, "bytes between a row of outputs and the next"]


class CorePool(Struct, name="ethosgen_core_pool"):
    """A pool over pixels of `channels` bytes, and the bounds of its outputs."""

    row_step: Annotated[int, "from a row of the input to the next"]
    channels: int
    low: int
    high: int


class CorePad(Struct, name="ethosgen_dsp_pad"):
    """Rows with padding around them, in bytes."""

    rows: int
    row_bytes: int
    before: int
    between: Annotated[int, "a row and the next"]
    after: int
    value: Annotated[int, "of each byte of the padding"]


class CoreRows(Struct, name="ethosgen_dsp_rows"):
    """Rows of bytes."""

    rows: int
    columns: Annotated[int, "bytes of a row"]
    input_step: Annotated[int, "bytes from a row of the input to the next"]
    output_step: Annotated[int, "bytes from a row of the output to the next"]


class PlaneWindows(Struct):
    """The first members of depthwise layers with planes; rows and columns may be exchanged."""

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


class CoreMultiplier(Struct, name="ethosgen_dsp_multiplier"):
    """A multiplier for sums: 2^(left - 1) * mantissa / 2^31, and a right shift that rounds."""

    left: int
    mantissa: int
    sign: Annotated[int, "-1 if there is a right shift, else 0"]
    half: Annotated[int, "of a step of the right shift"]
    right: int


class CoreSvdf(Struct, name="ethosgen_dsp_svdf"):
    """An SVDF: the filters of a unit are adjacent, `rank` for each."""

    depth: int
    filters: int
    rank: int
    memory: Annotated[int, "time steps in the state of each filter"]
    into: Annotated[CoreMultiplier, "from sums of features to the state"]
    out: Annotated[CoreMultiplier, "its `left` is that of the totals, not doubled"]
    zero_point: int


class CoreCell(Struct, name="ethosgen_dsp_cell"):
    """The factors by which an LSTM's gates change its cell's state and make its output."""

    kept: CoreMultiplier
    added: CoreMultiplier
    hidden: CoreMultiplier
    low: Annotated[int, "the bounds of the state"]
    high: int
    factor: Annotated[int, "with the right shift, from the state to the argument of tanh"]
    half: Annotated[int, "of a step of the shift"]
    shift: int
    zero_point: int


class CoreLstm(Struct, name="ethosgen_dsp_lstm"):
    """An LSTM. Its gates are in the order input, forget, cell, output."""

    steps: int
    row_step: Annotated[int, "rows from a time step to the next, in the input and in the output"]
    features: int
    units: int
    forward: Annotated[
        tuple[CoreMultiplier, CoreMultiplier, CoreMultiplier, CoreMultiplier],
        "from the sums of each gate with the input to 2^-12",
    ]
    back: Annotated[
        tuple[CoreMultiplier, CoreMultiplier, CoreMultiplier, CoreMultiplier],
        "the same with the hidden state",
    ]
    cell: CoreCell
