"""The structs of ethosgen_kernels_s16.h."""

from typing import Annotated

from ethosgen.aot.libraries.framework.products import OutputRange
from ethosgen.aot.libraries.helium.shapes import HeliumMultiplier
from ethosgen.aot.tir.structs import Struct


class HeliumDepthwiseS16(Struct, name="ethosgen_depthwise_s16"):
    """A depthwise convolution of int16; elements count int16_t values."""

    channels: int
    row_elements: Annotated[int, "between a tap and the one below"]
    tap_elements: Annotated[int, "between a tap and the next in its row"]
    weight_row: Annotated[int, "weights between a tap and the one below"]
    output: OutputRange


class AddS16(Struct, name="ethosgen_add_s16"):
    """A sum or a difference.

    The input with the larger scale is halved by its rescaling, which is exact after the shift; so
    it is the first, and the other the second.
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
    """The product of two matrices from run time: `rows` x `columns` vectors of `depth` elements."""

    rows: int
    depth: int
    columns: int
    scale: Annotated[tuple[int, int, int, int], "as one channel's of ethosgen_matrix_wide_s16"]


class HeliumSoftmaxS16(Struct, name="ethosgen_softmax_s16"):
    """A softmax of rows, and the factor from a distance to the largest element to the curve."""

    rows: int
    depth: Annotated[int, "below 65536"]
    scale: HeliumMultiplier
