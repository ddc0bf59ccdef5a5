"""The complex Fourier transform of kissfft (v130), the basis of TFLite Micro's signal library.

The length is split into factors 4, 2, 3 and 5. The butterflies are kissfft's, in an order that
changes no result: the first stage reads the input directly, and butterflies with the same twiddle
factor are consecutive. Formulas and scaling are those of kiss_fft.c: in fixed point each stage
divides by its factor before it adds.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ethosgen.aot.arithmetic.scalar import SCALARS, Complex, Scalar
from ethosgen.aot.tir.nest import Array, Nest
from ethosgen.aot.tvm import tirx
from ethosgen.values.errors import UnsupportedError

_FACTORS = (4, 2, 3, 5)
"""Factors with a kissfft butterfly; for others kissfft allocates memory, which TFLM lacks."""

Load = Callable[[Any], Complex]
"""Loads a complex number by index."""
Store = Callable[[Any, Complex], None]

FIRST, STAGE = "ethosgen_fft_first_s16", "ethosgen_fft_stage_s16"
"""Micro-kernels in templates/kernels/ethosgen_fft_s16.c."""


@dataclass(frozen=True)
class Pointers:
    """Pointers to input and output; the input has `numbers` numbers, padded with zeros."""

    source: Any
    numbers: int
    target: Any


@dataclass(frozen=True)
class ButterflyStage:
    """One stage: `groups` groups of `span` butterflies of `factor` numbers with stride `span`."""

    factor: int
    span: int
    groups: int


def find_stages(count: int) -> list[ButterflyStage]:
    """Return the stages of a complex transform in the order of kf_factor; the last runs first.

    UnsupportedError for factors other than 4, 2, 3 and 5.
    """
    rest, groups, stages = count, 1, []
    for factor in _FACTORS:
        while rest % factor == 0:
            rest //= factor
            stages.append(ButterflyStage(factor, rest, groups))
            groups *= factor
    if rest > 1 or not stages:
        raise UnsupportedError(
            f"its fft_length is {2 * count}, for which TFLite Micro crashes: half of it must be a "
            "product of 2, 3 and 5; a power of 2 is fastest"
        )
    return stages


def is_by_fours(stage: ButterflyStage, stages: Sequence[ButterflyStage]) -> bool:
    """Return whether a stage of an int16 transform has a micro-kernel."""
    if stage.span == 1:
        return len(stages) > 1 and all(other.factor == 4 for other in stages)
    return stage.factor == 4 and stage.span % 4 == 0


def _twiddles(scalar: Scalar, phases: Sequence[float]) -> Array:
    """Return exp(i phase) for each phase as kf_cexp rounds it, shape (n, 2)."""
    pairs = [(scalar.constant(math.cos(p)), scalar.constant(math.sin(p))) for p in phases]
    return np.array(pairs, scalar.dtype).reshape(-1, 2)


class Transform:
    """Builds the kernel of a complex transform of `count` numbers, with its tables.

    With `by_fours`, stages call a micro-kernel for four numbers at a time if one exists.
    """

    def __init__(self, dtype: str, length: int, *, inverse: bool, by_fours: bool) -> None:
        self.length, self.count = length, length // 2
        self.inverse, self.by_fours = inverse, by_fours
        self.scalar = SCALARS[dtype]
        self.stages = find_stages(self.count)
        self.nest = Nest()

    def declare_tables(self) -> None:
        """Declare the twiddle factors of the stages and of the step before or after them."""
        sign = 1 if self.inverse else -1
        whole = [sign * 2 * math.pi * i / self.count for i in range(self.count)]
        halves = [
            sign * math.pi * ((i + 1) / self.count + 0.5) for i in range(max(self.count // 2, 1))
        ]
        self.table = _twiddles(self.scalar, whole)
        self.twiddle_view = self.nest.table("twiddles", self.table)
        self.stage_twiddles = {
            stage.span: self.nest.table(f"twiddles_{stage.span}", self._factors_of(stage))
            for stage in self.stages[:-1]
            if self.by_fours and is_by_fours(stage, self.stages)
        }
        self.halves_view = self.nest.table("half_twiddles", _twiddles(self.scalar, halves))

    def _factors_of(self, stage: ButterflyStage) -> Array:
        """Return a stage's twiddle factors in order of use."""
        k = np.arange(stage.span) * stage.groups
        return np.concatenate([self.table[q * k] for q in range(1, stage.factor)])

    def twiddle(self, index: Any) -> Complex:
        """Return a twiddle factor of the stages, as constants if its index is a number."""
        if isinstance(index, int):
            re, im = (self.scalar.number(x) for x in self.table[index].tolist())
            return re, im
        return self.bound("twiddle", self.pair(self.twiddle_view, index))

    def pair(self, view: Any, *place: Any) -> Complex:
        """Return the complex number at an index, in the type of the computation."""
        return self.scalar.load(view[(*place, 0)]), self.scalar.load(view[(*place, 1)])

    def reader(self, view: Any, *row: Any) -> Load:
        """Return a function that reads complex numbers of a row by index."""
        return lambda place: self.pair(view, *row, place)

    def writer(self, view: Any, *row: Any) -> Store:
        """Return a function that writes complex numbers of a row by index."""

        def store(place: Any, value: Complex) -> None:
            self.nest.store(view, (*row, place, 0), value[0])
            self.nest.store(view, (*row, place, 1), value[1])

        return store

    def bound(self, name: str, value: Complex) -> Complex:
        """Bind both parts of a number that is used several times."""
        return self.nest.let(f"{name}_re", value[0]), self.nest.let(f"{name}_im", value[1])

    def kept(self, name: str, value: Complex) -> Complex:
        """Store both parts of a product, so that TVM's analysis of a long chain ends there."""
        return self.nest.keep(f"{name}_re", value[0]), self.nest.keep(f"{name}_im", value[1])

    def shrunk(self, name: str, value: Complex, divisor: int) -> Complex:
        """Return a number divided in fixed point, unchanged in floating point (C_FIXDIV)."""
        return self.kept(name, self.scalar.shrink(self.bound(name, value), divisor))

    # ---- the complex transform -----------------------------------------------------------------

    def transform(self, load: Load, read: Load, write: Store, memory: Pointers) -> None:
        """Emit all stages: the first reads the input, the others the previous stage's output."""
        *later, first = self.stages
        if self.by_fours and is_by_fours(first, self.stages):
            numbers = memory.numbers, self.count, int(self.inverse)
            self.nest.call(FIRST, memory.target, memory.source, *numbers)
        else:
            self._first(first, later, load, write)
        for stage in reversed(later):
            if self.by_fours and is_by_fours(stage, self.stages):
                numbers = stage.span, stage.groups, int(self.inverse)
                factors = self.stage_twiddles[stage.span].data
                self.nest.call(STAGE, memory.target, factors, *numbers)
                continue
            with self.nest.loop("k", stage.span) as k:
                steps = [1, *(self._step(k, q, stage) for q in range(1, stage.factor))]
                factors = [self.twiddle(step) for step in steps[1:]]
                with self.nest.loop("group", stage.groups) as group:
                    base = self.nest.let(
                        "base", tirx.const(0, "int32") + group * (stage.factor * stage.span) + k
                    )
                    places = [base + q * stage.span for q in range(stage.factor)]
                    self._butterfly(
                        stage, [read(place) for place in places], factors, places, write
                    )

    @staticmethod
    def _step(k: Any, q: int, stage: ButterflyStage) -> Any:
        return k * (q * stage.groups)

    def _first(
        self, stage: ButterflyStage, later: Sequence[ButterflyStage], load: Load, write: Store
    ) -> None:
        """Emit the first stage, of adjacent numbers, which uses only the first twiddle factor.

        Each later stage's digit is a loop; the digits give the input and output indices.
        """
        source, place = tirx.const(0, "int32"), tirx.const(0, "int32")
        self._digits(list(later), source, place, stage, load, write)

    def _digits(
        self,
        rest: list[ButterflyStage],
        source: Any,
        place: Any,
        stage: ButterflyStage,
        load: Load,
        write: Store,
    ) -> None:
        if rest:
            first, *others = rest
            with self.nest.loop("digit", first.factor) as digit:
                self._digits(
                    others,
                    source + digit * first.groups,
                    place + digit * first.span,
                    stage,
                    load,
                    write,
                )
            return
        start = self.nest.let("source", source)
        base = self.nest.let("base", place)
        values = [load(start + q * stage.groups) for q in range(stage.factor)]
        factors = [self.twiddle(0)] * (stage.factor - 1)
        self._butterfly(stage, values, factors, [base + q for q in range(stage.factor)], write)

    def _butterfly(
        self,
        stage: ButterflyStage,
        values: Sequence[Complex],
        factors: Sequence[Complex],
        places: Sequence[Any],
        write: Store,
    ) -> None:
        divided = [self.shrunk(f"x{q}", value, stage.factor) for q, value in enumerate(values)]
        turned = [
            self.kept(f"turned{q}", self.scalar.multiply(value, factor))
            for q, (value, factor) in enumerate(zip(divided[1:], factors, strict=True), 1)
        ]
        combine = {2: self._two, 3: self._three, 4: self._four, 5: self._five}[stage.factor]
        for place, value in zip(places, combine(stage, divided[0], turned), strict=True):
            write(place, value)

    def _two(
        self, _stage: ButterflyStage, first: Complex, turned: Sequence[Complex]
    ) -> list[Complex]:
        add, subtract = self.scalar.add, self.scalar.subtract
        return [add(first, turned[0]), subtract(first, turned[0])]

    def _four(
        self, _stage: ButterflyStage, first: Complex, turned: Sequence[Complex]
    ) -> list[Complex]:
        add, subtract, bound = self.scalar.add, self.scalar.subtract, self.bound
        even, odd = bound("even", add(first, turned[1])), bound("odd", subtract(first, turned[1]))
        total = bound("total", add(turned[0], turned[2]))
        cross = bound("cross", subtract(turned[0], turned[2]))
        ends = [self.scalar.add_turned(odd, cross), self.scalar.subtract_turned(odd, cross)]
        second, fourth = ends if self.inverse else ends[::-1]
        return [add(even, total), second, subtract(even, total), fourth]

    def _three(
        self, stage: ButterflyStage, first: Complex, turned: Sequence[Complex]
    ) -> list[Complex]:
        scalar, bound = self.scalar, self.bound
        sine = self.twiddle(stage.groups * stage.span)[1]
        total = bound("total", scalar.add(turned[0], turned[1]))
        cross = scalar.scale(bound("cross", scalar.subtract(turned[0], turned[1])), sine)
        halved = scalar.half(total[0]), scalar.half(total[1])
        middle = bound("middle", scalar.subtract(first, halved))
        cross = self.kept("turned_cross", cross)
        return [
            scalar.add(first, total),
            scalar.add_turned(middle, cross),
            scalar.subtract_turned(middle, cross),
        ]

    def _five(
        self, stage: ButterflyStage, first: Complex, turned: Sequence[Complex]
    ) -> list[Complex]:
        scalar, bound = self.scalar, self.bound
        near = self.twiddle(stage.groups * stage.span)
        far = self.twiddle(2 * stage.groups * stage.span)
        sums = [bound(f"sum{i}", scalar.add(turned[i], turned[3 - i])) for i in range(2)]
        gaps = [bound(f"gap{i}", scalar.subtract(turned[i], turned[3 - i])) for i in range(2)]

        def along(a: Any, b: Any) -> Complex:
            partial = scalar.add(first, scalar.scale(sums[0], a))
            return self.kept("along", scalar.add(partial, scalar.scale(sums[1], b)))

        first_along, second_along = along(near[0], far[0]), along(far[0], near[0])
        across = self.kept(
            "across", scalar.add(scalar.scale(gaps[0], near[1]), scalar.scale(gaps[1], far[1]))
        )
        other = self.kept(
            "other", scalar.subtract(scalar.scale(gaps[1], near[1]), scalar.scale(gaps[0], far[1]))
        )
        return [
            scalar.add(first, scalar.add(sums[0], sums[1])),
            scalar.add_turned(first_along, across),
            scalar.subtract_turned(second_along, other),
            scalar.add_turned(second_along, other),
            scalar.subtract_turned(first_along, across),
        ]
