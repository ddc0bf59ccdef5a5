"""Ethos-U as a backend: joins its configurations, its compiler Vela and its simulator."""

from collections.abc import Mapping
from typing import Any

from ethosgen.backend import Backend, Memories
from ethosgen.backend.ethosu.accelerator import (
    ACCELERATORS,
    DEFAULT_NPU,
    FAMILY,
    WITHOUT_MODEL,
    find_accelerator,
)
from ethosgen.backend.ethosu.memory_system import SYSTEM_CONFIGS, max_beats
from ethosgen.values.accelerator import Accelerator


class EthosUFamily:
    """The family; see Backend for its methods."""

    family = FAMILY
    accelerators: Mapping[str, Accelerator] = {**ACCELERATORS, **WITHOUT_MODEL}
    default = DEFAULT_NPU

    def objection(self, accelerator: Accelerator, memory_mode: str) -> str:
        """Return why an NPU does not support a memory mode, "" if it does."""
        if (accelerator.product, memory_mode) in SYSTEM_CONFIGS:
            return ""
        return "its second AXI port is read-only"

    def firmware_facts(self, accelerator: Accelerator, memories: Memories) -> Mapping[str, Any]:
        """Return the values for the project's templates."""
        npu = find_accelerator(accelerator.name)
        return {
            "npu_config": npu.config_word,
            "npu_id": npu.id_word,
            "axi_beats": max_beats(npu.product, memories.mode),
        }


ETHOS_U: Backend = EthosUFamily()
