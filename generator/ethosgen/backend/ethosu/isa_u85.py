"""The instruction set of Ethos-U85: the differences from U55 and U65, and the resulting table.

Commands are encoded as theirs (isa.py), and the rows that `_LACKING`, `_CMD0` and `_CMD1` below do
not name are the same. Names, codes and fields are those of Arm's register description.
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import NamedTuple

from ethosgen.backend.ethosu.isa import (
    ADDRESS,
    CMD0,
    CMD1,
    COMMANDS,
    LENGTH,
    PARAMETER_BITS,
    REGION_REGISTERS,
    U55,
    ActivationFormat,
    ActivationPrecision,
    ActivationType,
    Command,
    DmaRegionMode,
    DmaStrideMode,
    ElementwiseMode,
    Field,
    InstructionSet,
    OfmScaleMode,
    PoolingMode,
    bits_of,
)


class U85AccFormat(IntEnum):
    """Format of the accumulators."""

    I32 = 0
    I48 = 1


class AccInput(IntEnum):
    """The initial value of accumulators: 0, the previous operation's result, or IFM2."""

    RESET = 0
    KEEP = 1
    IFM2 = 2


class AccOutput(IntEnum):
    """Whether an operation writes an OFM, or leaves its result in the accumulators."""

    ENABLE = 0
    DISABLE = 1


class U85ActivationClipRange(IntEnum):
    """Whether ACTIVATION_MIN and MAX clip a result."""

    B16 = 0
    NONE = 1


class U85ActivationFunction(IntEnum):
    """The table that a result is looked up in, by types of index and entry."""

    LUT_NONE = 0
    LUT_U8_U8 = 1
    LUT_S8_S8 = 4
    LUT_S8_S16 = 5
    LUT_S8_S32 = 7
    LUT_S16_S16 = 8
    LUT_S16_S32 = 9
    LUT_TANH = 10
    LUT_SIGMOID = 11


class TableFormat(NamedTuple):
    """The format of a table; numpy's type names, which end with the size."""

    index_type: str
    entries: int
    entry_type: str

    @property
    def bytes(self) -> int:
        """The size, in whose multiples tables are numbered."""
        return self.entries * int(self.entry_type[-1])


_LINES = TableFormat("<i2", 512, "<u4")
"""Lines between which results are interpolated: a start and a slope each."""
TABLES = {
    U85ActivationFunction.LUT_U8_U8: TableFormat("u1", 256, "u1"),
    U85ActivationFunction.LUT_S8_S8: TableFormat("i1", 256, "i1"),
    U85ActivationFunction.LUT_S8_S16: TableFormat("i1", 256, "<i2"),
    U85ActivationFunction.LUT_S8_S32: TableFormat("i1", 256, "<i4"),
    U85ActivationFunction.LUT_S16_S16: _LINES,
    U85ActivationFunction.LUT_S16_S32: _LINES,
    U85ActivationFunction.LUT_TANH: _LINES,
    U85ActivationFunction.LUT_SIGMOID: _LINES,
}
"""By function (ethos_u85_register_cs_generator.cpp)."""
TABLE_MEMORY_BYTES = 2048
"""The size of the NPU's memory for tables."""


class ActivationReverse(IntEnum):
    """The axis along which an OFM is written in reverse."""

    NONE = 0
    H = 1
    W = 2
    C = 3


class ActivationStorage(IntEnum):
    """The place of a feature map: tiles in memory, a chaining buffer, or nowhere."""

    TILE2X2 = 0
    TILE3X1 = 1
    CHAINED = 2
    NONE = 3


class ActivationTranspose(IntEnum):
    """The order of axes in which an OFM is written."""

    HWC = 0
    WHC = 1
    HCW = 2
    WCH = 3
    CHW = 6
    CWH = 7


class BranchCondition(IntEnum):
    """The condition of a branch: always, or if the result flag is set."""

    ALWAYS = 0
    RF_TRUE = 1


class U85BroadcastMode(IntEnum):
    """The axes along which an operand is repeated."""

    NONE = 0
    H = 1
    W = 2
    HW = 3
    C = 4
    CH = 5
    CW = 6
    CWH = 7
    SCALAR = 8


class DmaIndexMode(IntEnum):
    """Whether an index tensor selects the rows of a DMA's end."""

    DISABLED = 0
    ENABLED = 1


class U85ElementwiseMode(IntEnum):
    """The elementwise operations besides those of isa.ElementwiseMode."""

    LSR = 10
    DIV = 11
    CMP_EQ = 16
    CMP_NE = 17
    CMP_GE = 18
    CMP_GT = 19
    AND = 33
    OR = 34
    XOR = 35
    NOT = 36
    AND_NOT = 42


class Microblock(IntEnum):
    """Height and width of the OFM's microblock; its depth follows from the number of MACs."""

    U1X1 = 0
    U1X2 = 1
    U1X4 = 2
    U2X2 = 3
    U2X4 = 4
    U4X4 = 5


class U85PoolingMode(IntEnum):
    """The pooling operations besides those of isa.PoolingMode."""

    SUM = 3
    NONE = 4
    MIN = 5
    ARGMAX_X = 6
    ARGMAX_Y = 7


class ResizeMode(IntEnum):
    """The interpolation between elements of the IFM."""

    BILINEAR = 0
    REPLICATE = 1
    NEAREST = 2


class IfmRoundMode(IntEnum):
    """The rounding of a scaled operand."""

    DOUBLE_SYMMETRIC = 0
    NATURAL = 1


class OfmRoundMode(IntEnum):
    """The rounding of a scaled result."""

    DOUBLE_SYMMETRIC = 0
    NATURAL = 1
    DOUBLE_ASYMMETRIC = 2
    SYMMETRIC = 3
    TRUNCATE_TO_ZERO = 4
    TRUNCATE_TO_LOWER = 5


class WeightFormat(IntEnum):
    """The decoder of a weight stream: the standard one, or the fast one."""

    SWD = 0
    FWD = 1


class WeightSparsity(IntEnum):
    """Whether two of four weights are 0."""

    NONE = 0
    SPARSE_2_4 = 1


_TYPE = bits_of("activation_type", 1, 0, ActivationType)
_FORMAT = bits_of("activation_format", 2, 6, ActivationFormat)
_STORAGE = bits_of("activation_storage", 2, 14, ActivationStorage)
_IFM_PRECISION = (
    _TYPE,
    bits_of("activation_precision", 2, 2, ActivationPrecision),
    _FORMAT,
    _STORAGE,
)
_OFM_PRECISION = (
    _TYPE,
    bits_of("activation_precision", 2, 1, ActivationPrecision),
    _FORMAT,
    bits_of("scale_mode", 1, 8, OfmScaleMode),
    bits_of("activation_reverse", 2, 9, ActivationReverse),
    bits_of("activation_transpose", 3, 11, ActivationTranspose),
    _STORAGE,
)
_BROADCAST = (bits_of("broadcast_mode", 4, 0, U85BroadcastMode),)
_DMA_END = (bits_of("region", 3), bits_of("region_mode", 1, 8, DmaRegionMode))
_DMA_INDEXED = bits_of("idx_mode", 1, 11, DmaIndexMode)

_LACKING = (
    "NPU_SET_IFM_IB_END",
    "NPU_SET_PARALLEL_MODE",
    "NPU_SET_AB_START",
    "NPU_SET_IFM2_SCALAR",
    "NPU_SET_IFM2_IB_START",
    "NPU_SET_OPA_SCALE",
    "NPU_SET_OPB_SCALE",
    "NPU_SET_DMA0_SKIP0",
    "NPU_SET_DMA0_SKIP1",
    "NPU_SET_SCALE1_BASE",
    "NPU_SET_SCALE1_LENGTH",
)
"""Commands of U55 and U65 that U85 lacks; it has other commands at most of their codes."""

_CMD0: tuple[tuple[int, str, tuple[Field, ...]], ...] = (
    (2, "NPU_OP_CONV", (bits_of("weights_ifm2", 1),)),
    (5, "NPU_OP_POOL", (bits_of("pooling_mode", 3, 0, PoolingMode, U85PoolingMode),)),
    (
        6,
        "NPU_OP_ELEMENTWISE",
        (bits_of("elementwise_mode", 6, 0, ElementwiseMode, U85ElementwiseMode),),
    ),
    (7, "NPU_OP_RESIZE", (bits_of("resize_mode", 2, 0, ResizeMode),)),
    (17, "NPU_OP_DMA_WAIT", (bits_of("k", 2),)),
    (18, "NPU_OP_KERNEL_WAIT", (bits_of("n", 1),)),
    (261, "NPU_SET_IFM_PRECISION", _IFM_PRECISION),
    (264, "NPU_SET_IFM_BROADCAST", _BROADCAST),
    (276, "NPU_SET_OFM_PRECISION", _OFM_PRECISION),
    (277, "NPU_SET_OFM_BLK_WIDTH_M1", (bits_of("width_m1", 7),)),
    (278, "NPU_SET_OFM_BLK_HEIGHT_M1", (bits_of("height_m1", 7),)),
    (279, "NPU_SET_OFM_BLK_DEPTH_M1", (bits_of("depth_m1", 10),)),
    (
        292,
        "NPU_SET_ACC_FORMAT",
        (
            bits_of("acc_format", 2, 0, U85AccFormat),
            bits_of("acc_input", 2, 4, AccInput),
            bits_of("acc_output", 1, 6, AccOutput),
            bits_of("microblock", 3, 8, Microblock),
        ),
    ),
    (
        293,
        "NPU_SET_ACTIVATION",
        (
            bits_of("activation_function", 5, 0, U85ActivationFunction),
            bits_of("table", 3, 5),
            bits_of("activation_clip_range", 1, 12, U85ActivationClipRange),
        ),
    ),
    (298, "NPU_SET_RESIZE_X_SCALE_N_M1", (bits_of("resize_x_scale_n_m1", 11),)),
    (299, "NPU_SET_RESIZE_Y_SCALE_N_M1", (bits_of("resize_y_scale_n_m1", 11),)),
    (300, "NPU_SET_RESIZE_X_OFFSET", (Field("resize_x_offset", 0, 12, signed=True),)),
    (301, "NPU_SET_RESIZE_Y_OFFSET", (Field("resize_y_offset", 0, 12, signed=True),)),
    (
        302,
        "NPU_SET_WEIGHT_FORMAT",
        (
            bits_of("weight_format", 1, 0, WeightFormat),
            bits_of("weight_sparsity", 1, 4, WeightSparsity),
        ),
    ),
    (303, "NPU_SET_BLOCKDEP", (bits_of("blockdep", 3),)),
    (
        304,
        "NPU_SET_DMA0_SRC_REGION",
        (*_DMA_END, bits_of("stride_mode", 2, 9, DmaStrideMode), _DMA_INDEXED),
    ),
    (305, "NPU_SET_DMA0_DST_REGION", (*_DMA_END, _DMA_INDEXED)),
    (308, "NPU_SET_DMA0_IDX_REGION", (bits_of("region", 3),)),
    (384, "NPU_SET_IFM2_BROADCAST", _BROADCAST),
    (389, "NPU_SET_IFM2_PRECISION", _IFM_PRECISION),
)

_IFM_SCALE = (
    bits_of("shift", 6),
    bits_of("dbl_rnd", 5, 6),
    bits_of("round_mode", 1, 13, IfmRoundMode),
    bits_of("scale", 31, PARAMETER_BITS),
)
_OFM_SCALE = (
    bits_of("shift", 6),
    bits_of("dbl_rnd", 5, 6),
    bits_of("round_mode", 3, 13, OfmRoundMode),
    bits_of("scale", 31, PARAMETER_BITS),
)
_RESIZE_STEP = (
    bits_of("one_step_int", 4),
    bits_of("blk_step_int", 11, 4),
    bits_of("one_step_mod", 11, PARAMETER_BITS),
    bits_of("blk_step_mod", 11, 2 * PARAMETER_BITS),
)

_CMD1: tuple[tuple[int, str, tuple[Field, ...]], ...] = (
    (36, "NPU_SET_OFM_SCALE", _OFM_SCALE),
    (37, "NPU_SET_IFM_SCALE", _IFM_SCALE),
    (38, "NPU_SET_IFM2_SCALE", _IFM_SCALE),
    (39, "NPU_SET_OP_SCALAR", (Field("scalar", PARAMETER_BITS, 32, signed=True),)),
    (51, "NPU_SET_DMA0_SRC_STRIDE0", ADDRESS),
    (52, "NPU_SET_DMA0_SRC_STRIDE1", ADDRESS),
    (53, "NPU_SET_DMA0_DST_STRIDE0", ADDRESS),
    (54, "NPU_SET_DMA0_DST_STRIDE1", ADDRESS),
    (55, "NPU_SET_DMA0_IDX", ADDRESS),
    (56, "NPU_SET_DMA0_IDX_MAX", (bits_of("idx_max", 31, PARAMETER_BITS),)),
    (57, "NPU_SET_DMA0_IDX_SKIP1", ADDRESS),
    (146, "NPU_SET_WEIGHT2_BASE", ADDRESS),
    (147, "NPU_SET_WEIGHT2_LENGTH", LENGTH),
    (148, "NPU_SET_WEIGHT3_BASE", ADDRESS),
    (149, "NPU_SET_WEIGHT3_LENGTH", LENGTH),
    (150, "NPU_SET_RESIZE_X_STEP", _RESIZE_STEP),
    (151, "NPU_SET_RESIZE_Y_STEP", _RESIZE_STEP),
    (
        256,
        "NPU_OP_BRANCH",
        (
            bits_of("branch_cond", 1, 0, BranchCondition),
            bits_of("branch_target", 32, PARAMETER_BITS),
        ),
    ),
)

_OWN = tuple(
    Command(code, control, name, fields)
    for control, rows in ((CMD0, _CMD0), (CMD1, _CMD1))
    for code, name, fields in rows
)
_OWN_NAMES = {command.name for command in _OWN}

_REGIONS: Mapping[str, str] = {
    **{name: region for name, region in REGION_REGISTERS.items() if name != "SCALE1_BASE"},
    "WEIGHT2_BASE": "WEIGHT_REGION",
    "WEIGHT3_BASE": "WEIGHT_REGION",
    "DMA0_IDX": "DMA0_IDX_REGION",
}

U85 = InstructionSet(
    "Ethos-U85",
    (*(c for c in COMMANDS if c.name not in _OWN_NAMES and c.name not in _LACKING), *_OWN),
    _REGIONS,
    "tables",
)

_PRODUCT_LSB = 28
_PRODUCT = 2


def instruction_set(config_word: int) -> InstructionSet:
    """Return the instruction set of the NPU with this CONFIG register."""
    return U85 if config_word >> _PRODUCT_LSB == _PRODUCT else U55
