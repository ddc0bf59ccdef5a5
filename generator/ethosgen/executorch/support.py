"""What became of each operator of a program that was lowered."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from executorch.exir.delegate import executorch_call_delegate

from ethosgen.executorch.spec import choice_of
from ethosgen.values.choice import CHOICE
from ethosgen.values.errors import InputError

REASON = "ethosgen_reason"
"""A node's note of why no delegate has it."""
_ENDS = ("quantize_per", "dequantize_per")
_COPIES = "dim_order_ops."


@dataclass(frozen=True)
class OperatorSupport:
    """Whether an NPU or accelerator computes an operator.

    `operator` is aten's name ("aten.convolution.default"), `result` the node's. `reason` tells why
    it stays on the CPU; `partition` is the delegate's name in the lowered program, and `backend`
    that of its runtime. Delegates for own accelerators also have operators that ethosgen runs on
    the CPU.
    """

    operator: str
    result: str
    is_supported: bool
    reason: str = ""
    partition: str = ""
    backend: str = ""


def support_report(edge: Any) -> list[OperatorSupport]:
    """List the operators of a lowered program in order, without those of quantization.

    `edge` is what to_edge_transform_and_lower returns, before or after to_executorch. InputError
    for a program that EthosgenPartitioner has not lowered.
    """
    program = edge.exported_program()
    supports = list(_supports(program))
    if not supports and not any(map(_is_noted, program.graph.nodes)):
        raise InputError("the program was not lowered with EthosgenPartitioner")
    return supports


def _supports(program: Any) -> Iterator[OperatorSupport]:
    module = program.graph_module
    for node in module.graph.nodes:
        if node.op != "call_function":
            continue
        if node.target is executorch_call_delegate:
            lowered = getattr(module, node.args[0].target)
            yield from _delegated(lowered, node.args[0].target)
        elif is_operator(node):
            reason = node.meta.get(REASON, "")
            yield OperatorSupport(operator_name(node), node.name, False, reason)


def _delegated(lowered: Any, name: str) -> Iterator[OperatorSupport]:
    if any(spec.key == CHOICE for spec in lowered.compile_specs):
        choice_of(lowered.compile_specs)
    for node in lowered.original_module.graph.nodes:
        if is_operator(node):
            why = node.meta.get(REASON, "")
            yield OperatorSupport(
                operator_name(node), node.name, not why, why, name, lowered.backend_id
            )


def _is_noted(node: Any) -> bool:
    return REASON in node.meta


def is_operator(node: Any) -> bool:
    """Return whether a node does something besides quantization, copies and choosing an element."""
    if node.op != "call_function" or not hasattr(node.target, "_schema"):
        return False
    name = operator_name(node)
    return not (name.startswith(_COPIES) or name.partition(".")[2].startswith(_ENDS))


def operator_name(node: Any) -> str:
    """Return the name of a node's operator, in either dialect."""
    name, space = node.target.__name__, node.target._schema.name.partition("::")[0]
    return name if name.startswith(f"{space}.") else f"{space}.{name}"
