"""U85's registers, and the operations that they describe."""

from collections.abc import Callable

from ethosgen.backend.ethosu.isa import (
    OfmScaleMode,
    RoundMode,
    WeightOrder,
)
from ethosgen.backend.ethosu.isa_u85 import (
    U85,
    AccInput,
    AccOutput,
    ActivationReverse,
    ActivationStorage,
    ActivationTranspose,
    IfmRoundMode,
    Microblock,
    OfmRoundMode,
    ResizeMode,
    U85AccFormat,
    U85ActivationClipRange,
    U85ActivationFunction,
    U85BroadcastMode,
    U85ElementwiseMode,
    U85PoolingMode,
)
from ethosgen.backend.ethosu.simulator.decode import Instruction
from ethosgen.backend.ethosu.simulator.operation import (
    DataStream,
    FeatureMap,
    Operation,
)
from ethosgen.backend.ethosu.simulator.scaling import Rounding
from ethosgen.backend.ethosu.simulator.state import (
    DTYPES,
    UNARY,
    CommandRegisters,
    check_pooled_depth,
    operand_code,
    parts_of,
)
from ethosgen.backend.ethosu.simulator.u85.operation import (
    ELEMENTWISE_MODES,
    POOLING_MODES,
    Accumulators,
    Chained,
    CopyEnd,
    Indices,
    Operand,
    Resize,
    ResizeAxis,
    ScalarOperand,
    Scaled,
    U85Activation,
    U85Convolution,
    U85Dma,
    U85Elementwise,
    U85Layout,
    U85Output,
    U85Pool,
)
from ethosgen.values.errors import NpuFault

_UNARY = (*UNARY, U85ElementwiseMode.NOT)

_OFM_ROUNDING: dict[OfmRoundMode, Rounding] = {
    OfmRoundMode.DOUBLE_SYMMETRIC: RoundMode.DBL,
    OfmRoundMode.NATURAL: RoundMode.NATURAL,
    OfmRoundMode.TRUNCATE_TO_ZERO: RoundMode.TRUNCATE,
    OfmRoundMode.DOUBLE_ASYMMETRIC: OfmRoundMode.DOUBLE_ASYMMETRIC,
    OfmRoundMode.SYMMETRIC: OfmRoundMode.SYMMETRIC,
    OfmRoundMode.TRUNCATE_TO_LOWER: OfmRoundMode.TRUNCATE_TO_LOWER,
}
_IFM_ROUNDING: dict[IfmRoundMode, Rounding] = {
    IfmRoundMode.DOUBLE_SYMMETRIC: RoundMode.DBL,
    IfmRoundMode.NATURAL: RoundMode.NATURAL,
}

UBLOCK_DEPTHS: dict[int, dict[Microblock, int]] = {
    128: {Microblock.U1X2: 8, Microblock.U1X1: 16},
    256: {Microblock.U2X2: 8, Microblock.U1X4: 8, Microblock.U1X2: 16},
    512: {Microblock.U2X2: 16, Microblock.U1X4: 16},
    1024: {Microblock.U2X2: 32, Microblock.U1X4: 32, Microblock.U2X4: 16},
    2048: {Microblock.U2X2: 64, Microblock.U1X4: 64, Microblock.U4X4: 16},
}
"""Depth of an OFM microblock by MACs (Regor's ethos_u85.cpp)."""

_IFM_BLOCK_DEPTH = 64
_IFM_BLOCK_DEPTH_PART_KERNEL = 16
_IFM_BLOCK_DEPTH_NARROW = 32
_IFM_BLOCK_DEPTH_SPARSE = 128
_DEEP_UBLOCK = 16
"""Up to 256 MACs, a microblock of this depth halves the IFM block's."""
_SUB_KERNEL = 8
_OFFSET_BITS = 12
_ROW = "DMA0_{}_STRIDE0"
_PLANE = "DMA0_{}_STRIDE1"


def depth_first_depth(ifm_bits: int, macs: int, ublock_depth: int, sparse: bool = False) -> int:
    """Return the depth of the IFM's block for sums over its channels, depth first."""
    if ifm_bits == 32 or (macs <= 256 and ublock_depth == _DEEP_UBLOCK and not sparse):
        return _IFM_BLOCK_DEPTH_NARROW
    if sparse and ifm_bits == 8:
        return _IFM_BLOCK_DEPTH_SPARSE
    return _IFM_BLOCK_DEPTH


class U85Registers(CommandRegisters):
    """Operands by register name, as on U55."""

    isa = U85
    dtypes = (*DTYPES, "<u8", "<i8")

    def operation(self, instruction: Instruction) -> Operation | None:
        """Return the operation that an NPU_OP command starts; see CommandRegisters."""
        build = BUILDERS.get(instruction.command.name)
        return build(self, instruction) if build else None

    def _storage(self, prefix: str) -> ActivationStorage:
        storage = self.code(f"{prefix}_PRECISION", "activation_storage", ActivationStorage)
        if storage is ActivationStorage.TILE3X1:
            raise NpuFault("parse", f"{prefix}_PRECISION asks for TILE3X1, which is not modelled")
        return storage

    def _in_memory(self, prefix: str) -> FeatureMap:
        storage = self._storage(prefix)
        if storage is not ActivationStorage.TILE2X2:
            raise NpuFault("parse", f"{prefix} of this operation must be in memory")
        return self._feature_map(prefix)

    def _operand(self, prefix: str) -> Operand:
        fm = self._feature_map(prefix)
        match self._storage(prefix):
            case ActivationStorage.CHAINED:
                return Chained(fm.region, fm.dtype, fm.zero_point)
            case ActivationStorage.NONE:
                return ScalarOperand(self._scalar(fm.dtype), fm.dtype, fm.zero_point)
        return fm

    def _scalar(self, dtype: str) -> int:
        value = self.signed("OP_SCALAR", 32)
        return value if dtype[-2] == "i" else value & 0xFFFFFFFF

    def _output(self) -> U85Output:
        precision = "OFM_PRECISION"
        storage = self._storage("OFM")
        fm = self._feature_map("OFM")
        rounding = self.code("OFM_SCALE", "round_mode", OfmRoundMode)
        output = self.code("ACC_FORMAT", "acc_output", AccOutput)
        return U85Output(
            fm=fm,
            shape=self._shape("OFM"),
            scale_mode=self.code(precision, "scale_mode", OfmScaleMode),
            scale=self._scale("OFM_SCALE"),
            rounding=_OFM_ROUNDING[rounding],
            activation=self._activation(),
            block=self._shape("OFM_BLK"),
            acc_format=self.code("ACC_FORMAT", "acc_format", U85AccFormat),
            double_round=self.field("OFM_SCALE", "dbl_rnd"),
            transpose=self.code(precision, "activation_transpose", ActivationTranspose),
            reverse=self.code(precision, "activation_reverse", ActivationReverse),
            chain=fm.region if storage is ActivationStorage.CHAINED else None,
            enabled=output is AccOutput.ENABLE,
            microblock=self.code("ACC_FORMAT", "microblock", Microblock),
        )

    def _activation(self) -> U85Activation:
        return U85Activation(
            self.code("ACTIVATION", "activation_function", U85ActivationFunction),
            self.code("ACTIVATION", "activation_clip_range", U85ActivationClipRange),
            *self._clip_limits(),
            index=self.field("ACTIVATION", "table"),
        )

    def _windowed_input(self) -> FeatureMap:
        return self._in_memory("IFM")

    def _accumulators(self) -> Accumulators:
        source = self.code("ACC_FORMAT", "acc_input", AccInput)
        return Accumulators(
            source,
            self.code("ACC_FORMAT", "acc_format", U85AccFormat) is U85AccFormat.I48,
            self._in_memory("IFM2") if source is AccInput.IFM2 else None,
        )

    def _weight_streams(self, fast: bool) -> tuple[DataStream, ...]:
        assert self._accelerator.u85 is not None
        return self._data_streams("WEIGHT", 1 if fast else 1 << self._accelerator.u85.decoders_log2)

    def _scale_streams(self) -> tuple[DataStream, ...]:
        return self._data_streams("SCALE", 1)

    def _ublock_depth(self) -> int:
        block = self.code("ACC_FORMAT", "microblock", Microblock)
        macs = self._accelerator.macs
        try:
            return UBLOCK_DEPTHS[macs][block]
        except KeyError:
            reason = f"ACC_FORMAT asks for microblock {block.name}, which {macs} MACs do not have"
            raise NpuFault("parse", reason) from None

    def _layout(self, ifm_bits: int) -> U85Layout:
        order = self.code("KERNEL_STRIDE", "weight_order", WeightOrder)
        part_kernel = order is WeightOrder.PART_KERNEL_FIRST
        macs, ublock = self._accelerator.macs, self._ublock_depth()
        sparse = bool(self.field("WEIGHT_FORMAT", "weight_sparsity"))
        if part_kernel:
            depth = _IFM_BLOCK_DEPTH_PART_KERNEL
        else:
            depth = depth_first_depth(ifm_bits, macs, ublock, sparse)
        if self.field("KERNEL_STRIDE", "decomposition"):
            raise NpuFault("parse", "sub-kernels of 4x4 are not modelled for Ethos-U85")
        return U85Layout(
            part_kernel_first=part_kernel,
            ofm_block_depth=self.value("OFM_BLK_DEPTH_M1") + 1,
            sub_kernel=_SUB_KERNEL,
            ifm_block_depth=depth,
            ofm_ublock_depth=ublock,
            fast=bool(self.field("WEIGHT_FORMAT", "weight_format")),
            sparse=sparse,
        )

    def _conv(self, depthwise: bool, from_ifm2: bool) -> U85Convolution:
        window = self._convolved(depthwise)
        layout = self._layout(8 * int(window.ifm.dtype[-1]))
        if depthwise and (layout.fast or layout.sparse):
            raise NpuFault("parse", "a depthwise convolution needs weights in the standard format")
        is_global = window.ofm.scale_mode is OfmScaleMode.GLOBAL
        return U85Convolution(
            *parts_of(window),
            depthwise=depthwise,
            weights=() if from_ifm2 else self._weight_streams(layout.fast),
            scales=() if from_ifm2 and is_global else self._scale_streams(),
            layout=layout,
            accumulators=self._accumulators(),
            matrix=self._in_memory("IFM2") if from_ifm2 else None,
        )

    def _pooling(self, instruction: Instruction) -> U85Pool:
        mode = operand_code(instruction.command, instruction.operand, POOLING_MODES)
        window = self._windowed()
        self._ublock_depth()
        if mode is not U85PoolingMode.NONE:
            check_pooled_depth(window, mode)
        per_channel = window.ofm.scale_mode is OfmScaleMode.PER_CHANNEL
        return U85Pool(
            *parts_of(window),
            mode=mode,
            accumulators=self._accumulators(),
            scales=self._scale_streams() if per_channel else (),
        )

    def _scaled(self, prefix: str) -> Scaled:
        register = f"{prefix}_SCALE"
        rounding = self.code(register, "round_mode", IfmRoundMode)
        return Scaled(
            self._operand(prefix),
            self._scale(register),
            self.field(register, "dbl_rnd"),
            _IFM_ROUNDING[rounding],
            self.code(f"{prefix}_BROADCAST", "broadcast_mode", U85BroadcastMode),
        )

    def _elementwise_u85(self, instruction: Instruction) -> U85Elementwise:
        mode = operand_code(instruction.command, instruction.operand, ELEMENTWISE_MODES)
        return U85Elementwise(
            mode=mode,
            first=self._scaled("IFM"),
            second=None if mode in _UNARY else self._scaled("IFM2"),
            negative=self._scale("IFM2_SCALE"),
            ofm=self._output(),
        )

    def _resize(self, instruction: Instruction) -> Resize:
        def axis(name: str) -> ResizeAxis:
            scale = self.value(f"RESIZE_{name}_SCALE_N_M1") + 1
            whole = self.field(f"RESIZE_{name}_STEP", "one_step_int")
            rest = self.field(f"RESIZE_{name}_STEP", "one_step_mod")
            offset = self.signed(f"RESIZE_{name}_OFFSET", _OFFSET_BITS)
            return ResizeAxis(scale, whole * scale + rest, offset)

        ofm, depth = self._output(), self.value("IFM_DEPTH_M1") + 1
        if ofm.shape[2] != depth:
            depths = f"{depth} and {ofm.shape[2]}"
            raise NpuFault("parse", f"RESIZE cannot have IFM and OFM depths {depths}")
        return Resize(
            mode=operand_code(instruction.command, instruction.operand, ResizeMode),
            ifm=self._in_memory("IFM"),
            ifm_shape=(
                self.value("KERNEL_HEIGHT_M1") + 1,
                self.value("KERNEL_WIDTH_M1") + 1,
                depth,
            ),
            vertical=axis("Y"),
            horizontal=axis("X"),
            ofm=ofm,
        )

    def _copy(self) -> U85Dma:
        dims = self.field("DMA0_SRC_REGION", "stride_mode") + 1
        if dims > 3:
            raise NpuFault("parse", f"DMA0_SRC_REGION asks for stride mode {dims - 1}")
        length = self.value("DMA0_LEN")
        rows = self.value("DMA0_SIZE0")
        planes = self.value("DMA0_SIZE1") if dims == 3 else 1
        ends = [self._end(name, dims) for name in ("SRC", "DST")]
        indexed = any(end.indexed for end in ends)
        if all(end.indexed for end in ends):
            raise NpuFault("parse", "only one end of a copy can have indices")
        indices = None
        if indexed:
            indices = Indices(
                self.value("DMA0_IDX_REGION"),
                self.value("DMA0_IDX"),
                self.value("DMA0_IDX_MAX"),
                self._stride("DMA0_IDX_SKIP1") if dims == 3 else 0,
            )
        return U85Dma(ends[0], ends[1], (planes, rows if dims > 1 else 1, length), indices)

    def _end(self, name: str, dims: int) -> CopyEnd:
        register = f"DMA0_{name}_REGION"
        internal = bool(self.field(register, "region_mode"))
        indexed = bool(self.field(register, "idx_mode"))
        row = self._stride(_ROW.format(name)) if dims > 1 or indexed else 0
        plane = self._stride(_PLANE.format(name)) if dims > 2 else 0
        region = None if internal else self.field(register, "region")
        return CopyEnd(region, self.value(f"DMA0_{name}"), (plane, row), indexed)


BUILDERS: dict[str, Callable[[U85Registers, Instruction], Operation]] = {
    "NPU_OP_CONV": lambda registers, instruction: registers._conv(
        depthwise=False, from_ifm2=bool(instruction.fields["weights_ifm2"])
    ),
    "NPU_OP_DEPTHWISE": lambda registers, _: registers._conv(depthwise=True, from_ifm2=False),
    "NPU_OP_POOL": U85Registers._pooling,
    "NPU_OP_ELEMENTWISE": U85Registers._elementwise_u85,
    "NPU_OP_RESIZE": U85Registers._resize,
    "NPU_OP_DMA_START": lambda registers, _: registers._copy(),
}
"""Returns the operation that a command starts, from the registers and the command."""
