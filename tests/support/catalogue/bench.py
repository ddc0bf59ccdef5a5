"""A network of single operators, whose inputs know their ranges: see `cases`."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.support.networks import NetworkBuilder, Spec

Array = np.ndarray[Any, Any]
PLAIN = {"fused_activation_function": "NONE"}
Build = Callable[["Bench", str], Sequence[int]]

RANKS = (4, 3, 2, 5)
"""The ranks of shapes for operators with one input; sizes are drawn."""
LEAST, MOST = 2, 6
"""The range of drawn sizes."""


class Bench(NetworkBuilder):
    """A network that records the range of each input's elements."""

    def __init__(self, seed: int) -> None:
        super().__init__("bench", seed)
        self.ranges: dict[str, tuple[float, float]] = {}

    def feed(
        self,
        shape: Sequence[int],
        dtype: str,
        low: float | None = None,
        high: float | None = None,
        scale: float | None = None,
        zero_point: int | None = None,
        name: str | None = None,
    ) -> int:
        """Add an input; quantized types get a random scale and zero point by default."""
        quantized = dtype in ("int8", "uint8", "int16")
        if quantized and scale is None:
            scale = round(float(self.random.uniform(0.01, 0.2)), 6)
        point = zero_point if zero_point is not None else self.point(dtype) if quantized else 0
        index = self.input(shape, dtype, scale, point, name)
        info = np.iinfo(dtype) if np.dtype(dtype).kind in "iu" else None
        least, most = (info.min, info.max) if info else (0, 2) if dtype == "bool" else (-4.0, 4.0)
        self.ranges[self.tensors[index].name or ""] = (
            least if low is None else low,
            most if high is None else high,
        )
        return index

    def point(self, dtype: str) -> int:
        """Draw a zero point that a type may have."""
        return {"int8": int(self.random.integers(-60, 60)), "uint8": 131}.get(dtype, 0)

    def sizes(self, rank: int, least: int = LEAST) -> tuple[int, ...]:
        """Draw a shape."""
        return tuple(int(n) for n in self.random.integers(least, MOST, rank, endpoint=True))

    def broadcasts(self) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
        """Draw pairs of shapes: one repeated along axes, both, equal ones, and a single number."""
        n, h, w, c = self.sizes(4)
        return [
            ((n, h, w, c), (w, 1)),
            ((n, h, 1), (1, c)),
            ((w, c), (w, c)),
            ((n, h, c), ()),
        ]

    def to(self, dtype: str, shape: Sequence[int], like: int | None = None) -> Spec:
        """Describe an output with its own quantization, or with that of another tensor."""
        if like is not None:
            return Spec(
                tuple(shape), dtype, self.tensors[like].scale, self.tensors[like].zero_point
            )
        if dtype not in ("int8", "uint8", "int16"):
            return Spec(tuple(shape), dtype)
        scale = round(float(self.random.uniform(0.02, 0.3)), 6)
        return Spec(tuple(shape), dtype, scale, self.point(dtype))

    def make(
        self, code: str, inputs: Sequence[int], spec: Spec, options: dict[str, Any] | None = None
    ) -> int:
        """Add an operator with one output."""
        return self.operator(code, inputs, [spec], options)[0]

    def keep(self, outputs: Sequence[int]) -> None:
        """Drop the operators and inputs that these outputs do not need."""
        needed, kept = set(outputs), []
        for op in reversed(self.operators):
            if needed & set(op.outputs):
                needed.update(op.inputs)
                kept.append(op)
        self.operators = kept[::-1]
        self.inputs = [i for i in self.inputs if i in needed]

    def samples(self, count: int) -> list[dict[str, Array]]:
        """Draw inputs within their ranges."""
        return [{self._name(i): self._draw(i) for i in self.inputs} for _ in range(count)]

    def _name(self, index: int) -> str:
        return self.tensors[index].name or ""

    def _draw(self, index: int) -> Array:
        spec = self.tensors[index]
        low, high = self.ranges[self._name(index)]
        if spec.dtype == "float32":
            return self.random.uniform(low, high, spec.shape).astype(np.float32)
        if spec.dtype == "bool":
            return self.random.integers(0, 2, spec.shape).astype(bool)
        wide = np.uint64 if spec.dtype == "uint64" else np.int64
        values = self.random.integers(int(low), int(high), spec.shape, wide, endpoint=True)
        return np.asarray(values).astype(spec.dtype)
