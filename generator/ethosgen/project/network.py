"""The templates' values for one network."""

import dataclasses
import re
from typing import Any

from ethosgen.backend import driver_of
from ethosgen.board import Board
from ethosgen.frontend import source_of
from ethosgen.project.capacity import own_alignment, part_sizes
from ethosgen.project.literals import float_text
from ethosgen.project.self_test import self_test_facts
from ethosgen.project.weights import weights_facts
from ethosgen.project.words import ALIGNMENT, blob_symbol
from ethosgen.values.c_types import C_TYPES
from ethosgen.values.multiples import rounded_up
from ethosgen.values.naming import cpp_name
from ethosgen.values.network import Tensor
from ethosgen.values.program import READ_ONLY, Port, Program, Variable

DIGEST_LENGTH = 16
"""Number of characters of the digests in the C, of a network and of a library."""
SHARED_ARENA = "ethosgen_arena"
SHARED_FAST = "ethosgen_fast"
"""C name of the memory that several networks share."""

_GUARD = "FP_CONTRACT"
"""The placeholder in a graph's C code with floating point (see aot.code.csource)."""
_UNTOLD = ("-Wno-conversion", "-Wno-sign-conversion")
_EXACT = ("-ffp-contract=off", "-fno-fast-math", "-fno-tree-vectorize", "-fno-tree-slp-vectorize")
"""Options of GCC and Clang for a graph's C: TVM narrows integers where its passes prove that they
fit, which the compiler cannot know; and results must not depend on the options of the rest."""

_QUANTIZED = ("int8", "uint8", "int16")
"""Types for which ethosgen_quantization.h has functions."""

_LIBRARY_NAMES = re.compile(
    r"arena|check_weights|commands\w*|entry|feed|init|lock|npu_\w+|progress|reset|run|self_test\w*|"
    r"state|step|unlock|weights\w*"
)
"""Suffixes of NAME_ that the library itself uses; ports of these names get a "_" appended."""


def network_facts(
    program: Program, board: Board, memory_mode: str, is_shared: bool
) -> dict[str, Any]:
    """Return the templates' values for a network.

    `is_shared` means that other networks use its arena, too: data that must persist between runs
    gets its own copy.
    """
    plan = program.plan
    streams = [
        _partition_facts(program, board, memory_mode, number)
        for number, partition in enumerate(plan.partitions)
        if partition.on_npu
    ]
    NAME = program.name.upper()  # noqa: N806
    memories = _memories(program, board, memory_mode, is_shared)
    alignment = own_alignment(program, board)
    is_read = bool(plan.accelerator or plan.devices)  # by others than the processor
    graph = f"{program.name}_graph.c"
    is_guarded = _GUARD in program.sources.get(graph, "")
    inputs = [_port_facts(program, port, alignment) for port in program.inputs]
    outputs = [_port_facts(program, port, alignment) for port in program.outputs]
    return {
        "name": program.name,
        "name_cpp": cpp_name(program.name),
        "NAME": NAME,
        "folder": f"{program.name}/" if is_shared else "",
        "source": f"{plan.network.name}.tflite",
        "network_digest": source_of(plan.network).sha256[:DIGEST_LENGTH],
        "may_wait": program.may_wait,
        "is_sliced": plan.options.schedule.is_sliced,
        "feed": None if program.feed is None else dataclasses.asdict(program.feed),
        "inputs": inputs,
        "outputs": outputs,
        "self_test": self_test_facts(program, inputs, outputs, streams),
        **memories,
        "arena_bytes": _round_up(program.arena_bytes, alignment),
        "arena_alignment": max(program.arena_alignment, alignment),
        "own_alignment": alignment if is_read else None,
        "alignment_macro": f"{NAME}_{'BUFFER' if is_read else 'ARENA'}_ALIGNMENT",
        "state_bytes": program.state_bytes,
        "weights_bytes": plan.part_bytes("weights"),
        "commands_bytes": plan.part_bytes("commands"),
        "streams": streams,
        "entry_arguments": ", ".join(
            _argument(program, parameter, memories["arena"])
            for parameter in program.entry_parameters
        ),
        "graph_source": graph if graph in program.sources else None,
        "graph_options": [*_UNTOLD, *(_EXACT if is_guarded else [])],
        "own_sources": _own_sources(program),
        **(weights_facts(program) if plan.apart else {}),
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
        "fast_bytes": program.plan.fast_bytes if board.placement(memory_mode).fast else 0,
        "variables": variables,
        "kept_bytes": kept_bytes,
    }


def is_own(program: Program, source: str) -> bool:
    """Return whether only this network uses a source; other sources serve every network."""
    return source.startswith(f"{program.name}_")


def _own_sources(program: Program) -> list[str]:
    sources = [f"{program.name}.c", f"{program.name}_self_test.c"]
    sources += sorted(n for n in program.sources if n.endswith(".c") and is_own(program, n))
    if program.plan.apart:
        return sources
    if program.plan.part_bytes("commands"):
        sources.append(f"{program.name}_commands.c")
    if program.plan.part_bytes("weights") or program.constants:
        sources.append(f"{program.name}_weights.c")
    return sources


def _argument(program: Program, parameter: str, arena: str) -> str:
    if parameter == "arena":
        return arena if program.arena_bytes else "NULL"
    if parameter == "state":
        return f"{program.name}_state"
    blobs = {blob.parameter: blob for blob in program.plan.blobs if blob.data}
    if parameter in blobs:
        return f"(const int8_t *){blob_symbol(program, blobs[parameter])}"
    if program.feed and parameter == program.inputs[0].c_name:
        return "rows"
    return "NULL" if parameter == READ_ONLY else parameter


def _variable_facts(variable: Variable) -> dict[str, Any]:
    facts = {key: getattr(variable, key) for key in ("memory", "offset", "bytes", "initial_byte")}
    return {**facts, "comment": variable.name.replace("*/", "* /")}


def _round_up(size: int, alignment: int) -> int:
    return rounded_up(size, alignment) if alignment > ALIGNMENT else size


def _port_facts(program: Program, port: Port, alignment: int) -> dict[str, Any]:
    tensor = port.tensor
    scale, zero_point, note = _quantization(tensor)
    label = f"{port.c_name}_" if _LIBRARY_NAMES.fullmatch(port.c_name) else port.c_name
    return {
        "c_name": port.c_name,
        "label": label,
        "label_cpp": cpp_name(label),
        "buffer": f"{program.name}_{label}()" if port.offset is not None else f"{label}_buffer",
        "is_fed": program.feed is not None and port in program.inputs,
        "MACRO": f"{program.name}_{label}".upper(),
        "comment": tensor.name.replace("*/", "* /"),
        "ctype": C_TYPES[tensor.dtype],
        "shape": tensor.shape or (1,),
        "elements": tensor.elements,
        "bytes": tensor.bytes,
        "npu_bytes": program.plan.buffer_bytes(tensor),
        "buffer_bytes": _round_up(program.plan.buffer_bytes(tensor), alignment),
        "offset": port.offset,
        "is_real": scale is not None and tensor.dtype in _QUANTIZED,
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


def _partition_facts(
    program: Program, board: Board, memory_mode: str, number: int
) -> dict[str, Any]:
    plan, partition = program.plan, program.plan.partitions[number]
    parts = board.placement(memory_mode).npu_parts()
    ports = {part: board.memories[memory].npu_port or 0 for part, memory in parts.items()}
    if plan.apart:
        ports["commands"] = ports["weights"]
    facts = {
        "name": partition.name,
        "comment": f"{len(partition.operators)} of the network's operators",
        "symbol": f"{program.name}_commands_{number}",
        "bytes": sum(len(b.data) for b in plan.blobs if b.name == f"commands_{number}"),
    }
    if plan.accelerator is None:
        return facts
    driver = driver_of(plan.accelerator)
    return {**facts, **driver.partition_facts(plan, partition, ports, program.arena_bytes)}
