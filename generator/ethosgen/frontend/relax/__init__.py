"""Relax modules to networks, for the front ends of ONNX and PyTorch. Owns tvm here.

normal      a dequantize for each use, the user's names
patterns    the composites: which operators of Relax are one operator of ours
matches     what a pattern cannot express of one
composite   take a composite apart
reading     module to graph, binding by binding
layers, pools, elementwise, functions, moves, norms, choices, resizing
            translate operators, one family each
floats      several operators on floats where TFLite has no single one
fusing      clamps into the operators before them
draft       the graph in the making; reconciles orders of axes
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ethosgen.values.network import Graph


def import_module(
    module: Any,
    name: str,
    inputs: Sequence[str],
    outputs: Sequence[str],
    *,
    channels_last: bool = False,
) -> tuple[Graph, Mapping[str, str]]:
    """Read the function main of an IRModule into a graph whose ends have the given names.

    With `channels_last`, inputs of three axes or more have the second one last. Returns the graph,
    and the reason for each result that stays float although it is quantized. UnsupportedError names
    an operator without a form.
    """
    from ethosgen.frontend.relax.normal import normalized
    from ethosgen.frontend.relax.partitioning import with_composites
    from ethosgen.frontend.relax.reading import Reading

    reading = Reading(with_composites(normalized(module)))
    return reading.graph(name, inputs, outputs, channels_last), reading.in_float
