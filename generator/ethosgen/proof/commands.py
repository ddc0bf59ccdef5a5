"""The addresses that a stream's operations read and write, from its words alone."""

from collections.abc import Iterator
from typing import NamedTuple

from ethosgen.proof.lattice import ByteLattice
from ethosgen.proof.stream import StreamOperation, StreamRegisters, operations

_WITH_WEIGHTS = ("CONV", "DEPTHWISE")
_LRELU, _ABS, _CLZ, _NOT = 5, 6, 7, 36
_UNARY = (_LRELU, _ABS, _CLZ, _NOT)
_NO_POOLING = 4
"""U85's pooling that begins with the accumulators, and reads no IFM."""
_IN_TILES = 0
_SCALAR = 8
_ACC_FROM_IFM2 = 2
_INTERNAL = 1 << 8
"""In a region of DMA: the NPU's own memory, not one behind a base pointer."""
_INDEXED = 1 << 11
_INDEX_BYTES = 4

Shape = tuple[int, int, int]


class RegionAccess(NamedTuple):
    """Bytes of a region that an operation uses; `at` is the operation's place in the stream."""

    what: str
    at: int
    region: int
    writes: bool
    bytes: tuple[ByteLattice, ...]

    @property
    def is_copy(self) -> bool:
        """Whether it is an end of a copy."""
        return self.what.startswith("DMA")

    @property
    def low(self) -> int:
        """The first byte."""
        return min((part.low for part in self.bytes), default=0)

    @property
    def end(self) -> int:
        """The byte after the last one."""
        return max((part.end for part in self.bytes), default=0)


def accesses(stream: bytes) -> Iterator[RegionAccess]:
    """Yield each operation's reads, then its writes; ValueError for a damaged stream."""
    for operation in operations(stream):
        parts = _copy(operation) if operation.name == "DMA" else _computation(operation)
        for what, region, writes, lattices in parts:
            if lattices:
                operand = f"{operation.name}'s {what}"
                yield RegionAccess(operand, operation.at, region & 7, writes, lattices)


_Part = tuple[str, int, bool, tuple[ByteLattice, ...]]


def _computation(operation: StreamOperation) -> Iterator[_Part]:
    name, _, operand, registers = operation
    output = registers.shape("OFM")

    def feature_map(what: str, prefix: str, shape: Shape, writes: bool = False) -> _Part:
        lattices = registers.tiles(prefix, shape)
        if registers.storage(prefix) != _IN_TILES:
            lattices = ()
        return what, registers.get(f"{prefix}_REGION"), writes, lattices

    if name == "ELEMENTWISE":
        yield feature_map("input", "IFM", _repeated(registers, "IFM", output))
        if operand not in _UNARY and not (
            registers.get("IFM2_BROADCAST", 7) and not registers.is_u85
        ):
            yield feature_map("second input", "IFM2", _repeated(registers, "IFM2", output))
    elif not (registers.is_u85 and name == "POOL" and operand == _NO_POOLING):
        yield feature_map("input", "IFM", _input_shape(registers, name, output))
    if registers.is_u85 and registers.get("ACC_FORMAT", 4, 2) == _ACC_FROM_IFM2:
        yield feature_map("first sums", "IFM2", output)
    if registers.is_u85 and name == "CONV" and operand & 1:
        matrix = 1, output[2], registers.get("IFM_DEPTH_M1") + 1
        yield feature_map("matrix", "IFM2", matrix)
    yield from _constants(operation)
    if not (registers.is_u85 and registers.get("ACC_FORMAT", 6, 1)):
        yield feature_map("output", "OFM", _stored(registers, output), writes=True)


def _repeated(registers: StreamRegisters, prefix: str, full: Shape) -> Shape:
    """Return an operand's shape in memory: 1 along the axes along which it is repeated."""
    if not registers.is_u85:
        bits = registers.get("IFM2_BROADCAST", bits=3) if prefix == "IFM2" else 0
    else:
        bits = registers.get(f"{prefix}_BROADCAST", bits=4)
    if bits == _SCALAR:
        return 1, 1, 1
    height, width, depth = (1 if bits >> axis & 1 else full[axis] for axis in range(3))
    return height, width, depth


def _input_shape(registers: StreamRegisters, name: str, output: Shape) -> Shape:
    """Return the shape of an IFM, from the output's, the kernel and the padding."""
    depth = registers.get("IFM_DEPTH_M1") + 1
    kernel = [registers.get(f"KERNEL_{axis}_M1") for axis in ("HEIGHT", "WIDTH")]
    if name == "RESIZE":
        return kernel[0] + 1, kernel[1] + 1, depth
    pads = (("TOP", "BOTTOM"), ("LEFT", "RIGHT"))
    sizes = []
    for axis, (low, high) in enumerate(((1, 9), (0, 6))):  # of KERNEL_STRIDE: y, x
        stride = 1 + registers.get("KERNEL_STRIDE", low, 1)
        stride += 2 * registers.get("KERNEL_STRIDE", high, 1)
        dilation = 1 + registers.get("KERNEL_STRIDE", 4 - axis, 1)
        size = (output[axis] - 1) * stride + kernel[axis] // dilation * dilation + 1
        size -= sum(registers.get(f"IFM_PAD_{side}") for side in pads[axis])
        sizes.append((size + 1) // 2 if registers.get("IFM_UPSCALE", bits=2) else size)
    return sizes[0], sizes[1], depth


_TRANSPOSED = {0: (0, 1, 2), 1: (1, 0, 2), 2: (0, 2, 1), 3: (1, 2, 0), 6: (2, 0, 1), 7: (2, 1, 0)}
"""U85's activation_transpose: the axes of height, width and depth as they are stored."""


def _stored(registers: StreamRegisters, shape: Shape) -> Shape:
    """Return an OFM's shape in memory."""
    if not registers.is_u85:
        return shape
    code = registers.get("OFM_PRECISION", 11, 3)
    if code not in _TRANSPOSED:
        raise ValueError(f"OFM_PRECISION has the undefined transposition {code}")
    height, width, depth = (shape[axis] for axis in _TRANSPOSED[code])
    return height, width, depth


def _constants(operation: StreamOperation) -> Iterator[_Part]:
    """Yield the streams of weights and scales."""
    name, _, operand, registers = operation
    has_scales = name in _WITH_WEIGHTS
    weights = ["WEIGHT"] if has_scales else []
    if registers.is_u85:
        is_global = registers.get("OFM_PRECISION", 8, 1)
        if name == "CONV" and operand & 1:
            weights, has_scales = [], not is_global
        elif name == "POOL":
            has_scales = not is_global
        elif has_scales and not registers.get("WEIGHT_FORMAT", bits=1):
            weights += [f"WEIGHT{number}" for number in range(1, registers.decoders)]
        scales = ["SCALE"] if has_scales else []
    else:
        second = has_scales and registers.get("PARALLEL_MODE", bits=1)
        weights += ["WEIGHT1"] if second else []
        scales = [*(["SCALE"] if has_scales else []), *(["SCALE1"] if second else [])]
    for prefix in (*weights, *scales):
        what, region = ("weights", "WEIGHT") if prefix in weights else ("scales", "SCALE")
        length = registers.get(f"{prefix}_LENGTH", bits=32)
        lattice = ByteLattice(registers.get(f"{prefix}_BASE"), length)
        yield what, registers.get(f"{region}_REGION"), False, (lattice,) if length else ()


def _copy(operation: StreamOperation) -> Iterator[_Part]:
    """Yield both ends of a copy, and its indices."""
    registers = operation.registers
    length = registers.get("DMA0_LEN")
    size0, size1 = registers.get("DMA0_SIZE0"), registers.get("DMA0_SIZE1")
    ends = {name: registers.get(f"DMA0_{name}_REGION") for name in ("SRC", "DST")}
    modes = {name: end >> 9 & 3 for name, end in ends.items()}
    mode = modes["SRC"] if registers.is_u85 else max(modes.values())
    rows, planes = (size0 if mode > 0 else 1), (size1 if mode > 1 else 1)
    if registers.is_u85 and any(end & _INDEXED for end in ends.values()):
        skip = registers.stride("DMA0_IDX_SKIP1") if mode > 1 else 0
        plane = _INDEX_BYTES * rows + skip
        indices = ByteLattice(registers.get("DMA0_IDX"), _INDEX_BYTES * rows, (planes,), (plane,))
        yield "indices", registers.get("DMA0_IDX_REGION"), False, (indices,)
    for name, end in ends.items():
        if end & _INTERNAL:
            continue
        row, plane = length, length * rows
        if registers.is_u85:
            row, plane = (registers.stride(f"DMA0_{name}_STRIDE{axis}") for axis in (0, 1))
        else:
            row += registers.stride("DMA0_SKIP0") if modes[name] > 0 else 0
            plane += registers.stride("DMA0_SKIP1") if modes[name] > 1 else 0
        number = registers.get("DMA0_IDX_MAX") + 1 if end & _INDEXED else rows
        lattice = ByteLattice(registers.get(f"DMA0_{name}"), length, (planes, number), (plane, row))
        yield ("source", "target")[name == "DST"], end, name == "DST", (lattice,)
