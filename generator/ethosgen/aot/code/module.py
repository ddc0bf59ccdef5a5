"""The residual graph as a Relax module: `main` calls one PrimFunc for each step.

Parameters of `main`: the network's inputs (counted by the attribute num_input), the partitions'
memories (read_only, scratch, scratch_fast), then the constants of CPU operators.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import tvm
from tvm import ir, relax, tirx

from ethosgen.aot.code.primfunc import READS, is_void_pointer, pointer
from ethosgen.aot.graph.schedule import Schedule, Step
from ethosgen.aot.kernels import NamedKernel
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.network import Tensor
from ethosgen.values.plan import Base, Partition, RegionKind
from ethosgen.values.program import Constant

BASES = 8
"""Base pointers of an Ethos-U55 or U65: BASEP0 to BASEP7."""


def value_name(tensor: int) -> str:
    """Return the name of the Relax variable for a tensor."""
    return f"tensor_{tensor}"


def partition_name(schedule: Schedule, partition: Partition, name: str) -> str:
    """Return the name of a partition's C function."""
    return f"{name}_partition_{schedule.plan.partitions.index(partition)}"


def workspace_name(step: int) -> str:
    """Return the name of the Relax variable for a step's workspace."""
    return f"workspace_{step}"


def variable_name(tensor: int, step: int) -> str:
    """Return the name of the Relax variable for a network variable after a step."""
    return f"{value_name(tensor)}_after_{step}"


def build_module(
    schedule: Schedule,
    kernels: Mapping[int, NamedKernel],
    constants: Sequence[Constant],
    name: str,
    in_place: Collection[int] = (),
) -> tvm.IRModule:
    """Return the Relax module of a schedule; `kernels` are by step.

    The kernels of the steps `in_place` overwrite an input.
    """
    builder = relax.BlockBuilder()
    values = {value_name(t.index): _tensor_var(t) for t in schedule.graph.input_tensors()}
    inputs = list(values.values())
    for memory in RegionKind:
        values[memory.value] = _bytes_var(memory.value, 1)
    for constant in constants:
        values[constant.c_name] = _bytes_var(constant.c_name, len(constant.data))
    with builder.function("main", list(values.values()), attrs={"num_input": len(inputs)}):
        with builder.dataflow():
            for index, step in enumerate(schedule.steps):
                _emit_step(
                    builder, schedule, index, step, kernels.get(index), values, name, in_place
                )
            outputs = [values[value_name(i)] for i in schedule.graph.outputs]
            result = builder.emit_output(relax.Tuple(outputs))
        builder.emit_func_output(result)
    return builder.get()


def _emit_step(
    builder: Any,
    schedule: Schedule,
    index: int,
    step: Step,
    named: NamedKernel | None,
    values: dict[str, Any],
    name: str,
    in_place: Collection[int],
) -> None:
    """Call a step's PrimFunc and bind its outputs."""
    results = {
        value_name(i): _tensor_type(schedule.graph.tensors[i]) for i in schedule.writes(step)
    }
    if step.partition:
        arguments = [*_partition_reads(schedule, step), *_SCRATCH]
        symbol = partition_name(schedule, step.partition, name)
        function = partition_function(schedule, step, step.partition, name)
    elif named:
        arguments = [a if isinstance(a, str) else value_name(a) for a in named.arguments]
        symbol = named.name
        function = named.kernel.function.with_attr(READS, len(arguments))
        function = function.with_attr("tirx.noalias", index not in in_place)
        for i in named.kernel.variables:
            results[variable_name(i, index)] = _tensor_type(schedule.graph.tensors[i])
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
    everything = builder.emit(call, name_hint=f"results_{index}")
    for position, result in enumerate(results):
        values[result] = builder.emit(relax.TupleGetItem(everything, position), name_hint=result)


def partition_function(schedule: Schedule, step: Step, partition: Partition, name: str) -> Any:
    """Return the PrimFunc of a partition: one NPU call, with a pointer for each BASEP.

    Its parameters are the memories and tensors that it reads, then the memories and tensors that it
    writes. It returns the status of the call.
    """
    reads = _partition_reads(schedule, step)
    writes = [*_SCRATCH, *map(value_name, schedule.writes(step))]
    pointers = {variable: pointer(variable, "int8") for variable in reads}
    pointers |= {variable: pointer(variable, "void") for variable in writes}
    unknown = [base for base in map(_variable, partition.bases) if base not in pointers]
    if unknown:
        raise UnsupportedError(
            f"{partition.name} has a base pointer to {unknown[0]}, which it neither reads nor "
            "writes; use a newer ethosgen"
        )
    bases = [_as_base(pointers[_variable(base)]) for base in partition.bases]
    bases += [tirx.lookup_param("NULL")] * (BASES - len(bases))
    stream = schedule.plan.partitions.index(partition)
    call = tirx.call_extern("int32", f"{name}_npu_invoke", stream, *bases)
    function = tirx.PrimFunc(list(pointers.values()), tirx.Return(call), ir.PrimType("int32"))
    return function.with_attr(READS, len(reads))


_SCRATCH = [RegionKind.SCRATCH.value, RegionKind.SCRATCH_FAST.value]


def _partition_reads(schedule: Schedule, step: Step) -> list[str]:
    return [RegionKind.READ_ONLY.value, *map(value_name, schedule.reads(step))]


def _variable(base: Base) -> str:
    return base.value if isinstance(base, RegionKind) else value_name(base)


def _as_base(variable: Any) -> Any:
    """Cast away const: the NPU interface takes void*, as the registers do."""
    return variable if is_void_pointer(variable) else tirx.reinterpret("handle", variable)


def _tensor_type(tensor: Tensor) -> Any:
    return relax.TensorType(tensor.shape, tensor.dtype)


def _tensor_var(tensor: Tensor) -> Any:
    return relax.Var(value_name(tensor.index), _tensor_type(tensor))


def _bytes_var(name: str, size: int) -> Any:
    return relax.Var(name, relax.TensorType((size,), "int8"))
