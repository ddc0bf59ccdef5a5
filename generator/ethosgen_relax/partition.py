"""Partitions a Relax module: composites by patterns, Vela's answers, partitions of composites."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import count
from typing import Any

import tvm
from tvm import relax
from tvm.relax.expr_functor import PyExprMutator, mutator

from ethosgen.frontend.relax.composite import take_apart
from ethosgen.frontend.relax.normal import bindings_of, normalized
from ethosgen.frontend.relax.partitioning import with_composites
from ethosgen.frontend.relax.patterns import (
    FLOAT,
    FLOAT_PATTERNS,
    PATTERNS,
    RESCALING,
    Composite,
)
from ethosgen.values.errors import InputError, UnsupportedError
from ethosgen.values.network import Network
from ethosgen.values.plan import Plan
from ethosgen_relax.executor import (
    ETHOSU,
    Executor,
    ethosu_executor,
    executor_of,
    find_executor,
)
from ethosgen_relax.island import CODEGEN, COMPOSITE, PLACE, RESULT, Island, read_island
from ethosgen_relax.planning import plan_of
from ethosgen_relax.preparation import prepared
from ethosgen_relax.question import may_stay, refusals
from ethosgen_relax.report import LEFT, REASON

NPU = "npu"
"""The attribute of a partition that names its NPU."""
ACCELERATOR = "accelerator"
"""The attribute of a partition that names its accelerator or library, or the folder of that."""
SYMBOL = "global_symbol"
HIDDEN = "Primitive"
"""The attribute of functions that TVM's fusing passes do not look into."""
STEPS = "ethosgen_steps"
"""The attribute of a partition with the steps by which its outputs may differ."""
WHOLE = "ethosgen_whole"
"""The attribute of a partitioned module with the module before."""
CHECKED = "ethosu_checked"
"""The attribute of a partition whose results were compared with the oracle's."""

Executors = Mapping[str, Executor]
"""Executors by codegen, in the order in which they are asked."""
Reasons = dict[str, dict[str, str]]
"""Why executors do not run composites: by the composite's name in the module, and the codegen."""


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
    by default the first NPU that ethosgen supports. A match of a pattern that Vela, or an erratum,
    refuses stays a function that the host runs, with the attributes "ethosu_composite" and
    "ethosu_reason". `params` are values of main's parameters by name. `check` compares each
    partition on the NPU model with TensorFlow Lite Micro; a composite that differs stays, too.

    InputError for an unknown NPU or a module without main, UnsupportedError for control flow,
    impure calls and open shapes, ToolError without Vela.
    """
    return _partitioned(module, {ETHOSU: ethosu_executor(npu)}, params, patterns, check)


def partition_for_accelerators(
    module: tvm.IRModule,
    accelerators: Sequence[str],
    *,
    params: Mapping[str, Any] | None = None,
    patterns: Sequence[Composite] = (*PATTERNS, *FLOAT_PATTERNS),
    allow_difference: float = 0.0,
    check: bool = True,
) -> tvm.IRModule:
    """Divide main between accelerators, libraries and the host, like `partition_for_ethosu`.

    `accelerators` are names of NPUs, of accelerators and libraries that come with ethosgen
    ("cmsis-nn", "acl"), and folders with an accelerator.toml. Each composite goes to the first of
    them that computes it as TensorFlow Lite Micro does. A partition has "Codegen" (the
    accelerator's name, with "_" for "-") and "npu" or "accelerator". Transposes at its ends may run
    on the host's CPU. Accelerators and libraries may differ by `allow_difference` steps: 1 for
    integers, a 256th of the largest magnitude for floats.

    InputError for an unknown name, an empty list or two accelerators of one name.
    """
    chosen = [find_executor(str(name), allow_difference) for name in accelerators]
    executors = {executor.codegen: executor for executor in chosen}
    if not chosen or len(executors) < len(chosen):
        raise InputError(
            "pass at least one accelerator, and each once (one NPU at most), "
            f"not {', '.join(map(str, accelerators)) or 'none'}"
        )
    return _partitioned(module, executors, params, patterns, check)


def partition_for_cmsisnn(
    module: tvm.IRModule, params: Mapping[str, Any] | None = None, **options: Any
) -> tvm.IRModule:
    """Divide main between CMSIS-NN and the host; `options` are partition_for_accelerators'."""
    return partition_for_accelerators(module, ["cmsis-nn"], params=params, **options)


def partition_for_arm_compute_lib(
    module: tvm.IRModule, params: Mapping[str, Any] | None = None, **options: Any
) -> tvm.IRModule:
    """Divide main between Arm Compute Library and the host, like `partition_for_cmsisnn`.

    On processors other than a 64-bit Arm the library runs under qemu-aarch64.
    """
    return partition_for_accelerators(module, ["acl"], params=params, **options)


def _partitioned(
    module: tvm.IRModule,
    executors: Executors,
    params: Mapping[str, Any] | None,
    patterns: Sequence[Composite],
    check: bool,
) -> tvm.IRModule:
    module = prepared(module, params)
    composites = with_composites(normalized(_hidden(module)), patterns)
    reasons = _refused(composites, executors)
    while True:
        divided = _divided(composites, reasons, executors)
        merged = relax.transform.MergeCompositeFunctions()(divided)
        left: Reasons = {}
        for variable, function in _partitions(merged, executors):
            codegen = _attribute(function, CODEGEN)
            why = _left_over(function, variable.name_hint, executors[codegen], check)
            left |= {place: {codegen: reason} for place, reason in why.items()}
        if not left:
            finished = _restored(_finished(merged, executors, check), module)
            return finished.with_attr(WHOLE, module)
        for place, reason in left.items():
            reasons[place] = reasons.get(place, {}) | reason


def is_partition(function: Any) -> bool:
    """Return whether a function is a partition that ethosgen made."""
    attributes = function.attrs or {}
    return CODEGEN in attributes and (NPU in attributes or ACCELERATOR in attributes)


def executors_of(module: tvm.IRModule) -> tuple[str, list[str]] | None:
    """Return the NPU of a module's partitions, "" for none, and the other executors' names.

    None for a module without partitions.
    """
    executors = [executor_of_partition(f) for _, f in module.functions_items() if is_partition(f)]
    names = dict.fromkeys((executor.codegen == ETHOSU, executor.name) for executor in executors)
    npu = next((name for is_npu, name in names if is_npu), "")
    return (npu, [name for is_npu, name in names if not is_npu]) if executors else None


def executor_of_partition(function: Any) -> Executor:
    """Return a partition's executor."""
    name = _attribute(function, NPU) or _attribute(function, ACCELERATOR)
    steps = float(_attribute(function, STEPS) or 0)
    return executor_of(_attribute(function, CODEGEN), name, steps)


def _hidden(module: tvm.IRModule) -> tvm.IRModule:
    """Return the module with all functions but main marked so that TVM's passes skip them."""
    hidden = module.clone()
    for variable, function in _others(module):
        if isinstance(function, relax.Function):
            hidden.update_func(variable, function.with_attr(HIDDEN, True))
    return hidden


def _restored(partitioned: tvm.IRModule, module: tvm.IRModule) -> tvm.IRModule:
    """Return a partitioned module with the original module's other functions restored."""
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


def _partitions(module: tvm.IRModule, executors: Executors) -> list[tuple[Any, Any]]:
    return [pair for pair in module.functions_items() if _attribute(pair[1], CODEGEN) in executors]


def _attribute(function: Any, name: str) -> str:
    return str((function.attrs or {}).get(name, ""))


def _refused(module: tvm.IRModule, executors: Executors) -> Reasons:
    """Ask each executor about each composite."""
    reasons: Reasons = {}
    networks: dict[str, Network] = {}
    for variable, function in _composites(module):
        place = variable.name_hint
        try:
            networks[place] = read_island(function, place).network
        except UnsupportedError as error:
            reasons[place] = dict.fromkeys(executors, str(error))
    for codegen, executor in executors.items():
        answers = refusals(list(networks.values()), executor)
        for place, reason in zip(networks, answers, strict=True):
            if reason:
                reasons.setdefault(place, {})[codegen] = reason
    return reasons


def _divided(module: tvm.IRModule, reasons: Reasons, executors: Executors) -> tvm.IRModule:
    """Return the module whose composites are an executor's, or functions for the host."""
    module = module.clone()
    for variable, function in _composites(module):
        place = variable.name_hint
        named = function.with_attr(RESULT, _result(function))
        main = _attribute(function, COMPOSITE).partition(".")[2]
        why = reasons.get(place, {})
        taker = next((codegen for codegen in executors if codegen not in why), "")
        if taker:
            divided = named.with_attr({PLACE: place, COMPOSITE: f"{taker}.{main}"})
        else:
            left = {LEFT: f"{next(iter(executors))}.{main}", REASON: _joined(why)}
            divided = named.with_attr(left).without_attr(COMPOSITE)
        module.update_func(variable, divided)
    return module


def _joined(why: Mapping[str, str]) -> str:
    """Return one sentence of all executors' reasons; equal ones once."""
    if len({*why.values()}) == 1:
        return next(iter(why.values()))
    return "; ".join(f"{codegen}: {reason}" for codegen, reason in why.items())


def _result(function: Any) -> str:
    """Return the name of a composite's result before it is quantized; TVM loses a float's."""
    kind = _attribute(function, COMPOSITE)
    if kind.endswith(FLOAT):
        return ""
    if kind == RESCALING:
        return str(bindings_of(function).__next__().var.name)
    return take_apart(function).name


def _left_over(function: Any, name: str, executor: Executor, check: bool) -> dict[str, str]:
    """Compile a partition; return the composites that stay partly on the CPU."""
    island = None
    try:
        island = read_island(function, name)
        return _on_cpu(island, plan_of(island.network, executor, check), executor)
    except UnsupportedError as error:
        places = (
            _attribute(binding.value, PLACE)
            for binding in bindings_of(function)
            if isinstance(binding.value, relax.Function)
        )
        return dict.fromkeys(places, str(error))


def _on_cpu(island: Island, plan: Plan, executor: Executor) -> dict[str, str]:
    """Return the composites that compute partly on the CPU, with the reasons."""
    graph = island.network.graph
    makers = {graph.tensors[op.outputs[0]].name: op for op in graph.operators}
    reasons: dict[str, str] = {}
    for cpu in plan.cpu_operators:
        operator = makers.get(cpu.output)
        if operator is not None and may_stay(operator, graph, executor):
            continue
        places = set(island.places) if operator is None else {island.places[operator.index]}
        reasons |= dict.fromkeys(places, f"{cpu.code}: {cpu.reason}")
    return reasons


def _finished(module: tvm.IRModule, executors: Executors, check: bool) -> tvm.IRModule:
    """Return the module with short names of its partitions: ethosu_0 and so on, in order."""
    calls = [b.value for b in bindings_of(module["main"]) if isinstance(b.value, relax.Call)]
    partitions = dict(_partitions(module, executors))
    order = [call.op for call in calls if call.op in partitions]
    taken = {variable.name_hint for variable, _ in module.functions_items()}
    free = {codegen: _free_names(codegen, taken) for codegen in executors}
    names = {old: _renamed(old, next(free[_attribute(partitions[old], CODEGEN)])) for old in order}
    finished = module.clone()
    for old, new in names.items():
        owner = executors[_attribute(partitions[old], CODEGEN)]
        key = NPU if owner.codegen == ETHOSU else ACCELERATOR
        attributes = {SYMBOL: new.name_hint, key: owner.name, CHECKED: check}
        if owner.steps:
            attributes[STEPS] = str(owner.steps)
        finished.update_func(new, partitions[old].with_attr(attributes))
        del finished[old]
    finished.update_func(
        finished.get_global_var("main"), _Renaming(names).visit_expr(module["main"])
    )
    return finished


def _free_names(codegen: str, taken: Collection[str]) -> Iterator[str]:
    """Yield names of partitions that no function of the module has."""
    return (name for i in count() if (name := f"{codegen}_{i}") not in taken)


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
