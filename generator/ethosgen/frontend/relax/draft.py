"""Builds a graph of our dialect, operator by operator.

Relax's networks are mostly channels-first (NCHW), TFLite's operators channels-last. A `Value`
therefore has a logical shape, the one in the user's network, and a tensor whose axes may be in
another order. Operators choose the order that suits them; a TRANSPOSE is added only where two
orders meet and cannot be reconciled. TVM's ConvertLayout cannot do this here: version 0.27 leaves
two transposes around each convolution, since it does not move them through relax.quantize.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from ethosgen.frontend.relax.fusing import with_fused_clamps
from ethosgen.values.network import Graph, Operator, Quantization, Tensor

Array = np.ndarray[Any, Any]
Order = tuple[int, ...]

_MOST_AXES = 4
"""The most axes of a TRANSPOSE that NPUs take."""


@dataclass(frozen=True)
class Value:
    """A result in the draft.

    Logical axis i is axis `order[i]` of the tensor, which has `dtype` and the quantization `scale`.
    If it `is_real`, the value is the float that the tensor of integers represents: an operator on
    it adds a DEQUANTIZE only if it has no form for integers. Its quantization may differ from the
    network's, with about the same range; `stands_for` is then the network's.
    """

    tensor: int
    shape: tuple[int, ...]
    order: Order
    dtype: str
    scale: Quantization | None = None
    is_real: bool = False
    stands_for: Quantization | None = None

    @property
    def is_plain(self) -> bool:
        """Whether the tensor's axes are in logical order."""
        return self.order == tuple(range(len(self.order)))

    @cached_property
    def physical(self) -> tuple[int, ...]:
        """The shape of the tensor."""
        return in_order(self.shape, self.order)


@dataclass(frozen=True)
class DraftConstant:
    """A constant; `is_real` means the float values that the array's integers represent."""

    array: Array
    scale: Quantization | None = None
    is_real: bool = False

    @property
    def dtype(self) -> str:
        """The array's type."""
        return str(self.array.dtype)

    @property
    def shape(self) -> tuple[int, ...]:
        """The logical shape."""
        return tuple(self.array.shape)

    def real(self) -> Array:
        """Return the values that it represents."""
        if self.scale is None or not self.is_real:
            return self.array
        shape = [1] * self.array.ndim
        if not self.scale.is_per_tensor:
            shape[self.scale.axis] = -1
        scale = np.array(self.scale.scale, np.float32).reshape(shape)
        zero = np.array(self.scale.zero_point, np.int64)
        zero = zero.reshape(shape if zero.size > 1 else [1] * self.array.ndim)
        return ((self.array.astype(np.int64) - zero).astype(np.float32) * scale).astype(np.float32)


Operand = Value | DraftConstant


def in_order(shape: Sequence[int], order: Order) -> tuple[int, ...]:
    """Return logical sizes in the order of the tensor's axes."""
    physical = [0] * len(order)
    for logical, axis in enumerate(order):
        physical[axis] = shape[logical]
    return tuple(physical)


def channels_last(rank: int) -> Order:
    """Return the order of a channels-first value whose tensor has its channels last."""
    return (0, rank - 1, *range(1, rank - 1))


def order_of(layout: str, rank: int) -> Order:
    """Return the order of a value of a layout, NCHW or NHWC, in a tensor with channels last."""
    return channels_last(rank) if layout.startswith("NC") else tuple(range(rank))


def invert(order: Order) -> Order:
    """Return the inverse permutation."""
    return tuple(int(i) for i in np.argsort(order))


def _joined(axes: Sequence[int], sizes: Sequence[int]) -> list[list[int]]:
    """Return a permutation's axes in groups that move as one; axes of size 1 join any."""
    groups: list[list[int]] = []
    for axis in axes:
        if sizes[axis] == 1:
            continue
        last = groups[-1][-1] if groups else len(sizes)
        if axis > last and all(sizes[between] == 1 for between in range(last + 1, axis)):
            groups[-1].append(axis)
        else:
            groups.append([axis])
    return groups


class Draft:
    """A graph in the making; tensors are named after `name`, the current result.

    `owner` is the composite under translation, "" outside composites; `owners` maps operators'
    output tensors to theirs.
    """

    def __init__(self) -> None:
        self.owner = ""
        self.owners: dict[int, str] = {}
        self.tensors: list[Tensor] = []
        self.operators: list[Operator] = []
        self.inputs: list[int] = []
        self.name = "value"
        self.flattened: dict[int, Value] = {}
        """Values of other orders that were flattened behind their first axis, by the result."""
        self._names: dict[str, int] = {}
        self._reordered: dict[tuple[int, Order], Value] = {}
        self._constants: dict[tuple[Any, ...], int] = {}

    def add_tensor(
        self,
        shape: Sequence[int],
        dtype: str,
        scale: Quantization | None = None,
        data: bytes | None = None,
        name: str | None = None,
    ) -> int:
        """Add a tensor; return its index."""
        tensor = Tensor(
            len(self.tensors),
            self._unique(name or self.name),
            tuple(int(size) for size in shape),
            dtype,
            scale,
            data,
        )
        self.tensors.append(tensor)
        return tensor.index

    def _unique(self, name: str) -> str:
        count = self._names.get(name, 0)
        self._names[name] = count + 1
        return name if not count else self._unique(f"{name}_{count}")

    def add_input(
        self, name: str, shape: Sequence[int], dtype: str, order: Order | None = None
    ) -> Value:
        """Add an input of the graph, whose tensor has the given order of axes."""
        order = order or tuple(range(len(shape)))
        index = self.add_tensor(in_order(shape, order), dtype, name=name)
        self.inputs.append(index)
        return Value(index, tuple(shape), order, dtype)

    def add_constant(self, array: Array, scale: Quantization | None = None) -> int:
        """Add a constant tensor, or return that of an equal one."""
        array = np.ascontiguousarray(array)
        key = (array.tobytes(), str(array.dtype), array.shape, scale)
        if key not in self._constants:
            self._constants[key] = self.add_tensor(
                array.shape, str(array.dtype), scale, array.tobytes(), f"{self.name}_constant"
            )
        return self._constants[key]

    def add_operator(
        self,
        code: str,
        inputs: Sequence[int],
        shape: Sequence[int],
        dtype: str,
        scale: Quantization | None = None,
        options: Mapping[str, Any] | None = None,
        name: str | None = None,
    ) -> Value:
        """Add an operator with one output; return it, its axes in the tensor's order."""
        index = self.add_tensor(shape, dtype, scale, name=name)
        self.owners[index] = self.owner
        self.operators.append(
            Operator(
                len(self.operators), code, tuple(inputs), (index,), options=dict(options or {})
            )
        )
        return Value(index, tuple(shape), tuple(range(len(shape))), dtype, scale)

    def add_pair(
        self,
        code: str,
        inputs: Sequence[int],
        shape: Sequence[int],
        dtypes: tuple[str, str],
        scale: Quantization | None,
    ) -> tuple[Value, Value]:
        """Add an operator with two outputs of one shape, the first of which has the scale."""
        first = self.add_operator(code, inputs, shape, dtypes[0], scale)
        second = self.add_tensor(shape, dtypes[1])
        last = self.operators[-1]
        self.operators[-1] = replace(last, outputs=(*last.outputs, second))
        return first, Value(second, tuple(shape), tuple(range(len(shape))), dtypes[1])

    def plain(self, value: Value) -> Value:
        """Return a value whose tensor has the logical order of axes."""
        return self.ordered(value, tuple(range(len(value.shape))))

    def ordered(self, value: Value, order: Order) -> Value:
        """Return a value whose tensor has the given order of axes, transposed if necessary."""
        if value.order == order:
            return value
        key = value.tensor, order
        if key not in self._reordered:
            self._reordered[key] = self._transposed(value, order)
        return replace(self._reordered[key], is_real=value.is_real)

    def _transposed(self, value: Value, order: Order) -> Value:
        # Tensor axis a of the result is logical axis invert(order)[a].
        axes = tuple(value.order[logical] for logical in invert(order))
        shape = in_order(value.shape, order)
        moving = [axis for axis in axes if value.physical[axis] != 1]
        if moving == sorted(moving):
            moved = self.reshaped(value.tensor, shape, value)
        else:
            joined = _joined(axes, value.physical)
            is_high = len(axes) > _MOST_AXES >= len(joined)
            moved = self._permuted(value, joined if is_high else [[axis] for axis in axes])
            moved = self.regrouped(moved.tensor, shape, value)
        return replace(moved, shape=value.shape, order=order)

    def _permuted(self, value: Value, groups: list[list[int]]) -> Value:
        """Add a TRANSPOSE of groups of neighbouring axes, given in the order of the result."""
        before = sorted(groups)
        sizes = [prod(value.physical[axis] for axis in group) for group in before]
        axes = [before.index(group) for group in groups]
        source = self.regrouped(value.tensor, sizes, value)
        permutation = self.add_constant(np.array(axes, np.int32))
        return self.add_operator(
            *("TRANSPOSE", (source.tensor, permutation), [sizes[axis] for axis in axes]),
            *(value.dtype, value.scale),
            name=self.derived(value.tensor, "transposed"),
        )

    def regrouped(self, tensor: int, shape: Sequence[int], like: Value) -> Value:
        """Add a RESHAPE of another RESHAPE's input, if that one made the tensor."""
        makers = {op.outputs[0]: op for op in self.operators if op.code == "RESHAPE"}
        while tensor in makers:
            tensor = makers[tensor].inputs[0]
        return self.reshaped(tensor, shape, like)

    def reshaped(self, tensor: int, shape: Sequence[int], like: Value) -> Value:
        """Add a RESHAPE of a tensor's elements in their order."""
        if tuple(shape) == self.tensors[tensor].shape:
            return Value(tensor, tuple(shape), tuple(range(len(shape))), like.dtype, like.scale)
        target = self.add_constant(np.array(shape, np.int32))
        return self.add_operator(
            *("RESHAPE", (tensor, target), shape, like.dtype, like.scale),
            {"new_shape": tuple(int(size) for size in shape)},
            self.derived(tensor, "reshaped"),
        )

    def slice(
        self,
        value: Value,
        begin: Sequence[int],
        ends: Sequence[int],
        steps: Sequence[int],
        shape: Sequence[int],
    ) -> Value:
        """Add a STRIDED_SLICE of a tensor; all numbers are for the tensor's axes."""
        tables = [self.add_constant(np.array(v, np.int32)) for v in (begin, ends, steps)]
        masks = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")
        return self.add_operator(
            *("STRIDED_SLICE", (value.tensor, *tables), shape, value.dtype, value.scale),
            dict.fromkeys(masks, 0),
        )

    def derived(self, tensor: int, what: str) -> str:
        """Return a name for another form of a tensor."""
        return f"{self.tensors[tensor].name}_{what}"

    def real(self, value: Value) -> Value:
        """Return a float value as a tensor of floats, with a DEQUANTIZE if necessary."""
        if not value.is_real:
            return value
        dequantized = self.add_operator(
            *("DEQUANTIZE", (value.tensor,), value.physical, "float32"),
            name=self.derived(value.tensor, "dequantized"),
        )
        return replace(dequantized, shape=value.shape, order=value.order)

    def rescaled(self, value: Value, scale: Quantization, dtype: str) -> Value:
        """Return a value with another quantization, with a QUANTIZE if necessary."""
        if value.scale == scale and value.dtype == dtype:
            return value
        requantized = self.add_operator("QUANTIZE", (value.tensor,), value.physical, dtype, scale)
        return replace(requantized, shape=value.shape, order=value.order, is_real=value.is_real)

    def graph(self, name: str, outputs: Sequence[int]) -> Graph:
        """Return the graph, without operators and tensors that no output needs."""
        used: set[int] = set(outputs)
        kept: list[Operator] = []
        for operator in reversed(with_fused_clamps(self.operators, self.tensors, outputs)):
            if used.intersection(operator.outputs):
                kept.insert(0, operator)
                used.update(operator.inputs)
                used.update(operator.outputs)
        used.update(self.inputs)
        used.discard(-1)
        numbers = {old: new for new, old in enumerate(sorted(used))}
        numbers[-1] = -1
        tensors = tuple(
            replace(self.tensors[old], index=new) for old, new in numbers.items() if old >= 0
        )
        operators = tuple(
            replace(
                operator,
                index=index,
                inputs=tuple(numbers[i] for i in operator.inputs),
                outputs=tuple(numbers[i] for i in operator.outputs),
            )
            for index, operator in enumerate(kept)
        )
        return Graph(
            name,
            tensors,
            operators,
            tuple(numbers[i] for i in self.inputs),
            tuple(numbers[i] for i in outputs),
        )
