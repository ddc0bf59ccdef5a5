"""A partitioned module's report about its operators."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import tvm
from tvm import relax

from ethosgen.frontend.relax.normal import bindings_of, operator_name
from ethosgen_relax.island import CODEGEN, COMPOSITE, RESULT

LEFT = "ethosu_composite"
"""The attribute of a function with what would have been a composite: the composite's name."""
REASON = "ethosu_reason"
"""The attribute of such a function that says why."""
_ENDS = frozenset({"relax.quantize", "relax.dequantize"})


@dataclass(frozen=True)
class Support:
    """Whether a composite runs on the NPU.

    `composite` is its name ("ethosu.conv2d"), or the operator's if no pattern matched. `result` is
    the user's name of the result before it is quantized, "" where TVM's fusing loses it: for
    operators on floats. `reason` tells why it does not run there; `partition` is its function.
    """

    composite: str
    result: str
    is_supported: bool
    reason: str = ""
    partition: str = ""


def support_report(module: tvm.IRModule) -> list[Support]:
    """List the composites of a partitioned module and the other operators of main, in order."""
    return [
        support for binding in bindings_of(module["main"]) for support in _supports(module, binding)
    ]


def _supports(module: tvm.IRModule, binding: Any) -> Iterator[Support]:
    call = binding.value
    if not isinstance(call, relax.Call):
        return
    if not isinstance(call.op, relax.GlobalVar):
        name = operator_name(call)
        if name not in _ENDS:
            yield Support(name, binding.var.name, False, "no pattern matches it")
        return
    function = module[call.op]
    attributes = function.attrs or {}
    if CODEGEN in attributes:
        composites = {b.var: b.value for b in bindings_of(function)}
        for composite in composites.values():
            if isinstance(composite, relax.Call):
                held = composites[composite.op].attrs
                name, result = str(held[COMPOSITE]), str(held[RESULT])
                yield Support(name, result, True, partition=call.op.name_hint)
    elif LEFT in attributes:
        yield Support(
            str(attributes[LEFT]), str(attributes[RESULT]), False, str(attributes[REASON])
        )
