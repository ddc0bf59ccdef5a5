"""Partitions as functions that TVM calls: TVM's external codegens, such as "ethosu".

relax.transform.RunCodegen gives the partitions to the registered function `relax.ext.ethosu`, which
must return runtime modules. Python cannot derive one, but TVM can build one: a PrimFunc for each
partition that calls our registered function with its tensors. The call also has the partition as
text, so that another process can run an exported module.
"""

import base64
import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import tvm
import tvm_ffi
from tvm import relax, tirx

from ethosgen.aot import make_evaluator
from ethosgen.frontend import read_source, source_of
from ethosgen.frontend.relax.normal import bindings_of, operator_name
from ethosgen.values.network import Network
from ethosgen.values.plan import Plan
from ethosgen.values.source import Source
from ethosgen.verdict.execution import PlanRunner
from ethosgen_relax.executor import ETHOSU, Executor, executor_of
from ethosgen_relax.island import CODEGEN, converted, read_island, types_of
from ethosgen_relax.partition import CHECKED, SYMBOL, executor_of_partition, is_partition
from ethosgen_relax.planning import plan_of

CALLED = "ethosgen.relax.run_partition"
"""The registered function that compiled modules call: the partition, the inputs, the outputs."""

NOTHING = "ethosu_no_operators"
"""A function that does nothing, for modules of partitions alone."""

_CALLS = frozenset({"relax.call_dps_packed", ""})

Run = Callable[[Sequence[Any], Sequence[Any]], None]
_RUNS: dict[str, Run] = {}
"""What runs each partition of this process, by its text."""


def simulate_accelerators(module: tvm.IRModule) -> tvm.IRModule:
    """Return a partitioned module that TVM compiles and runs on this machine.

    A partition for an NPU runs the command stream that Vela compiled for it on ethosgen's NPU
    model, one for an accelerator its model or C; our kernels replace accelerators that cannot run
    here. `relax.transform.RunCodegen` does the same once the module was partitioned in this
    process. An exported library runs wherever ethosgen.relax is imported; the first call of a
    partition compiles it again. UnsupportedError if an NPU has no functional model.
    """
    for _, function in module.functions_items():
        if is_partition(function):
            executor_of_partition(function).require()
            _register(str(function.attrs[CODEGEN]))
    compiled = relax.transform.RunCodegen()(module)
    if all(operator_name(b.value) in _CALLS for b in bindings_of(compiled["main"])):
        # Without any of its own functions TVM adds a module of C, which needs a compiler.
        nothing = tirx.PrimFunc([], tirx.Evaluate(0)).with_attr(SYMBOL, NOTHING)
        compiled.update_func(tvm.ir.GlobalVar(NOTHING), nothing)
    return compiled


simulate_ethosu = simulate_accelerators
"""The name for modules that `partition_for_ethosu` made."""


def _register(codegen: str) -> None:
    """Register the external code generator of a name."""
    tvm_ffi.register_global_func(f"relax.ext.{codegen}", generate, override=True)


def generate(functions: Any, _options: Any, _constants: Any) -> list[Any]:
    """Return a runtime module for each partition."""
    return [_module(function) for function in functions]


@tvm_ffi.register_global_func(CALLED, override=True)  # type: ignore[untyped-decorator]
def run_partition(text: str, count: int, *tensors: Any) -> None:
    """Run a partition on tensors: `count` inputs, then the outputs, which it writes."""
    if text not in _RUNS:
        _RUNS[text] = _runner(_plan_of_text(text))
    _RUNS[text](tensors[:count], tensors[count:])


def _module(function: Any) -> Any:
    """Build the runtime module of one partition."""
    symbol = str(function.attrs[SYMBOL])
    executor = executor_of_partition(function)
    executor.require()
    network = read_island(function, symbol).network
    text = _text_of(network, executor)
    _RUNS[text] = _runner(plan_of(network, executor, bool(function.attrs[CHECKED])))
    types = [*(parameter.ty for parameter in function.params), *types_of(function.ret_ty)]
    calling = _calling(symbol, text, len(function.params), types)
    return tvm.tirx.build(tvm.IRModule({symbol: calling}), target="llvm")


def _text_of(network: Network, executor: Executor) -> str:
    """Return a partition as text, for processes that did not compile it."""
    source = source_of(network)
    content = base64.b64encode(source.data).decode()
    return json.dumps([executor.codegen, executor.name, executor.steps, source.format, content])


def _plan_of_text(text: str) -> Plan:
    """Compile a partition of an exported module, which was checked when it was partitioned."""
    codegen, name, steps, kind, content = json.loads(text)
    network = read_source(Source(kind, codegen, base64.b64decode(content)))
    return plan_of(network, executor_of(codegen, name, steps), check=False)


def _runner(plan: Plan) -> Run:
    """Return a function that runs a plan on this machine."""
    evaluate = make_evaluator(plan)
    invoke = PlanRunner(plan)
    return partial(_run, plan, lambda arrays: evaluate(arrays, invoke))


def _run(plan: Plan, evaluate: Any, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
    pairs = zip(plan.network.inputs, inputs, strict=True)
    computed = evaluate(
        {tensor.name: converted(array.numpy(), tensor.dtype) for tensor, array in pairs}
    )
    for tensor, place in zip(plan.network.outputs, outputs, strict=True):
        tvm.runtime.tensor(converted(computed[tensor.name], str(place.dtype))).copyto(place)


def _calling(symbol: str, text: str, count: int, types: Sequence[Any]) -> Any:
    """Return a PrimFunc that calls our function with all of its buffers."""
    buffers = [
        tirx.decl_buffer([int(size) for size in kind.shape.values], str(kind.dtype), f"tensor_{i}")
        for i, kind in enumerate(types)
    ]
    call = tirx.call_packed(CALLED, text, count, *buffers)
    return tirx.PrimFunc(buffers, tirx.Evaluate(call)).with_attr(SYMBOL, symbol)


_register(ETHOSU)
