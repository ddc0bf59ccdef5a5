"""A bench for the NPU model: a small bus, and streams written as Arm's commands."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ethosgen.backend.ethosu import isa
from ethosgen.backend.ethosu.accelerator import find_accelerator
from ethosgen.backend.ethosu.isa_u85 import instruction_set
from ethosgen.backend.ethosu.simulator.machine import Machine, RunReport
from ethosgen.backend.ethosu.simulator.memory import Bus, Segment
from tests.support.assembling import assemble

STREAM = 0x1000_0000
CONSTANTS = 0x2000_0000
SCRATCH = 0x3000_0000
SCRATCH_BYTES = 1 << 16

Array = np.ndarray[Any, Any]
Program = list[tuple[str, dict[str, int]]]

_WIDTH = {1: 0, 2: 1, 4: 2}
STOP: Program = [("NPU_OP_STOP", {"mask": 0xFFFF})]


class Bench:
    """An accelerator with region 0 (read-only constants) and region 1 (scratch)."""

    def __init__(self, accelerator: str = "ethos-u55-128", constants: bytes = b"") -> None:
        self.scratch = np.zeros(SCRATCH_BYTES, np.uint8)
        self.stream = np.zeros(1 << 16, np.uint8)
        self.constants = np.zeros(1 << 12, np.uint8)
        self.constants[: len(constants)] = np.frombuffer(constants, np.uint8)
        bus = Bus(
            [
                Segment(STREAM, self.stream, False, "stream"),
                Segment(CONSTANTS, self.constants, False, "constants"),
                Segment(SCRATCH, self.scratch, True, "scratch"),
            ]
        )
        self.machine = Machine(find_accelerator(accelerator), bus)

    def put(self, address: int, values: Any, dtype: str = "int8") -> None:
        """Write values to scratch."""
        data = np.asarray(values, dtype).ravel().view(np.uint8)
        self.scratch[address : address + data.size] = data

    def get(self, address: int, shape: Sequence[int], dtype: str = "int8") -> Array:
        """Read values from scratch."""
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        return self.scratch[address : address + size].copy().view(dtype).reshape(shape)

    def run(self, *parts: Program) -> RunReport:
        """Run the commands, followed by a STOP."""
        isa = instruction_set(self.machine.accelerator.config_word)
        return self.run_bytes(assemble([line for part in (*parts, STOP) for line in part], isa))

    def run_bytes(self, stream: bytes) -> RunReport:
        """Run a stream without changes."""
        self.stream[: len(stream)] = np.frombuffer(stream, np.uint8)
        return self.machine.run(STREAM, len(stream), [CONSTANTS, SCRATCH])


def sets(**values: int) -> Program:
    """Return NPU_SET commands with one field: sets(IFM_PAD_TOP=1)."""
    program: Program = []
    for register, value in values.items():
        first = isa.BY_NAME[f"NPU_SET_{register}"].fields[0].name
        key = "addr" if first.startswith("addr") else first
        program.append((f"NPU_SET_{register}", {key: value}))
    return program


def feature_map(
    name: str,
    address: int,
    shape: tuple[int, int, int],
    dtype: str = "int8",
    zero_point: int = 0,
    brick: bool = False,
    region: int = 1,
    **precision: int,
) -> Program:
    """Return a dense feature map in one tile; `precision` has its register's other fields."""
    height, width, depth = shape
    size = np.dtype(dtype).itemsize
    row = width * depth * size
    strides = (row, depth * size, size)
    if brick:
        strides = (width * 16 * size * -(-depth // 16), 16 * size, width * 16 * size)
    fields = {
        "activation_type": int(np.dtype(dtype).kind == "i"),
        "activation_precision": _WIDTH[size],
        "activation_format": int(brick),
        **precision,
    }
    program = sets(
        **{
            f"{name}_REGION": region,
            f"{name}_BASE0": address,
            f"{name}_HEIGHT0_M1": height - 1,
            f"{name}_HEIGHT1_M1": height - 1,
            f"{name}_WIDTH0_M1": width - 1,
            f"{name}_STRIDE_Y": strides[0],
            f"{name}_STRIDE_X": strides[1],
            f"{name}_STRIDE_C": strides[2],
            f"{name}_ZERO_POINT": zero_point,
        }
    )
    return [*program, (f"NPU_SET_{name}_PRECISION", fields)]


def ifm(address: int, shape: tuple[int, int, int], dtype: str = "int8", **more: Any) -> Program:
    """Return the IFM's commands; of its shape, the registers contain only the depth."""
    return feature_map("IFM", address, shape, dtype, **more) + sets(IFM_DEPTH_M1=shape[2] - 1)


def ifm2(address: int, shape: tuple[int, int, int], dtype: str = "int8", **more: Any) -> Program:
    """Return the commands for the second IFM of an elementwise operation."""
    return feature_map("IFM2", address, shape, dtype, **more)


def ofm(
    address: int,
    shape: tuple[int, int, int],
    dtype: str = "int8",
    clip: tuple[int, int] | None = None,
    function: int = 0,
    clip_range: int = 0,
    **more: Any,
) -> Program:
    """Return the commands for the OFM, and for the operations on a result before it is written."""
    info = np.iinfo(dtype)
    low, high = clip or (max(int(info.min), -32768), min(int(info.max), 32767))
    activation = {"activation_function": function, "activation_clip_range": clip_range}
    return [
        *feature_map("OFM", address, shape, dtype, **more),
        *sets(OFM_HEIGHT_M1=shape[0] - 1, OFM_WIDTH_M1=shape[1] - 1, OFM_DEPTH_M1=shape[2] - 1),
        ("NPU_SET_ACTIVATION", activation),
        *sets(ACTIVATION_MIN=low, ACTIVATION_MAX=high),
    ]


def kernel(
    height: int,
    width: int,
    stride: tuple[int, int] = (1, 1),
    dilation: tuple[int, int] = (1, 1),
    padding: tuple[int, int, int, int] = (0, 0, 0, 0),
    part_kernel: bool = False,
) -> Program:
    """Return the commands for kernel, stride and padding (top, left, bottom, right)."""
    top, left, bottom, right = padding
    stride_fields = {
        "stride_y_lsb": stride[0] - 1 & 1,
        "stride_y_msb": stride[0] - 1 >> 1,
        "stride_x_lsb": stride[1] - 1 & 1,
        "stride_x_msb": stride[1] - 1 >> 1,
        "dilation_y": dilation[0] - 1,
        "dilation_x": dilation[1] - 1,
        "weight_order": int(part_kernel),
    }
    return [
        *sets(
            KERNEL_HEIGHT_M1=(height - 1) * dilation[0], KERNEL_WIDTH_M1=(width - 1) * dilation[1]
        ),
        ("NPU_SET_KERNEL_STRIDE", stride_fields),
        *sets(IFM_PAD_TOP=top, IFM_PAD_LEFT=left, IFM_PAD_BOTTOM=bottom, IFM_PAD_RIGHT=right),
    ]


def scale(register: str, factor: int, shift: int) -> Program:
    """Return the command for OFM_SCALE or OPA_SCALE."""
    return [(f"NPU_SET_{register}_SCALE", {"scale": factor, "shift": shift})]


def encode_weights(values: Sequence[int]) -> bytes:
    """Encode weights, in stream order, as one uncompressed slice of 9-bit values.

    Header: ZDIV 6 (no zero runs), length - 1, WDIV 7 (uncompressed), WTRUNC 0, NEWPAL 1; palette of
    size 0 with 9 bits; then sign in bit 0 and magnitude above; ZDIV 7 ends the stream.
    """
    bits, count = 0, 0
    fields = [(6, 3), (len(values) - 1, 15), (7, 3), (0, 1), (1, 1), (0, 5), (0, 5), (7, 3)]
    fields += [(abs(v) << 1 | (v < 0), 9) for v in values]
    for value, width in [*fields, (7, 3)]:
        bits |= value << count
        count += width
    padded = -(-count // 128) * 128
    bits |= (1 << padded) - (1 << count)
    return bits.to_bytes(padded // 8, "little")


def record(bias: int, factor: int, shift: int) -> bytes:
    """Return one scale record of 10 bytes."""
    return (
        (bias & (1 << 40) - 1).to_bytes(5, "little") + factor.to_bytes(4, "little") + bytes([shift])
    )


def weights(
    stream: bytes, records: bytes, block_depth: int = 8, at: int = 0
) -> tuple[Program, bytes]:
    """Return commands and constants for weights and records at the start of region 0."""
    start = -(-len(records) // 16) * 16
    constants = records.ljust(start, b"\0") + stream
    program = sets(
        SCALE_REGION=0,
        SCALE_BASE=at,
        SCALE_LENGTH=start,
        WEIGHT_REGION=0,
        WEIGHT_BASE=at + start,
        WEIGHT_LENGTH=len(stream),
        OFM_BLK_DEPTH_M1=block_depth - 1,
    )
    return program, constants
