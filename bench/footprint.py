"""The footprint of a Zephyr application; the limit is half of Zephyr's own sample.

    .venv/bin/python -m bench.footprint ../shared/models/kws_dscnn_int8.tflite

`make bench` prints it too, if ZEPHYR_BASE is set.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.command import report
from bench.limits import SAMPLES
from ethosgen.board import load_board
from ethosgen.toolchain.zephyr import choose_target, read_version

FLASH_BYTES, SAMPLE_FLASH_BYTES = 37_000, 74_232
RAM_BYTES, SAMPLE_RAM_BYTES = 11_500, 23_000
SAMPLE_ARENA_BYTES = 2_000_000
"""Our limits, and the figures of TFLite Micro with Arm's driver on Zephyr (zephyr#90787).

The sample's figures cover the memory regions FLASH and RAM; its linker.ld puts model, arena (two
million bytes), inputs and outputs into DDR4. So ours exclude those too.
"""


def measure(model: Path) -> dict[str, Any]:
    """Run `ethosgen verify --platform zephyr --json`; RuntimeError if there is no object."""
    options = ("--platform", "zephyr", "--samples", SAMPLES)
    return report("verify", model, "--board", "corstone300", *options)


def machine(base: Path) -> str:
    """Return the board and Zephyr's version, in Zephyr's spelling."""
    major, minor = read_version(base)
    target = choose_target(load_board("corstone300"), (major, minor), "qemu")
    return f"{target}, Zephyr {major}.{minor}"


def lines(model: str, answer: dict[str, Any], measured_on: str) -> list[str]:
    """Return the figures as text: flash without streams and weights, RAM without the arena."""
    flash, ram = answer["flash_bytes"], answer["ram_bytes"]
    flash_bytes = flash["total"] - flash["command_streams"] - flash["weights"]
    ram_bytes = ram["total"] - ram["arena"]
    return [
        f"Zephyr, whole application for {model} on {measured_on}, Arm's core driver:",
        f"  outputs that differ  {answer['oracles']['tflm']['mismatches']}",
        _line("flash", flash_bytes, FLASH_BYTES, SAMPLE_FLASH_BYTES),
        _line("RAM", ram_bytes, RAM_BYTES, SAMPLE_RAM_BYTES),
        f"  in addition: command streams {flash['command_streams']:,} B, "
        f"weights {flash['weights']:,} B, arena with inputs and outputs {ram['arena']:,} B",
        f"  total: flash {flash['total']:,} B, RAM {ram['total']:,} B (the sample's arena "
        f"alone: {SAMPLE_ARENA_BYTES:,} B)",
    ]


def _line(what: str, bytes_: int, most: int, sample: int) -> str:
    verdict = "" if bytes_ < most else "   MISSED"
    return f"  {what:<6} {bytes_:>7,} B   (under {most:,}; Zephyr's sample {sample:,}){verdict}"


def show(model: Path, say: Callable[[str], None]) -> bool:
    """Measure and print; return True if all is within limits, or Zephyr is not installed."""
    if "ZEPHYR_BASE" not in os.environ:
        say(
            "Zephyr's footprint was not measured: ZEPHYR_BASE is not set (flash and RAM of a whole "
            "application, compared with half of Zephyr's own sample)"
        )
        return True
    told = lines(model.stem, measure(model), machine(Path(os.environ["ZEPHYR_BASE"])))
    for line in told:
        say(line)
    return not any("MISSED" in line for line in told) and told[1].endswith(" 0")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("pass the .tflite of one network")
    sys.exit(0 if show(Path(sys.argv[1]), print) else 1)
