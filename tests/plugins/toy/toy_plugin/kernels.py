"""The toy library of kernels: a C function that adds."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from tvm import tirx

from ethosgen.aot.libraries.framework.library import Library
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import Nest
from ethosgen.backend.protocol import Offer, ProjectFiles
from ethosgen.values.allocation import Allocation, ResidualIndex
from ethosgen.values.network import Graph, Operator

from .adder import takes

FOLDER = Path(__file__).parent / "c"
REFUSAL = Offer(refusal="it only adds what needs no rescaling")


class Adder(Library):
    """The library."""

    @property
    def name(self) -> str:
        return "toy"

    def __init__(self, cycles: int | None) -> None:
        self.cycles = cycles

    def offers(self, asked: Graph, allocation: Allocation[ResidualIndex]) -> Mapping[int, Offer]:
        return {
            op.index: Offer(self.cycles) if takes(op, asked) else REFUSAL for op in asked.operators
        }

    def compile(self, asked: Graph, allocation: Allocation[ResidualIndex]) -> Mapping[int, Kernel]:
        return {op.index: call(op, asked) for op in asked.operators if takes(op, asked)}

    def files(self, graphs: Sequence[Mapping[int, Kernel]]) -> ProjectFiles:
        if not any("toy_add.c" in k.sources for kernels in graphs for k in kernels.values()):
            return ProjectFiles()
        files = {name: name for name in ("toy_add.c", "toy_add.h")}
        return ProjectFiles(str(FOLDER), files, headers=("toy_add.h",))


def call(op: Operator, graph: Graph) -> Kernel:
    """Return the kernel of a sum."""
    nest, count = Nest(), graph.tensors[op.outputs[0]].elements
    ends = [nest.read(name, graph.tensors[i]) for name, i in zip("ab", op.inputs, strict=True)]
    ends.append(nest.write("sum", graph.tensors[op.outputs[0]]))
    start = [tirx.address_of(view[(0,) * len(view.shape)]) for view in ends]
    nest.call("toy_add", *start, count)
    return nest.kernel(frozenset({"toy_add.c"}))


TOY = Adder(20)
