"""The processor's share of an inference, in cycles and time: the one source of all commands.

On QEMU the blocks of code that run are counted and timed by LLVM's model of the core. Where that is
impossible, the sum of stored costs replaces it, and is marked.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ethosgen.values.errors import ToolError, UnsupportedError
from ethosgen.values.outcome import Sample
from ethosgen.values.time import CpuTime

if TYPE_CHECKING:
    from ethosgen.cycles.inference import InferenceCounter
    from ethosgen.project.info import ProjectInfo
    from ethosgen.toolchain import Built


@contextmanager
def counting(info: "ProjectInfo", built: "Built") -> "Iterator[InferenceCounter | None]":
    """Yield the counter of a firmware's cycles, None if a tool or the core's model is missing.

    It counts on QEMU, with llvm-mca and a C compiler for this machine.
    """
    counter = _counter(info, built)
    if counter is None:
        yield None
        return
    with counter:
        yield counter


def _counter(info: "ProjectInfo", built: "Built") -> "InferenceCounter | None":
    from ethosgen.cycles.inference import InferenceCounter
    from ethosgen.targets import require_target

    emulated = info.board.on_qemu
    if not require_target(built.on).counts_instructions or emulated is None:
        return None
    if emulated.counter is None:
        return None
    try:
        return InferenceCounter(built.elf, info.board.cpu.core, emulated.counter.value_addr)
    except (ToolError, UnsupportedError):
        return None


def cpu_time(
    samples: Sequence[Sample], counter: "InferenceCounter | None", info: "ProjectInfo", index: int
) -> CpuTime | None:
    """Return the largest of the samples' shares; the stored costs if none was counted."""
    counts = [sample.cpu_cycles.total for sample in samples if sample.cpu_cycles is not None]
    if counter is None or not counts:
        return info.networks[index].cpu_time
    return CpuTime(max(counts), info.board.cpu.clock_hz, counter.source)
