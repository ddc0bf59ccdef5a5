"""The search for less SRAM."""

from dataclasses import replace
from pathlib import Path

import pytest

from ethosgen import frontend
from ethosgen.flow.fronts import GRAIN, RATIO, STEPS, STRIPED, STUCK, explore
from ethosgen.studies.points import measure_front
from ethosgen.values.configurations import Cost, Point, Setting
from ethosgen.values.plan import OffloadMode, OffloadOptions
from ethosgen.values.schedule import USUAL_SCHEDULE, Schedule, Strategy, Streaming
from tests.support.costs import make_cost
from tests.support.networks import NetworkBuilder


class Compiler:
    """A compiler that needs more time the less SRAM it may use, and never less than `least`."""

    def __init__(self, most: int = 16000, least: int = 4000, rest: int = 0) -> None:
        self.most, self.least, self.rest = most, least, rest
        self.asked: list[Schedule] = []

    def __call__(self, schedule: Schedule) -> Cost:
        self.asked.append(schedule)
        wanted = 0 if schedule.strategy is Strategy.SIZE else schedule.arena_bytes or self.most
        arena = max(self.least, min(wanted, self.most))
        return make_cost(100_000_000 // arena, arena + self.rest, arena_bytes=arena)


def test_the_front_begins_with_the_smallest() -> None:
    front = explore(Compiler(), USUAL_SCHEDULE)
    sizes = [trial.cost.sram_bytes for trial in front]
    assert sizes == sorted(sizes) and (sizes[0], sizes[-1]) == (4000, 16000)
    times = [trial.cost.cycles for trial in front]
    assert times == sorted(times, reverse=True) and len(set(times)) == len(times) > 4
    assert front[0].schedule == Schedule(Strategy.SIZE)
    assert front[-1].schedule == USUAL_SCHEDULE


def test_limits_are_whole_and_below_the_usual_need() -> None:
    compiler = Compiler(least=16)
    explore(compiler, USUAL_SCHEDULE)
    limits = [schedule.arena_bytes for schedule in compiler.asked if schedule.arena_bytes]
    assert len(limits) == STEPS and max(limits) < 16000
    assert all(limit % GRAIN == 0 for limit in limits)


def test_limits_that_save_nothing_end_the_search() -> None:
    compiler = Compiler(least=12000)
    explore(compiler, USUAL_SCHEDULE)
    limits = [schedule.arena_bytes for schedule in compiler.asked if schedule.arena_bytes]
    assert sum(limit < 12000 for limit in limits) in (STUCK, STUCK + 1)


def test_a_limit_that_is_met_already_is_not_tried() -> None:
    compiler = Compiler()

    def coarse(schedule: Schedule) -> Cost:
        cost = compiler(schedule)
        arena = cost.arena_bytes // 4000 * 4000
        return make_cost(100_000_000 // arena, arena, arena_bytes=arena)

    explore(coarse, USUAL_SCHEDULE)
    limits = [schedule.arena_bytes for schedule in compiler.asked if schedule.arena_bytes]
    assert sum(limit > 12000 for limit in limits) == 1  # the first leads to 12000


def test_an_aim_is_met_exactly_if_possible() -> None:
    compiler = Compiler(rest=1000)  # weights in SRAM: the limit does not count them
    front = explore(compiler, USUAL_SCHEDULE, aim=9000)
    assert 8000 in [trial.schedule.arena_bytes for trial in front]
    assert max(trial.cost.sram_bytes for trial in front if trial.cost.sram_bytes <= 9000) == 9000


def test_limits_are_tried_without_an_npu_unless_bands_are_off() -> None:
    asked: list[Schedule] = []

    def alone(schedule: Schedule) -> Cost:
        asked.append(schedule)
        return make_cost(partitions=0)

    def limits(usual: Schedule, aim: int | None = None) -> list[int | None]:
        asked.clear()
        assert [trial.schedule for trial in explore(alone, usual, aim)] == [usual]
        return [schedule.arena_bytes for schedule in asked if schedule.arena_bytes is not None]

    needed = make_cost(partitions=0).arena_bytes
    assert limits(USUAL_SCHEDULE)[0] == int(needed * RATIO) // GRAIN * GRAIN
    assert len(limits(USUAL_SCHEDULE)) == STUCK
    assert limits(USUAL_SCHEDULE, aim=1)[-1] == GRAIN
    assert limits(replace(USUAL_SCHEDULE, stream=Streaming.OFF)) == []


def test_what_is_refused_is_on_no_front() -> None:
    compiler = Compiler()

    def some(schedule: Schedule) -> Cost | None:
        return None if schedule.strategy is Strategy.SIZE else compiler(schedule)

    assert Strategy.SIZE not in {trial.schedule.strategy for trial in explore(some, USUAL_SCHEDULE)}
    assert explore(lambda _: None, USUAL_SCHEDULE) == []


def test_heads_are_tried_where_everything_else_needs_more() -> None:
    """The longer the head, the smaller the arena; each is tried until the arena is too small."""
    compiler = Compiler(least=12000)
    arenas = {9000: 9000, 5000: 5000, 1000: 5000}  # the third saves nothing

    def with_heads(schedule: Schedule) -> Cost:
        if schedule.bands_above is None:
            return compiler(schedule)
        compiler.asked.append(schedule)
        arena = arenas[schedule.bands_above]
        return make_cost(10**9 // arena, arena, arena_bytes=arena)

    front = explore(with_heads, USUAL_SCHEDULE, heads=list(arenas))
    assert [trial.cost.sram_bytes for trial in front][:3] == [5000, 9000, 12000]
    assert [trial.schedule.bands_above for trial in front][:3] == [5000, 9000, None]
    heads = [(s.bands_above, s.arena_bytes) for s in compiler.asked if s.bands_above]
    assert heads[0] == (9000, 12000 - 1200)
    assert all(above <= STRIPED * (aim or 0) for above, aim in heads)
    assert len(set(heads)) == len(heads) and {above for above, _ in heads} == set(arenas)


def test_heads_need_an_npu() -> None:
    asked: list[Schedule] = []

    def alone(schedule: Schedule) -> Cost:
        asked.append(schedule)
        return make_cost(partitions=0)

    explore(alone, USUAL_SCHEDULE, heads=[1000])
    assert not any(schedule.bands_above for schedule in asked)


@pytest.fixture(scope="module")
def point(tmp_path_factory: pytest.TempPathFactory) -> Point:
    """Return a network whose first layers Vela can divide into stripes."""
    net = NetworkBuilder("stripes", seed=2)
    x = net.input((1, 32, 32, 4), name="image")
    for _ in range(2):
        x = net.conv2d(x, channels=16, kernel=(3, 3), activation="RELU")
    x = net.max_pool(x, (4, 4))
    path = tmp_path_factory.mktemp("fronts") / "stripes.tflite"
    path.write_bytes(net.build(x))
    setting = Setting("stripes", "corstone300", "ethos-u55-128", "shared_sram", USUAL_SCHEDULE)
    return Point(frontend.open_source(path), setting, OffloadOptions(check=False), samples=1)


def test_a_real_front_is_exact(point: Point) -> None:
    results = measure_front(point)
    costs = [result.cost for result in results]
    assert len(results) > 1
    sizes = [cost.sram_bytes for cost in costs if cost is not None]
    assert len(sizes) == len(results) and sizes == sorted(set(sizes))
    assert all(result.exactness is not None and result.exactness.is_exact for result in results)


@pytest.mark.slow
def test_a_real_front_has_heads_in_bands(tmp_path: Path) -> None:
    net = NetworkBuilder("between", seed=6)
    x = net.unary("ELU", net.conv2d(net.input((1, 48, 48, 1)), 16))
    path = tmp_path / "between.tflite"
    path.write_bytes(net.build(net.max_pool(net.conv2d(x, 4, (3, 3), (2, 2)), (2, 2), (2, 2))))
    setting = Setting("between", "corstone300", "ethos-u55-128", "shared_sram", USUAL_SCHEDULE)
    options = OffloadOptions(check=False, mode=OffloadMode.AUTO, cpu_ops=("ELU",))
    asked = Point(frontend.open_source(path), setting, options, samples=1)
    with_heads = [r for r in measure_front(asked) if r.setting.schedule.bands_above is not None]
    assert with_heads
    for result in with_heads:
        assert result.exactness is not None and result.exactness.is_exact
    everything = replace(asked, options=replace(options, mode=OffloadMode.ALL))
    assert all(r.setting.schedule.bands_above is None for r in measure_front(everything))


def test_a_refusal_is_one_result(point: Point) -> None:
    setting = replace(point.setting, npu="ethos-u9")
    (result,) = measure_front(replace(point, setting=setting))
    assert "unknown NPU" in result.refusal
