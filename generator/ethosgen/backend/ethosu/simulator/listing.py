"""Lists a stream's operations with their estimated cycles, without running them."""

from ethosgen.backend.ethosu.accelerator import EthosU
from ethosgen.backend.ethosu.simulator.generation import progress
from ethosgen.backend.ethosu.simulator.machine import load
from ethosgen.backend.ethosu.simulator.operation import Ports
from ethosgen.backend.ethosu.simulator.summary import title
from ethosgen.values.profile import NpuOperation


def list_operations(
    stream: bytes, accelerator: EthosU, ports: Ports | None = None
) -> list[tuple[int, NpuOperation]]:
    """Return each operation with the offset of its command.

    Its cycles are its delay of the stream's end, since copies run beside operations. So their sum
    over the stream is the PMU's count.
    """
    steps = load(stream, accelerator, ports).steps
    operations, before = [], 0
    for step, end in zip(steps, progress(accelerator, steps, ports), strict=True):
        operations.append((step.offset, NpuOperation(title(step.operation), round(end) - before)))
        before = round(end)
    return operations
