"""ADD and SUB of int8, without broadcasting."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from tvm import tirx

from ethosgen.aot.operators import Kernel
from ethosgen.aot.operators.arithmetic import ends, sum_multipliers
from ethosgen.aot.operators.nest import Nest
from ethosgen.aot.operators.quantization import activation_range, zero_point_of
from ethosgen.model import Operator, Tensor

ADD = frozenset({"ethosgen_add.c"})


def packed_addition(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Return what adds or subtracts 4 elements at a time, None where there is no such form.

    It is not among those that `pack` finds: where an addition is fused with what comes before or
    after it, its plain form is wanted.
    """
    if op.code not in ("ADD", "SUB"):
        return None
    first, second, target = ends(op, tensors)
    if target.dtype != "int8" or not first.shape == second.shape == target.shape:
        return None
    left, right, result = sum_multipliers(first, second, target)
    if max(left.shift, right.shift, result.shift) > 0:
        return None
    numbers = (
        *(zero_point_of(first), left.mantissa, left.shift),
        *(zero_point_of(second), right.mantissa, right.shift),
        *(1 if op.code == "ADD" else -1, result.mantissa, result.shift),
        *(zero_point_of(target), *activation_range(op, target)),
    )
    nest, count = Nest(), target.elements
    x, z = (
        nest.read(name, tensor, (count,))
        for name, tensor in (("first_input", first), ("second_input", second))
    )
    y = nest.write("output", target, (count,))
    shape = nest.table("shape", np.array(numbers, np.int32))
    places = (tirx.address_of(buffer[0]) for buffer in (y, x, z))
    nest.call("ethosgen_add_s8", *places, count, shape.data)
    return replace(nest.kernel(), micro_kernels=ADD)
