"""Variables: tensors that keep their values between inferences (the state of an LSTM or SVDF).

A variable that a partition reads is in the scratch, where the backend placed it: its compiler
reserves its bytes for the whole inference (Regor: live_range.cpp, persistent tensors), and so must
the memory plan. A variable that a CPU operator reads is in the state memory, outside the arena.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ethosgen.aot.schedule.schedule import StepSchedule
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.multiples import rounded_up
from ethosgen.values.network import Tensor


@dataclass(frozen=True)
class Held:
    """A variable's address: an `offset` in bytes into the arena if the NPU uses it, else the state.

    `aliases` are the backend's tensors for the variable's new value: outputs of a partition at the
    same offset.
    """

    tensor: int
    offset: int
    on_npu: bool
    aliases: tuple[int, ...] = ()


def find_variables(schedule: StepSchedule, alignment: int) -> tuple[Held, ...]:
    """Return every variable that a step uses, in order of first use.

    UnsupportedError if a variable on the NPU has two users, or if the backend breaks the rules
    above.
    """
    values = {i for step in schedule.steps for i in schedule.new_values(step)}
    on_npu = [
        i
        for step in schedule.steps
        if step.on_npu
        for i in schedule.updates(step)
        if i not in values  # else it is a new value, written by an earlier partition
    ]
    on_cpu = [i for step in schedule.steps if not step.on_npu for i in schedule.updates(step)]
    tensors = schedule.graph.tensors
    for index in on_npu:
        several = on_npu.count(index) > 1 and _readers(schedule, index) > 1
        if several or index in on_cpu:
            raise UnsupportedError(
                f"the variable '{tensors[index].name}' is used by two operators, one of them on "
                "the NPU; give each operator its own variable"
            )
    for step in schedule.steps:
        for index in () if step.on_npu else schedule.new_values(step):
            raise UnsupportedError(
                f"{step.operator.code} writes the variable '{tensors[index].name}' as its output, "
                "which is not supported"
            )
    held, offset = [], 0
    for index in dict.fromkeys(on_cpu):
        held.append(Held(index, offset, on_npu=False))
        offset = rounded_up(offset + tensors[index].bytes, alignment)
    return (*_held_by_npu(schedule, on_npu), *held)


def _readers(schedule: StepSchedule, index: int) -> int:
    """Return the number of operators that read a variable; a backend can split one."""
    graph, name = schedule.plan.network.graph, schedule.graph.tensors[index].name
    return sum(
        name in {graph.tensors[i].name for i in op.inputs if i >= 0} for op in graph.operators
    )


def state_bytes(schedule: StepSchedule, held: tuple[Held, ...]) -> int:
    """Return the state size in bytes: the memory for variables of CPU operators."""
    tensors = schedule.graph.tensors
    return max((h.offset + tensors[h.tensor].bytes for h in held if not h.on_npu), default=0)


def initial_byte(tensor: Tensor) -> int:
    """Return the byte that initializes a variable.

    It is the zero point for int8 and 0 for other types (TFLite Micro's ResetTensorData).
    """
    quantization = tensor.quantization
    if tensor.dtype != "int8" or quantization is None or not quantization.zero_point:
        return 0
    return quantization.zero_point[0] & 0xFF


def initial_value(tensor: Tensor) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]]:
    """Return a variable's initial value."""
    raw = np.full(tensor.bytes, initial_byte(tensor), np.uint8)
    return raw.view(tensor.dtype).reshape(tensor.shape)


def _held_by_npu(schedule: StepSchedule, variables: list[int]) -> Iterator[Held]:
    offsets, tensors = schedule.plan.offsets, schedule.graph.tensors
    compiler = schedule.plan.compiler
    taken: dict[int, int] = {}
    for index in variables:
        if index not in offsets:
            raise UnsupportedError(
                f"{compiler} does not place the variable '{tensors[index].name}'; use --io arena"
            )
        other = taken.setdefault(offsets[index], index)
        if other != index:
            raise UnsupportedError(
                f"{compiler} gave the variables '{tensors[other].name}' and "
                f"'{tensors[index].name}' one address, as it does for the same name; rename one in "
                "the network"
            )
    written = [i for step in schedule.steps for i in schedule.new_values(step)]
    places = {(offset, tensors[index].bytes) for offset, index in taken.items()}
    for index in written:
        if (offsets.get(index), tensors[index].bytes) not in places:
            raise UnsupportedError(
                f"{compiler} writes the variable '{tensors[index].name}' at an offset where none "
                "is read"
            )
    for offset, index in taken.items():
        yield Held(index, offset, True, tuple(i for i in written if offsets[i] == offset))
