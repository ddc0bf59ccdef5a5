"""A C function that adds int8 tensors of one scale, for the toy accelerator and the toy library."""

from ethosgen.values.network import Graph, Operator

HEADER = """\
#include <stdint.h>
int32_t toy_add(const int8_t *a, const int8_t *b, int8_t *sum, int32_t count);
"""
DRIVER = f"""\
{HEADER}int32_t toy_add(const int8_t *a, const int8_t *b, int8_t *sum, int32_t count)
{{
    for (int32_t i = 0; i < count; i++) {{
        int total = a[i] + b[i];
        sum[i] = (int8_t)(total > 127 ? 127 : total < -128 ? -128 : total);
    }}
    return 0;
}}
"""


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
