"""The network's operators with their place, time and bytes; the partitions; the errata."""

from collections import Counter
from collections.abc import Mapping, Sequence

from ethosgen.backend import compiled_operators
from ethosgen.report.calls import CallFacts
from ethosgen.report.content import PartitionFacts, ReportedErratum, ReportLayer
from ethosgen.report.operands import attributes_of, operands_of
from ethosgen.values.levels import described, levels_in
from ethosgen.values.network import ABSENT, Graph, Operator
from ethosgen.values.plan import CPU, Plan
from ethosgen.values.profile import NPU

LEVEL = "TOSA level"
"""The attribute with an operator's profile and extensions."""
_NO_CODE = "it needs no code: others use its bytes as they are"


def make_layers(plan: Plan, calls: Sequence[CallFacts]) -> tuple[ReportLayer, ...]:
    """Return the network's operators in order; shares are of all cycles and counts together."""
    figures = _Figures(plan, calls)
    return tuple(figures.layer(operator) for operator in plan.network.graph.operators)


def constants_of(graph: Graph, operator: Operator) -> int:
    """Return the bytes of an operator's constants, each once."""
    read = {i for i in operator.inputs if i != ABSENT}
    return sum(len(data) for i in read if (data := graph.tensors[i].data) is not None)


class _Figures:
    """The figures of calls and partitions for each operator."""

    def __init__(self, plan: Plan, calls: Sequence[CallFacts]) -> None:
        self._plan, self._graph = plan, plan.network.graph
        self._placings = {int(placing.operator): placing for placing in plan.placings}
        self._errata = {
            int(plan.origins.get(operator.operator, operator.operator)): operator.erratum
            for operator in plan.cpu_operators
            if operator.erratum
        }
        self._partitions = {
            i: call.partition for call in calls if call.partition for i in call.operators
        }
        self._cycles: Counter[int] = Counter()
        self._encoded: Counter[int] = Counter()
        self._cpu: dict[int, int | None] = {}
        self._cpu_cycles: Counter[int] = Counter()
        self._merged: dict[int, int] = {}
        for call in calls:
            self._add(call)
        own = [call for call in calls if call.is_top and not call.step.is_wait]
        self._called = {i for call in own for i in call.operators}
        self._is_all_known = all(call.operators for call in own)
        self._total = max((call.end for call in calls), default=0)
        self._makers = {i: op.index for op in self._graph.operators for i in op.outputs}

    def _add(self, call: CallFacts) -> None:
        if call.timeline is not None:
            for event in call.timeline.events:
                operator = call.operator_of(event)
                if operator is not None:
                    self._cycles[operator] += event.cycles
            for operator, size in call.timeline.encoded.items():
                self._encoded[operator] += size
        elif call.partition is None and call.operators:
            first, *others = call.operators
            self._cpu[first] = _sum(self._cpu[first], call.cpu) if first in self._cpu else call.cpu
            self._cpu_cycles[first] += call.cpu_cycles
            self._merged |= dict.fromkeys(others, first)
        elif call.partition is not None and call.operators and not call.partition.on_npu:
            first = call.operators[0]
            self._cpu[first] = (self._cpu.get(first) or 0) + (call.cpu or 0)
            self._cpu_cycles[first] += call.cpu_cycles

    def layer(self, operator: Operator) -> ReportLayer:
        """Return one operator with its figures."""
        index, tensors = operator.index, self._graph.tensors
        output = tensors[operator.outputs[0]] if operator.outputs else None
        on, reason = self._place(operator)
        partition = self._partitions.get(index)
        cycles = self._cycles[index] if on == NPU else None
        cpu = self._cpu.get(index)
        known = (cycles or 0) + self._cpu_cycles[index]
        is_unknown = (cycles is None and cpu is None) or not self._total
        makers = (self._makers.get(i) for i in operator.inputs if i != ABSENT)
        return ReportLayer(
            operator=index,
            code=operator.title,
            output=output.name if output else "",
            shape=output.shape if output else (),
            dtype=output.dtype if output else "",
            on=on,
            partition=partition.name if partition else "",
            reason=reason,
            erratum=self._errata.get(index, ""),
            inputs=tuple(sorted({maker for maker in makers if maker is not None})),
            merged_into=self._merged.get(index),
            macs=self._graph.macs(operator),
            cycles=cycles,
            cpu=cpu,
            share=None if is_unknown else round(known / self._total, 6),
            constant_bytes=constants_of(self._graph, operator),
            encoded_bytes=self._encoded.get(index),
            attributes=attributes_of(self._graph, operator) | self._levels(operator),
            operands=operands_of(self._graph, operator),
        )

    def _levels(self, operator: Operator) -> dict[str, str]:
        """Return the levels of TOSA that an operator needs, as an attribute."""
        text = described(levels_in(self._plan.network, operator))
        return {LEVEL: text} if text else {}

    def _place(self, operator: Operator) -> tuple[str, str]:
        placing = self._placings.get(operator.index)
        if placing is not None:
            if placing.on == CPU and self._is_all_known and operator.index not in self._called:
                return "", _NO_CODE
            if placing.on != self._plan.npu:
                return placing.on, placing.reason
            is_asked = self._plan.shares or self._plan.choices
            return (
                NPU,
                placing.reason if is_asked else f"{self._plan.compiler} can compile it for the NPU",
            )
        if operator.custom_code in compiled_operators():
            return NPU, "the file is compiled already"
        return CPU, "the file is compiled already, and leaves it to the CPU"


def _sum(first: int | None, second: int | None) -> int | None:
    return None if first is None or second is None else first + second


def make_partitions(
    plan: Plan, calls: Sequence[CallFacts], command_bytes: Mapping[str, int]
) -> tuple[PartitionFacts, ...]:
    """Return the partitions; `command_bytes` are their commands' sizes by name."""
    timelines = {call.step.name: call.timeline for call in calls if call.timeline}
    operators = {call.step.name: call.operators for call in calls if call.partition}
    facts = []
    for partition in plan.partitions:
        known = timelines.get(partition.name)
        facts.append(
            PartitionFacts(
                name=partition.name,
                on=NPU if partition.on_npu else partition.backend,
                operators=operators.get(partition.name, partition.operators),
                events=len(known.events) if known else 0,
                command_bytes=command_bytes.get(partition.name, 0),
                cycles=known.cycles if known else None,
                why_it_ends=partition.why_it_ends,
            )
        )
    return tuple(facts)


def make_errata(layers: Sequence[ReportLayer]) -> tuple[ReportedErratum, ...]:
    """Return the errata that keep operators off the NPU, in the operators' order."""
    concerned: dict[tuple[str, str], list[int]] = {}
    for layer in layers:
        if layer.erratum:
            concerned.setdefault((layer.erratum, layer.reason), []).append(layer.operator)
    return tuple(
        ReportedErratum(name, why, tuple(where)) for (name, why), where in concerned.items()
    )
