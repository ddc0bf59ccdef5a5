"""The residual graph as a Relax module: `main` calls one PrimFunc for each step.

Parameters of `main`: the network's inputs (counted by the attribute num_input), the partitions'
blobs and scratches, then the constants of CPU operators.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ethosgen.aot.kernels import NamedKernel
from ethosgen.aot.schedule.schedule import Step, StepSchedule
from ethosgen.aot.tir.primfunc import READS, is_void_pointer, pointer
from ethosgen.aot.tvm import ir, relax, tirx
from ethosgen.values.call import Address, Argument
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.network import Tensor
from ethosgen.values.plan import Blob, Partition, Plan
from ethosgen.values.program import Constant


def value_name(tensor: int) -> str:
    """Return the name of the Relax variable for a tensor."""
    return f"tensor_{tensor}"


def partition_name(schedule: StepSchedule, partition: Partition, name: str) -> str:
    """Return the name of a partition's C function."""
    return f"{name}_partition_{schedule.plan.partitions.index(partition)}"


def waited_name(step: int) -> str:
    """Return the name of the Relax variable for the wait for a started step: it has no bytes."""
    return f"awaited_{step}"


def wait_symbol(schedule: StepSchedule, step: int, name: str) -> str:
    """Return the name of the C function that waits for a started step."""
    partition = schedule.steps[step].partition
    return f"{partition_name(schedule, partition, name)}_wait" if partition else ""


def results_name(step: int) -> str:
    """Return the joint name of a step's results, even if it has none."""
    return f"results_{step}"


def workspace_name(step: int) -> str:
    """Return the name of the Relax variable for a step's workspace."""
    return f"workspace_{step}"


def variable_name(tensor: int, step: int) -> str:
    """Return the name of the Relax variable for a network variable after a step."""
    return f"{value_name(tensor)}_after_{step}"


def kept_variables(schedule: StepSchedule, step: Step) -> tuple[int, ...]:
    """Return the variables that a wrapped accelerator keeps; the NPU's are in its scratch."""
    return () if step.partition is None or step.on_npu else schedule.updates(step)


def build_module(
    schedule: StepSchedule,
    kernels: Mapping[int, NamedKernel],
    constants: Sequence[Constant],
    name: str,
    in_place: Collection[int] = (),
) -> Any:
    """Return the Relax module of a schedule; `kernels` are by step.

    The kernels of the steps `in_place` overwrite an input.
    """
    builder = relax.BlockBuilder()
    values = {value_name(t.index): _tensor_var(t) for t in schedule.graph.input_tensors()}
    inputs = list(values.values())
    for memory in (*map(blob_name, _blobs(schedule.plan)), *_scratches(schedule.plan)):
        values[memory] = _bytes_var(memory, 1)
    for constant in constants:
        values[constant.c_name] = _bytes_var(constant.c_name, len(constant.data))
    with builder.function("main", list(values.values()), attrs={"num_input": len(inputs)}):
        with builder.dataflow():
            for index, step in enumerate(schedule.steps):
                _emit_waits(builder, schedule, index, name)
                _emit_step(
                    builder, schedule, index, step, kernels.get(index), values, name, in_place
                )
            _emit_waits(builder, schedule, len(schedule.steps), name)
            outputs = [values[value_name(i)] for i in schedule.graph.outputs]
            result = builder.emit_output(relax.Tuple(outputs))
        builder.emit_func_output(result)
    return builder.get()


def _emit_waits(builder: Any, schedule: StepSchedule, before: int, name: str) -> None:
    """Call the PrimFunc that awaits a started accelerator, if its wait comes before a step."""
    for started in (s for s, at in schedule.waits.items() if at == before):
        partition, symbol = schedule.steps[started].partition, wait_symbol(schedule, started, name)
        call = partition.call if partition else None
        of = [] if call is None or call.awaited_instance is None else [call.awaited_instance]
        awaited = tirx.call_extern("int32", call.awaited if call else "", *of)
        result = waited_name(started)
        function = tirx.PrimFunc(
            [pointer(result, "void")], tirx.Return(awaited), ir.PrimType("int32")
        )
        function = function.with_attr(READS, 0).with_attr("global_symbol", symbol)
        target = builder.add_func(function, symbol)
        nothing = relax.TensorType((1,), "int8")
        builder.emit(relax.call_tir(target, [], [nothing]), name_hint=result)


def _emit_step(
    builder: Any,
    schedule: StepSchedule,
    index: int,
    step: Step,
    named: NamedKernel | None,
    values: dict[str, Any],
    name: str,
    in_place: Collection[int],
) -> None:
    """Call a step's PrimFunc and bind its outputs."""
    tensors = schedule.graph.tensors
    results = {value_name(i): _tensor_type(tensors[i]) for i in schedule.writes(step)}
    if step.partition:
        for i in kept_variables(schedule, step):
            results[variable_name(i, index)] = _tensor_type(tensors[i])
        arguments = [*_partition_reads(schedule, step), *_scratches(schedule.plan, step)]
        symbol = partition_name(schedule, step.partition, name)
        function = partition_function(
            partition_call(schedule, index, step.partition, name, index in schedule.waits)
        )
    elif named:
        arguments = [a if isinstance(a, str) else value_name(a) for a in named.arguments]
        symbol = named.name
        function = named.kernel.function.with_attr(READS, len(arguments))
        function = function.with_attr("tirx.noalias", index not in in_place)
        for i in named.kernel.variables:
            results[variable_name(i, index)] = _tensor_type(tensors[i])
        if named.kernel.workspace_bytes:
            results[workspace_name(index)] = relax.TensorType(
                (named.kernel.workspace_bytes,), "int8"
            )
    else:
        raise ValueError(f"step {index} has neither a partition nor a kernel")
    target = builder.add_func(function.with_attr("global_symbol", symbol), symbol)
    call = relax.call_tir(target, [values[a] for a in arguments], list(results.values()))
    if len(results) == 1:
        (only,) = results
        values[only] = builder.emit(call, name_hint=only)
        return
    everything = builder.emit(call, name_hint=results_name(index))
    for position, result in enumerate(results):
        values[result] = builder.emit(relax.TupleGetItem(everything, position), name_hint=result)


@dataclass(frozen=True)
class CallParameter:
    """A parameter of a partition's C function: the Relax variable that it points to."""

    variable: str
    dtype: str
    is_read: bool


@dataclass(frozen=True)
class PartitionCall:
    """The C function of a partition: one call.

    An argument is the name of a parameter, a number, or None for NULL.
    """

    target: str
    returns_status: bool
    parameters: tuple[CallParameter, ...]
    arguments: tuple[str | int | None, ...]


def partition_call(
    schedule: StepSchedule, index: int, partition: Partition, name: str, is_start: bool = False
) -> PartitionCall:
    """Return the call of a partition, or only its start.

    The parameters are the blobs and tensors that it reads, then the scratches, tensors and
    variables that it writes.
    """
    step = schedule.steps[index]
    reads, kept = _partition_reads(schedule, step), kept_variables(schedule, step)
    writes = [*_scratches(schedule.plan, step), *map(value_name, schedule.writes(step))]
    writes += [variable_name(i, index) for i in kept]
    dtypes = {blob_name(b): b.dtype for b in _blobs(schedule.plan, step) if not b.parameter}
    parameters = [CallParameter(variable, dtypes.get(variable, "int8"), True) for variable in reads]
    parameters += [CallParameter(variable, "void", False) for variable in writes]

    def value(argument: Argument) -> str | int | None:
        if not isinstance(argument, Address):
            return argument
        variable = _variable(schedule.plan, argument)
        if argument.of in kept:
            variable = variable_name(int(argument.of), index)
        if variable not in (*reads, *writes):
            raise UnsupportedError(
                f"{partition.name} needs the address of {variable}, which it neither reads nor "
                "writes; it needs a newer ethosgen"
            )
        return variable

    function = partition.call.function
    return PartitionCall(
        target=(function.symbol if is_start else partition.call.symbol).format(name=name),
        returns_status=function.returns_status,
        parameters=tuple(parameters),
        arguments=tuple(map(value, partition.call.arguments)),
    )


def partition_function(call: PartitionCall) -> Any:
    """Return the PrimFunc of a partition; it returns the status of its call, if there is one."""
    pointers = {p.variable: pointer(p.variable, p.dtype) for p in call.parameters}

    def expression(argument: str | int | None) -> Any:
        if isinstance(argument, str):
            return _without_const(pointers[argument])
        return tirx.lookup_param("NULL") if argument is None else argument

    kind = "int32" if call.returns_status else "void"
    extern_call = tirx.call_extern(kind, call.target, *map(expression, call.arguments))
    if call.returns_status:
        function = tirx.PrimFunc(
            list(pointers.values()), tirx.Return(extern_call), ir.PrimType(kind)
        )
    else:
        function = tirx.PrimFunc(list(pointers.values()), tirx.Evaluate(extern_call))
    return function.with_attr(READS, sum(parameter.is_read for parameter in call.parameters))


def blob_name(blob: Blob) -> str:
    """Name the Relax variable that stands for a blob's address."""
    return blob.parameter or blob.name


def _blobs(plan: Plan, step: Step | None = None) -> list[Blob]:
    """Return the blobs of a plan, or those whose addresses a step's call passes."""
    return [blob for blob in plan.blobs if step is None or _passes(step, blob.name)]


def _scratches(plan: Plan, step: Step | None = None) -> list[str]:
    """Return the scratches of a plan, or those whose addresses a step's call passes."""
    return [
        scratch.name for scratch in plan.scratches if step is None or _passes(step, scratch.name)
    ]


def _passes(step: Step, memory: str) -> bool:
    return step.partition is not None and memory in step.partition.call.memories


def _partition_reads(schedule: StepSchedule, step: Step) -> list[str]:
    blobs = map(blob_name, _blobs(schedule.plan, step))
    return [*blobs, *map(value_name, schedule.reads(step))]


def _variable(plan: Plan, address: Address) -> str:
    if isinstance(address.of, int):
        return value_name(address.of)
    return next((blob_name(b) for b in plan.blobs if b.name == address.of), address.of)


def _without_const(variable: Any) -> Any:
    """Cast away any const: partitions' functions take void*."""
    return variable if is_void_pointer(variable) else tirx.reinterpret("handle", variable)


def _tensor_type(tensor: Tensor) -> Any:
    return relax.TensorType(tensor.shape, tensor.dtype)


def _tensor_var(tensor: Tensor) -> Any:
    return relax.Var(value_name(tensor.index), _tensor_type(tensor))


def _bytes_var(name: str, size: int) -> Any:
    return relax.Var(name, relax.TensorType((size,), "int8"))
