"""Compile networks, and again without chains where a chain would use the wrong table."""

from collections.abc import Callable
from dataclasses import replace

from ethosgen.backend.ethosu.isa_u85 import instruction_set
from ethosgen.backend.ethosu.offload.chains import overwrites_table
from ethosgen.backend.ethosu.offload.precompiled import compiled_streams
from ethosgen.backend.ethosu.offload.vela import CHAINS, Compiled, SchedulerGoal


def compile_apart(
    compile_for: Callable[[SchedulerGoal], Compiled], schedule: SchedulerGoal
) -> Compiled:
    """Compile for a goal, and again without chains if one may overwrite its table."""
    compiled = compile_for(schedule)
    for stream in compiled_streams(compiled.network):
        if overwrites_table(stream.commands, instruction_set(stream.config_word)):
            return compile_for(replace(schedule, without=(*schedule.without, CHAINS)))
    return compiled
