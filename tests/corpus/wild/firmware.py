"""Runs a sample of random networks as firmware on QEMU, several in each firmware.

The networks' outputs were equal in a run on this machine, and TFLite Micro runs them whole.
"""

import itertools
import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ethosgen.board import load_board
from ethosgen.flow import RunOptions, verify
from ethosgen.values.errors import EthosgenError
from ethosgen.values.report import Report
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import Inputs
from tests.corpus.wild.batch import spare_time
from tests.corpus.wild.graph import make_network
from tests.corpus.wild.trial import BOARD, WildSetting, wild_setting
from tests.support.fork_server import ForkServer
from tests.support.pages import load_lines
from tests.support.recipes import recipe

TOGETHER = 6
"""Networks in one firmware, to compile once for all of them."""
SAMPLES = 2


def sample_of(log: Sequence[Any], count: int, seed: int) -> list[int]:
    """Choose networks from a log."""
    able = [e["seed"] for e in log if e["verdict"] == "equal" and list(e["oracles"]) == ["tflm"]]
    chosen = np.random.default_rng(seed).permutation(able)[:count]
    return sorted(int(number) for number in chosen)


def run_firmware(seeds: Sequence[int], log: Path, followed: dict[int, str]) -> Iterator[Any]:
    """Verify the networks on QEMU that are not in a log yet, and add each result to it."""
    server = ForkServer()
    spare_time(server)
    done = {entry["seed"] for entry in load_lines(log)}
    board = load_board(BOARD)

    def setting_of(seed: int) -> WildSetting:
        setting = wild_setting(seed, board)
        io = followed.get(seed) or setting.io
        return WildSetting(setting.npu, setting.memory_mode, io, setting.offload)

    left = sorted((seed for seed in seeds if seed not in done), key=lambda s: str(setting_of(s)))
    with log.open("a") as file:
        for _, group in itertools.groupby(left, key=lambda s: str(setting_of(s))):
            for some in _batched(group, TOGETHER):
                for entry in _verify(some, setting_of(some[0])):
                    file.write(json.dumps(entry) + "\n")
                    file.flush()
                    yield entry
    server.close()


def _batched(items: Iterator[int], size: int) -> Iterator[list[int]]:
    while some := list(itertools.islice(items, size)):
        yield some


def _verify(seeds: Sequence[int], setting: WildSetting) -> list[dict[str, Any]]:
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="wild-") as folder:
        paths = [Path(folder) / f"w{seed}.tflite" for seed in seeds]
        for seed, path in zip(seeds, paths, strict=True):
            path.write_bytes(make_network(seed).data)
        try:
            report = verify(
                recipe(
                    *paths,
                    board=BOARD,
                    npu=setting.npu,
                    io=setting.io,
                    memory_mode=setting.memory_mode,
                    offload=setting.offload,
                ),
                RunOptions(Inputs(None, SAMPLES, seeds[0])),
                watch=Watch(),
            )
        except EthosgenError as error:
            if len(seeds) > 1:  # one of them failed: verify each alone
                return [entry for seed in seeds for entry in _verify([seed], setting)]
            return [{"seed": seeds[0], "verdict": "refused", "why": str(error)}]
    each = round((time.perf_counter() - started) / len(seeds), 2)
    reports = (report,) if isinstance(report, Report) else report.reports
    return [
        {
            "seed": seed,
            "verdict": report.verdict,
            "elements": report.golden.elements if report.golden else 0,
            "mismatches": report.golden.mismatches if report.golden else 0,
            "setting": str(setting),
            "seconds": each,
        }
        for seed, report in zip(seeds, reports, strict=True)
    ]
