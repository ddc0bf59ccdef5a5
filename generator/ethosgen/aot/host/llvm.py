"""CPU operators compiled for this machine by TVM's LLVM, from the PrimFuncs that become C."""

import ctypes
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from ethosgen.aot.host.step import Array, NotReadyError, Run
from ethosgen.aot.kernels import NamedKernel, choose_kernels
from ethosgen.aot.registry import code_of
from ethosgen.aot.schedule.schedule import Step, StepSchedule
from ethosgen.aot.tir.lowering import compile_natively
from ethosgen.aot.tir.nest import NOT_READY
from ethosgen.aot.tvm import tvm, tvm_ffi
from ethosgen.values.errors import InputError
from ethosgen.values.program import Constant

TARGET: Any = {"kind": "llvm", "opt-level": 2}
"""TVM's target. Its own choice, level 3, takes twice as long for kernels that are no faster, and
108 s for the maximum of a float32 image of 32 x 32 x 24."""


def compile_steps(schedule: StepSchedule) -> dict[int, Run]:
    """Return a function, by step, for each CPU operator without subgraphs."""
    kernels, constants = choose_kernels(schedule, "host", ())
    functions = {
        named.name: named.kernel.function.with_attr("global_symbol", named.name)
        for named in kernels.values()
    }
    library = _compiled(_Structure(tvm.IRModule(functions)))
    data = {constant.c_name: _array(constant) for constant in constants}
    return {
        index: _bind(library[named.name], named, schedule, schedule.steps[index], data)
        for index, named in kernels.items()
    }


class _Structure:
    """A module as a key: equal to every module of the same functions."""

    def __init__(self, module: Any) -> None:
        self.module = module

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Structure) and tvm_ffi.structural_equal(self.module, other.module)

    def __hash__(self) -> int:
        return hash(tvm_ffi.structural_hash(self.module))


@lru_cache(maxsize=1)  # a plan is checked, then simulated
def _compiled(structure: _Structure) -> Any:
    return compile_natively(structure.module.functions, TARGET)


def _bind(
    function: Any, named: NamedKernel, schedule: StepSchedule, step: Step, data: Mapping[str, Array]
) -> Run:
    workspace = np.empty(named.kernel.workspace_bytes, np.int8)

    def run(values: Mapping[int, Array]) -> None:
        arrays = [data[a] if isinstance(a, str) else values[a] for a in named.arguments]
        arrays += [values[i] for i in (*schedule.writes(step), *named.kernel.variables)]
        arrays += [workspace] if workspace.size else []
        status = function(*(ctypes.c_void_p(array.ctypes.data) for array in arrays))
        if status == NOT_READY:
            raise NotReadyError
        if status:
            outputs = [schedule.graph.tensors[i].name for i in step.operator.outputs]
            raise InputError(
                f"{code_of(step.operator)}, which makes {outputs}, does not accept a value of its "
                "inputs: an index out of range, a division by 0 or the root of a negative number"
            )

    return run


def _array(constant: Constant) -> Array:
    return np.frombuffer(constant.data, constant.dtype).copy()
