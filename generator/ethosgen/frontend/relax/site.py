"""One operator of Relax in its place: its operands, and the operators after it in its composite."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ethosgen.frontend.relax.draft import Array, Draft, DraftConstant, Order, Value, in_order
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.network import Quantization

RANGES = {"int8": (-128, 127), "uint8": (0, 255), "int16": (-32768, 32767)}
"""The integers that activations may have."""


class NoIntegerForm(Exception):  # noqa: N818
    """A composite has no form in integers; the message says why. It runs in float instead."""


Clamp = tuple[float, float]

ACTIVATIONS = {(0.0, 6.0): "RELU6", (-1.0, 1.0): "RELU_N1_TO_1", (0.0, np.inf): "RELU"}


@dataclass(frozen=True)
class Site:
    """An operator, translated into the draft by a function of its family.

    `scale` and `dtype` are those of the composite's result; without `scale` the operator is in no
    composite. `bias` and `clamp` are the composite's; `kind` is its name if its main operator is
    several of Relax's, `numbers` are then their constants. `is_last` says that only outputs depend
    on it.
    """

    draft: Draft
    call: Any
    operands: tuple[Any, ...]
    shape: tuple[int, ...]
    dtype: str
    scale: Quantization | None = None
    bias: DraftConstant | None = None
    clamp: Clamp | None = None
    kind: str = ""
    numbers: tuple[float, ...] = ()
    is_last: bool = False

    @property
    def is_quantized(self) -> bool:
        """Whether this is a composite in integers."""
        return self.scale is not None

    @property
    def attributes(self) -> Any:
        """The operator's attributes."""
        return self.call.attrs

    def value(self, number: int) -> Value:
        """Return an operand as the operator computes with it: integers, or floats."""
        operand = self.operands[number]
        if isinstance(operand, DraftConstant):
            operand = self.held(operand, self.shape)
        return self.usable(operand)

    def usable(self, value: Value) -> Value:
        """Return a value as integers in a composite, else as floats."""
        if not self.is_quantized:
            return self.draft.real(value)
        if not value.is_real or value.dtype != self.dtype:
            raise NoIntegerForm(f"it mixes {value.dtype} and {self.dtype}")
        return value

    def held(
        self, constant: DraftConstant, like: Sequence[int], order: Order | None = None
    ) -> Value:
        """Return a constant as a value of the rank of `like`, its axes in the given order."""
        rank = len(like)
        array = constant.array if self.is_quantized else constant.real()
        scale = constant.scale if self.is_quantized else None
        if self.is_quantized and (scale is None or constant.dtype != self.dtype):
            array, scale = quantized_constant(constant.real(), self.dtype)
        if scale is not None and not scale.is_per_tensor:
            raise NoIntegerForm("a constant operand has several scales")
        shape = (1,) * (rank - array.ndim) + array.shape
        order = order or tuple(range(rank))
        array = array.reshape(shape).transpose(np.argsort(order))
        index = self.draft.add_constant(array, scale)
        return Value(index, shape, order, str(array.dtype), scale, scale is not None)

    def emit_function(
        self,
        code: str,
        source: Value,
        fixed: Mapping[str, Quantization],
        options: dict[str, Any] | None = None,
    ) -> Value:
        """Add a function whose output quantization TFLite fixes, for int8 and int16.

        The network's last operator keeps it if its range is close to the composite's. Any other
        computes in int16, because a result in int8 would be rounded to 8 bits twice.
        """
        if self.scale is None:
            return self.emit(code, (source.tensor,), source.order, options)
        natural = fixed[self.dtype]
        is_kept = self.is_last and self.clamp is None and _are_close(self.scale, natural)
        if self.dtype == "int8" and (is_kept or self.scale == natural):
            result = replace(self, scale=natural).emit(
                code, (source.tensor,), source.order, options
            )
            return replace(result, stands_for=self.scale)
        if self.dtype != "int8":
            return self.emit(code, (source.tensor,), source.order, options, natural)
        assert source.scale is not None
        finer = Quantization(
            (source.scale.scale[0] / 128,), (0,)
        )  # each int8 has an int16 of its own
        wide = self.draft.rescaled(source, finer, "int16")
        result = self.draft.add_operator(
            code, (wide.tensor,), source.physical, "int16", fixed["int16"], options
        )
        return self.finished(replace(result, shape=self.shape, order=source.order, is_real=True))

    def emit(
        self,
        code: str,
        inputs: Sequence[int],
        order: Order,
        options: dict[str, Any] | None = None,
        natural: Quantization | None = None,
        is_fused: bool = False,
    ) -> Value:
        """Add the operator of the result, in the given order of axes.

        `natural` is the only output quantization that the operator has: a QUANTIZE follows if the
        composite has another. Without `is_fused` the clamp follows, too.
        """
        shape = in_order(self.shape, order)
        scale = natural or self.scale
        result = self.draft.add_operator(code, inputs, shape, self.dtype, scale, options)
        result = replace(result, shape=self.shape, order=order, is_real=scale is not None)
        return self.finished(result, is_fused)

    def finished(self, result: Value, is_fused: bool = False) -> Value:
        """Return a result in the composite's quantization, clamped."""
        if self.scale is not None:
            result = self.draft.rescaled(result, self.scale, self.dtype)
        return result if is_fused or self.clamp is None else self._clamped(result, self.clamp)

    def _clamped(self, value: Value, clamp: Clamp) -> Value:
        """Add MAXIMUM and MINIMUM where the type's range does not imply them.

        Rounding keeps order, so clamping before and after quantization is the same.
        """
        for end, code in enumerate(("MAXIMUM", "MINIMUM")):
            limit = self._limit(clamp, end)
            if limit is None:
                continue
            rank = len(value.shape)
            held = self.draft.add_constant(limit.reshape((1,) * rank), self.scale)
            clamped = self.draft.add_operator(
                code, (value.tensor, held), value.physical, self.dtype, self.scale
            )
            value = replace(value, tensor=clamped.tensor)
        return value

    def _limit(self, clamp: Clamp, end: int) -> Array | None:
        """Return a bound as an array of one element, None if the type's range implies it."""
        bound = clamp[end]
        if np.isinf(bound):
            return None
        if self.scale is not None:
            limit = quantize(np.array([bound], np.float32), self.scale, self.dtype)
            return None if int(limit[0]) == RANGES.get(self.dtype, clamp)[end] else limit
        if not np.issubdtype(self.dtype, np.integer):
            return np.array([bound], np.float32)
        info = np.iinfo(self.dtype)
        whole = min(max(int(bound), int(info.min)), int(info.max))
        return None if whole == (info.min, info.max)[end] else np.array([whole], self.dtype)

    def activation(self) -> tuple[str, bool]:
        """Return the fused activation for the clamp, and whether it covers the whole clamp."""
        if self.clamp is None:
            return "NONE", True
        if self.scale is not None:
            low, high = RANGES[self.dtype]
            bounds = quantize(np.array(self.clamp, np.float64), self.scale, self.dtype)
            if bounds.tolist() == [low, high]:
                return "NONE", True
        activation = ACTIVATIONS.get(self.clamp)
        return (activation, True) if activation else ("NONE", False)


def _are_close(first: Quantization, second: Quantization) -> bool:
    """Return whether two quantizations of int8 have the same range, within a step."""
    low, high = RANGES["int8"]
    return all(
        abs(
            first.scale[0] * (bound - first.zero_point[0])
            - second.scale[0] * (bound - second.zero_point[0])
        )
        <= first.scale[0] * 1.01
        for bound in (low, high)
    )


Translate = Callable[[Site], Any]
TRANSLATORS: dict[str, Translate] = {}
"""The translator of each operator, by its name in Relax."""


def translates(*names: str) -> Callable[[Translate], Translate]:
    """Declare that a function translates these operators of Relax."""

    def declare(function: Translate) -> Translate:
        TRANSLATORS.update(dict.fromkeys((f"relax.{name}" for name in names), function))
        return function

    return declare


def quantize(values: Array, scale: Quantization, dtype: str) -> Array:
    """Quantize floats as relax.quantize does: round half to even, then saturate."""
    low, high = RANGES.get(dtype, (-(2**31), 2**31 - 1))
    divided = np.nan_to_num(values / np.float32(scale.scale[0]), posinf=2.0**40, neginf=-(2.0**40))
    integers: Array = np.clip(np.rint(divided) + scale.zero_point[0], low, high).astype(dtype)
    return integers


def requantized(constant: DraftConstant, scale: Quantization | None, dtype: str) -> DraftConstant:
    """Return a constant with a scale, unchanged without one."""
    if scale is None:
        return constant
    return DraftConstant(quantize(constant.real(), scale, dtype), scale, is_real=True)


def quantized_constant(values: Array, dtype: str) -> tuple[Array, Quantization]:
    """Return a float constant as integers with its own scale, which loses the least.

    int8 is used as -127 to 127, symmetric.
    """
    most = RANGES[dtype][1]
    greatest = float(np.max(np.abs(values), initial=0.0)) or 1.0
    scale = Quantization((float(np.float32(greatest / most)),), (0,))
    return quantize(values, scale, dtype), scale


def scalar(expression: Any) -> float:
    """Return the number of a constant argument."""
    value = getattr(expression, "value", expression)
    numpy = getattr(value, "numpy", None)
    return float(numpy().reshape(())) if numpy else float(value)


def ints(values: Any) -> tuple[int, ...]:
    """Return TVM's integers as Python's; UnsupportedError for an open size."""
    try:
        return tuple(int(value) for value in values)
    except (TypeError, ValueError):
        raise UnsupportedError(f"the shape {tuple(map(str, values))} has open sizes") from None
