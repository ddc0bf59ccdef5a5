"""Computes with several float operators where TFLite has no single one."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ethosgen.frontend.relax.draft import Array, Value, in_order
from ethosgen.frontend.relax.site import Site

_FUSING = frozenset({"ADD", "SUB", "MUL", "DIV"})

Term = Value | float | Array
"""A value, a number, or an array of the value's rank."""


class Floats:
    """Adds operators on floats whose axes all have the order of one value."""

    def __init__(self, site: Site, like: Value) -> None:
        self.draft, self.order, self.rank = site.draft, like.order, len(like.shape)

    def __call__(self, code: str, *terms: Term) -> Value:
        """Add an operator that computes each element alone."""
        values = [self._value(term) for term in terms]
        shape = np.broadcast_shapes(*[value.shape for value in values])
        options = {"fused_activation_function": "NONE"} if code in _FUSING else {}
        return self._add(code, [value.tensor for value in values], shape, options)

    def reduced(self, code: str, value: Value, axes: Sequence[int]) -> Value:
        """Add a reduction that keeps its axes."""
        places = np.array(sorted(self.order[axis] for axis in axes), np.int32)
        inputs = [value.tensor, self.draft.add_constant(places)]
        shape = tuple(1 if axis in axes else size for axis, size in enumerate(value.shape))
        return self._add(code, inputs, shape, {"keep_dims": True})

    def _add(
        self, code: str, inputs: Sequence[int], shape: Sequence[int], options: dict[str, Any]
    ) -> Value:
        physical = in_order(shape, self.order)
        result = self.draft.add_operator(code, inputs, physical, "float32", None, options)
        return replace(result, shape=tuple(shape), order=self.order)

    def _value(self, term: Term) -> Value:
        if isinstance(term, Value):
            return term
        array = np.asarray(term, np.float32)
        array = array.reshape((1,) * (self.rank - array.ndim) + array.shape)
        index = self.draft.add_constant(array.transpose(np.argsort(self.order)))
        return Value(index, array.shape, self.order, "float32")
