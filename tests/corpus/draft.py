"""A network under construction, with the choices that nearly every generator makes."""

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tests.corpus.choices import Choices
from tests.support.network_file import Layout, Spec, write
from tests.support.networks import NetworkBuilder

WHOLE = ("int32", "int64", "bool")
"""Types without quantization: TFLite uses the stored values."""

FLOORS = {"int8": -128, "uint8": 0, "int16": 0, "int32": 0}
"""The zero point with which values start at 0; in TFLite's 16-bit types it is always 0."""

ACTIVATIONS = ("NONE", "NONE", "NONE", "RELU", "RELU6", "RELU_N1_TO_1")


@dataclasses.dataclass(frozen=True)
class Case:
    """A network to run, as a file and as the layout that was written.

    `ranges` limits the values of an input, by its name. `twin` is the same network with int8
    instead of uint8, with 128 subtracted from every value and zero point: TFLite Micro has no uint8
    kernels, and runs the twin where the arithmetic is the same.
    """

    layout: Layout
    ranges: Mapping[str, tuple[int, int]]
    twin: Layout | None = None

    @functools.cached_property
    def data(self) -> bytes:
        """The network's file."""
        return write(self.layout)


Generator = Callable[[Choices, str], Case]


class Draft(NetworkBuilder):
    """A Network with chosen shapes and quantization; `dtype` is the type of its activations."""

    def __init__(self, choices: Choices, dtype: str) -> None:
        super().__init__("case", seed=choices.integer(0, 1 << 16))
        self.choices = choices
        self.dtype = dtype
        self.ranges: dict[str, tuple[int, int]] = {}
        self.has_twin = True

    # ---- quantization ----------------------------------------------------------------------------

    def largest(self) -> int:
        """Return the largest value of a sample."""
        return int(np.iinfo(self.dtype).max)

    def random_integers(self, shape: Sequence[int], dtype: str = "int8") -> Any:
        """Return full-range integers, or bools."""
        drawn = super().random_integers(shape, "uint8" if dtype == "bool" else dtype)
        return drawn >= 128 if dtype == "bool" else drawn

    def scale(self) -> float:
        """Choose a scale."""
        if self.dtype == "int16":
            return self.choices.real(1e-5, 1e-2)
        return self.choices.real(0.002, 0.5)

    def scale_of(self, x: int) -> float:
        """Return the scale of a tensor, 1 if it has none."""
        scale = self.tensors[x].scale
        assert not isinstance(scale, tuple)
        return 1.0 if scale is None else scale

    def zero_point(self, dtype: str | None = None) -> int:
        """Choose a zero point that TFLite accepts; the ends of the range are common."""
        dtype = dtype or self.dtype
        if dtype not in ("int8", "uint8"):
            return 0
        info = np.iinfo(dtype)
        middle = (info.min + info.max + 1) // 2
        ends = (middle, info.min, info.max)
        return self.choices.pick((*ends, *(self.choices.integer(info.min, info.max),) * 3))

    def requantized(self, x: int, gain: float = 1.0) -> int:
        """Choose a tensor's scale, mostly within a factor of 3 of the old one, and zero point."""
        spread = self.choices.pick((3.0,) * 7 + (200.0,))
        factor = gain * self.choices.real(1 / spread, spread)
        self.tensors[x] = dataclasses.replace(
            self.tensors[x],
            scale=float(np.float32(self.scale_of(x) * factor)),
            zero_point=self.zero_point(),
        )
        return x

    # ---- tensors ---------------------------------------------------------------------------------

    def extent(self, high: int = 20) -> int:
        """Choose an extent; small ones and multiples of the NPU's brick size are common."""
        return self.choices.pick(
            (
                self.choices.integer(1, min(5, high)),
                self.choices.integer(1, high),
                self.choices.integer(1, high),
                min(high, self.choices.pick((8, 16, 32))),
            )
        )

    def image(
        self, height: int = 18, width: int = 18, depth: int = 36
    ) -> tuple[int, int, int, int]:
        """Choose a shape of rank 4 and batch 1."""
        for spec in self._offered(4, 4):
            if all(e <= m for e, m in zip(spec.shape, (1, height, width, 2 * depth), strict=True)):
                return spec.shape  # type: ignore[return-value]
        return 1, self.extent(height), self.extent(width), self.extent(depth)

    def any_shape(self, low: int = 1, high: int = 4) -> tuple[int, ...]:
        """Choose a shape of any rank; in rank 4 the first dimension is the batch, mostly 1."""
        if self.choices.high_rank:
            return tuple(self.extent(5) for _ in range(self.choices.integer(5, 6)))
        for spec in self._offered(low, high):
            return spec.shape
        rank = self.choices.integer(low, high)
        if rank == 4:
            batch = self.choices.pick((1, 1, 1, 2, 3))
            return (batch, *self.image(12, 12, 24)[1:])
        return tuple(self.extent(24) for _ in range(rank))

    def _offered(self, low: int, high: int) -> list[Spec]:
        """Return the offered tensors with these ranks, or sometimes none."""
        if not self.choices.offers or self.choices.chance(4):
            return []
        return [spec for spec in self.choices.offers if low <= len(spec.shape) <= high]

    def feed(self, shape: Sequence[int], dtype: str | None = None, **quantization: Any) -> int:
        """Add an input of the network with a chosen quantization.

        Types in WHOLE have none.
        """
        scale = None if (dtype or self.dtype) in WHOLE else self.scale()
        defaults: dict[str, Any] = {"scale": scale, "zero_point": self.zero_point(dtype)}
        for spec in self.choices.offers:
            if (spec.shape, spec.dtype) == (tuple(shape), dtype or self.dtype) and spec.scale:
                defaults = {"scale": spec.scale, "zero_point": spec.zero_point}
        return self.input(shape, dtype or self.dtype, **(defaults | quantization))

    def limit(self, x: int, low: int, high: int) -> None:
        """Limit the samples of an input to this range."""
        name = self.tensors[x].name
        assert name is not None
        self.ranges[name] = (low, high)

    def integers(self, values: Any, stem: str = "values") -> int:
        """Add a constant of int32 for parameters, always with a name."""
        return super().integers(values, stem)

    # ---- neighbours ------------------------------------------------------------------------------

    def maybe_before(self, x: int) -> int:
        """Sometimes put a layer before x, so that an operator reads data written by the NPU."""
        if self.tensors[x].dtype in WHOLE or len(self.tensors[x].shape) != 4:
            return x
        match self.choices.integer(0, 5):
            case 4:
                return self.max_pool(x, (1, 1))
            case 5:
                depth = self.tensors[x].shape[3]
                return self._pointwise(x, depth)
        return x

    def maybe_after(self, x: int) -> int:
        """Sometimes put a layer after x, so that the NPU reads data written by an operator."""
        shape = self.tensors[x].shape
        if self.tensors[x].dtype in WHOLE or len(shape) != 4 or shape[0] != 1:
            return x
        match self.choices.integer(0, 5):
            case 4:
                return self.average_pool(x, (1, 1))
            case 5:
                return self._pointwise(x, self.extent(16))
        return x

    def _pointwise(self, x: int, channels: int) -> int:
        per_channel = self.dtype != "uint8"
        return self.requantized(self.conv2d(x, channels, (1, 1), per_channel=per_channel))

    def case(self, *outputs: int) -> Case:
        """Finish the network."""
        layout = self.layout(outputs or self.operators[-1].outputs[:1])
        if not self.has_twin or all(spec.dtype != "uint8" for spec in self.tensors):
            return Case(layout, self.ranges)
        twin = dataclasses.replace(layout, tensors=[signed(spec) for spec in self.tensors])
        return Case(layout, self.ranges, twin)


def signed(spec: Spec) -> Spec:
    """Return the int8 tensor that represents the same values as a uint8 one."""
    if spec.dtype != "uint8":
        return spec
    point, data = spec.zero_point, spec.data
    less = tuple(p - 128 for p in point) if isinstance(point, tuple) else point - 128
    if data is not None:
        data = (np.frombuffer(data, np.uint8) ^ 0x80).tobytes()
    return dataclasses.replace(spec, dtype="int8", zero_point=less, data=data)
