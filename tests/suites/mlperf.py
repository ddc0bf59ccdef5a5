"""MLPerf Tiny's runner, unchanged, against firmware on QEMU.

    MLPERF_TINY=TREE python -m tests.suites.mlperf [--on cpu ethos-u55-128] [--mode a p s]

Each benchmark's own network becomes a project with --app mlperf, and the runner's main.py loads
data and judges the answers. The data are ours (tests.suites.mlperf_data), so the accuracy that the
runner must print is known. Mode s streams sound to the wake words (tests.suites.mlperf_stream).
MLPERF_PYTHON names a Python with the runner's packages, by default this one.
"""

import argparse
import datetime
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ethosgen.flow import build_project, create_project
from ethosgen.frontend import read
from ethosgen.values.watch import Watch
from tests.suites import mlperf_stream
from tests.suites.mlperf_data import DataSet, write_data
from tests.suites.page import RECORDS, Group, Record, write_record
from tests.suites.running import commit_of
from tests.support.recipes import recipe

VARIABLE, PYTHON = "MLPERF_TINY", "MLPERF_PYTHON"
NETWORKS = {
    "kws01": "keyword_spotting/trained_models/kws_ref_model.tflite",
    "vww01": "visual_wake_words/trained_models/vww_96_int8.tflite",
    "ic01": "image_classification/trained_models/pretrainedResnet_quant.tflite",
    "ad01": "anomaly_detection/trained_models/ad01_int8.tflite",
}
SETTINGS = ("cpu", "ethos-u55-128")
MODES = {"a": "accuracy", "p": "performance", "s": "streaming"}
STREAMING = "s"
_INFERENCES = {
    "cpu": {"kws01": 70, "vww01": 20, "ic01": 20, "ad01": 600},
    "ethos-u55-128": {"kws01": 300, "vww01": 20, "ic01": 20, "ad01": 300},
}
"""Of a loop: the runner waits 30 s for them, and wants five loops to last 10 s of its own time. Its
script has the counts of the reference board, which is slower than the NPU and faster than QEMU."""
_LIMIT_S = 1200.0
_ACCURACY = re.compile(r"Top 1% = ([\d.]+)\n(?:.*\n)*?.*AUC = ([\d.]+)")
_THROUGHPUT = re.compile(r"Median throughput is +([\d.]+) inf./sec.")
_REASON = re.compile(r"^(?:\w*Error: .*|.*ulp-mlperf: ERROR .*)$", re.MULTILINE)


@dataclass(frozen=True)
class Verdict:
    """What the runner printed of a benchmark, and what it should have; "" if it passed."""

    model: str
    told: str
    why: str = ""


def tree() -> Path:
    """Return the checkout of mlcommons/tiny."""
    return Path(os.environ[VARIABLE])


def network_path(model: str) -> Path:
    """Return the reference network of a benchmark."""
    known = {**NETWORKS, mlperf_stream.MODEL: mlperf_stream.NETWORK}
    return tree() / "benchmark" / "training" / known[model]


def run_stream(on: str) -> Verdict:
    """Let the runner's script stream sound to the wake words, on the CPU or with an NPU."""
    network = network_path(mlperf_stream.MODEL)
    with tempfile.TemporaryDirectory(prefix="mlperf-") as temporary:
        folder = Path(temporary)
        runner = folder / "runner"
        shutil.copytree(tree() / "benchmark" / "runner", runner)
        project = _build(network, on, folder / "project")
        drive = partial(_drive, project, runner)
        told, why = mlperf_stream.stream(network, runner, folder, drive)
    return Verdict(mlperf_stream.MODEL, told, why)


def run_benchmark(model: str, on: str, modes: Sequence[str]) -> list[Verdict]:
    """Let the runner measure a benchmark's network, on the CPU or with an NPU, in each mode."""
    with tempfile.TemporaryDirectory(prefix="mlperf-") as temporary:
        folder = Path(temporary)
        runner = folder / "runner"
        shutil.copytree(tree() / "benchmark" / "runner", runner, ignore=_large)
        (folder / "performance.yaml").write_text(_script(model, on))
        options = {"a": (), "p": ("-t", str(folder / "performance.yaml"))}
        data = write_data(read(network_path(model)), folder / "data")
        project = _build(network_path(model), on, folder / "project")
        verdicts = []
        for mode in modes:
            log = _drive(project, runner, ["-m", mode, "-s", folder / "data", *options[mode]])
            verdicts.append(_judge(model, mode, data, log))
    return verdicts


def _script(model: str, on: str) -> str:
    """Return the runner's script for performance, with as many inferences as it has time for."""
    infer = f"infer {_INFERENCES[on][model]} 5"
    steps = f"    - loop 5:\n      - download\n      - {infer}\n"
    return f"{model}:\n  model: {model}\n  truth_file: y_labels.csv\n  script:\n{steps}"


def _large(_folder: str, names: list[str]) -> list[str]:
    """Leave out what only the streaming benchmark and the page need."""
    return [name for name in names if name in ("img", "sd_card", "sww_data_dir", "sessions")]


def _build(network: Path, on: str, project: Path) -> Path:
    npu = "none" if on == "cpu" else on
    wanted = recipe(network, app="mlperf", npu=npu, check=False)
    create_project(wanted, directory=project, watch=Watch())
    build_project(project, watch=Watch())
    return project


def _drive(project: Path, runner: Path, options: Sequence[str | Path]) -> str:
    """Serve a project's console, and return what the runner prints about it."""
    python = os.environ.get(PYTHON, sys.executable)
    script = project / "application" / "run_benchmark.py"
    with _serving(project) as port:
        command = [python, script, port, runner, *options]
        done = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_LIMIT_S,
            check=False,
        )
    return done.stdout


@contextmanager
def _serving(project: Path) -> Iterator[str]:
    command = [sys.executable, "-m", "ethosgen", "serve", str(project)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def _judge(model: str, mode: str, data: DataSet, log: str) -> Verdict:
    match = (_ACCURACY if mode == "a" else _THROUGHPUT).search(log)
    if match is None:
        reasons = _REASON.findall(log)
        return Verdict(model, "nothing", reasons[-1].strip() if reasons else log[-200:])
    if mode == "p":
        return Verdict(model, f"{match[1]} inferences a second")
    told, wanted = [float(text) for text in match.groups()], [data.accuracy, data.auc]
    digits = [0.051, 0.00051]
    if model == "ad01":  # the runner chooses the threshold of its accuracy itself
        told, wanted, digits = told[1:], wanted[1:], digits[1:]
    near = (abs(a - b) < most for a, b, most in zip(told, wanted, digits, strict=True))
    why = "" if all(near) else f"the runner computes {told}, not {wanted}"
    return Verdict(model, f"accuracy {match[1]} %, AUC {match[2]}", why)


def record(verdicts: Mapping[tuple[str, str], Sequence[Verdict]]) -> Record:
    """Return the record of the runs, by mode and setting."""
    return Record(
        suite="MLPerf Tiny, the benchmark's runner",
        version=commit_of(tree()),
        about=(
            "The runner's main.py, unchanged, drives the reference networks of keyword "
            "spotting, visual wake words, image classification and anomaly detection on QEMU. "
            "In accuracy mode it must print the accuracy and AUC that follow from TensorFlow "
            "Lite Micro's outputs for our own data, in performance mode a throughput, which "
            "is an estimate, with our own counts of inferences. A script of the project "
            "presents QEMU's port as the reference board's. In streaming mode the runner's "
            "stream_wav_uart.py, unchanged, sends ten seconds of the benchmark's sound to the "
            "streaming wake words, and the features and scores of all frames must be equal to "
            "ours. main.py plays it over I2S from an interface board, which QEMU lacks, as it "
            "lacks the power meter of the energy mode."
        ),
        measured=datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
        command=f"{VARIABLE}=TREE python -m tests.suites.mlperf",
        rows=tuple(
            Group(
                group=f"{MODES[mode]} mode, {on}",
                tried=len(each),
                passed=sum(not verdict.why for verdict in each),
                refused={},
                different={f"{v.model}: {v.why}": 1 for v in each if v.why},
            )
            for (mode, on), each in verdicts.items()
        ),
    )


def main() -> int:
    """Run all benchmarks, print what the runner says, and write the record."""
    parser = argparse.ArgumentParser(prog="python -m tests.suites.mlperf")
    parser.add_argument("--on", nargs="+", default=SETTINGS)
    parser.add_argument("--mode", nargs="+", choices=MODES, default=list(MODES))
    parser.add_argument("--only", nargs="+", choices=NETWORKS, default=list(NETWORKS))
    parser.add_argument("--record", action="store_true", help="write the record for the page")
    asked = parser.parse_args()
    verdicts: dict[tuple[str, str], list[Verdict]] = {
        (mode, on): [] for mode in asked.mode for on in asked.on
    }
    modes = [mode for mode in asked.mode if mode != STREAMING]
    for on in asked.on:
        for model in asked.only if modes else ():
            for mode, verdict in zip(modes, run_benchmark(model, on, modes), strict=True):
                verdicts[mode, on].append(_told(mode, on, verdict))
        if STREAMING in asked.mode:
            verdicts[STREAMING, on].append(_told(STREAMING, on, run_stream(on)))
    if asked.record:
        write_record(RECORDS / "mlperf.json", record(verdicts))
    return int(any(verdict.why for each in verdicts.values() for verdict in each))


def _told(mode: str, on: str, verdict: Verdict) -> Verdict:
    """Print a verdict, and return it."""
    sys.stdout.write(f"{mode} {on} {verdict.model}: {verdict.told} {verdict.why}\n")
    sys.stdout.flush()
    return verdict


if __name__ == "__main__":
    sys.exit(main())
