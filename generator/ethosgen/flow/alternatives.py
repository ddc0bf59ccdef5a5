"""Advice from other configurations that are estimated: bands, another mode, a smaller NPU."""

import shlex
from collections.abc import Iterator
from dataclasses import replace

from ethosgen.backend import find_accelerator
from ethosgen.board.any_board import ANY_BOARD
from ethosgen.flow.costs import Place, cost_of
from ethosgen.project import check_capacity, room_bytes
from ethosgen.values.advice import NPU_SIZE, Improvement
from ethosgen.values.configurations import Cost
from ethosgen.values.errors import EthosgenError
from ethosgen.values.grammar import counted
from ethosgen.values.program import Program
from ethosgen.values.schedule import Schedule, Strategy, Streaming
from ethosgen.values.time import percent
from ethosgen.values.watch import Watch

_MUCH = 0.2
"""The part of the RAM from which on fewer bytes are worth looking for."""
_LEAST = 0.02
"""The smallest gain that is worth a line: less is within the error of an estimate."""
_FASTER = 0.05
"""Another memory mode is worth its memory if an inference takes at least this part less."""
_SLOWER = 0.1
"""A smaller NPU suffices if an inference takes at most this part longer."""


def alternatives(program: Program, place: Place) -> Iterator[Improvement]:
    """Yield advice about configurations with better estimates; each is compiled."""
    if place.board.name == ANY_BOARD:
        return
    now = cost_of(program, place)
    yield from _less_ram(now, place)
    if place.accelerator is not None and now.partitions:
        yield from _other_mode(now, place)
        yield from _smaller_npu(now, place)


def command_of(place: Place) -> str:
    """Return the command that tries an option, to be added, for the network on its board."""
    source = place.network.source
    file = shlex.quote(source.name if source else "MODEL")
    if place.board.name == ANY_BOARD:
        return f"ethosgen project {file} --platform library --npu {place.npu}"
    return f"ethosgen verify {file} --board {place.board.name} --npu {place.npu}"


def _less_ram(now: Cost, place: Place) -> Iterator[Improvement]:
    """Return the saving of a schedule for less RAM: bands on the CPU, Vela's "size" on the NPU."""
    usual, room = place.settings.options.schedule, room_bytes(place.board, place.mode)[1]
    if usual != Schedule() or now.sram_bytes <= _MUCH * room:
        return
    if place.accelerator is None:
        code, how, option = "bands", "compute bands of rows", "--stream always"
        other = place.attempt(replace(usual, stream=Streaming.ALWAYS))
    else:
        other = place.attempt(replace(usual, strategy=Strategy.SIZE))
        limit = other.sram_bytes if other else 0
        code, how, option = "sram", "let Vela save memory", f"--sram-limit {limit}"
    saved = 0 if other is None else now.sram_bytes - other.sram_bytes
    if other is None or saved < _LEAST * room:
        return
    yield Improvement(
        code,
        f"{how}: {counted(other.sram_bytes, 'byte')} of tensors instead of {now.sram_bytes:,}, "
        f"for {percent(max(_longer(other, now), 0))} more time",
        saved / room,
        "RAM",
        f"{command_of(place)} {option}",
        option,
    )


def _other_mode(now: Cost, place: Place) -> Iterator[Improvement]:
    """Name the memory mode of the board that is fastest, if it is faster than this one."""
    costs = {
        mode: cost
        for mode in place.board.memory_modes(place.accelerator)
        if mode != place.mode and (cost := _attempt(replace(place, mode=mode))) is not None
    }
    mode = min(costs, key=lambda name: costs[name].time, default=None)
    gain = 0.0 if mode is None else -_longer(costs[mode], now)
    if mode is not None and gain >= _FASTER:
        yield Improvement(
            "memory-mode",
            f"use the memory mode {mode}: {percent(gain)} less time, and "
            f"{counted(costs[mode].sram_bytes, 'byte')} of SRAM instead of {now.sram_bytes:,}",
            gain,
            "time",
            f"{command_of(place)} --memory-mode {mode}",
            f"--memory-mode {mode}",
        )


def _smaller_npu(now: Cost, place: Place) -> Iterator[Improvement]:
    """Name the board's smallest NPU of this kind that is hardly slower."""
    used, npu = place.accelerator, place.board.npu
    if used is None or npu is None:
        return
    offered = map(find_accelerator, npu.configurations)
    smaller = (
        candidate
        for candidate in offered
        if candidate.product == used.product and candidate.macs < used.macs
    )
    for other in sorted(smaller, key=lambda candidate: candidate.macs):
        settings = replace(place.settings, accelerator=other)
        cost = _attempt(replace(place, settings=settings))
        if cost is not None and _longer(cost, now) <= _SLOWER:
            yield Improvement(
                "smaller-npu",
                f"use {other.name}, which suffices: an inference takes "
                f"{percent(max(_longer(cost, now), 0))} longer than on {used.name}",
                1 - other.macs / used.macs,
                NPU_SIZE,
                command_of(replace(place, settings=settings)),
                f"--npu {other.name}",
            )
            return


def _attempt(other: Place) -> Cost | None:
    """Return another place's cost, None if it is refused or cannot fit."""
    other = replace(other, settings=other.settings.on(other.board, other.mode)).unchecked()
    try:
        program = other.compiled(Watch())
        check_capacity([program], other.board, other.mode)
    except EthosgenError:
        return None
    return cost_of(program, other)


def _longer(other: Cost, now: Cost) -> float:
    """Return another configuration's additional time, as a fraction."""
    return other.time / max(now.time, 1e-12) - 1
