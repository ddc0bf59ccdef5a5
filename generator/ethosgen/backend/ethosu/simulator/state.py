"""The registers that NPU_SET commands write, and the operations that they describe."""

from collections.abc import Callable, Iterable
from enum import IntEnum
from typing import TypeVar

from ethosgen.backend.ethosu.accelerator import EthosU
from ethosgen.backend.ethosu.isa import (
    BY_NAME,
    U55,
    AccFormat,
    ActivationClipRange,
    ActivationFormat,
    ActivationFunction,
    Command,
    DmaRegionMode,
    ElementwiseMode,
    IfmScaleMode,
    IfmUpscaleMode,
    InstructionSet,
    OfmScaleMode,
    ParallelMode,
    PoolingMode,
    RoundMode,
    WeightOrder,
)
from ethosgen.backend.ethosu.simulator.decode import Instruction
from ethosgen.backend.ethosu.simulator.operation import (
    Activation,
    Convolution,
    DataStream,
    Dma,
    Elementwise,
    FeatureMap,
    KernelShape,
    Operation,
    Output,
    Padding,
    Pool,
    Scale,
    Shape,
    WeightLayout,
    Windowed,
)
from ethosgen.values.errors import NpuFault

_Code = TypeVar("_Code", bound=IntEnum)

DTYPES = ("u1", "i1", "<u2", "<i2", "<u4", "<i4")
UNARY = (ElementwiseMode.LRELU, ElementwiseMode.ABS, ElementwiseMode.CLZ)
_ADDRESS_BITS = 40


class CommandRegisters:
    """Operands by register name; registers that were never set read 0."""

    isa: InstructionSet = U55
    dtypes: tuple[str, ...] = DTYPES

    def __init__(self, accelerator: EthosU) -> None:
        self._accelerator = accelerator
        self._operands: dict[str, int] = {}

    def set(self, instruction: Instruction) -> None:
        """Execute an NPU_SET command."""
        self._operands[instruction.command.register] = instruction.operand

    def field(self, register: str, name: str) -> int:
        """Return one field."""
        command = self.isa.by_name[f"NPU_SET_{register}"]
        return command.field(name).get(self._operands.get(register, 0))

    def value(self, register: str) -> int:
        """Return the value of a register that has one field, or an address."""
        command = self.isa.by_name[f"NPU_SET_{register}"]
        operand = self._operands.get(register, 0)
        if command.fields[0].name == "addr_hi":
            return command.fields[1].get(operand) | command.fields[0].get(operand) << 32
        return command.fields[0].get(operand)

    def signed(self, register: str, bits: int) -> int:
        """Return a value as two's complement."""
        value = self.value(register)
        return value - (1 << bits) if value >> bits - 1 & 1 else value

    def code(self, register: str, name: str, codes: type[_Code]) -> _Code:
        """Return a field as a code; NpuFault "parse" for a code that Arm does not define."""
        value = self.field(register, name)
        try:
            return codes(value)
        except ValueError:
            raise NpuFault("parse", f"{register}.{name} has the undefined value {value}") from None

    def operation(self, instruction: Instruction) -> Operation | None:
        """Return the operation that an NPU_OP command starts, None if it only orders or ends work.

        Raises NpuFault of kind "parse" if the registers are inconsistent.
        """
        build = BUILDERS.get(instruction.command.name)
        return build(self, instruction.operand) if build else None

    def _stride(self, register: str) -> int:
        bits = 32 if self._accelerator.product == "u55" else _ADDRESS_BITS
        value = self.value(register) & (1 << bits) - 1
        return value - (1 << bits) if value >> bits - 1 else value

    def _zero_point(self, prefix: str) -> int:
        register = f"{prefix}_ZERO_POINT"
        is_signed = self.field(f"{prefix}_PRECISION", "activation_type")
        return self.signed(register, 16) if is_signed else self.value(register)

    def _shape(self, prefix: str) -> Shape:
        """Return height, width and depth, whose registers hold one less."""
        height, width, depth = (
            self.value(f"{prefix}_{axis}_M1") + 1 for axis in ("HEIGHT", "WIDTH", "DEPTH")
        )
        return height, width, depth

    def _clip_limits(self) -> tuple[int, int]:
        low, high = "ACTIVATION_MIN", "ACTIVATION_MAX"
        if self.field("OFM_PRECISION", "activation_type"):
            return self.signed(low, 16), self.signed(high, 16)
        return self.value(low), self.value(high)

    def _feature_map(self, prefix: str) -> FeatureMap:
        precision = f"{prefix}_PRECISION"
        width = self.field(precision, "activation_precision")
        dtype = 2 * width + self.field(precision, "activation_type")
        if dtype >= len(self.dtypes):
            raise NpuFault("parse", f"{precision} asks for 64-bit elements")
        return FeatureMap(
            region=self.value(f"{prefix}_REGION"),
            bases=(
                self.value(f"{prefix}_BASE0"),
                self.value(f"{prefix}_BASE1"),
                self.value(f"{prefix}_BASE2"),
                self.value(f"{prefix}_BASE3"),
            ),
            strides=(
                self._stride(f"{prefix}_STRIDE_Y"),
                self._stride(f"{prefix}_STRIDE_X"),
                self._stride(f"{prefix}_STRIDE_C"),
            ),
            height0=self.value(f"{prefix}_HEIGHT0_M1") + 1,
            height1=self.value(f"{prefix}_HEIGHT1_M1") + 1,
            width0=self.value(f"{prefix}_WIDTH0_M1") + 1,
            layout=self.code(precision, "activation_format", ActivationFormat),
            dtype=self.dtypes[dtype],
            zero_point=self._zero_point(prefix),
        )

    def _activation(self) -> Activation:
        return Activation(
            self.code("ACTIVATION", "activation_function", ActivationFunction),
            self.code("ACTIVATION", "activation_clip_range", ActivationClipRange),
            *self._clip_limits(),
        )

    def _output(self) -> Output:
        return Output(
            fm=self._feature_map("OFM"),
            shape=self._shape("OFM"),
            scale_mode=self.code("OFM_PRECISION", "scale_mode", OfmScaleMode),
            scale=self._scale("OFM_SCALE"),
            rounding=self.code("OFM_PRECISION", "round_mode", RoundMode),
            activation=self._activation(),
            block=self._shape("OFM_BLK"),
            acc_format=self.code("ACC_FORMAT", "acc_format", AccFormat),
        )

    def _scale(self, register: str) -> Scale:
        return Scale(self.field(register, "scale"), self.field(register, "shift"))

    def _kernel(self) -> KernelShape:
        def stride(axis: str) -> int:
            low, high = (
                self.field("KERNEL_STRIDE", f"stride_{axis}_{end}") for end in ("lsb", "msb")
            )
            return 1 + low + 2 * high

        dilation = tuple(1 + self.field("KERNEL_STRIDE", f"dilation_{axis}") for axis in "yx")
        return KernelShape(
            size=(
                self.value("KERNEL_HEIGHT_M1") // dilation[0] + 1,
                self.value("KERNEL_WIDTH_M1") // dilation[1] + 1,
            ),
            stride=(stride("y"), stride("x")),
            dilation=(dilation[0], dilation[1]),
        )

    def _windowed_input(self) -> FeatureMap:
        return self._feature_map("IFM")

    def _windowed(self) -> Windowed:
        window = Windowed(
            ifm=self._windowed_input(),
            ifm_depth=self.value("IFM_DEPTH_M1") + 1,
            upscale=self.code("IFM_UPSCALE", "mode", IfmUpscaleMode),
            padding=Padding(
                self.value("IFM_PAD_TOP"),
                self.value("IFM_PAD_LEFT"),
                self.value("IFM_PAD_BOTTOM"),
                self.value("IFM_PAD_RIGHT"),
            ),
            kernel=self._kernel(),
            ofm=self._output(),
        )
        if min(window.ifm_shape) < 1:
            raise NpuFault("parse", f"kernel and padding leave an IFM of {window.ifm_shape}")
        return window

    def _convolved(self, depthwise: bool) -> Windowed:
        window = self._windowed()
        if depthwise and window.ifm_depth != window.ofm.shape[2]:
            depths = f"{window.ifm_depth} and {window.ofm.shape[2]}"
            raise NpuFault("parse", f"a depthwise convolution needs equal depths, not {depths}")
        return window

    def _streams(self, name: str) -> tuple[DataStream, ...]:
        cores = 1
        if self._accelerator.cores == 2:
            mode = self.code("PARALLEL_MODE", "parallel_mode", ParallelMode)
            cores = 2 if mode is ParallelMode.DUAL_CORE_DEPTH else 1
        return self._data_streams(name, cores)

    def _data_streams(self, name: str, count: int) -> tuple[DataStream, ...]:
        """Return the first streams of a name: WEIGHT, WEIGHT1, and so on."""
        region = self.value(f"{name}_REGION")
        prefixes = [name, *(f"{name}{number}" for number in range(1, count))]
        return tuple(
            DataStream(region, self.value(f"{prefix}_BASE"), self.value(f"{prefix}_LENGTH"))
            for prefix in prefixes
        )

    def _convolution(self, depthwise: bool) -> Convolution:
        window = self._convolved(depthwise)
        order = self.code("KERNEL_STRIDE", "weight_order", WeightOrder)
        return Convolution(
            *parts_of(window),
            depthwise=depthwise,
            weights=self._streams("WEIGHT"),
            scales=self._streams("SCALE"),
            layout=WeightLayout(
                part_kernel_first=order is WeightOrder.PART_KERNEL_FIRST,
                ofm_block_depth=self.value("OFM_BLK_DEPTH_M1") + 1,
                sub_kernel=4 if self.field("KERNEL_STRIDE", "decomposition") else 8,
            ),
        )

    def _pool(self, operand: int) -> Pool:
        mode = operand_code(BY_NAME["NPU_OP_POOL"], operand, PoolingMode)
        window = self._windowed()
        check_pooled_depth(window, mode)
        return Pool(*parts_of(window), mode=mode)

    def _elementwise(self, operand: int) -> Elementwise:
        mode = operand_code(BY_NAME["NPU_OP_ELEMENTWISE"], operand, ElementwiseMode)
        binary = mode not in UNARY
        constant = bool(self.field("IFM2_BROADCAST", "broadcast_constant"))
        is_signed = self.field("IFM2_PRECISION", "activation_type")
        scalar = self.signed("IFM2_SCALAR", 16) if is_signed else self.value("IFM2_SCALAR")
        axes = [bool(self.field("IFM2_BROADCAST", f"broadcast_{axis}")) for axis in "hwc"]
        return Elementwise(
            mode=mode,
            ifm=self._feature_map("IFM"),
            ifm2=self._feature_map("IFM2") if binary and not constant else None,
            scalar=scalar if binary and constant else None,
            broadcast=(axes[0], axes[1], axes[2]),
            ifm2_is_a=bool(self.field("IFM2_BROADCAST", "operand_order")),
            scale_mode=self.code("IFM_PRECISION", "scale_mode", IfmScaleMode),
            opa_scale=self._scale("OPA_SCALE"),
            opb_scale=self.value("OPB_SCALE"),
            rounding=self.code("IFM_PRECISION", "round_mode", RoundMode),
            ifm2_zero_point=self._zero_point("IFM2"),
            ofm=self._output(),
        )

    def _dma(self) -> Dma:
        def end(name: str) -> tuple[int | None, int]:
            internal = self.field(f"DMA0_{name}_REGION", "region_mode") == DmaRegionMode.INTERNAL
            region = None if internal else self.field(f"DMA0_{name}_REGION", "region")
            return region, self.value(f"DMA0_{name}")

        def dims(name: str) -> int:
            mode = self.field(f"DMA0_{name}_REGION", "stride_mode")
            if mode > 2 or (mode and self._accelerator.product == "u55"):
                raise NpuFault("parse", f"DMA0_{name}_REGION asks for stride mode {mode}")
            return mode + 1

        return Dma(
            source=end("SRC"),
            destination=end("DST"),
            length=self.value("DMA0_LEN"),
            source_dims=dims("SRC"),
            destination_dims=dims("DST"),
            sizes=(self.value("DMA0_SIZE0"), self.value("DMA0_SIZE1")),
            skips=(self._stride("DMA0_SKIP0"), self._stride("DMA0_SKIP1")),
        )


def check_pooled_depth(window: Windowed, mode: IntEnum) -> None:
    """Raise NpuFault "parse" unless a pooling's OFM has the depth of its mode."""
    depth, wanted = window.ofm.shape[2], window.ifm_depth
    if depth != (1 if mode is PoolingMode.REDUCE_SUM else wanted):
        depths = f"{wanted} and {depth}"
        raise NpuFault("parse", f"pooling {mode.name} cannot have IFM and OFM depths {depths}")


def parts_of(
    window: Windowed,
) -> tuple[FeatureMap, int, IfmUpscaleMode, Padding, KernelShape, Output]:
    """Return the fields that convolutions and poolings begin with."""
    return (
        window.ifm,
        window.ifm_depth,
        window.upscale,
        window.padding,
        window.kernel,
        window.ofm,
    )


def operand_code(command: Command, operand: int, codes: Iterable[_Code]) -> _Code:
    """Return the code of an operation's operand; NpuFault "parse" if Arm defines none."""
    (field,) = command.fields
    value = field.get(operand)
    for code in codes:
        if code == value:
            return code
    raise NpuFault("parse", f"undefined {field.name.replace('_', ' ')} {value}")


BUILDERS: dict[str, Callable[[CommandRegisters, int], Operation]] = {
    "NPU_OP_CONV": lambda registers, _operand: registers._convolution(depthwise=False),
    "NPU_OP_DEPTHWISE": lambda registers, _operand: registers._convolution(depthwise=True),
    "NPU_OP_POOL": CommandRegisters._pool,
    "NPU_OP_ELEMENTWISE": CommandRegisters._elementwise,
    "NPU_OP_DMA_START": lambda registers, _operand: registers._dma(),
}
"""Returns the operation that a command starts, from the registers and the command's operand."""
