"""A C function that adds int8 tensors of one scale, for the toy accelerator and the toy library."""

from pathlib import Path

from ethosgen.values.network import Graph, Operator

_FOLDER = Path(__file__).parent / "c"
HEADER, DRIVER = ((_FOLDER / f"toy_add.{end}").read_text() for end in "hc")


def takes(operator: Operator, graph: Graph) -> bool:
    """Return whether the sum needs no rescaling: int8, one scale, zero points 0, no activation."""
    if (
        operator.code != "ADD"
        or operator.options.get("fused_activation_function", "NONE") != "NONE"
    ):
        return False
    ends = [graph.tensors[i] for i in (*operator.inputs, *operator.outputs)]
    scales = {t.quantization.scale for t in ends if t.quantization}
    points = {t.quantization.zero_point for t in ends if t.quantization}
    shapes = {t.shape for t in ends}
    is_plain = {t.dtype for t in ends} == {"int8"} and not any(t.data for t in ends)
    return is_plain and len(shapes) == 1 and len(scales) == 1 and points == {(0,)}
