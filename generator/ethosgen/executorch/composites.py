"""Groups of nodes that are one quantized operator: dequantize, the operators, quantize."""

from collections.abc import Sequence
from typing import Any

from ethosgen.executorch.support import is_operator, operator_name

TAG = "delegation_tag"
"""ExecuTorch's note of a node's partition."""


def composite_at(result: Any) -> set[Any]:
    """Return the nodes of the composite with a result: to its dequantized inputs and its ends."""
    inside = {result}
    waiting = [] if starts(result) else [result]
    while waiting:
        for source in waiting.pop().all_input_nodes:
            if source not in inside and source.op == "call_function" and not ends(source):
                inside.add(source)
                waiting += [] if starts(source) else [source]
    return inside | {user for user in result.users if ends(user)}


def composites_of(nodes: Sequence[Any]) -> list[set[str]]:
    """Divide nodes into composites, each by the names of its nodes; a node is in one at most."""
    own = set(nodes)
    taken: set[Any] = set()
    groups: list[set[str]] = []
    for node in nodes:
        is_result = not any(user in own and not ends(user) for user in node.users)
        if ends(node) or not is_result or starts(node):
            continue
        group = (composite_at(node) & own) - taken
        if any(map(is_operator, group)):
            taken |= group
            groups.append({each.name for each in group})
    return groups


def starts(node: Any) -> bool:
    """Return whether a node dequantizes."""
    return "dequantize_per" in _name(node)


def ends(node: Any) -> bool:
    """Return whether a node quantizes."""
    return "quantize_per" in _name(node) and not starts(node)


def _name(node: Any) -> str:
    return operator_name(node) if hasattr(node.target, "_schema") else ""
