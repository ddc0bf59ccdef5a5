"""An NPU model's report about a command stream."""

from typing import NamedTuple


class StreamRun(NamedTuple):
    """A command stream that an NPU model has run; `cycles` is an estimate.

    A stream that ended in a fault has no operations and cycles.
    """

    start_addr: int
    size_bytes: int
    operations: int
    cycles: int
