"""Compile networks, and again without chains where a chain would use the wrong table."""

from collections.abc import Sequence
from dataclasses import replace

from ethosgen.backend.ethosu.accelerator import EthosU
from ethosgen.backend.ethosu.isa_u85 import instruction_set
from ethosgen.backend.ethosu.offload.chains import overwrites_table
from ethosgen.backend.ethosu.offload.precompiled import compiled_streams
from ethosgen.backend.ethosu.offload.vela import (
    CHAINS,
    Compiled,
    SchedulerGoal,
    compile_network,
)
from ethosgen.values.network import Network
from ethosgen.values.plan import IoStyle


def compile_apart(
    network: Network,
    accelerator: EthosU,
    io: IoStyle,
    ignore: Sequence[str],
    system_config: str | None,
    memory_mode: str,
    schedule: SchedulerGoal,
    limit_s: float | None = None,
) -> Compiled:
    """Compile as compile_network does, and again without chains if one may overwrite its table."""
    system = (system_config, memory_mode)
    compiled = compile_network(network, accelerator, io, ignore, *system, schedule, limit_s)
    for stream in compiled_streams(compiled.network):
        if overwrites_table(stream.commands, instruction_set(stream.config_word)):
            apart = replace(schedule, without=(*schedule.without, CHAINS))
            return compile_network(network, accelerator, io, ignore, *system, apart, limit_s)
    return compiled
