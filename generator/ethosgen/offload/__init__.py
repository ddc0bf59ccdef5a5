"""Offload: a network to the plan of what the NPU and the CPU run. Owns Vela (`ethosu`).

Vela sees the original .tflite and is the only judge of what the NPU can do. It runs in a child
process (see ethosgen.child), so that a network that ends it is a sentence and not the end of us.
"""

from collections.abc import Sequence

from ethosgen.accelerator import Accelerator
from ethosgen.errors import InputError
from ethosgen.flatbuffer import is_compiled
from ethosgen.model import Model
from ethosgen.offload.constraints import NpuOperator, npu_operators
from ethosgen.offload.cpu_only import plan_cpu_only
from ethosgen.offload.origin import Origin
from ethosgen.offload.payload import strip_header
from ethosgen.offload.precompiled import (
    accelerator_for,
    compiled_for,
    compiled_streams,
    plan_compiled,
)
from ethosgen.offload.reasons import cpu_operators, why_it_ends
from ethosgen.offload.regions import read_spans
from ethosgen.offload.residual import Residual
from ethosgen.offload.vela import FASTEST, MEMORY_MODE, Schedule, compile_network
from ethosgen.plan import IoStyle, OffloadPlan

__all__ = [
    "NpuOperator",
    "Schedule",
    "accelerator_for",
    "compiled_for",
    "compiled_streams",
    "npu_operators",
    "offload",
    "strip_header",
]


def offload(
    model: Model,
    accelerator: Accelerator | None,
    io: IoStyle = IoStyle.ARENA,
    *,
    ignore: Sequence[str] = (),
    system_config: str | None = None,
    memory_mode: str = MEMORY_MODE,
    schedule: Schedule = FASTEST,
) -> OffloadPlan:
    """Split a model between NPU and CPU; without an accelerator the CPU gets all of it.

    A model that Vela has compiled already is taken as it is: the options do not apply then.
    `ignore` names operators (CONV_2D) that must stay on the CPU. `system_config` and `memory_mode`
    are sections of Vela's vela.ini; the default is a Cortex-M board's SRAM and flash. `schedule` is
    what Vela optimises for. Raises InputError or UnsupportedError where Vela, or a limit of the
    NPU, forbids it.
    """
    if accelerator is None:
        return plan_cpu_only(model, io)
    if is_compiled(model):
        if ignore:
            raise InputError(f"'{model.name}' is compiled already: its operators cannot move now")
        return plan_compiled(model, accelerator, io)
    compiled = compile_network(model, accelerator, io, ignore, system_config, memory_mode, schedule)
    spans = read_spans(compiled.log) if io is IoStyle.CALLER else None
    residual = Residual(compiled.network, model, spans)
    origin = Origin(model.graph, residual.graph, compiled.tables)
    on_cpu = cpu_operators(model, residual.graph, origin, compiled.log, ignore)
    partitions = residual.partitions(
        origin.on_npu, [why_it_ends(residual.graph, p, on_cpu) for p in residual.npu_operators]
    )
    return OffloadPlan(
        model=model,
        accelerator=accelerator,
        io=io,
        residual=residual.graph,
        partitions=partitions,
        cpu_operators=on_cpu,
        npu_operators=sum(len(operators) for operators in origin.on_npu),
        read_only=residual.read_only,
        scratch_bytes=residual.scratch_bytes,
        scratch_fast_bytes=residual.scratch_fast_bytes,
        offsets=residual.offsets,
        sram_bytes=compiled.peak_bytes.get("Sram", 0),
        npu_cycles=compiled.npu_cycles,
    )
