"""The toy backend: its accelerator runs ADD where scales are equal."""

from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO

import numpy as np

from ethosgen.backend.protocol import (
    Attach,
    BoardMemories,
    DivisionTask,
    Listing,
    Offer,
    ProjectFiles,
    Runner,
)
from ethosgen.backend.trace import Trace
from ethosgen.values.accelerator import Accelerator
from ethosgen.values.allocation import Allocation, Kept, OperatorIndex
from ethosgen.values.call import Address, Call, Function
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.network import Graph, Network, Operator
from ethosgen.values.outcome import Arrays
from ethosgen.values.plan import CpuOperator, Partition, Plan
from ethosgen.values.watch import Watch

from .adder import takes

ADDER = Accelerator("adder-8", "adder", 8, family="toy")
ADD = Function("toy_add", ("const int8_t *a", "const int8_t *b", "int8_t *sum", "int32_t count"))
ERRATUM = Kept("the adder forgets its last element (erratum last-element)", "last-element")


class Adder:
    """The simulator: a saturating sum, or one that is wrong."""

    def __init__(self, plan: Plan, wrong: bool) -> None:
        self._tensors, self._wrong = plan.residual.tensors, wrong

    def __call__(self, partition: Partition, inputs: Arrays) -> Arrays:
        a, b = (inputs[self._tensors[i].name].astype(np.int64) for i in partition.inputs)
        total = np.clip(a + b, -128, 127).astype(np.int8)
        if self._wrong:
            total.flat[-1] = -100
        return {self._tensors[partition.outputs[0]].name: total}

    def check_accesses(self) -> None:
        """Nothing can be outside: numpy checks."""


class Toy:
    """The family."""

    name = "toy"
    accelerators: Mapping[str, Accelerator] = {ADDER.name: ADDER}
    default = ADDER.name
    simulated = "the adder"
    compiler = "the toy compiler"
    packages = ()
    compiled_operators: Mapping[str, int] = {}

    start_cycles = 0

    def __init__(self) -> None:
        self.is_wrong = False
        self.errata_of: dict[OperatorIndex, Kept] = {}

    def events(self, _accelerator: Accelerator) -> Mapping[int, str]:
        return {1: "sums"}

    def compiler_version(self) -> str:
        return "1"

    def operators(self) -> Mapping[str, Mapping[str, tuple[str, ...]]]:
        return {"adder": {"ADD": ("int8",)}}

    def objection(self, accelerator: Accelerator, memory_mode: str) -> str:
        return "" if memory_mode == "sram_only" else "it reads only SRAM"

    def compiled_for(self, network: Network) -> Accelerator | None:
        return None

    def errata(self, task: DivisionTask, oracle: str) -> Allocation[OperatorIndex]:
        return Allocation(self.errata_of)

    def offers(
        self, asked: DivisionTask, allocation: Allocation[OperatorIndex]
    ) -> Mapping[int, Offer]:
        graph = asked.network.graph
        return {
            op.index: Offer(10 + _count(graph, op), group=op.index)
            if takes(op, graph) and op.index not in allocation
            else Offer(refusal=_left(graph, op, allocation).reason)
            for op in graph.operators
        }

    def compile(self, asked: DivisionTask, allocation: Allocation[OperatorIndex]) -> Plan:
        graph = asked.network.graph
        ignored = asked.options.cpu_ops
        able = [op for op in graph.operators if takes(op, graph) and op.code not in ignored]
        partitions = tuple(
            Partition(
                f"sum_{op.index}",
                op.index,
                Call(ADD, (*map(Address, (*op.inputs, *op.outputs)), _count(graph, op))),
                op.inputs,
                op.outputs,
                (op.index,),
            )
            for op in able
            if op.index not in allocation
        )
        taken = {i for p in partitions for i in p.operators}
        rest = [op for op in graph.operators if op.index not in taken]
        return Plan(
            asked.network,
            asked.io,
            graph,
            asked.accelerator,
            partitions,
            tuple(_left(graph, op, allocation) for op in rest),
            len(taken),
        )

    def runner(self, plan: Plan, trace: Trace | None = None) -> Runner:
        return Adder(plan, self.is_wrong)

    def attach(self, accelerator: Accelerator) -> Attach:
        raise UnsupportedError("the adder is in no target")

    def serve(self, requests: BinaryIO, answers: BinaryIO) -> None:
        answers.write(requests.read().upper())

    def listings(
        self, source: Network | bytes, name: str, accelerator: Accelerator | None, watch: Watch
    ) -> list[Listing]:
        raise UnsupportedError("the adder has no commands")

    def files(self, plans: Sequence[Plan]) -> ProjectFiles:
        return ProjectFiles()

    def firmware_facts(
        self,
        accelerator: Accelerator,
        memories: BoardMemories,
        platform: str,
        partitions: Sequence[Mapping[str, Any]],
    ) -> Mapping[str, Any]:
        return {}

    def partition_facts(
        self, plan: Plan, partition: Partition, ports: Mapping[str, int], arena_bytes: int
    ) -> Mapping[str, Any]:
        return {}


def _count(graph: Graph, operator: Operator) -> int:
    return graph.tensors[operator.outputs[0]].elements


def _left(graph: Graph, operator: Operator, allocation: Allocation[OperatorIndex]) -> CpuOperator:
    why = allocation.get(OperatorIndex(operator.index), Kept("the adder only adds"))
    output = graph.tensors[operator.outputs[0]].name
    return CpuOperator(operator.index, operator.title, output, why.reason, why.erratum)


TOY = Toy()
