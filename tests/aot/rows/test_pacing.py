"""The rows of each turn: every row is there before it is read, and none is kept in vain."""

from fractions import Fraction

import numpy as np
import pytest

from ethosgen.aot.rows.pacing import Pacing, RowLink, distance_of
from ethosgen.aot.rows.reach import Band, row_bytes
from ethosgen.aot.rows.streaming import RowChain, pacing_of
from ethosgen.aot.schedule.schedule import StepSchedule, make_schedule
from tests.support.aot_harness import cpu_plan
from tests.support.networks import NetworkBuilder


def _schedule(*strides: int, size: int = 32) -> StepSchedule:
    net = NetworkBuilder("network", seed=4)
    x = net.input((1, size, 16, 4))
    for stride in strides:
        x = net.depthwise(x, stride=(stride, 1))
    return make_schedule(cpu_plan(net.build(x)))


def _pacing(schedule: StepSchedule, rows: str) -> Pacing | None:
    return pacing_of(schedule, RowChain(0, len(schedule.steps), Fraction(rows)))


def test_a_buffer_has_the_rows_of_a_window() -> None:
    pacing = _pacing(_schedule(1, 1, 1), "1")
    assert pacing is not None
    assert [roll.rows for roll in pacing.rolls.values()] == [3, 3, 3]
    pacing = _pacing(_schedule(1, 1, 1), "4")
    assert pacing is not None
    assert [roll.rows for roll in pacing.rolls.values()] == [6, 6, 6]


def test_rows_of_several_turns_need_no_more_behind_strides() -> None:
    schedule = _schedule(2, 2, 2)
    whole, slow = _pacing(schedule, "1"), _pacing(schedule, "1/8")
    assert whole is not None and slow is not None
    assert [roll.rows for roll in whole.rolls.values()] == [3, 5, 9]
    assert [roll.rows for roll in slow.rolls.values()] == [3, 3, 3]
    assert len(slow.turns) > 7 * len(whole.turns) / 2


@pytest.mark.parametrize("rows", ["1", "3", "1/2", "1/4"])
def test_a_turn_computes_at_most_the_height_and_all_together_every_row(rows: str) -> None:
    pacing = _pacing(_schedule(1, 2, 2, size=37), rows)
    assert pacing is not None
    turns = np.arange(pacing.turns.start - 1, pacing.turns.stop)
    for link in pacing.links:
        pace = pacing.paces[link.output]
        done = pace.done(turns)
        assert (done[0], done[-1]) == (0, pace.rows)
        assert max(np.diff(done)) <= max(pace.pace, 1)


def test_strides_that_do_not_fit_the_height_have_turns_of_unequal_rows() -> None:
    schedule = _schedule(3, 2)
    for rows in ("1/2", "1/4", "1/5", "1/6"):
        pacing = _pacing(schedule, rows)
        assert pacing is not None
        for tensor in pacing.rolls:
            _walk(pacing, tensor, schedule.graph.tensors[tensor].shape[1])


def test_what_others_read_is_not_inside_a_chain() -> None:
    net = NetworkBuilder("network", seed=4)
    x = net.depthwise(net.input((1, 8, 8, 4)))
    schedule = make_schedule(cpu_plan(net.build(net.depthwise(x), x)))
    assert _pacing(schedule, "1") is None


def test_rows_that_are_no_words_make_no_chain() -> None:
    net = NetworkBuilder("network", seed=4)
    x = net.depthwise(net.input((1, 8, 5, 3)))
    assert _pacing(make_schedule(cpu_plan(net.build(net.depthwise(x)))), "1") is None


@pytest.mark.parametrize("rows", ["1", "4", "1/2"])
def test_an_output_never_reaches_rows_that_are_still_to_be_copied(rows: str) -> None:
    """Byte by byte, in the order in which a turn copies and writes."""
    schedule = _schedule(1, 2)
    tensors, pacing = schedule.graph.tensors, _pacing(schedule, rows)
    assert pacing is not None
    distance = distance_of(pacing, tensors)
    assert distance is not None
    (source,), target = pacing.inputs, pacing.output

    def is_safe(before: int) -> bool:
        return all(
            pacing.paces[target].done(turn) * row_bytes(tensors[target]) - before
            <= pacing.paces[source].done(turn) * row_bytes(tensors[source])
            or pacing.paces[source].done(turn) == pacing.paces[source].rows
            for turn in map(np.int64, pacing.turns)
        )

    assert is_safe(distance)
    assert distance == 0 or not is_safe(distance - 1)


def test_an_input_that_is_read_where_it_is_does_not_overlap() -> None:
    net = NetworkBuilder("network", seed=4)
    x = net.conv2d(net.input((1, 8, 8, 4)), 4, (1, 1))
    schedule = make_schedule(cpu_plan(net.build(net.depthwise(x))))
    pacing = _pacing(schedule, "1")
    assert pacing is not None and distance_of(pacing, schedule.graph.tensors) is None


def test_a_row_that_is_repeated_takes_a_turn_of_several() -> None:
    net = NetworkBuilder("network", seed=4)
    pacing = _pacing(make_schedule(cpu_plan(net.build(_enlarged(net, 4)))), "1")
    assert pacing is not None
    turns = np.arange(pacing.turns.start - 1, pacing.turns.stop)
    few, many = (pacing.paces[link.output].done(turns) for link in pacing.links)
    assert (few * 4 >= many).all() and (few * 4 < many + 4).all()
    assert [roll.rows for roll in pacing.rolls.values()] == [1, 3]


@pytest.mark.parametrize("how", ["NEAREST_NEIGHBOR", "BILINEAR"])
@pytest.mark.parametrize("rule", ["", "align_corners", "half_pixel_centers"])
@pytest.mark.parametrize("sizes", [(8, 16), (8, 12), (7, 50), (30, 13), (40, 10), (9, 1), (1, 6)])
def test_a_resize_reads_and_writes_rows_of_the_buffers(
    how: str, rule: str, sizes: tuple[int, int]
) -> None:
    before, after = sizes
    net = NetworkBuilder("network", seed=4)
    x = net.depthwise(net.input((1, before, 8, 4)), (min(before, 3), 3))
    x = net.depthwise(_resized(net, x, (after, 8), how, rule), (min(after, 3), 3))
    schedule = make_schedule(cpu_plan(net.build(x)))
    pacings = [pacing for rows in ("1", "3", "1/2", "16") if (pacing := _pacing(schedule, rows))]
    assert len(pacings) == 4
    for pacing in pacings:
        for tensor in pacing.rolls:
            _walk(pacing, tensor, schedule.graph.tensors[tensor].shape[1])


def _walk(pacing: Pacing, tensor: int, height: int) -> None:
    """Assert that what is written is inside the buffer, and what is read was written."""
    roll, readers, last = pacing.rolls[tensor], pacing.readers(tensor), -height
    for turn in pacing.turns:
        done = {i: pace.done(np.array([turn - 1, turn])) for i, pace in pacing.paces.items()}
        start = min(int(link.reach.first(done[link.output])[0]) for link in readers)
        before, after = map(int, done[tensor])
        assert last <= start and (before == after or start <= before)
        assert after - start <= roll.rows or before == after
        for link in readers:
            for row in range(*map(int, done[link.output])):
                first, end = _read(link, row)
                assert start <= first and end <= start + roll.rows
                assert min(end, height) <= after
        last = start


def _read(link: RowLink, row: int) -> tuple[int, int]:
    spans, reach = link.reach.spans, link.reach
    if spans:
        return spans.firsts[row], spans.ends[row]
    return row * reach.stride - reach.before, row * reach.stride - reach.before + reach.taps


def test_joined_rows_make_no_chain() -> None:
    net = NetworkBuilder("network", seed=4)
    x = net.depthwise(net.input((1, 8, 8, 4)))
    assert _pacing(make_schedule(cpu_plan(net.build(net.concat([x, x], 1)))), "1") is None


def test_a_padded_average_has_a_band_for_each_edge() -> None:
    net = NetworkBuilder("network", seed=4)
    x = net.average_pool(net.input((1, 9, 8, 4)), (3, 3), (1, 1), padding="SAME")
    pacing = _pacing(make_schedule(cpu_plan(net.build(x))), "1")
    assert pacing is not None and not pacing.rolls
    assert pacing.bands(pacing.links[0]) == [Band(1, 1, 0), Band(1, 0, 1), Band(1, 0, 0)]


def _resized(
    net: NetworkBuilder,
    x: int,
    size: tuple[int, int],
    how: str = "NEAREST_NEIGHBOR",
    rule: str = "",
) -> int:
    shape = net.constant(np.array(size, np.int32))
    options = {name: name == rule for name in ("align_corners", "half_pixel_centers")}
    return net.apply(f"RESIZE_{how}", x, shape, **options)


def _enlarged(net: NetworkBuilder, times: int) -> int:
    return _resized(net, net.depthwise(net.input((1, 8, 8, 4))), (8 * times, 8))
