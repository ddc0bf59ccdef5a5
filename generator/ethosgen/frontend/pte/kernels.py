"""ExecuTorch's CPU operators that ethosgen supports, as operators of the dialect.

Quantization follows torch (torch.ao.quantization.fx._decomposed): round(x * float32(1 / scale)),
ties to even, plus the zero point. TFLite's QUANTIZE divides, and rounds ties away from zero, so the
dialect's MUL, ROUND, ADD, MAXIMUM, MINIMUM and CAST compute it; the generated code is one loop.
DEQUANTIZE is the same in both.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ethosgen.frontend.pte.builder import GraphBuilder
from ethosgen.frontend.pte.program import DTYPES, Items, TensorValue, Value
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.grammar import counted

_INTEGERS = ("int8", "uint8", "int16", "int32")


@dataclass(frozen=True)
class KernelCall:
    """One call: the operator's arguments without its output, and the tensors of graph and program.

    `source` and `target` are the graph's tensors of the first argument and of the output.
    """

    graph: GraphBuilder
    values: Sequence[Value]
    arguments: tuple[int, ...]
    source: int
    target: int
    before: TensorValue
    after: TensorValue

    def value(self, place: int) -> Value:
        """Return an argument's value, None if it is missing."""
        return self.values[self.arguments[place]] if place < len(self.arguments) else None

    def number(self, place: int) -> float:
        """Return an argument that must be a finite number."""
        value = self.value(place)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise UnsupportedError(f"its argument {place} is not a number")
        if not math.isfinite(value):
            raise UnsupportedError(f"its argument {place} is {value}")
        return value

    def integer(self, place: int) -> int:
        """Return an argument that must be an integer."""
        value = self.number(place)
        if not isinstance(value, int):
            raise UnsupportedError(f"its argument {place} is not an integer")
        return value

    def integers(self, place: int) -> tuple[int, ...]:
        """Return an argument that must be a list of integers."""
        items = self.value(place)
        if not isinstance(items, Items):
            raise UnsupportedError(f"its argument {place} is not a list")
        numbers = [self.values[i] for i in items.of]
        if not all(isinstance(value, int) for value in numbers):
            raise UnsupportedError(f"its argument {place} is not a list of integers")
        return tuple(int(value) for value in numbers)  # type: ignore[arg-type]


def is_scale(number: float) -> bool:
    """Return whether a number can be a scale: positive, and a normal float32."""
    return bool(np.finfo(np.float32).tiny <= number <= np.finfo(np.float32).max)


def _quantization(call: KernelCall, stored: TensorValue) -> tuple[float, int, int, int]:
    """Return scale, zero point and the bounds, after checking them against the stored type."""
    scale, zero_point, low, high = (call.number(1), *(call.integer(i) for i in (2, 3, 4)))
    if stored.dtype not in _INTEGERS:
        raise UnsupportedError(f"its integers are {stored.dtype}")
    if DTYPES.get(call.integer(5)) != stored.dtype:
        raise UnsupportedError(f"its dtype argument is not {stored.dtype}")
    info = np.iinfo(stored.dtype)
    if not info.min <= low <= high <= info.max or not info.min <= zero_point <= info.max:
        raise UnsupportedError(
            f"its zero point {zero_point} or bounds {low} to {high} do not fit {stored.dtype}"
        )
    if not is_scale(scale):
        raise UnsupportedError(f"its scale is {scale}")
    return scale, zero_point, low, high


def _quantize(call: KernelCall) -> None:
    scale, zero_point, low, high = _quantization(call, call.after)
    if call.before.dtype != "float32" or call.after.dtype == "int32":
        raise UnsupportedError(f"it quantizes {call.before.dtype} to {call.after.dtype}")
    if call.before.shape != call.after.shape:
        raise UnsupportedError("it changes the order of dimensions")
    graph, shape, name = call.graph, call.after.shape, _name(call)

    def step(code: str, operand: float | None, last: int) -> int:
        inputs = [last]
        if operand is not None:
            inputs.append(graph.constant(f"{name}_operand", np.array(operand, np.float32)))
        return graph.apply(code, inputs, f"{name}_{code.lower()}", shape)

    last = step("MUL", 1.0 / scale, call.source)
    last = step("ROUND", None, last)
    last = step("ADD", zero_point, last) if zero_point else last
    last = step("MAXIMUM", low, last)
    last = step("MINIMUM", high, last)
    types = {"in_data_type": "float32", "out_data_type": call.after.dtype}
    graph.operator("CAST", [last], [call.target], types)
    graph.quantize(call.target, scale, zero_point)


def _dequantize(call: KernelCall) -> None:
    scale, zero_point, _, _ = _quantization(call, call.before)
    if call.after.dtype != "float32" or call.before.dtype == "int32":
        raise UnsupportedError(f"it dequantizes {call.before.dtype} to {call.after.dtype}")
    if call.before.shape != call.after.shape:
        raise UnsupportedError("it changes the order of dimensions")
    graph = call.graph
    graph.quantize(call.source, scale, zero_point)
    known = graph.tensors[call.source].quantization
    if known is None or (known.scale, known.zero_point) != ((scale,), (zero_point,)):
        raise UnsupportedError("its input has another quantization elsewhere")
    graph.operator("DEQUANTIZE", [call.source], [call.target])


def _view(call: KernelCall) -> None:
    _require_same(call, call.before.dtype == call.after.dtype, "type")
    _require_same(call, math.prod(call.before.shape) == math.prod(call.after.shape), "elements")
    if not (call.before.is_contiguous and call.after.is_contiguous):
        raise UnsupportedError("its tensors are not in torch's contiguous order")
    call.graph.reshape(call.source, call.target)


def _permute(call: KernelCall) -> None:
    _permuted(call, call.integers(1))


def _swap(call: KernelCall) -> None:
    rank = len(call.before.sizes)
    axes = list(range(rank))
    first, second = (call.integer(i) for i in (1, 2))
    if not (-rank <= first < rank and -rank <= second < rank):
        raise UnsupportedError(f"it swaps dimensions {first} and {second} of {rank}")
    axes[first], axes[second] = axes[second], axes[first]
    _permuted(call, tuple(axes))


def _permuted(call: KernelCall, axes: tuple[int, ...]) -> None:
    """Let dimension i of the output be dimension axes[i] of the input, in torch's sizes."""
    rank = len(call.before.sizes)
    axes = tuple(axis + rank if axis < 0 else axis for axis in axes)
    if sorted(axes) != list(range(rank)):
        raise UnsupportedError(f"it permutes {counted(rank, 'dimension')} by {list(axes)}")
    _require_same(call, call.before.dtype == call.after.dtype, "type")
    sizes = tuple(call.before.sizes[axis] for axis in axes)
    _require_same(call, sizes == call.after.sizes, "elements")
    moves = [call.before.dim_order.index(axes[i]) for i in call.after.dim_order]
    call.graph.transpose(call.source, moves, call.target)


def _copy(call: KernelCall) -> None:
    _permuted(call, tuple(range(len(call.before.sizes))))


def _average_pool(call: KernelCall) -> None:
    """Pool without padding: torch and TFLite sum the rows of a window and divide by its size."""
    _require_same(call, call.before.dtype == call.after.dtype == "float32", "type")
    kernel, stride = _pair(call, 1), _pair(call, 2) or _pair(call, 1)
    if len(call.before.sizes) != 4 or len(kernel) != 2 or len(stride) != 2:
        raise UnsupportedError(f"it pools {list(call.before.sizes)} by {list(kernel)}")
    if any(_pair(call, 3)) or any(call.value(place) for place in (4, 6)):
        raise UnsupportedError("it has padding, ceil_mode or a divisor of its own")
    batch, channels, *sizes = call.before.sizes
    counts = [
        (n - k) // s + 1 if s > 0 else 0 for n, k, s in zip(sizes, kernel, stride, strict=True)
    ]
    wanted = (batch, channels, *counts)
    _require_same(call, min(kernel) > 0 and min(counts) > 0 and wanted == call.after.sizes, "size")
    graph, name = call.graph, _name(call)
    source = graph.tensor(f"{name}_given", (batch, *sizes, channels), "float32")
    pooled = graph.tensor(f"{name}_pooled", (batch, *counts, channels), "float32")
    graph.transpose(call.source, [call.before.dim_order.index(i) for i in _NHWC], source)
    options = {"padding": "VALID", "filter_height": kernel[0], "filter_width": kernel[1]}
    options |= {"stride_h": stride[0], "stride_w": stride[1]}
    graph.operator("AVERAGE_POOL_2D", [source], [pooled], options)
    graph.transpose(pooled, [_NHWC.index(i) for i in call.after.dim_order], call.target)


_NHWC = (0, 2, 3, 1)


def _pair(call: KernelCall, place: int) -> tuple[int, ...]:
    """Return a list of one or two integers as two, () if it is empty."""
    pair = call.integers(place)
    return pair * 2 if len(pair) == 1 else pair


def _require_same(call: KernelCall, same: bool, what: str) -> None:
    if not same:
        ends = ", ".join(f"{end.dtype} {list(end.sizes)}" for end in (call.before, call.after))
        raise UnsupportedError(f"its input and output differ in {what}: {ends}")


def _name(call: KernelCall) -> str:
    return call.graph.tensors[call.target].name


KERNELS: Mapping[str, Callable[[KernelCall], None]] = {
    "aten::alias_copy.out": _copy,
    "aten::avg_pool2d.out": _average_pool,
    "aten::clone.out": _copy,
    "aten::detach_copy.out": _copy,
    "aten::lift_fresh_copy.out": _copy,
    "aten::permute_copy.out": _permute,
    "aten::squeeze_copy.dim_out": _view,
    "aten::squeeze_copy.dims_out": _view,
    "aten::squeeze_copy.out": _view,
    "aten::transpose_copy.int_out": _swap,
    "aten::unsqueeze_copy.out": _view,
    "aten::view_copy.out": _view,
    "cortex_m::dequantize_per_tensor.out": _dequantize,
    "cortex_m::quantize_per_tensor.out": _quantize,
    "cortex_m::transpose.out": _permute,
    "dim_order_ops::_clone_dim_order.out": _copy,
    "dim_order_ops::_to_dim_order_copy.out": _copy,
    "executorch_prim::et_view.default": _view,
    "quantized_decomposed::dequantize_per_tensor.out": _dequantize,
    "quantized_decomposed::quantize_per_tensor.out": _quantize,
}
"""The functions that add an operator to a graph, by ExecuTorch's name."""
