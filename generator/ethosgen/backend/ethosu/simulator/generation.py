"""The generations of the NPU: the simulator's parts for U55 and U65, and those for U85."""

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import Any

from ethosgen.backend.ethosu.accelerator import EthosU
from ethosgen.backend.ethosu.isa_u85 import TABLE_MEMORY_BYTES
from ethosgen.backend.ethosu.simulator import cycles
from ethosgen.backend.ethosu.simulator.feature_map import Placed
from ethosgen.backend.ethosu.simulator.operation import (
    Convolution,
    Dma,
    Elementwise,
    IssuedOperation,
    Output,
    Pool,
    Ports,
)
from ethosgen.backend.ethosu.simulator.ops import conv, dma, elementwise, pool
from ethosgen.backend.ethosu.simulator.ops.context import Action, Context, WeightDecoder
from ethosgen.backend.ethosu.simulator.ops.output import OutputTarget
from ethosgen.backend.ethosu.simulator.state import CommandRegisters
from ethosgen.backend.ethosu.simulator.u85 import cycles as u85_cycles
from ethosgen.backend.ethosu.simulator.u85 import effort, summary
from ethosgen.backend.ethosu.simulator.u85 import ops as u85_ops
from ethosgen.backend.ethosu.simulator.u85.operation import (
    Resize,
    U85Convolution,
    U85Dma,
    U85Elementwise,
    U85Output,
    U85Pool,
)
from ethosgen.backend.ethosu.simulator.u85.output import destination
from ethosgen.backend.ethosu.simulator.u85.state import U85Registers
from ethosgen.backend.ethosu.simulator.u85.weights import U85Weights
from ethosgen.backend.ethosu.simulator.weights import BlockWeights

REGISTERED = (effort, summary)
"""Modules that only register functions for U85's operations."""

PREPARE: dict[type, Callable[[Context, Any, Any], Action]] = {
    Convolution: conv.prepare,
    Pool: pool.prepare,
    Elementwise: elementwise.prepare,
    Dma: dma.prepare,
    U85Convolution: u85_ops.conv.prepare,
    U85Pool: u85_ops.pool.prepare,
    U85Elementwise: u85_ops.elementwise.prepare,
    Resize: u85_ops.resize.prepare,
    U85Dma: u85_ops.dma.prepare,
}
"""Returns a function that executes an operation, given its OFM in memory, None for a copy."""


def registers_of(accelerator: EthosU) -> CommandRegisters:
    """Return an accelerator's registers, none of them set."""
    return CommandRegisters(accelerator) if accelerator.u85 is None else U85Registers(accelerator)


def weight_format_of(accelerator: EthosU) -> WeightDecoder:
    """Return an accelerator's weight format."""
    return BlockWeights(accelerator) if accelerator.u85 is None else U85Weights(accelerator)


def estimate(
    accelerator: EthosU, steps: Sequence[IssuedOperation], ports: Ports | None = None
) -> int:
    """Return the cycles of a whole stream."""
    return round(max(progress(accelerator, steps, ports), default=0.0))


def progress(
    accelerator: EthosU, steps: Sequence[IssuedOperation], ports: Ports | None = None
) -> Iterator[float]:
    """Yield, for each step, the cycle at which the NPU has done all steps so far."""
    return accumulate((end for _, end in spans(accelerator, steps, ports)), max)


def spans(
    accelerator: EthosU, steps: Sequence[IssuedOperation], ports: Ports | None = None
) -> Iterator[cycles.Span]:
    """Yield the cycles in which the NPU runs each step."""
    own = cycles.spans if accelerator.u85 is None else u85_cycles.spans
    return own(accelerator, steps, ports)


def memory_rates(
    accelerator: EthosU, steps: Sequence[IssuedOperation], ports: Ports | None, regions: int
) -> list[float]:
    """Return the bytes per cycle of this many regions' memories."""
    own = cycles.memory_rates if accelerator.u85 is None else u85_cycles.memory_rates
    return own(accelerator, steps, ports, regions)


def inner_bytes(accelerator: EthosU) -> int:
    """Return the size of the memory that streams can address: a core's SHRAM, U85's tables."""
    if accelerator.u85 is not None:
        return TABLE_MEMORY_BYTES
    return accelerator.shram_kib * 1024 // accelerator.cores


def target_of(context: Context, output: Output | None) -> OutputTarget | None:
    """Return an operation's target, None for a copy; NpuFault if it is out of bounds."""
    if output is None:
        return None
    if isinstance(output, U85Output):
        return destination(context, output)
    base = context.base(output.fm.region)
    return Placed(context.bus, output.fm, base, output.shape, write=True)
