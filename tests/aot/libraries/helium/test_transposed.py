from itertools import product

import pytest

from ethosgen.aot.libraries.framework.transposed import MOST_PARTS, cheapest_parts, phases
from ethosgen.aot.libraries.helium.transposed import part_cycles, strips_of
from ethosgen.aot.loops.window import Axis

Terms = dict[int, set[tuple[int, int]]]


def scattered(axis: Axis) -> Terms:
    """Return the pairs of input and tap of each output, as TFLite scatters them."""
    terms: Terms = {output: set() for output in range(axis.source)}
    for place, tap in product(range(axis.target), range(axis.taps)):
        output = place * axis.stride + tap - axis.padding
        if output in terms:
            terms[output].add((place, tap))
    return terms


def gathered(axis: Axis, merged: int) -> Terms:
    """Return the same pairs as the phases have them; no output is computed twice."""
    terms: Terms = {}
    for phase in phases(axis, merged):
        window = phase.axis
        assert phase.merged == merged and (window.stride, window.dilation) == (1, 1)
        for place, (adjacent, taps) in product(range(window.target), enumerate(phase.taps)):
            output = phase.first + place * phase.stride + adjacent
            assert output not in terms
            start = place - window.padding
            terms[output] = {
                (start + i, tap)
                for i, tap in enumerate(taps)
                if tap >= 0 and 0 <= start + i < axis.target
            }
            assert len(taps) == window.taps
    return terms


@pytest.mark.parametrize("taps", range(1, 6))
@pytest.mark.parametrize("stride", range(1, 5))
def test_phases_have_each_product_once(taps: int, stride: int) -> None:
    for inputs, outputs, padding in product(range(1, 4), range(1, 15), range(3)):
        axis = Axis(taps, stride, 1, padding, outputs, inputs)
        assert gathered(axis, 1) == scattered(axis)
        if outputs % stride == 0:
            assert gathered(axis, stride) == scattered(axis)


def test_a_row_of_inputs_needs_no_padding() -> None:
    single = list(phases(Axis(3, 1, 1, 0, 3, 1)))
    assert [phase.taps for phase in single] == [((0,),), ((1,),), ((2,),)]
    assert all(phase.axis.is_inside for phase in single)


def test_adjacent_outputs_are_channels_if_windows_do_not_overlap() -> None:
    axis = Axis(2, 2, 1, 0, 16, 8)
    parts, _ = cheapest_parts((axis, axis, 16, 8), part_cycles)
    assert [part.across.merged for part in parts] == [2, 2]
    assert all(strips_of(part).is_in_place for part in parts)


def test_too_many_parts_are_left_to_the_plain_kernel() -> None:
    stride = MOST_PARTS + 1
    axis = Axis(stride, stride, 1, 0, 2 * stride, 2)
    assert cheapest_parts((axis, axis, 8, 8), part_cycles) == ((), 0.0)
