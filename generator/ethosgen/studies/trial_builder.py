"""The tensors and operators of trials: small random networks to try an accelerator with."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethosgen.values.dialect import OPS
from ethosgen.values.network import Operator, Quantization, Tensor

LARGE = "large"
"""The style of images that a small memory of an accelerator's own does not hold whole."""
DEEP = "deep"
"""The style of small images with so many channels that engines compute them in several groups."""
LIMITS = "limits"
"""The style of sizes at the numbers in a declaration, and beside them."""
STYLES = ("plain", "saturated", "ties", "equal", LARGE, DEEP, LIMITS)
MOST_BYTES, MOST_LARGE_BYTES = 1 << 15, 1 << 17
"""Maximum sizes of a tensor in bytes; the second of the styles with large sizes."""
SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17)
CHANNELS = (1, 2, 3, 4, 5, 7, 8, 12, 15, 16, 17, 24, 32, 48, 64)
_LARGE_SIZES, _LARGE_CHANNELS = (21, 32, 40, 57), (8, 24, 40)
_DEEP_SIZES, _DEEP_CHANNELS = (1, 2, 3, 5, 7), (96, 130, 200, 257, 320, 384)
_MOST_SIZE, _MOST_CHANNELS = 256, 1024
"""The largest sizes that a declaration's numbers lead to."""
_SMALL_MEMORY = 1 << 12
_POINTS = (-128, 127, 0, 3, -5, 64)
SCALE = 0.05
FACTORS = dict.fromkeys(STYLES, 1.0) | {"saturated": 1 / 32}


class UnsuitableSizeError(Exception):
    """A random network that is too large for a trial, or too small for its style."""


@dataclass(frozen=True)
class TrialNetwork:
    """One network of a chain; `codes` are its members, `limits` the numbers of its declaration."""

    codes: tuple[str, ...]
    dtype: str
    style: str
    seed: int
    limits: tuple[int, ...] = ()

    @property
    def deep_bytes(self) -> int:
        """The fewest bytes of weights of the deep style: more than an engine's memory holds."""
        memories = (n for n in self.limits if _SMALL_MEMORY <= n <= MOST_LARGE_BYTES)
        return max(memories, default=MOST_BYTES) + 1

    def near_limits(self, most: int) -> tuple[int, ...]:
        """Return sizes at the limits, and just below, above, and above twice of them."""
        near = {m for n in self.limits for m in (n - 1, n, n + 1, 2 * n + 1)}
        return tuple(sorted(m for m in near if 0 < m <= most))


class TrialBuilder:
    """Builds the tensors and operators of trials; `build` has a function for each operator."""

    def __init__(self, build: "Mapping[str, Build]") -> None:
        self._build = build
        self.tensors: list[Tensor] = []
        self.operators: list[Operator] = []
        self.inputs: list[int] = []
        self.trial = TrialNetwork((), "int8", "plain", 0)
        self.random = np.random.default_rng(0)

    def add(self, trial: TrialNetwork) -> int:
        """Add a chain and return its output."""
        self.trial = trial
        self.random = np.random.default_rng([trial.seed, STYLES.index(trial.style)])
        last: int | None = None
        for code in trial.codes:
            last = self._build[code](self, code, last)
        assert last is not None
        return last

    # ---- random choices ----

    @property
    def sizes(self) -> tuple[int, ...]:
        """The heights and widths of images."""
        by_style = {LARGE: _LARGE_SIZES, DEEP: _DEEP_SIZES}
        if self.trial.style == LIMITS:
            return (*_DEEP_SIZES, *self.trial.near_limits(_MOST_SIZE))
        return by_style.get(self.trial.style, SIZES)

    @property
    def channels(self) -> tuple[int, ...]:
        """The numbers of channels."""
        by_style = {LARGE: _LARGE_CHANNELS, DEEP: _DEEP_CHANNELS}
        if self.trial.style == LIMITS:
            return self.trial.near_limits(_MOST_CHANNELS) or _DEEP_CHANNELS
        return by_style.get(self.trial.style, CHANNELS)

    def one_of(self, choices: Sequence[Any]) -> Any:
        return choices[int(self.random.integers(len(choices)))]

    @property
    def is_real(self) -> bool:
        return self.trial.dtype == "float32"

    @property
    def factor(self) -> float:
        """Factors of the output scales that use the whole range."""
        return FACTORS[self.trial.style]

    @property
    def is_equal(self) -> bool:
        return self.trial.style == "equal"

    def scale(self) -> float:
        if self.is_equal:
            return SCALE
        if self.trial.style == "ties":
            return float(2.0 ** -int(self.random.integers(3, 8)))
        return float(np.float32(self.random.uniform(0.01, 0.2)))

    def point(self) -> int:
        middle = 128 if self.trial.dtype == "uint8" else 0
        if self.is_equal or self.trial.dtype not in ("int8", "uint8"):
            return middle
        return middle + int(self.one_of(_POINTS))

    # ---- tensors and operators ----

    def quantized(self, scale: float, point: int) -> Quantization | None:
        return None if self.is_real else Quantization((float(np.float32(scale)),), (point,))

    def tensor(
        self,
        shape: Sequence[int],
        quantization: Quantization | None,
        dtype: str | None = None,
        data: NDArray[Any] | None = None,
        is_variable: bool = False,
    ) -> int:
        index = len(self.tensors)
        raw = None if data is None else np.ascontiguousarray(data).tobytes()
        added = Tensor(
            index,
            f"t{index}",
            tuple(shape),
            dtype or self.trial.dtype,
            quantization,
            raw,
            is_variable,
        )
        is_large = self.trial.style in (LARGE, DEEP, LIMITS)
        most = max(MOST_LARGE_BYTES, 2 * self.trial.deep_bytes) if is_large else MOST_BYTES
        if added.bytes > most:
            raise UnsuitableSizeError
        self.tensors.append(added)
        return index

    def input(self, shape: Sequence[int], like: int | None = None) -> int:
        own = self.quantized(self.scale(), self.point())
        index = self.tensor(shape, own if like is None else self.tensors[like].quantization)
        self.inputs.append(index)
        return index

    def image(self, before: int | None) -> int:
        """Return the previous tensor, or a new input of four dimensions."""
        if before is not None:
            return before
        sizes = (self.one_of(self.sizes), self.one_of(self.sizes), self.one_of(self.channels))
        return self.input((1, *sizes))

    def operator(
        self,
        code: str,
        inputs: Sequence[int],
        output: int,
        inner: tuple[int, ...] = (),
        **options: Any,
    ) -> int:
        chosen = {**OPS[code].defaults(), **options}
        number, ends = len(self.operators), tuple(inputs)
        self.operators.append(
            Operator(number, code, ends, (output,), options=chosen, intermediates=inner)
        )
        return output

    def like(self, index: int, shape: Sequence[int] | None = None) -> int:
        """Add an output with the quantization of another tensor."""
        source = self.tensors[index]
        return self.tensor(source.shape if shape is None else shape, source.quantization)

    def shape(self, index: int) -> tuple[int, ...]:
        return self.tensors[index].shape

    def scale_of(self, index: int) -> float:
        quantization = self.tensors[index].quantization
        return quantization.scale[0] if quantization else 1.0

    def constant(self, array: NDArray[Any], quantization: Quantization | None) -> int:
        return self.tensor(array.shape, quantization, str(array.dtype), array)


Build = Callable[[TrialBuilder, str, int | None], int]
"""Adds an operator after a tensor, or after a new input, and returns its output."""
