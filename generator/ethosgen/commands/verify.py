"""`ethosgen verify`: does a network work on a board?"""

from pathlib import Path
from typing import Any

import click

from ethosgen.commands.answers import answer
from ethosgen.commands.junit import JUnitFile
from ethosgen.commands.options import (
    BOARD,
    CHECK,
    CPU_OPS,
    GOLDEN,
    INPUT,
    IO,
    JSON,
    JUNIT,
    MEMORY_MODE,
    MODELS,
    NAMES,
    NPU,
    OFFLOAD,
    ON,
    ORACLE,
    PLATFORM,
    SAMPLES,
    SEED,
    TRUST_VELA,
    with_line,
)
from ethosgen.commands.progress import Progress


@click.command()
@MODELS
@BOARD
@NPU
@NAMES
@ON
@IO
@CPU_OPS
@OFFLOAD
@TRUST_VELA
@CHECK
@PLATFORM
@MEMORY_MODE
@INPUT
@GOLDEN
@SAMPLES
@SEED
@ORACLE
@JSON
@JUNIT
@click.option("--flash", "flasher", metavar="TOOL", help="First flash the board with this tool.")
@with_line
def verify(
    models: tuple[Path, ...],
    board: str,
    npu: str | None,
    names: tuple[str, ...],
    on: str,
    io: str,
    cpu_ops: tuple[str, ...],
    offload: str,
    trust_vela: bool,
    check: bool,
    platform: str,
    memory_mode: str | None,
    input_path: Path | None,
    original: Path | None,
    samples: int | None,
    seed: int,
    oracle: str | None,
    as_json: bool,
    junit_path: Path | None,
    flasher: str | None,
    line: Any,
) -> None:
    """Answer "does my network work on this board?": project, build and run in a temporary folder.

    Several networks go into one firmware with one arena and run in turn. Exit status 0 means that
    every element of every sample equals TensorFlow Lite Micro's.
    """
    from ethosgen import pipeline

    with (
        JUnitFile(junit_path, "_".join(model.stem for model in models)) as junit,
        Progress() as progress,
    ):
        report = pipeline.verify(
            models,
            board,
            npu=npu,
            name=names,
            on=on,
            io=io,
            cpu_ops=cpu_ops,
            offload=offload,
            trust_vela=trust_vela,
            check=check,
            platform=platform,
            memory_mode=memory_mode,
            inputs=pipeline.Inputs(input_path, samples, seed, oracle),
            original=original,
            line=line,
            flasher=flasher,
            watch=progress.watch(),
        )
        junit.record(report)
    answer(report, as_json)
