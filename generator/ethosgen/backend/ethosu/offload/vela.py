"""Compile a network with Vela: its arguments, its output, and its refusals."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ethosgen.backend.ethosu.accelerator import EthosU
from ethosgen.backend.ethosu.isa_u85 import instruction_set
from ethosgen.backend.ethosu.memory_system import DEFAULT_MODE, MEMORY_MODES, SYSTEM_CONFIGS
from ethosgen.backend.ethosu.offload.chains import overwrites_table
from ethosgen.backend.ethosu.payload import compiled_streams
from ethosgen.frontend.flatbuffer import MAX_TENSOR_BYTES
from ethosgen.frontend.tflite.reader import decode_network
from ethosgen.frontend.tflite.writer import file_of
from ethosgen.frontend.tosa.writer import file_of as tosa_file_of
from ethosgen.host.child import ChildError, call
from ethosgen.host.extras import package_command
from ethosgen.values.errors import InputError, RefusalError, ToolError
from ethosgen.values.network import Network
from ethosgen.values.plan import IoStyle

MEMORY_MODE = MEMORY_MODES[DEFAULT_MODE]

ADDRESS_BITS = {"u55": 32, "u65": 40, "u85": 40}
"""Size of the AXI address space, Vela's default limit for the arena."""

LIMIT_S = 120.0
"""Time limit in seconds; most networks need less than 1, and Vela hangs on some damaged ones."""

Row = Mapping[str, str]


@dataclass(frozen=True)
class SchedulerGoal:
    """Options for Vela's scheduler: --optimise, --arena-cache-size, and disabled features.

    `optimise` is "Performance" or "Size"; `arena_bytes` None means all addressable memory.
    `without` names features of Regor's scheduler.
    """

    optimise: str = "Performance"
    arena_bytes: int | None = None
    without: tuple[str, ...] = ()


CHAINS = "Grouping"
"""Regor's name for chains of operations (Vela's --disable-chaining)."""

FASTEST = SchedulerGoal()
"""Vela's default options."""


@dataclass(frozen=True)
class Compiled:
    """Vela's output. `tables` are rows of Regor's database, `log` its printed text.

    `memory_mode` is "" if it is none of MEMORY_MODES.
    """

    network: Network
    npu_cycles: int
    peak_bytes: Mapping[str, int]
    tables: Mapping[str, Sequence[Row]] = field(repr=False)
    log: str = field(repr=False)
    memory_mode: str = ""


@dataclass(frozen=True)
class Vela:
    """The compiler with its settings for one NPU.

    `system_config` and `memory_mode` are sections of Vela's vela.ini; the default is a Cortex-M
    board's SRAM and flash. `is_trusted` accepts streams with an erratum.
    """

    npu: EthosU
    system_config: str | None = None
    memory_mode: str = MEMORY_MODE
    schedule: SchedulerGoal = FASTEST
    is_trusted: bool = False

    def compile(
        self,
        network: Network,
        io: IoStyle,
        limit_s: float | None = None,
        ignore: Sequence[str] = (),
    ) -> Compiled:
        """Compile, and again without chains if one may overwrite its table; see compile_network."""
        system = self.system_config, self.memory_mode
        compiled = compile_network(network, self.npu, io, ignore, *system, self.schedule, limit_s)
        if self.is_trusted:
            return compiled
        for stream in compiled_streams(compiled.network):
            if overwrites_table(stream.commands, instruction_set(stream.config_word)):
                apart = replace(self.schedule, without=(*self.schedule.without, CHAINS))
                return compile_network(network, self.npu, io, ignore, *system, apart, limit_s)
        return compiled


def compile_network(
    network: Network,
    accelerator: EthosU,
    io: IoStyle,
    ignore: Sequence[str],
    system_config: str | None,
    memory_mode: str,
    schedule: SchedulerGoal,
    limit_s: float | None = None,
) -> Compiled:
    """Compile with Regor in a child process, within `limit_s`, by default LIMIT_S, seconds.

    Raises RefusalError with Vela's own message for a refusal, DeathError for a network on which it
    crashes or hangs, ToolError if Vela is not installed.
    """
    architecture = {
        "name": accelerator.vela_architecture,
        "macs": accelerator.macs // accelerator.cores,  # per core
        "cores": accelerator.cores,
        "arena_bytes": schedule.arena_bytes or 1 << ADDRESS_BITS[accelerator.product],
        "optimise": schedule.optimise,
        "without": schedule.without,
        "system_config": system_config or SYSTEM_CONFIGS[accelerator.product, DEFAULT_MODE].name,
        "memory_mode": memory_mode,
    }
    script = Path(__file__).with_name("regor.py")
    separate = io is IoStyle.CALLER
    arguments = (*_file_of(network), architecture, separate, tuple(ignore))
    try:
        limit_s = min(LIMIT_S, limit_s or LIMIT_S)
        answer = call(script, "compile_network", *arguments, limit_s=limit_s)
    except ChildError as error:
        raise _refusal(network, error) from None
    value = answer.value
    _require_memory(network, max(value["peak_bytes"].values(), default=0))
    compiled = decode_network(value["network"], f"Vela's output for {network.name}")
    mode = next((ours for ours, theirs in MEMORY_MODES.items() if theirs == memory_mode), "")
    figures = value["npu_cycles"], value["peak_bytes"], value["tables"]
    return Compiled(compiled, *figures, answer.log, mode)


def _require_memory(network: Network, needed: int) -> None:
    if needed > MAX_TENSOR_BYTES:
        limit = f"the limit is {MAX_TENSOR_BYTES >> 20}"
        why = f"the NPU needs {needed >> 20} MiB of memory for it, and {limit}"
        raise RefusalError(f"Vela cannot be used for '{network.name}': {why}", why)


def _file_of(network: Network) -> tuple[bytes, str]:
    """Return a network's file, and its format as Regor calls it."""
    if network.is_tosa:
        return tosa_file_of(network), "TOSA"
    return file_of(network), "TFLITE"


class DeathError(RefusalError):
    """A network on which Vela crashes or hangs; `is_late` says which."""

    def __init__(self, message: str, why: str, is_late: bool) -> None:
        super().__init__(message, why)
        self.is_late = is_late


def _refusal(network: Network, error: ChildError) -> InputError | ToolError:
    if error.how == "raised":
        kind, _, words = str(error).partition(": ")
        if kind in ("ImportError", "ModuleNotFoundError"):
            remedy = package_command("ethos-u-vela")
            return ToolError(f"Vela cannot be loaded ({words}); install it with: {remedy}")
        sentence = re.sub(r"\s+", " ", words.removeprefix("Compilation failed: ")).strip()
        why = sentence or kind
        return RefusalError(f"Vela cannot compile '{network.name}': {why}", why)
    return DeathError(
        f"Vela crashes on '{network.name}' ({error}), even with each operator removed in turn; "
        "convert it again if it may be damaged, or try --npu none",
        str(error),
        error.how == "late",
    )
