"""Finds the operators that an NPU or accelerators compute, through Relax and its composites.

ExecuTorch's runtime cannot call own accelerators, so such a program is for ethosgen's commands. If
ethosgen has all its operators, they are all in the delegate, those on the CPU too.
"""

from collections.abc import Callable, Iterable, Mapping
from itertools import count
from typing import Any

from executorch.exir.backend.partitioner import DelegationSpec
from executorch.exir.backend.utils import tag_constant_data
from torch.export import default_decompositions
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from torch.fx.passes.operator_support import OperatorSupportBase

from ethosgen.executorch.aten import Values, as_aten, is_edge, network_of, relax_of
from ethosgen.executorch.backend import EthosgenBackend
from ethosgen.executorch.composites import TAG, composite_at, ends, starts
from ethosgen.executorch.spec import EthosgenCompileSpec
from ethosgen.executorch.support import REASON, is_operator
from ethosgen.relax import partition_for_accelerators, support_report
from ethosgen.values.accelerator import NO_NPU
from ethosgen.values.errors import UnsupportedError

_NO_PATTERN = "it is not between dequantize and quantize, or ethosgen has no such operator"


class AcceleratedParts:
    """The partitions of programs for own accelerators, with or without an NPU."""

    def __init__(self, spec: EthosgenCompileSpec) -> None:
        self._spec = spec
        npu = [] if spec.npu == NO_NPU else [spec.npu]
        self._executors = [*npu, *spec.accelerators]
        self._values = Values()
        self._whole: list[Any] = []

    def tag(self, program: Any) -> dict[str, Any]:
        """Tag nodes; return the delegation of each tag."""
        real = self._values.given_to(program)
        supported, reasons = self._answers(real)
        for node in program.graph.nodes:
            if is_operator(node) and node.name not in supported:
                node.meta[REASON] = reasons.get(node.name, _NO_PATTERN)
        taken = _inner(program) if supported and _is_importable(real) else supported
        divider = CapabilityBasedPartitioner(
            program.graph_module, _OneOf(taken), allows_single_node_partition=True
        )
        tags: dict[str, Any] = {}
        numbers = count()
        specs = self._spec.to_list()
        for part in divider.propose_partitions():
            if not any(map(is_operator, part.nodes)):
                continue
            tag = f"{EthosgenBackend.__name__}_{next(numbers)}"
            tags[tag] = DelegationSpec(EthosgenBackend.__name__, specs)
            for node in part.nodes:
                node.meta[TAG] = tag
        tag_constant_data(program)
        return tags

    def whole(self, program: Any) -> tuple[list[Any], Callable[[Any], bool] | None]:
        """Return the composite operators that are in a partition as they are."""
        if is_edge(program):
            return self._whole, lambda _node: False  # it has been decomposed
        self._values.keep(program)
        names = {node.name for node in program.graph.nodes}
        kept = names if _is_importable(program) else self._answers(program)[0]
        table = default_decompositions()
        self._whole = [
            *{
                node.target
                for node in program.graph.nodes
                if node.name in kept and is_operator(node) and node.target in table
            }
        ]
        return self._whole, lambda node: node.name in kept

    def _answers(self, program: Any) -> tuple[set[str], dict[str, str]]:
        """Return the names of the nodes in composites that something computes, and the reasons."""
        module, nodes = relax_of(as_aten(program))
        named = {node.name: node for node in program.graph.nodes}
        supported: set[str] = set()
        reasons: dict[str, str] = {}
        divided = partition_for_accelerators(module, self._executors, check=self._spec.check)
        for support in support_report(divided):
            node = named.get(nodes.get(support.result, ""))
            if node is None:
                continue
            inside = composite_at(node)
            if support.is_supported:
                supported |= {each.name for each in inside}
            else:
                reasons |= {each.name: support.reason for each in inside if is_operator(each)}
        return supported, reasons


def _is_importable(program: Any) -> bool:
    """Return whether ethosgen has all operators of a program: its code runs them on the CPU."""
    try:
        network_of(program, "whole")
    except UnsupportedError:
        return False
    return True


def _inner(program: Any) -> set[str]:
    """Return the nodes of a program without those that quantize inputs or dequantize outputs.

    ExecuTorch rounds there in its own way, which ethosgen keeps outside of delegates.
    """
    return {
        node.name
        for node in program.graph.nodes
        if node.op == "call_function"
        and not (ends(node) and all(each.op == "placeholder" for each in node.all_input_nodes))
        and not (starts(node) and all(each.op == "output" for each in node.users))
    }


class _OneOf(OperatorSupportBase):  # type: ignore[misc] # torch is not installed here
    """Supports the nodes with some names."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = frozenset(names)

    def is_node_supported(self, _modules: Mapping[str, Any], node: Any) -> bool:
        """Return whether the node has one of the names."""
        return node.name in self._names
