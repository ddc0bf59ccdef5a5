"""Partitions a Relax module: composites by patterns, Vela's answers, partitions of composites."""

from collections.abc import Mapping, Sequence
from typing import Any

import tvm
from tvm import relax
from tvm.relax.expr_functor import PyExprMutator, mutator

from ethosgen.backend import default_accelerator, find_accelerator
from ethosgen.frontend.relax.composite import take_apart
from ethosgen.frontend.relax.normal import bindings_of, normalized
from ethosgen.frontend.relax.partitioning import with_composites
from ethosgen.frontend.relax.patterns import PATTERNS, RESCALING, Composite
from ethosgen.values.accelerator import Accelerator
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.network import Network
from ethosgen.values.plan import Plan
from ethosgen_relax.island import CODEGEN, COMPOSITE, PLACE, RESULT, Island, read_island
from ethosgen_relax.planning import plan_of
from ethosgen_relax.preparation import prepared
from ethosgen_relax.question import refusals
from ethosgen_relax.report import LEFT, REASON

NPU = "npu"
"""The attribute of a partition that names its NPU."""
SYMBOL = "global_symbol"
HIDDEN = "Primitive"
"""The attribute of functions that TVM's fusing passes do not look into."""
CHECKED = "ethosu_checked"
"""The attribute of a partition whose results were compared with the oracle's."""

Reasons = dict[str, str]
"""Why composites do not run on the NPU, by their names in the module."""


def partition_for_ethosu(
    module: tvm.IRModule,
    npu: str | None = None,
    *,
    params: Mapping[str, Any] | None = None,
    patterns: Sequence[Composite] = PATTERNS,
    check: bool = True,
) -> tvm.IRModule:
    """Divide main between an NPU and the host; return the module with a function per partition.

    A partition has the attributes "Codegen" ("ethosu"), "global_symbol" and "npu", and consists of
    functions with the attribute "Composite" ("ethosu.conv2d"). Vela supports all of them on `npu`,
    the first NPU that `ethosgen` supports by default. A match of a pattern that Vela, or an
    erratum, refuses stays a function that the host runs, with the attributes "ethosu_composite" and
    "ethosu_reason". `params` are values of main's parameters by name. `check` compares each
    partition on the NPU model with TensorFlow Lite Micro; a composite that differs stays too.

    InputError for an unknown NPU or a module without main, UnsupportedError for control flow,
    impure calls and open shapes, ToolError without Vela.
    """
    accelerator = find_accelerator(npu) if npu else default_accelerator()
    module = prepared(module, params)
    composites = with_composites(normalized(_hidden(module)), patterns)
    reasons = _refused(composites, accelerator)
    while True:
        merged = relax.transform.MergeCompositeFunctions()(_divided(composites, reasons))
        left: Reasons = {}
        for variable, function in _partitions(merged):
            left |= _left_over(function, variable.name_hint, accelerator, check)
        if not left:
            return _restored(_finished(merged, accelerator, check), module)
        reasons |= left


def _hidden(module: tvm.IRModule) -> tvm.IRModule:
    """Return the module with other functions than main as TVM's passes leave them alone."""
    hidden = module.clone()
    for variable, function in _others(module):
        if isinstance(function, relax.Function):
            hidden.update_func(variable, function.with_attr(HIDDEN, True))
    return hidden


def _restored(partitioned: tvm.IRModule, module: tvm.IRModule) -> tvm.IRModule:
    """Return a partitioned module with the other functions of the original one as they were."""
    for variable, function in partitioned.functions_items():
        if _attribute(function, LEFT):
            partitioned.update_func(variable, function.without_attr(HIDDEN))
    for variable, function in _others(module):
        partitioned.update_func(variable, function)
    return partitioned


def _others(module: tvm.IRModule) -> list[tuple[Any, Any]]:
    return [pair for pair in module.functions_items() if pair[0].name_hint != "main"]


def _composites(module: tvm.IRModule) -> list[tuple[Any, Any]]:
    """Return the composites of a module in the order of their calls."""
    calls = [b.value for b in bindings_of(module["main"]) if isinstance(b.value, relax.Call)]
    called = dict.fromkeys(call.op for call in calls if isinstance(call.op, relax.GlobalVar))
    pairs = [(variable, module[variable]) for variable in called]
    return [pair for pair in pairs if _attribute(pair[1], COMPOSITE).startswith("ethosu.")]


def _partitions(module: tvm.IRModule) -> list[tuple[Any, Any]]:
    return [pair for pair in module.functions_items() if _attribute(pair[1], CODEGEN) == "ethosu"]


def _attribute(function: Any, name: str) -> str:
    return str((function.attrs or {}).get(name, ""))


def _refused(module: tvm.IRModule, accelerator: Accelerator) -> Reasons:
    """Ask Vela about each composite."""
    reasons: Reasons = {}
    networks: dict[str, Network] = {}
    for variable, function in _composites(module):
        place = variable.name_hint
        try:
            networks[place] = read_island(function, place).network
        except UnsupportedError as error:
            reasons[place] = str(error)
    answers = refusals(list(networks.values()), accelerator)
    answered = zip(networks, answers, strict=True)
    return reasons | {place: reason for place, reason in answered if reason}


def _divided(module: tvm.IRModule, reasons: Reasons) -> tvm.IRModule:
    """Return the module whose refused composites are functions for the host."""
    module = module.clone()
    for variable, function in _composites(module):
        place = variable.name_hint
        named = function.with_attr(RESULT, _result(function))
        if place in reasons:
            named = named.with_attr({LEFT: _attribute(function, COMPOSITE), REASON: reasons[place]})
            divided = named.without_attr(COMPOSITE)
        else:
            divided = named.with_attr(PLACE, place)
        module.update_func(variable, divided)
    return module


def _result(function: Any) -> str:
    """Return the name of a composite's result before it is quantized."""
    if _attribute(function, COMPOSITE) == RESCALING:
        return str(bindings_of(function).__next__().var.name)
    return take_apart(function).name


def _left_over(function: Any, name: str, accelerator: Accelerator, check: bool) -> Reasons:
    """Compile a partition; return the composites of which something stays on the CPU."""
    island = None
    try:
        island = read_island(function, name)
        return _on_cpu(island, plan_of(island.network, accelerator, check))
    except UnsupportedError as error:
        places = (
            _attribute(binding.value, PLACE)
            for binding in bindings_of(function)
            if isinstance(binding.value, relax.Function)
        )
        return dict.fromkeys(places, str(error))


def _on_cpu(island: Island, plan: Plan) -> Reasons:
    graph = island.network.graph
    makers = {graph.tensors[op.outputs[0]].name: op for op in graph.operators}
    reasons: Reasons = {}
    for cpu in plan.cpu_operators:
        operator = makers.get(cpu.output)
        places = set(island.places) if operator is None else {island.places[operator.index]}
        reasons |= dict.fromkeys(places, f"{cpu.code}: {cpu.reason}")
    return reasons


def _finished(module: tvm.IRModule, accelerator: Accelerator, check: bool) -> tvm.IRModule:
    """Return the module with short names of its partitions: ethosu_0 and so on, in order."""
    calls = [b.value for b in bindings_of(module["main"]) if isinstance(b.value, relax.Call)]
    partitions = dict(_partitions(module))
    order = [call.op for call in calls if call.op in partitions]
    taken = {variable.name_hint for variable, _ in module.functions_items()}
    free = (name for name in map("ethosu_{}".format, range(10**6)) if name not in taken)
    names = {old: _renamed(old, next(free)) for old in order}
    finished = module.clone()
    for old, new in names.items():
        attributes = {SYMBOL: new.name_hint, NPU: accelerator.name, CHECKED: check}
        finished.update_func(new, partitions[old].with_attr(attributes))
        del finished[old]
    finished.update_func(
        finished.get_global_var("main"), _Renaming(names).visit_expr(module["main"])
    )
    return finished


def _renamed(variable: Any, name: str) -> Any:
    renamed = relax.GlobalVar(name)
    relax.expr._update_type(renamed, variable.ty)
    return renamed


@mutator
class _Renaming(PyExprMutator):  # type: ignore[misc]
    """Calls functions by other names."""

    def __init__(self, names: Mapping[Any, Any]) -> None:
        super().__init__()
        self.names = names

    def visit_call_(self, call: Any) -> Any:
        call = self.visit_expr_post_order(call)
        operator = self.names.get(call.op, call.op)
        return relax.Call(operator, call.args, call.attrs, call.ty_args)
