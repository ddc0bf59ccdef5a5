"""Partitions as functions that TVM calls: TVM's external codegen "ethosu".

relax.transform.RunCodegen gives the partitions to the registered function `relax.ext.ethosu`, which
must return runtime modules. Python cannot derive one, but TVM can build one: a PrimFunc for each
partition that calls our registered function with its tensors.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import tvm
import tvm_ffi
from tvm import relax, tirx

from ethosgen.aot import make_evaluator
from ethosgen.backend import find_accelerator, require_simulator, simulation_of
from ethosgen.frontend.relax.normal import bindings_of, operator_name
from ethosgen.values.errors import InputError
from ethosgen.values.plan import Plan
from ethosgen_relax.island import CODEGEN, converted, read_island, types_of
from ethosgen_relax.partition import CHECKED, NPU, SYMBOL
from ethosgen_relax.planning import plan_of

CODEGEN_NAME = "relax.ext.ethosu"
CALLED = "ethosgen.relax.run_partition"
"""The registered function that compiled modules call: a number, the inputs, the outputs."""

NOTHING = "ethosu_no_operators"
"""A function that does nothing, for modules of partitions alone."""

_CALLS = frozenset({"relax.call_dps_packed", ""})

Run = Callable[[Sequence[Any], Sequence[Any]], None]
_RUNS: list[Run] = []
"""What runs each partition of this process."""


def simulate_ethosu(module: tvm.IRModule) -> tvm.IRModule:
    """Return a partitioned module that TVM compiles and runs on this machine.

    Each partition runs the command stream that Vela compiled for it on ethosgen's NPU model.
    `relax.transform.RunCodegen` does the same once this package is imported. Such a module cannot
    be exported to another process. UnsupportedError if the NPU has no functional model.
    """
    for _, function in module.functions_items():
        if (function.attrs or {}).get(CODEGEN) == "ethosu":
            require_simulator(find_accelerator(str(function.attrs[NPU])))
    compiled = relax.transform.RunCodegen()(module)
    if all(operator_name(b.value) in _CALLS for b in bindings_of(compiled["main"])):
        # Without any function of its own TVM adds a module of C, which needs a compiler.
        nothing = tirx.PrimFunc([], tirx.Evaluate(0)).with_attr(SYMBOL, NOTHING)
        compiled.update_func(tvm.ir.GlobalVar(NOTHING), nothing)
    return compiled


@tvm_ffi.register_global_func(CODEGEN_NAME, override=True)  # type: ignore[untyped-decorator]
def generate(functions: Any, _options: Any, _constants: Any) -> list[Any]:
    """Return a runtime module for each partition."""
    return [_module(function) for function in functions]


@tvm_ffi.register_global_func(CALLED, override=True)  # type: ignore[untyped-decorator]
def run_partition(number: int, count: int, *tensors: Any) -> None:
    """Run a partition on tensors: `count` inputs, then the outputs, which it writes."""
    if number >= len(_RUNS):
        raise InputError(
            "a partition for Ethos-U runs only in the process that compiled it; partition and "
            "compile the module here"
        )
    _RUNS[number](tensors[:count], tensors[count:])


def _module(function: Any) -> Any:
    """Build the runtime module of one partition."""
    symbol = str(function.attrs[SYMBOL])
    accelerator = find_accelerator(str(function.attrs[NPU]))
    require_simulator(accelerator)
    network = read_island(function, symbol).network
    plan = plan_of(network, accelerator, bool(function.attrs[CHECKED]))
    types = [*(parameter.ty for parameter in function.params), *types_of(function.ret_ty)]
    _RUNS.append(_runner(plan))
    calling = _calling(symbol, len(_RUNS) - 1, len(function.params), types)
    return tvm.tirx.build(tvm.IRModule({symbol: calling}), target="llvm")


def _runner(plan: Plan) -> Run:
    """Return a function that runs a plan on the NPU model."""
    assert plan.accelerator is not None
    evaluate = make_evaluator(plan)
    invoke = simulation_of(plan.accelerator).runner(plan)
    return partial(_run, plan, lambda arrays: evaluate(arrays, invoke))


def _run(plan: Plan, evaluate: Any, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
    pairs = zip(plan.network.inputs, inputs, strict=True)
    computed = evaluate(
        {tensor.name: converted(array.numpy(), tensor.dtype) for tensor, array in pairs}
    )
    for tensor, place in zip(plan.network.outputs, outputs, strict=True):
        tvm.runtime.tensor(converted(computed[tensor.name], str(place.dtype))).copyto(place)


def _calling(symbol: str, number: int, count: int, types: Sequence[Any]) -> Any:
    """Return a PrimFunc that calls our function with all of its buffers."""
    buffers = [
        tirx.decl_buffer([int(size) for size in kind.shape.values], str(kind.dtype), f"tensor_{i}")
        for i, kind in enumerate(types)
    ]
    call = tirx.call_packed(CALLED, number, count, *buffers)
    return tirx.PrimFunc(buffers, tirx.Evaluate(call)).with_attr(SYMBOL, symbol)
