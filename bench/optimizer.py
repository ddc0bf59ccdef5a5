"""What the optimizer saves, and bands of rows: networks on a Cortex-M55 and with an NPU."""

import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from bench import mobilenet
from bench.command import Figures, report
from bench.limits import FIRMWARE_NPU
from bench.shapes import ours
from ethosgen import frontend
from ethosgen.values.optimization import macs_of

VARIANTS = {"before": ("--no-optimize",), "after": ()}
COLUMNS = {
    "multiplications": "macs",
    "weights B": "weights_bytes",
    "flash B": "flash_bytes",
    "arena B": "arena_bytes",
    "instructions": "instructions",
    "cycles": "cycles",
    "NPU: cycles": "npu_cycles",
    "NPU: flash B": "npu_flash_bytes",
}
"""By a column's title: the figure, before and after."""
PUBLISHED = """For comparison, as published: ExecuTorch needs an arena of 1,505,280 B for
MobileNetV2-224 on a Cortex-M55; TinyEngine on a Cortex-M7 needs 59 kB of SRAM for mcunet-vww0,
260 kB for mcunet-in3 and 61 kB for MobileNetV2 0.3 at 64x64."""


def measure(models: Sequence[Path]) -> list[Figures]:
    """Return the figures of networks and of MobileNetV2, before and after."""
    with tempfile.TemporaryDirectory(prefix="ethosgen-optimizer-") as folder:
        large = Path(folder) / f"{mobilenet.NAME}.tflite"
        large.write_bytes(mobilenet.build())
        return [
            {"name": model.stem}
            | {key: figures_of(model, *VARIANTS[key]) for key in VARIANTS}
            | {"bands": on_cpu(model, "--stream", "always")}
            for model in (*models, large)
        ]


def figures_of(model: Path, *options: str) -> Figures:
    """Return the figures of a network; RuntimeError if a firmware's outputs differ."""
    npu = verified(model, "--npu", FIRMWARE_NPU, *options)
    return on_cpu(model, *options) | {
        "npu_cycles": npu["npu_pmu"] and npu["npu_pmu"]["cycles"],
        "npu_flash_bytes": npu["flash_bytes"]["total"],
    }


def on_cpu(model: Path, *options: str) -> Figures:
    """Return the figures of a network on the CPU alone."""
    answer = verified(model, "--npu", "none", *options)
    facts = answer["optimization"]
    is_changed = facts is not None and not facts["kept"]
    return {
        "macs": facts["macs_after"] if is_changed else macs_of(frontend.read(model)),
        "weights_bytes": answer["flash_bytes"]["weights"],
        "flash_bytes": answer["flash_bytes"]["total"],
        "arena_bytes": answer["ram_bytes"]["arena"],
        "instructions": answer["cpu_instructions"],
        "cycles": answer["cpu_time"]["cycles"],
    }


def verified(model: Path, *options: object) -> Figures:
    """Verify a network with one sample; RuntimeError if its outputs differ."""
    answer = report("verify", model, "--board", ours.BOARD, "--samples", 1, *options)
    if not answer["passed"]:
        raise RuntimeError(f"{model.stem} with {options}: {answer['verdict']}")
    return answer


def rows(figures: Iterable[Figures]) -> tuple[list[str], list[list[str]]]:
    """Return a table's head and rows: where a figure changes, both values."""
    table = [
        [
            network["name"],
            *(cell(*(network[v].get(key) for v in VARIANTS)) for key in COLUMNS.values()),
        ]
        for network in figures
    ]
    return ["network", *COLUMNS], table


def band_rows(figures: Iterable[Figures]) -> tuple[list[str], list[list[str]]]:
    """Return the table of bands: the arena without them, the least with them, and the cost."""
    table = [
        [
            network["name"],
            f"{network['after']['arena_bytes']:,}",
            f"{network['bands']['arena_bytes']:,}",
            f"{network['bands']['instructions'] / network['after']['instructions']:.3f}",
        ]
        for network in figures
        if "bands" in network
    ]
    return ["network", "arena B", "least with bands, B", "instructions, ratio"], table


def cell(before: int | None, after: int | None) -> str:
    """Return a figure, or both with the saving where it changes."""
    if before is None or after is None:
        return "-"
    if before == after:
        return f"{after:,}"
    return f"{before:,} to {after:,} ({after / before - 1:+.0%})"
