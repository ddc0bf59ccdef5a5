"""The instruction set of Ethos-U55 and U65: one table for decoding, disassembly and assembly.

U85's is in isa_u85.py, as differences.

A command is one 32-bit word (opcode [9:0], control [15:14] = 0, parameter [31:16]) or, with
control = 1, that word and a 32-bit payload. The fields below count bits in the operand: the
16-bit parameter, with the payload above it where there is one. Names, codes and fields are those of
Arm's register description.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, IntEnum

CMD0 = 0
CMD1 = 1
PARAMETER_BITS = 16
OPCODE_MASK = 0x3FF
CONTROL_LSB = 14


class ActivationType(IntEnum):
    """Whether elements are signed."""

    UNSIGNED = 0
    SIGNED = 1


class ActivationPrecision(IntEnum):
    """Bits of an element."""

    B8 = 0
    B16 = 1
    B32 = 2
    B64 = 3


class ActivationFormat(IntEnum):
    """Order of a feature map in memory."""

    NHWC = 0
    NHCWB16 = 1


class ActivationFunction(IntEnum):
    """The function applied to a result after scaling."""

    RELU = 0
    TANH = 3
    SIGMOID = 4
    TABLE_0 = 16
    TABLE_1 = 17
    TABLE_2 = 18
    TABLE_3 = 19
    TABLE_4 = 20
    TABLE_5 = 21
    TABLE_6 = 22
    TABLE_7 = 23


class ActivationClipRange(IntEnum):
    """The range that a result is clipped to before the activation function."""

    OFM_PRECISION = 0
    FORCE_UINT8 = 2
    FORCE_INT8 = 3
    FORCE_INT16 = 5


class AccFormat(IntEnum):
    """Format of the accumulators."""

    I32 = 0
    I40 = 1
    F16 = 2


class BroadcastMode(IntEnum):
    """Whether IFM2 is repeated along an axis."""

    DISABLE = 0
    ENABLE = 1


class DmaRegionMode(IntEnum):
    """Whether a DMA address is in a region or in SHRAM."""

    EXTERNAL = 0
    INTERNAL = 1


class DmaStrideMode(IntEnum):
    """Number of dimensions of a DMA."""

    D1 = 0
    D2 = 1
    D3 = 2


class ElementwiseMode(IntEnum):
    """The elementwise operation."""

    MUL = 0
    ADD = 1
    SUB = 2
    MIN = 3
    MAX = 4
    LRELU = 5
    ABS = 6
    CLZ = 7
    SHR = 8
    SHL = 9


class Ifm2OperandOrder(IntEnum):
    """The operand of the operation that IFM2 is."""

    ORDER_B = 0
    ORDER_A = 1


class IfmScaleMode(IntEnum):
    """The operands of ADD and SUB that are scaled by 16, and by 32 bits."""

    OPA_OPB_16 = 0
    OPA_32 = 1
    OPB_32 = 2


class IfmUpscaleMode(IntEnum):
    """How the IFM is upscaled by two."""

    NONE = 0
    NEAREST = 1
    ZEROS = 2


class KernelDecomposition(IntEnum):
    """Size of a sub-kernel."""

    D8X8 = 0
    D4X4 = 1


class KernelDilation(IntEnum):
    """Distance of kernel elements."""

    NONE = 0
    X2 = 1


class OfmScaleMode(IntEnum):
    """Where scales come from: a record for each channel, or OFM_SCALE."""

    PER_CHANNEL = 0
    GLOBAL = 1


class ParallelMode(IntEnum):
    """How U65's cores share an operation."""

    SINGLE_CORE = 0
    DUAL_CORE_DEPTH = 1


class PoolingMode(IntEnum):
    """The pooling operation."""

    MAX = 0
    AVERAGE = 1
    REDUCE_SUM = 2


class RoundMode(IntEnum):
    """How a scaled value is rounded."""

    DBL = 0
    TRUNCATE = 1
    NATURAL = 2


class WeightOrder(IntEnum):
    """Order of weights in their stream."""

    DEPTH_FIRST = 0
    PART_KERNEL_FIRST = 1


class CommandKind(Enum):
    """The effect of a command: sets a register, or starts or orders an operation."""

    SET = "set"
    OPERATION = "operation"


@dataclass(frozen=True)
class Field:
    """Bits [lsb, lsb + bits) of an operand.

    `values` names the codes of a field that has them, in one or two enumerations; `signed` fields
    are two's complement if their elements are signed, and may be shown as such otherwise.
    """

    name: str
    lsb: int
    bits: int
    values: tuple[type[IntEnum], ...] = ()
    signed: bool = False

    @property
    def limit(self) -> int:
        """One more than the largest value."""
        return 1 << self.bits

    def get(self, operand: int) -> int:
        """Extract the field from an operand."""
        return operand >> self.lsb & (self.limit - 1)


@dataclass(frozen=True)
class Command:
    """One row of the table. `register` is the name without its NPU_SET_ or NPU_OP_."""

    code: int
    control: int
    name: str
    fields: tuple[Field, ...]

    @property
    def kind(self) -> CommandKind:
        """SET or OPERATION, from the name."""
        return CommandKind.SET if self.name.startswith("NPU_SET_") else CommandKind.OPERATION

    @property
    def register(self) -> str:
        """The name without its prefix."""
        return self.name.removeprefix("NPU_SET_").removeprefix("NPU_OP_")

    @property
    def words(self) -> int:
        """Length in 32-bit words."""
        return 1 + self.control

    def field(self, name: str) -> Field:
        """Return the field of that name; KeyError if there is none."""
        for part in self.fields:
            if part.name == name:
                return part
        raise KeyError(f"{self.name} has no field '{name}'")


def bits_of(name: str, bits: int, lsb: int = 0, *values: type[IntEnum]) -> Field:
    """Return a field of unsigned numbers, or of the codes that `values` names."""
    return Field(name, lsb, bits, values)


def _signed(name: str, bits: int) -> tuple[Field, ...]:
    return (Field(name, 0, bits, signed=True),)


ADDRESS = (bits_of("addr_hi", 8), bits_of("addr_lo", 32, PARAMETER_BITS))


def _feature_map(code: int, name: str) -> Iterator[tuple[int, str, tuple[Field, ...]]]:
    """Yield the rows of a feature map's addresses and strides, from this code on."""
    registers = ("BASE0", "BASE1", "BASE2", "BASE3", "STRIDE_X", "STRIDE_Y", "STRIDE_C")
    for number, register in enumerate(registers, code):
        yield number, f"NPU_SET_{name}_{register}", ADDRESS


_SIGNED = bits_of("activation_type", 1, 0, ActivationType)
_FORMAT = bits_of("activation_format", 2, 6, ActivationFormat)
_ROUND = bits_of("round_mode", 2, 14, RoundMode)
_IFM_BITS = bits_of("activation_precision", 2, 2, ActivationPrecision)
_OFM_BITS = bits_of("activation_precision", 2, 1, ActivationPrecision)

_DMA_END = (
    bits_of("region", 3),
    bits_of("region_mode", 1, 8, DmaRegionMode),
    bits_of("stride_mode", 2, 9, DmaStrideMode),
)

_CMD0: tuple[tuple[int, str, tuple[Field, ...]], ...] = (
    (0, "NPU_OP_STOP", (bits_of("mask", 16),)),
    (1, "NPU_OP_IRQ", (bits_of("mask", 16),)),
    (2, "NPU_OP_CONV", ()),
    (3, "NPU_OP_DEPTHWISE", ()),
    (5, "NPU_OP_POOL", (bits_of("pooling_mode", 3, 0, PoolingMode),)),
    (6, "NPU_OP_ELEMENTWISE", (bits_of("elementwise_mode", 6, 0, ElementwiseMode),)),
    (16, "NPU_OP_DMA_START", ()),
    (17, "NPU_OP_DMA_WAIT", (bits_of("k", 1),)),
    (18, "NPU_OP_KERNEL_WAIT", (bits_of("n", 2),)),
    (19, "NPU_OP_PMU_MASK", (bits_of("enable", 1),)),
    (256, "NPU_SET_IFM_PAD_TOP", (bits_of("pad", 7),)),
    (257, "NPU_SET_IFM_PAD_LEFT", (bits_of("pad", 7),)),
    (258, "NPU_SET_IFM_PAD_RIGHT", (bits_of("pad", 8),)),
    (259, "NPU_SET_IFM_PAD_BOTTOM", (bits_of("pad", 8),)),
    (260, "NPU_SET_IFM_DEPTH_M1", (bits_of("depth_m1", 16),)),
    (
        261,
        "NPU_SET_IFM_PRECISION",
        (_SIGNED, _IFM_BITS, _FORMAT, bits_of("scale_mode", 2, 8, IfmScaleMode), _ROUND),
    ),
    (263, "NPU_SET_IFM_UPSCALE", (bits_of("mode", 2, 0, IfmUpscaleMode),)),
    (265, "NPU_SET_IFM_ZERO_POINT", _signed("zero_point", 16)),
    (266, "NPU_SET_IFM_WIDTH0_M1", (bits_of("width_m1", 16),)),
    (267, "NPU_SET_IFM_HEIGHT0_M1", (bits_of("height_m1", 16),)),
    (268, "NPU_SET_IFM_HEIGHT1_M1", (bits_of("height_m1", 16),)),
    (269, "NPU_SET_IFM_IB_END", (bits_of("ib_end", 6),)),
    (271, "NPU_SET_IFM_REGION", (bits_of("region", 3),)),
    (273, "NPU_SET_OFM_WIDTH_M1", (bits_of("width_m1", 16),)),
    (274, "NPU_SET_OFM_HEIGHT_M1", (bits_of("height_m1", 16),)),
    (275, "NPU_SET_OFM_DEPTH_M1", (bits_of("depth_m1", 16),)),
    (
        276,
        "NPU_SET_OFM_PRECISION",
        (_SIGNED, _OFM_BITS, _FORMAT, bits_of("scale_mode", 1, 8, OfmScaleMode), _ROUND),
    ),
    (277, "NPU_SET_OFM_BLK_WIDTH_M1", (bits_of("width_m1", 6),)),
    (278, "NPU_SET_OFM_BLK_HEIGHT_M1", (bits_of("height_m1", 5),)),
    (279, "NPU_SET_OFM_BLK_DEPTH_M1", (bits_of("depth_m1", 7),)),
    (280, "NPU_SET_OFM_ZERO_POINT", _signed("zero_point", 16)),
    (282, "NPU_SET_OFM_WIDTH0_M1", (bits_of("width_m1", 16),)),
    (283, "NPU_SET_OFM_HEIGHT0_M1", (bits_of("height_m1", 16),)),
    (284, "NPU_SET_OFM_HEIGHT1_M1", (bits_of("height_m1", 16),)),
    (287, "NPU_SET_OFM_REGION", (bits_of("region", 3),)),
    (288, "NPU_SET_KERNEL_WIDTH_M1", (bits_of("width_m1", 16),)),
    (289, "NPU_SET_KERNEL_HEIGHT_M1", (bits_of("height_m1", 16),)),
    (
        290,
        "NPU_SET_KERNEL_STRIDE",
        (
            bits_of("stride_x_lsb", 1),
            bits_of("stride_y_lsb", 1, 1),
            bits_of("weight_order", 1, 2, WeightOrder),
            bits_of("dilation_x", 1, 3, KernelDilation),
            bits_of("dilation_y", 1, 4, KernelDilation),
            bits_of("decomposition", 1, 5, KernelDecomposition),
            bits_of("stride_x_msb", 1, 6),
            bits_of("stride_y_msb", 1, 9),
        ),
    ),
    (291, "NPU_SET_PARALLEL_MODE", (bits_of("parallel_mode", 1, 0, ParallelMode),)),
    (292, "NPU_SET_ACC_FORMAT", (bits_of("acc_format", 2, 0, AccFormat),)),
    (
        293,
        "NPU_SET_ACTIVATION",
        (
            bits_of("activation_function", 5, 0, ActivationFunction),
            bits_of("activation_clip_range", 3, 12, ActivationClipRange),
        ),
    ),
    (294, "NPU_SET_ACTIVATION_MIN", _signed("clip_boundary", 16)),
    (295, "NPU_SET_ACTIVATION_MAX", _signed("clip_boundary", 16)),
    (296, "NPU_SET_WEIGHT_REGION", (bits_of("region", 3),)),
    (297, "NPU_SET_SCALE_REGION", (bits_of("region", 3),)),
    (301, "NPU_SET_AB_START", (bits_of("ab_start", 6),)),
    (303, "NPU_SET_BLOCKDEP", (bits_of("blockdep", 2),)),
    (304, "NPU_SET_DMA0_SRC_REGION", _DMA_END),
    (305, "NPU_SET_DMA0_DST_REGION", _DMA_END),
    (306, "NPU_SET_DMA0_SIZE0", (bits_of("size", 16),)),
    (307, "NPU_SET_DMA0_SIZE1", (bits_of("size", 16),)),
    (
        384,
        "NPU_SET_IFM2_BROADCAST",
        (
            bits_of("broadcast_h", 1, 0, BroadcastMode),
            bits_of("broadcast_w", 1, 1, BroadcastMode),
            bits_of("broadcast_c", 1, 2, BroadcastMode),
            bits_of("operand_order", 1, 6, Ifm2OperandOrder),
            bits_of("broadcast_constant", 1, 7, BroadcastMode),
        ),
    ),
    (385, "NPU_SET_IFM2_SCALAR", _signed("scalar", 16)),
    (389, "NPU_SET_IFM2_PRECISION", (_SIGNED, _IFM_BITS, _FORMAT)),
    (393, "NPU_SET_IFM2_ZERO_POINT", _signed("zero_point", 16)),
    (394, "NPU_SET_IFM2_WIDTH0_M1", (bits_of("width_m1", 16),)),
    (395, "NPU_SET_IFM2_HEIGHT0_M1", (bits_of("height_m1", 16),)),
    (396, "NPU_SET_IFM2_HEIGHT1_M1", (bits_of("height_m1", 16),)),
    (397, "NPU_SET_IFM2_IB_START", (bits_of("ib_start", 6),)),
    (399, "NPU_SET_IFM2_REGION", (bits_of("region", 3),)),
)

LENGTH = (bits_of("length", 32, PARAMETER_BITS),)
_SCALE_LENGTH = (bits_of("length", 20, PARAMETER_BITS),)
_SCALE = (bits_of("shift", 6), bits_of("scale", 32, PARAMETER_BITS))

_CMD1: tuple[tuple[int, str, tuple[Field, ...]], ...] = (
    *_feature_map(0, "IFM"),
    *_feature_map(16, "OFM"),
    (32, "NPU_SET_WEIGHT_BASE", ADDRESS),
    (33, "NPU_SET_WEIGHT_LENGTH", LENGTH),
    (34, "NPU_SET_SCALE_BASE", ADDRESS),
    (35, "NPU_SET_SCALE_LENGTH", _SCALE_LENGTH),
    (36, "NPU_SET_OFM_SCALE", _SCALE),
    (37, "NPU_SET_OPA_SCALE", _SCALE),
    (38, "NPU_SET_OPB_SCALE", (bits_of("scale", 16, PARAMETER_BITS),)),
    (48, "NPU_SET_DMA0_SRC", ADDRESS),
    (49, "NPU_SET_DMA0_DST", ADDRESS),
    (50, "NPU_SET_DMA0_LEN", ADDRESS),
    (51, "NPU_SET_DMA0_SKIP0", ADDRESS),
    (52, "NPU_SET_DMA0_SKIP1", ADDRESS),
    *_feature_map(128, "IFM2"),
    (144, "NPU_SET_WEIGHT1_BASE", ADDRESS),
    (145, "NPU_SET_WEIGHT1_LENGTH", LENGTH),
    (146, "NPU_SET_SCALE1_BASE", ADDRESS),
    (147, "NPU_SET_SCALE1_LENGTH", _SCALE_LENGTH),
)

COMMANDS: tuple[Command, ...] = tuple(
    Command(code, control, name, fields)
    for control, rows in ((CMD0, _CMD0), (CMD1, _CMD1))
    for code, name, fields in rows
)

REGION_REGISTERS: Mapping[str, str] = {
    **{f"{fm}_BASE{i}": f"{fm}_REGION" for fm in ("IFM", "IFM2", "OFM") for i in range(4)},
    **{f"{name}_BASE": "WEIGHT_REGION" for name in ("WEIGHT", "WEIGHT1")},
    **{f"{name}_BASE": "SCALE_REGION" for name in ("SCALE", "SCALE1")},
    "DMA0_SRC": "DMA0_SRC_REGION",
    "DMA0_DST": "DMA0_DST_REGION",
}
"""An address register, and the register that holds the address's region."""


@dataclass(frozen=True, eq=False)
class InstructionSet:
    """The commands of a generation (in messages `products`), with its REGION_REGISTERS.

    `inner` names the memory in the NPU that a DMA can write.
    """

    products: str
    commands: tuple[Command, ...]
    region_registers: Mapping[str, str]
    inner: str
    by_code: Mapping[tuple[int, int], Command] = field(init=False, repr=False)
    by_name: Mapping[str, Command] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_code", {(c.control, c.code): c for c in self.commands})
        object.__setattr__(self, "by_name", {c.name: c for c in self.commands})


U55 = InstructionSet("Ethos-U55 or U65", COMMANDS, REGION_REGISTERS, "shram")
BY_CODE = U55.by_code
BY_NAME = U55.by_name
