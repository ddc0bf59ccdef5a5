"""Build named kernels and their constants for the CPU operators of a schedule."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ethosgen.aot.graph.halves import is_widened
from ethosgen.aot.graph.routine import COMPILE, CompileRoutine
from ethosgen.aot.graph.states import with_states
from ethosgen.aot.graph.subgraphs import SUBGRAPHS, SYMBOL
from ethosgen.aot.libraries import cheapest
from ethosgen.aot.libraries.framework.library import Library
from ethosgen.aot.registry import code_of, deciding_dtype, goes_in_place, registration_of, registry
from ethosgen.aot.schedule.schedule import StepSchedule
from ethosgen.aot.schedule.twins import has_twin, twin
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.primfunc import STRUCTS, drop_unused_parameters
from ethosgen.values.errors import InternalError, UnsupportedError
from ethosgen.values.network import ABSENT, Operator, Tensor
from ethosgen.values.program import Constant, Structs
from ethosgen.values.quantization import command_for, quantize_command

_HINT = "; quantize the network to int8 with: {}"
DYNAMIC_RANGE = (
    "the network has dynamic-range quantization: weights of int8 and activations of float32, which "
    "TFLite Micro does not run either; quantize its float original to int8 weights and activations "
    f"with: {quantize_command('FLOAT.tflite')}"
)
"""It names no operator, since it concerns all layers of such a network."""

_MISFIT = (ArithmeticError, AttributeError, LookupError, StopIteration, TypeError, ValueError)
"""Exceptions of a build function for contradictory ranks, sizes or options, or because of a bug.
The cause is unknown here: the functions check only inputs that give wrong results."""

_HYBRID = frozenset(
    """CONV_2D DEPTHWISE_CONV_2D FULLY_CONNECTED BATCH_MATMUL SVDF RNN LSTM TRANSPOSE_CONV CONV_3D
    UNIDIRECTIONAL_SEQUENCE_LSTM UNIDIRECTIONAL_SEQUENCE_RNN BIDIRECTIONAL_SEQUENCE_LSTM
    BIDIRECTIONAL_SEQUENCE_RNN""".split()
)
_FOREIGN = {
    "edgetpu-custom-op": "machine code for Google's Edge TPU",
    "DISPATCH_OP": "machine code for the NPU of a phone",
}
"""Operators that compilers for other accelerators put in a file, by custom code."""
LONGEST_NAME = 3
"""Most operators in the name of a function with fused operators."""


@dataclass(frozen=True)
class NamedKernel:
    """A kernel, its C function name, and its arguments: tensors by index, constants by name."""

    name: str
    kernel: Kernel
    arguments: tuple[int | str, ...]


def choose_kernels(
    schedule: StepSchedule,
    name: str,
    libraries: Sequence[Library],
    compile_routine: CompileRoutine | None = None,
) -> tuple[dict[int, NamedKernel], tuple[Constant, ...]]:
    """Build the kernel of each CPU operator, by step; UnsupportedError names one without a kernel.

    Operators use a library's kernel if it is cheaper than the plain one. Without `compile_routine`,
    operators with subgraphs are omitted. Equal constants are merged.
    """
    kernels: dict[int, NamedKernel] = {}
    pool: dict[tuple[str, bytes], Constant] = {}
    for index, step in enumerate(schedule.steps):
        operator = step.operator
        if step.partition or (SUBGRAPHS in operator.options and compile_routine is None):
            continue
        codes = [_c_stem(op) for op in (step.operator, *step.tail)[:LONGEST_NAME]]
        function = f"{name}_{'_'.join(codes)}_{index}"
        if SUBGRAPHS in operator.options:
            routine_options = {SYMBOL: function, COMPILE: compile_routine}
            operator = replace(operator, options={**operator.options, **routine_options})
        kernel = step.kernel or build_kernel(schedule, operator, libraries)
        arguments = _pool_constants(schedule, kernel, function, pool)
        kernels[index] = NamedKernel(function, _with_types(kernel), arguments)
    return kernels, tuple(pool.values())


def _with_types(kernel: Kernel) -> Kernel:
    """Return a kernel whose function declares the types of its structs."""
    parameters = kernel.function.params[len(kernel.inputs) :]
    types = {
        parameter.name: constant.ctype
        for parameter, constant in zip(parameters, kernel.constants, strict=False)
        if isinstance(constant, Structs)
    }
    return replace(kernel, function=kernel.function.with_attr(STRUCTS, types)) if types else kernel


def _c_stem(operator: Operator) -> str:
    """Return the operator's part of a kernel's name."""
    return re.sub(r"\W", "_", code_of(operator)).lower()


def build_kernel(
    schedule: StepSchedule, operator: Operator, libraries: Sequence[Library]
) -> Kernel:
    """Build the kernel of an operator; UnsupportedError if there is none.

    An operator with subgraphs needs the options SYMBOL and COMPILE. Elementwise operators use no
    library yet: fusion with their neighbours needs the plain loops.
    """
    tensors = schedule.graph.tensors
    if is_hybrid(operator, tensors):
        raise _error(schedule, operator, DYNAMIC_RANGE)
    registration = registration_of(operator, tensors)
    if registration is None:
        raise _error(schedule, operator, _what_is_missing(schedule, operator))
    try:
        among = () if goes_in_place(operator) else libraries
        kernel = cheapest(schedule.graph, operator, among)
        return _trim(_checked(kernel or registration.build(operator, tensors), tensors))
    except SubgraphError:
        raise
    except UnsupportedError as error:
        raise _error(schedule, operator, str(error)) from None
    except _MISFIT as error:
        words = " ".join(f"{type(error).__name__}: {error}".split()).strip(": ")
        raise InternalError(f"{_name(schedule, operator)} cannot be compiled ({words})") from error


def _what_is_missing(schedule: StepSchedule, operator: Operator) -> str:
    """Return the reason why an operator has no kernel, and the remedy."""
    dtype = deciding_dtype(operator, schedule.graph.tensors)
    is_custom = operator.code == "CUSTOM"
    foreign = _FOREIGN.get(code_of(operator))
    if foreign:
        return f"it holds {foreign}; pass the file from which it was compiled"
    if is_custom and all(code != code_of(operator) for code, _ in registry()):
        return "it is a custom operator, which TFLite Micro does not have either"
    # A quantized form must exist: RFFT2D and custom operators have none.
    helps = not is_custom and (operator.code, "int8") in registry()
    command = command_for(schedule.plan.network)
    hint = _HINT.format(command) if dtype.startswith("float") and helps and command else ""
    return f"there is no CPU code for {dtype}{hint}"


def is_hybrid(operator: Operator, tensors: Sequence[Tensor]) -> bool:
    """Return whether a layer has int8 weights and a float32 input, like LiteRT's hybrid kernels.

    These quantize each inference's input by its range.
    """
    if operator.code not in _HYBRID or len(operator.inputs) < 2:
        return False
    dtypes = [tensors[i].dtype for i in operator.inputs if i != ABSENT]
    weights = [tensors[i] for i in operator.inputs[1:] if i != ABSENT]
    return dtypes[0] == "float32" and any(
        t.dtype in ("int8", "uint8") and t.data is not None for t in weights
    )


def has_kernel(operator: Operator, tensors: Sequence[Tensor]) -> bool:
    """Return whether an operator has a kernel or needs none."""
    if is_widened(operator, tensors):
        return True
    operator, tensors = prepared(operator, tensors)
    registration = registration_of(operator, tensors)
    try:
        return registration is not None and bool(
            _checked(registration.build(operator, tensors), tensors)
        )
    except (UnsupportedError, *_MISFIT):
        return False


def prepared(operator: Operator, tensors: Sequence[Tensor]) -> tuple[Operator, Sequence[Tensor]]:
    """Return an operator and the tensors as kernels see them: states as tensors, uint8 as int8."""
    operator, tensors = with_states(operator, tensors)
    return twin(operator, tensors) if has_twin(operator, tensors) else (operator, tensors)


def _checked(kernel: Kernel, tensors: Sequence[Tensor]) -> Kernel:
    """Return a kernel; UnsupportedError if it reads a variable as an ordinary value."""
    for index in kernel.inputs:
        if tensors[index].is_variable:
            raise UnsupportedError(
                f"it reads the variable '{tensors[index].name}' of another operator"
            )
    return kernel


def _trim(kernel: Kernel) -> Kernel:
    """Return a kernel without the inputs and constants that its function does not use."""
    function, kept = drop_unused_parameters(kernel.function)
    first_constant = len(kernel.inputs)
    return replace(
        kernel,
        function=function,
        inputs=tuple(tensor for i, tensor in enumerate(kernel.inputs) if i in kept),
        constants=tuple(a for i, a in enumerate(kernel.constants, first_constant) if i in kept),
    )


class SubgraphError(UnsupportedError):
    """An operator in a subgraph cannot be compiled; the message is complete."""


def _error(schedule: StepSchedule, operator: Operator, what: str) -> UnsupportedError:
    kind = SubgraphError if schedule.place else UnsupportedError
    return kind(_explain(schedule, operator, what))


def _explain(schedule: StepSchedule, operator: Operator, what: str) -> str:
    reasons = {int(cpu.operator): cpu.reason for cpu in schedule.plan.cpu_operators}
    reason = reasons.get(operator.index, "")
    return (
        f"{_name(schedule, operator)} cannot be compiled: {what}"
        + (f" (it is not on the NPU because: {reason})" if reason else "")
        + "; change the network: 'ethosgen ops' lists what runs where"
    )


def _name(schedule: StepSchedule, operator: Operator) -> str:
    """Return the name of an operator in messages."""
    tensors = schedule.graph.tensors
    place = f" in {schedule.place}" if schedule.place else ""
    output = tensors[operator.outputs[0]].name if operator.outputs else "nothing"
    number = f"operator {operator.index + 1} of {len(schedule.plan.residual.operators)}{place}"
    return f"{number}, {code_of(operator)} that makes '{output}',"


def _pool_constants(
    schedule: StepSchedule, kernel: Kernel, function: str, pool: dict[tuple[str, bytes], Constant]
) -> tuple[int | str, ...]:
    """Return a kernel's arguments and add its constants to the pool."""
    tensors = [schedule.graph.tensors[i] for i in kernel.inputs]
    wanted: list[int | bytes | Structs] = [
        tensor.index if tensor.data is None else tensor.data for tensor in tensors
    ]
    wanted += [
        constant if isinstance(constant, Structs) else np.ascontiguousarray(constant).tobytes()
        for constant in kernel.constants
    ]
    arguments: list[int | str] = []
    for parameter, item in zip(kernel.function.params, wanted, strict=False):
        if not isinstance(item, int):
            dtype = str(parameter.ty.element_type.dtype)  # as the kernel reads it: COPY reads bytes
            structs = item if isinstance(item, Structs) else None
            data = item.data if isinstance(item, Structs) else item
            constant = Constant(f"{function}_{parameter.name}", dtype, data, structs=structs)
            # In a separate file, other weights must not change which of them are equal.
            key = constant.c_name if schedule.plan.apart else constant.ctype
            arguments.append(pool.setdefault((key, data), constant).c_name)
        else:
            arguments.append(item)
    return tuple(arguments)


def by_step(kernels: Mapping[int, NamedKernel]) -> dict[int, Kernel]:
    """Return the kernels without their names."""
    return {step: named.kernel for step, named in kernels.items()}


def workspace_bytes(kernels: Mapping[int, NamedKernel]) -> dict[int, int]:
    """Return the workspace size of each step in bytes, if it has any."""
    return {step: named.kernel.workspace_bytes for step, named in kernels.items()}
