"""The templates' values for one network."""

import re
from collections.abc import Mapping
from typing import Any

from ethosgen.board import Board
from ethosgen.project.capacity import own_alignment, part_sizes
from ethosgen.project.literals import c_type, float_text
from ethosgen.project.words import ALIGNMENT, HEADER_BYTES
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.network import Tensor
from ethosgen.values.plan import Base, Partition, RegionKind
from ethosgen.values.program import Port, Program, Variable

FAST_BASE = 2
"""The base pointer to fast scratch, in Vela's order of memories."""
SHARED_ARENA = "ethosgen_arena"
SHARED_FAST = "ethosgen_fast"
"""C name of the memory that several networks share."""

_GUARD = "FP_CONTRACT"
"""The placeholder in a graph's C code with floating point (see aot.code.float_flags)."""
_UNTOLD = ("-Wno-conversion", "-Wno-sign-conversion")
_EXACT = ("-ffp-contract=off", "-fno-fast-math", "-fno-tree-vectorize", "-fno-tree-slp-vectorize")
"""Options of GCC and Clang for a graph's C: TVM narrows integers where its passes prove that they
fit, which the compiler cannot know; and results must not depend on the options of the rest."""

_LIBRARY_NAMES = re.compile(
    r"arena|commands\w*|entry|init|lock|npu_\w+|reset|run|state|unlock|weights"
)
"""Suffixes of NAME_ that the library itself uses; ports of these names get a "_" appended."""


def network_facts(
    program: Program, board: Board, memory_mode: str, is_shared: bool
) -> dict[str, Any]:
    """Return the templates' values for a network.

    `is_shared` means that other networks use its arena too: data that must persist between runs
    gets its own copy.
    """
    plan = program.plan
    streams = [_stream_facts(program, board, memory_mode, p) for p in plan.partitions]
    NAME = program.name.upper()  # noqa: N806
    memories = _memories(program, board, memory_mode, is_shared)
    alignment = own_alignment(program, board)
    graph = f"{program.name}_graph.c"
    is_guarded = _GUARD in program.sources.get(graph, "")
    return {
        "name": program.name,
        "NAME": NAME,
        "folder": f"{program.name}/" if is_shared else "",
        "source": f"{plan.network.name}.tflite",
        "may_wait": program.may_wait,
        "inputs": [_port_facts(program, port, alignment) for port in program.inputs],
        "outputs": [_port_facts(program, port, alignment) for port in program.outputs],
        **memories,
        "arena_bytes": _round_up(program.arena_bytes, alignment),
        "arena_alignment": max(program.arena_alignment, alignment),
        "own_alignment": alignment if plan.accelerator else None,
        "alignment_macro": f"{NAME}_{'BUFFER' if plan.accelerator else 'ARENA'}_ALIGNMENT",
        "state_bytes": program.state_bytes,
        "weights_bytes": len(plan.read_only),
        "commands_bytes": sum(stream["bytes"] for stream in streams),
        "streams": streams,
        "entry_arguments": ", ".join(
            _argument(program, parameter, memories["arena"])
            for parameter in program.entry_parameters
        ),
        "graph_source": graph if graph in program.sources else None,
        "graph_options": [*_UNTOLD, *(_EXACT if is_guarded else [])],
        "own_sources": _own_sources(program),
        "parts": part_sizes(program, board),
    }


def _memories(program: Program, board: Board, memory_mode: str, is_shared: bool) -> dict[str, Any]:
    """Return the names of a network's memories, and the parts that must persist between runs."""
    variables = [_variable_facts(variable) for variable in program.variables]
    kept_bytes = 0
    for variable in variables:
        variable["place"] = f"{program.name}_{variable['memory']}"
        variable["place_offset"] = variable["offset"]
        if is_shared and variable["memory"] == "arena":
            variable["place"], variable["place_offset"] = f"{program.name}_kept", kept_bytes
            kept_bytes += variable["bytes"]
    return {
        "arena": SHARED_ARENA if is_shared else f"{program.name}_arena",
        "fast": SHARED_FAST if is_shared else f"{program.name}_fast",
        "fast_bytes": _fast_bytes(program, board, memory_mode),
        "variables": variables,
        "kept_bytes": kept_bytes,
    }


def is_own(program: Program, source: str) -> bool:
    """Return whether only this network uses a source; other sources serve every network."""
    return source.startswith(f"{program.name}_")


def _own_sources(program: Program) -> list[str]:
    sources = [f"{program.name}.c"]
    sources += sorted(n for n in program.sources if n.endswith(".c") and is_own(program, n))
    if program.plan.partitions:
        sources.append(f"{program.name}_commands.c")
    if program.plan.read_only or program.constants:
        sources.append(f"{program.name}_weights.c")
    return sources


def _argument(program: Program, parameter: str, arena: str) -> str:
    if parameter == "arena":
        return arena if program.arena_bytes else "NULL"
    if parameter == "state":
        return f"{program.name}_state"
    if parameter == "read_only":
        return f"(const int8_t *){program.name}_weights" if program.plan.read_only else "NULL"
    return parameter


def _variable_facts(variable: Variable) -> dict[str, Any]:
    facts = {key: getattr(variable, key) for key in ("memory", "offset", "bytes", "initial_byte")}
    return {**facts, "comment": variable.name.replace("*/", "* /")}


def _round_up(size: int, alignment: int) -> int:
    return -(-size // alignment) * alignment if alignment > ALIGNMENT else size


def _port_facts(program: Program, port: Port, alignment: int) -> dict[str, Any]:
    tensor = port.tensor
    scale, zero_point, note = _quantization(tensor)
    label = f"{port.c_name}_" if _LIBRARY_NAMES.fullmatch(port.c_name) else port.c_name
    return {
        "c_name": port.c_name,
        "label": label,
        "buffer": f"{program.name}_{label}()" if port.offset is not None else f"{label}_buffer",
        "MACRO": f"{program.name}_{label}".upper(),
        "comment": tensor.name.replace("*/", "* /"),
        "ctype": c_type(tensor.dtype),
        "shape": tensor.shape or (1,),
        "elements": tensor.elements,
        "bytes": tensor.bytes,
        "npu_bytes": program.plan.buffer_bytes(tensor),
        "buffer_bytes": _round_up(program.plan.buffer_bytes(tensor), alignment),
        "offset": port.offset,
        "scale": float_text(scale) if scale is not None else None,
        "scale_text": f"{scale:.9g}" if scale is not None else None,
        "zero_point": zero_point,
        "quantization_note": note,
    }


def _quantization(tensor: Tensor) -> tuple[float | None, int | None, str | None]:
    quantization = tensor.quantization
    if quantization is None or not quantization.scale:
        return None, None, "not quantized"
    if len(quantization.scale) > 1:
        return None, None, f"quantized along dimension {quantization.axis}; see the .tflite"
    return quantization.scale[0], quantization.zero_point[0], None


def _stream_facts(
    program: Program, board: Board, memory_mode: str, partition: Partition
) -> dict[str, Any]:
    placement = board.placement(memory_mode)
    ports = {part: board.memories[m].npu_port or 0 for part, m in placement.npu_parts().items()}
    bases = [*partition.bases, *[None] * (8 - len(partition.bases))]
    index = program.plan.partitions.index(partition)
    return {
        "name": partition.name,
        "comment": f"{len(partition.operators)} of the network's operators",
        "symbol": f"{program.name}_commands_{index}",
        "bytes": HEADER_BYTES + len(partition.commands),
        "qconfig": 2 * ports["commands"],
        "regioncfg": sum(_region(base, ports) << 2 * i for i, base in enumerate(bases)),
        "base_bytes": [_base_bytes(program, base) for base in bases],
    }


def _fast_bytes(program: Program, board: Board, memory_mode: str) -> int:
    """Return the size of the NPU's own SRAM, 0 if the arena holds fast scratch.

    UnsupportedError if a command stream uses another base pointer for it than Vela does.
    """
    if board.placement(memory_mode).fast is None:
        return 0
    for partition in program.plan.partitions:
        if (
            RegionKind.SCRATCH_FAST
            in partition.bases[:FAST_BASE] + partition.bases[FAST_BASE + 1 :]
        ):
            raise UnsupportedError(f"{partition.name} has its fast scratch at an unknown BASEP")
    return program.plan.scratch_fast_bytes


def _region(base: Base | None, ports: Mapping[str, int]) -> int:
    """Return a region's REGIONCFG field: 0 and 1 are port 0's two AXI limits, 2 and 3 port 1's.

    Each kind of traffic has its own limit, so that an application can tune them separately: weights
    use port 1's second limit, the arena port 0's first.
    """
    if base is None:
        return 0
    if base is RegionKind.READ_ONLY:
        return 2 * ports["weights"] + 1
    if base is RegionKind.SCRATCH:
        return 2 * ports["arena"]
    if base is RegionKind.SCRATCH_FAST:
        return 2 * ports.get("fast", ports["arena"]) + 1
    return 2 * ports["io"]


def _base_bytes(program: Program, base: Base | None) -> int:
    plan = program.plan
    if base is None:
        return 0
    if base is RegionKind.READ_ONLY:
        return len(plan.read_only)
    if base is RegionKind.SCRATCH:
        return program.arena_bytes
    if base is RegionKind.SCRATCH_FAST:
        return plan.scratch_fast_bytes or program.arena_bytes
    return plan.buffer_bytes(plan.residual.tensors[int(base)])
