"""TVM's path from PrimFuncs to functions on this machine, without its slow parts."""

from collections.abc import Mapping
from typing import Any

from ethosgen.aot.tvm import tvm

SLOW_PASSES = (
    "s_tir.StmtSimplify",
    "tirx.StmtSimplify",
    "tirx.RemoveNoOp",
    "s_tir.HoistIfThenElse",
)
"""They inline a kernel's bindings: a second or two for each ADD, and LLVM simplifies in no time.

The lowering to C (aot/code/passes.py) leaves them out, too.
"""

WITHOUT_CHECKS = {"tirx.disable_assert": True}
"""Leave out the checks of each argument's type: three quarters of the instructions to compile."""

UNOPTIMIZED: Any = {"kind": "llvm", "opt-level": 0}
"""A target for kernels that run a few times: LLVM needs a third of the time, they need twice."""


def compile_natively(functions: Mapping[str, Any], target: Any) -> Any:
    """Compile PrimFuncs, by name, for one of TVM's LLVM targets.

    The functions trust their callers to pass a pointer for each parameter.
    """
    with tvm.transform.PassContext(disabled_pass=SLOW_PASSES, config=WITHOUT_CHECKS):
        return tvm.compile(tvm.IRModule(functions), target=target)
