"""Bytes of the arena that are live during some steps, and which of them may overlap."""

from dataclasses import dataclass

from ethosgen.aot.graph.storage import ALIGNMENT


@dataclass(frozen=True)
class Block:
    """Bytes that are live during `steps`; `offset` is None until they are placed.

    `values` are the tensors that share these bytes. `port` is the tensor of the port whose buffer
    holds them instead of the arena. `is_fixed` is whether the backend chose the
    offset, `is_scratch` whether it is a scratch that contains fixed blocks.
    """

    name: str
    bytes: int
    steps: frozenset[int]
    values: tuple[int, ...] = ()
    offset: int | None = None
    port: int | None = None
    is_fixed: bool = False
    is_scratch: bool = False
    alignment: int = ALIGNMENT

    @property
    def is_homeless(self) -> bool:
        """Whether the block still has to be placed in the arena."""
        return self.offset is None and self.port is None

    def overlaps(self, other: "Block") -> bool:
        """Return whether two placed blocks share a byte of the arena."""
        if self.offset is None or other.offset is None:
            return False
        return self.offset < other.offset + other.bytes and other.offset < self.offset + self.bytes


@dataclass(frozen=True)
class Trail:
    """An output that may lie over an input that nothing reads later; both are numbers of blocks.

    Its kernel reads the input from the start to the end, and is always `distance` bytes ahead of
    its writes. So the output may begin at least this many bytes before the input; they must be a
    multiple of `unit`. If the kernel `is_backward`, the input begins first.
    """

    output: int
    input: int
    distance: int
    unit: int = 1
    is_backward: bool = False

    @property
    def ends(self) -> tuple[int, int]:
        """The block that begins first, and the other."""
        both = self.output, self.input
        return both[::-1] if self.is_backward else both
