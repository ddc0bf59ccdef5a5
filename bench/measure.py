"""Measures exactness, sizes, instructions and times of ethosgen's commands."""

import datetime
import itertools
import os
import platform
import resource
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from bench import compilers, cpu_only, npu_model, optimizer
from bench.command import Figures, ethosgen, report
from bench.limits import FIRMWARE_NPU, NPUS, SAMPLES
from tests import ROOT
from tests.support.pages import console

MODELS = Path(os.environ.get("ETHOSGEN_MODELS", ROOT / ".." / "shared" / "models"))
DEMO = ROOT / "demo" / "digits_int8.tflite"
BOARD = "corstone300"
SEED = 2026
REPEATS = 3


def comparison(answer: Figures, oracle: str = "tflm") -> Figures | None:
    """Return the comparison with one oracle, None if that oracle cannot run the network."""
    figures: Figures | None = answer["oracles"].get(oracle)
    return figures


def measure_model(model: Path) -> Figures:
    """Measure one network and return all its figures except the times."""
    options = ("--samples", SAMPLES, "--seed", SEED)
    answer = report("verify", model, "--board", BOARD, "--npu", FIRMWARE_NPU, *options)
    npu, flash, library = answer["npu"], answer["flash_bytes"], answer["library_bytes"]
    return {
        "name": model.stem,
        "firmware": comparison(answer),
        "litert": comparison(answer, "litert"),
        "simulate": {n: comparison(report("simulate", model, "--npu", n, *options)) for n in NPUS},
        "npu_share": f"{npu['npu_operators']} + {npu['cpu_operators']}",
        "cpu_operators": npu["cpu_operators"],
        "flash_bytes": flash,
        "ram_bytes": answer["ram_bytes"],
        "arena_bytes": answer["ram_bytes"]["arena"],
        "arena_over_vela_bytes": answer["ram_bytes"]["arena"] - answer["compiler_sram_bytes"],
        "stack_bytes": answer["stack_bytes"],
        "cpu_instructions": answer["cpu_instructions"],
        "init_instructions": answer["init_instructions"],
        "library_flash_bytes": library["code"] + library["constants"],
        "library_static_bytes": library["data"],
        "application_flash_bytes": flash["code"] + flash["constants"],
    }


def median_s(action: Callable[[], object]) -> tuple[float, float]:
    """Return the median of REPEATS runs: wall-clock and processor seconds (of all processes)."""
    taken = []
    for _ in range(REPEATS):
        begin, spent = time.perf_counter(), children_cpu_s()
        action()
        taken.append((time.perf_counter() - begin, children_cpu_s() - spent))
    return statistics.median_low(taken)


def children_cpu_s() -> float:
    """Return the processor seconds of all descendants that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def tflm_s(model: Path) -> float:
    """Measure the seconds per sample of TFLite Micro's interpreter on this machine."""
    from tflite_micro.python.tflite_micro import runtime

    interpreter = runtime.Interpreter.from_bytes(model.read_bytes())
    begin = time.perf_counter()
    for _ in range(SAMPLES):
        interpreter.invoke()
    return (time.perf_counter() - begin) / SAMPLES


def measure_times(models: list[Path], directory: Path) -> Figures:
    """Measure the wall-clock figures; nothing else runs meanwhile."""
    largest = max(models, key=lambda path: path.stat().st_size)
    vww = next((m for m in models if m.stem.startswith("vww")), DEMO)
    kws = next((m for m in models if m.stem.startswith("kws")), DEMO)
    on_board = ("--board", BOARD, "--npu", FIRMWARE_NPU)
    number = itertools.count()
    simulate_s = statistics.median(
        report("simulate", vww, "--npu", FIRMWARE_NPU, "--samples", SAMPLES)["wall_s"]["simulate"]
        / SAMPLES
        for _ in range(REPEATS)
    )
    host_s = statistics.median(tflm_s(vww) for _ in range(REPEATS))
    project_s, project_cpu_s = median_s(
        lambda: ethosgen("project", largest, *on_board, "-o", directory / f"{next(number)}")
    )
    verify_s, verify_cpu_s = median_s(lambda: ethosgen("verify", kws, *on_board))
    return {
        "project_s": round(project_s, 2),
        "project_cpu_s": round(project_cpu_s, 2),
        "simulate_s": round(simulate_s, 3),
        "verify_s": round(verify_s, 2),
        "verify_cpu_s": round(verify_cpu_s, 2),
        "tflm_s": round(host_s, 5),
        "simulate_over_tflm": round(simulate_s / host_s, 1),
    }


def first_line(*command: str) -> str:
    """Return the first line that a command prints."""
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.partition("\n")[0]


def machine() -> Figures:
    """Return the facts that the figures depend on; a high `load` means that other work ran."""
    cpu = [
        line.split(":")[1].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    ]
    return {
        "cpu": cpu[0] if cpu else platform.machine(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
        "gcc": "gcc " + first_line("arm-none-eabi-gcc", "-dumpversion"),
        "qemu": first_line("qemu-system-arm", "--version").split(" (")[0].replace(" emulator", ""),
    }


def conditions() -> Figures:
    """Return when, from which commit and on which machine figures are measured."""
    return {
        "date": datetime.date.today().isoformat(),
        "commit": first_line("git", "-C", str(ROOT), "describe", "--always"),
        "machine": machine(),
    }


def networks() -> list[Path]:
    """Return the networks to measure; the demo's is the last."""
    return [*sorted(MODELS.glob("*.tflite")), DEMO]


def all_times() -> Figures:
    """Measure the times of all networks, in a folder that is removed."""
    console.print("times, alone on the machine ...")
    with tempfile.TemporaryDirectory(prefix="ethosgen-bench-") as scratch:
        return measure_times(networks(), Path(scratch))


def all_models() -> list[Figures]:
    """Measure exactness and sizes of all networks, several at a time."""
    models = networks()
    console.print(f"exactness and sizes of {len(models)} networks ...")
    figures = []
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        for done in pool.map(measure_model, models):
            figures.append(done)
            console.print(f"  {done['name']}")
    return figures


def all_on_cpu() -> list[Figures]:
    """Measure all networks without an NPU, several at a time; their cycles one at a time.

    Cycles are counted with another QEMU, which a variable names for the whole process.
    """
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        figures = list(pool.map(cpu_only.measure, networks()))
    known = map(cpu_only.cycles, networks())
    return [each | {"cycles": cycles} for each, cycles in zip(figures, known, strict=True)]


def _all_on_model(part: str) -> list[Figures]:
    return npu_model.measure(networks(), part)


PARTS: Mapping[str, Callable[[], Any]] = {
    "times": all_times,
    **{part: partial(_all_on_model, part) for part in npu_model.GENERATIONS},
    "models": all_models,
    "cpu_only": all_on_cpu,
    "optimizer": lambda: optimizer.measure(networks()),
    "compilers": lambda: list(map(compilers.measure, networks())),
}
"""Parts of bench.json, in the order in which they are measured: what takes time is first."""


def measure() -> Figures:
    """Measure and return all figures."""
    facts = conditions()
    return {**facts, "samples": SAMPLES, **{part: PARTS[part]() for part in PARTS}}


def measure_part(results: Figures, part: str) -> Figures:
    """Return the results with one part measured again, and its conditions."""
    facts = conditions()
    kept = {key: value for key, value in results.get("apart", {}).items() if key != part}
    return results | {part: PARTS[part](), "apart": kept | {part: facts}}
