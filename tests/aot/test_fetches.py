"""Copies of weights: begun a step ahead, awaited in time, undisturbed, within the memory granted.

Two models of a DMA controller bound every real one: LATE copies only in the wait, EARLY at once.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ethosgen.aot import compile_program
from ethosgen.aot.code import entry
from ethosgen.aot.code.passes import CopiesBefore
from ethosgen.board import load_board
from ethosgen.values.extension import Extension
from ethosgen.values.plan import IoStyle, Plan
from ethosgen.values.program import Program
from ethosgen.values.schedule import FetchRule, Schedule
from tests.support.aot_harness import GeneratedC, cpu_plan, samples_and_golden
from tests.support.needs import needs_gcc
from tests.support.networks import NetworkBuilder

_MODEL = """
#include "ethosgen_fetch.h"
#include <stdlib.h>
#include <string.h>

static struct {{ char *to; const char *from; size_t bytes; }} begun[64];
static size_t count;

void ethosgen_fetch(void *to, const void *from, size_t bytes)
{{
    if (count == 64 || (size_t)to % 32 != 0) {{
        abort();
    }}
    if ({is_late}) {{
        (void)memset(to, 0xa5, bytes);
    }} else {{
        (void)memcpy(to, from, bytes);
    }}
    begun[count].to = to;
    begun[count].from = from;
    begun[count].bytes = bytes;
    count++;
}}

void ethosgen_fetch_wait(void)
{{
    while (count > 0) {{
        count--;
        if ({is_late}) {{
            (void)memcpy(begun[count].to, begun[count].from, begun[count].bytes);
        }} else if (memcmp(begun[count].to, begun[count].from, begun[count].bytes) != 0) {{
            abort(); /* Another step wrote there meanwhile. */
        }}
    }}
}}
"""
MODELS = {
    "late": {"model.c": _MODEL.format(is_late=1)},
    "early": {"model.c": _MODEL.format(is_late=0)},
    "core": {},
}
"""Files that replace the weak functions, which copy at once; "core" keeps those."""
ALL = FetchRule(1 << 20, 16)


def _layers(net: NetworkBuilder) -> int:
    x = net.depthwise(net.conv2d(net.input((1, 12, 8, 8)), 16))
    y = net.conv2d(net.add(x, net.conv2d(x, 16, (1, 1))), 8)
    return net.softmax(net.fully_connected(net.reshape(y, (1, 12 * 8 * 8)), 10))


def _wide(net: NetworkBuilder) -> int:
    x = net.conv2d(net.input((1, 11, 8, 8), "int16", 0.001, 0), 12, (3, 3))
    return net.conv2d(net.depthwise(x), 8, (1, 1))


def _alone(net: NetworkBuilder) -> int:
    return net.fully_connected(net.input((1, 96)), 24)


def _large(net: NetworkBuilder) -> int:
    """Three layers of 8,192 bytes of weights and more, behind a larger tensor."""
    x = net.conv2d(net.input((1, 16, 16, 16)), 32, (3, 3), (2, 2))
    x = net.conv2d(net.max_pool(x, (2, 2), (2, 2)), 70, (2, 2), padding="VALID")
    x = net.conv2d(x, 120, (1, 1), (2, 2))
    return net.fully_connected(net.reshape(x, (1, 480)), 24)


NETWORKS: dict[str, Callable[[NetworkBuilder], int]] = {
    "layers": _layers,
    "int16": _wide,
    "a layer alone": _alone,
    "large": _large,
}


def plan_of(name: str, rule: FetchRule = ALL, **changes: object) -> Plan:
    net = NetworkBuilder("network", seed=4)
    plan = cpu_plan(net.build(NETWORKS[name](net)))
    return replace(plan, fetch=rule, **changes)  # type: ignore[arg-type]


def run(program: Program, plan: Plan, model: str, folder: Path) -> None:
    folder.mkdir()
    sources = {**program.sources, **MODELS[model]}
    built = GeneratedC(replace(program, sources=sources), folder)
    built.check(*samples_and_golden(plan.network, 3))


@needs_gcc
@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("extension", [Extension.HELIUM, Extension.DSP, Extension.THUMB])
def test_no_controller_is_too_late_or_too_early(
    name: str, extension: Extension, tmp_path: Path
) -> None:
    for io in IoStyle:
        plan = plan_of(name, extension=extension, io=io)
        program = compile_program(plan, "net")
        steps = {fetch.step for fetch in program.fetches}
        assert len(steps) >= min(3, len(plan.network.graph.operators))
        assert all(fetch.start < fetch.step for fetch in program.fetches if fetch.step)
        for model in MODELS:
            run(program, plan, model, tmp_path / f"{io.name}_{model}")


@needs_gcc
@pytest.mark.parametrize("name", NETWORKS)
def test_without_a_controller_the_core_copies(name: str, tmp_path: Path) -> None:
    plan = plan_of(name)
    program = compile_program(plan, "net")
    assert program.fetches
    GeneratedC(program, tmp_path).check(*samples_and_golden(plan.network, 3))


@needs_gcc
def test_the_models_notice_a_copy_that_is_not_awaited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without_waits(own: tuple[object, ...], _: bool, ahead: tuple[object, ...]) -> CopiesBefore:
        return CopiesBefore(own, False, ahead)  # type: ignore[arg-type]

    monkeypatch.setattr(entry, "CopiesBefore", without_waits)
    plan = plan_of("layers")
    with pytest.raises(AssertionError):
        run(compile_program(plan, "net"), plan, "late", tmp_path / "late")


def test_copies_take_no_more_than_is_granted() -> None:
    usual = compile_program(plan_of("layers", FetchRule()), "net")
    assert not usual.fetches and "ethosgen_fetch.c" not in usual.sources
    counts = []
    for granted in (64, 512, 2048, 1 << 20):
        program = compile_program(plan_of("layers", FetchRule(granted)), "net")
        assert program.arena_bytes <= usual.arena_bytes + granted
        counts.append(sum(fetch.bytes for fetch in program.fetches))
    assert counts == sorted(counts) and counts[-1] > counts[0]


@needs_gcc
@pytest.mark.parametrize("extension", [Extension.HELIUM, Extension.DSP, Extension.THUMB])
def test_weights_beyond_what_is_granted_are_copied_in_portions(
    extension: Extension, tmp_path: Path
) -> None:
    plan = plan_of("large", FetchRule(6 << 10), extension=extension)
    usual = compile_program(replace(plan, fetch=FetchRule()), "net")
    program = compile_program(plan, "net")
    assert program.arena_bytes <= usual.arena_bytes + (6 << 10)
    names = [step.name.split(" + ")[0] for step in program.steps]
    assert names.count("CONCATENATION") == 3
    weights = [fetch for fetch in program.fetches if fetch.bytes > 1 << 10]
    assert len(weights) >= 9
    assert sum(fetch.bytes for fetch in weights) > 4 * (6 << 10)
    for model in MODELS:
        run(program, plan, model, tmp_path / model)


def test_layers_stay_whole_where_portions_are_no_use() -> None:
    for rule in (FetchRule(64 << 10), FetchRule(100), FetchRule()):
        program = compile_program(plan_of("large", rule), "net")
        assert all("CONCATENATION" not in step.name for step in program.steps)
    often = compile_program(plan_of("large", FetchRule(6 << 10, least_reads=4)), "net")
    assert [step.name.split(" + ")[0] for step in often.steps].count("CONCATENATION") == 1


def test_a_limit_of_the_arena_holds_with_copies() -> None:
    usual = compile_program(plan_of("layers", FetchRule()), "net").arena_bytes
    plan = plan_of("layers")
    schedule = Schedule(arena_bytes=usual + 100)
    plan = replace(plan, options=replace(plan.options, schedule=schedule))
    assert compile_program(plan, "net").arena_bytes <= usual + 100


def test_weights_that_are_read_once_are_left_to_a_controller() -> None:
    often = compile_program(plan_of("layers", replace(ALL, least_reads=2)), "net")
    every = compile_program(plan_of("layers"), "net")
    codes = [op.code for op in every.plan.residual.operators]
    alone = {f.step for f in every.fetches} - {f.step for f in often.fetches}
    assert alone == {codes.index("FULLY_CONNECTED")}


def test_a_board_with_slow_flash_asks_for_what_its_cache_cannot_hold() -> None:
    pico, corstone = load_board("rpi-pico"), load_board("corstone300")
    rule = pico.fetch_rule("shared_sram", None)
    assert (rule.bytes, rule.least_bytes, rule.least_reads) == (32 << 10, 8 << 10, 2)
    assert corstone.fetch_rule("shared_sram", None).bytes == 0
    assert corstone.fetch_rule("shared_sram", 4096) == FetchRule(4096)
    assert pico.fetch_rule("shared_sram", 0).bytes == 0
