"""Fuses the operators of a Relax module into composites."""

from collections.abc import Sequence

import tvm
from tvm import relax

from ethosgen.frontend.relax.normal import bindings_of, operator_name
from ethosgen.frontend.relax.patterns import CONCAT, PATTERNS, Composite, fusion_patterns


def with_composites(module: tvm.IRModule, table: Sequence[Composite] = PATTERNS) -> tvm.IRModule:
    """Return the module with each match of a pattern in its own function."""
    calls = [binding.value for binding in bindings_of(module["main"])]
    parts = [len(call.args[0].ty.fields) for call in calls if operator_name(call) == CONCAT]
    patterns = fusion_patterns({operator_name(call) for call in calls}, parts, table)
    if not patterns:
        return module
    return relax.transform.FuseOpsByPattern(patterns, bind_constants=True)(module)
