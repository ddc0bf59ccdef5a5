"""The use of memory by a network's steps, for the manifest."""

from dataclasses import dataclass
from enum import Enum

from ethosgen.values.network import Tensor


class BlockKind(Enum):
    """The owner of a block's bytes."""

    TENSOR = "tensor"
    VARIABLE = "variable"
    """A tensor of the NPU that keeps its value from one inference to the next."""
    NPU = "npu"
    """The scratch in which the NPU's compiler placed tensors, from its first partition to its
    last."""
    FAST = "fast"
    """A scratch that holds nothing between two partitions of the NPU."""
    SCRATCH = "scratch"
    """The memory of a wrapped accelerator while it runs."""
    WORKSPACE = "workspace"
    """That of a kernel."""
    COPY = "copy"
    """A constant in SRAM, from the step during which it is copied to the one that reads it."""


@dataclass(frozen=True)
class RecordedBlock:
    """Bytes of the arena during the steps first..last, which `tensor` has if it is not None."""

    kind: BlockKind
    name: str
    offset: int
    bytes: int
    first: int
    last: int
    tensor: int | None = None


@dataclass(frozen=True)
class StepAccess:
    """A step's reads and writes, by indices of tensors, without constants.

    An accelerator's end is awaited before step `until`. `is_move` means that the output has the
    input's bytes. The kernel reads the inputs `over` only where it stores next; an input may also
    be `distance` bytes or more after the output (before it if `is_backward`), a multiple of `unit`.
    `npu` is the number of a stream; `bases` are the targets of its base pointers: tensors, or
    memories by name.
    """

    name: str
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    until: int
    is_move: bool = False
    over: tuple[int, ...] = ()
    distance: int | None = None
    unit: int = 1
    is_backward: bool = False
    npu: int | None = None
    bases: tuple[int | str | None, ...] = ()
    device: str = ""
    """Of an accelerator's call: what runs it, one call at a time."""


@dataclass(frozen=True)
class MemoryRecord:
    """The blocks of an arena, the steps that use them, and the tensors of both."""

    tensors: tuple[Tensor, ...] = ()
    blocks: tuple[RecordedBlock, ...] = ()
    steps: tuple[StepAccess, ...] = ()
    inputs: tuple[int, ...] = ()
    outputs: tuple[int, ...] = ()


NO_RECORD = MemoryRecord()
"""That of a program without steps."""
