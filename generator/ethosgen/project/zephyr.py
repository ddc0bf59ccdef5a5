"""What a Zephyr application says beside what bare metal does: configuration symbols and sizes."""

from typing import Any

from ethosgen.accelerator import Accelerator
from ethosgen.board import Board
from ethosgen.errors import UnsupportedError
from ethosgen.program import Program

_WITHOUT_SYMBOL = ("ethos-u55-32",)
"""Configurations that Zephyr's Kconfig does not have (drivers of 3.7 and 4.2)."""


def zephyr_facts(program: Program, board: Board) -> dict[str, Any]:
    """Return what the templates of a Zephyr project need; UnsupportedError if Zephyr cannot."""
    accelerator = program.plan.accelerator
    if accelerator is None:
        raise UnsupportedError(
            "--platform zephyr is for networks with an NPU; for a network that is wholly on the "
            "CPU use --platform baremetal"
        )
    return {
        "npu_symbol": _npu_symbol(accelerator),
        "heap_bytes": 256,
        "stack_bytes": 1024,
    }


def _npu_symbol(accelerator: Accelerator) -> str:
    """Return the end of the Kconfig symbol, U55_128; ARM_ETHOS_ or ETHOS_ goes before it."""
    if accelerator.name in _WITHOUT_SYMBOL:
        raise UnsupportedError(
            f"Zephyr has no configuration for {accelerator.name}; choose another NPU with --npu"
        )
    return accelerator.name.removeprefix("ethos-").replace("-", "_").upper()
