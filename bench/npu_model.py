"""The NPU model: its speed relative to TensorFlow Lite Micro's interpreter, memory and cycles.

Each network is measured in a separate process, with model and interpreter alternating.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import textwrap
import time
import tracemalloc
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import mobilenet
from bench.limits import FIRMWARE_NPU, NPUS, U85_NPUS
from tests import ROOT
from tests.support.pages import table

MOBILENET = "mobilenet_v2_224"
TRANSPOSED = "mobilenet_v2_224_nchw"
"""The same with a transposed input; only its cycles are measured."""
REPEATS = 7
MOST_OF_TFLM = 5.0
MOST_OF_TENSORS = 4.0
ROUND_S = 0.02
"""The time of TFLite Micro in a round; the model then runs the same number of samples."""
ALLOWANCE_BYTES = 512 << 10
"""Memory for Python's objects, a table of the NPU and the smallest chunks, which even the smallest
network needs. A network within it misses no limit, but the page lists it if it exceeds the ratio.
"""
VELA = "5.2"
NEAR = 0.15
"""The largest relative difference from Vela's estimate of cycles that needs no explanation."""
TIMEOUT_S = 900
SEED = 7

Figures = dict[str, Any]


@dataclass(frozen=True)
class Generation:
    """The NPU whose speed is measured, with its limit for MobileNetV2, and those for cycles."""

    npu: str
    npus: tuple[str, ...]
    most_mobilenet_s: float
    more_modes: tuple[str, ...] = ()
    """Memory modes whose cycles are measured besides the default's."""


GENERATIONS: Mapping[str, Generation] = {
    "npu_model": Generation(FIRMWARE_NPU, NPUS, 2.0),
    "npu_model_u85": Generation("ethos-u85-256", U85_NPUS, 0.1, ("sram_only", "dedicated_sram")),
}
"""By part of bench.json."""


# ---- in a separate process -------------------------------------------------------------------


def measure_here(path: Path, generation: Generation) -> Figures:
    """Measure one network in this process and return its figures."""
    from ethosgen.frontend import read
    from ethosgen.samples.drawing import random_samples

    network = read(path)
    sample = random_samples(network, 1, SEED)[0]
    tensors = sum(tensor.bytes for graph in network.graphs for tensor in graph.tensors)
    figures = measure_cycles(path, generation) | {"tensor_bytes": tensors}
    ours = _runner(network, generation.npu, sample)
    figures["first_s"] = _seconds(ours, 1)
    theirs = _interpreter(path, network, sample)
    theirs()
    count = max(1, round(ROUND_S / max(_seconds(theirs, 1), 1e-6)))
    times = [(_seconds(ours, count), _seconds(theirs, count)) for _ in range(REPEATS)]
    figures["model_s"] = min(mine for mine, _ in times)
    figures["tflm_s"] = min(other for _, other in times)
    figures["ratio"] = statistics.median(mine / other for mine, other in times)
    return figures | _memory(network, generation.npu, sample)


def _memory(network: Any, npu: str, sample: Any) -> Figures:
    """Measure the model's peak memory for two samples, and the memory of Python's objects.

    The peak includes the command streams and the constants that Vela compiled, but not Vela.
    """
    import numpy as np

    from ethosgen.aot import make_evaluator
    from ethosgen.backend.ethosu.accelerator import find_accelerator
    from ethosgen.backend.ethosu.offload import offload
    from ethosgen.backend.ethosu.simulator.host import PartitionRunner
    from ethosgen.backend.ethosu.stream import read_only, stream_of

    plan = offload(network, find_accelerator(npu))
    compiled = len(read_only(plan)) + sum(len(stream_of(p).commands) for p in plan.partitions)
    tracemalloc.start()
    runner = PartitionRunner(plan)
    evaluate = make_evaluator(plan)
    for _ in range(2):
        evaluate(sample, runner)
    held, peak = tracemalloc.get_traced_memory()
    of_numpy = tracemalloc.DomainFilter(True, np.lib.tracemalloc_domain)
    arrays = tracemalloc.take_snapshot().filter_traces([of_numpy])
    tracemalloc.stop()
    objects = held - sum(trace.size for trace in arrays.traces)
    return {"peak_bytes": peak + compiled, "object_bytes": objects}


def measure_cycles(path: Path, generation: Generation) -> Figures:
    """Return the cycle estimates of one network."""
    from ethosgen.backend.ethosu.memory_system import DEFAULT_MODE
    from ethosgen.frontend import read

    network = read(path)
    modes = (DEFAULT_MODE, *generation.more_modes)
    cycles, *more = [
        {npu: _cycles(network, npu, mode) for npu in generation.npus} for mode in modes
    ]
    figures = {"name": path.stem, "cycles": cycles}
    by_mode = dict(zip(generation.more_modes, more, strict=True))
    return figures | ({"cycles_by_mode": by_mode} if by_mode else {})


def _seconds(action: Callable[[], object], count: int) -> float:
    """Return the processor's seconds per call, averaged over `count` calls.

    With one thread, they are the wall-clock time of a machine that does nothing else.
    """
    begin = time.process_time()
    for _ in range(count):
        action()
    return (time.process_time() - begin) / count


def _runner(network: Any, npu: str, sample: Any) -> Callable[[], object]:
    """Return a function that runs a sample as `ethosgen simulate` does, on the compiled network."""
    from ethosgen.aot import make_evaluator
    from ethosgen.backend.ethosu.accelerator import find_accelerator
    from ethosgen.backend.ethosu.offload import offload
    from ethosgen.backend.ethosu.simulator.host import PartitionRunner

    plan = offload(network, find_accelerator(npu))
    runner = PartitionRunner(plan)
    evaluate = make_evaluator(plan)
    return lambda: evaluate(sample, runner)


def _interpreter(path: Path, network: Any, sample: Any) -> Callable[[], object]:
    """Return a function that runs a sample on TFLite Micro, with inputs and outputs by name."""
    from tflite_micro.python.tflite_micro import runtime

    arena_bytes = 2 * sum(tensor.bytes for tensor in network.graphs[0].tensors) + (1 << 20)
    interpreter = runtime.Interpreter.from_bytes(path.read_bytes(), arena_size=arena_bytes)

    inputs = [(index, tensor.name) for index, tensor in enumerate(network.inputs)]
    outputs = [(index, tensor.name) for index, tensor in enumerate(network.outputs)]

    def invoke() -> dict[str, Any]:
        for index, name in inputs:
            interpreter.set_input(sample[name], index)
        interpreter.invoke()
        return {name: interpreter.get_output(index) for index, name in outputs}

    return invoke


def _cycles(network: Any, npu: str, mode: str) -> Figures:
    """Return our estimate of cycles and Vela's."""
    from ethosgen.backend.ethosu.accelerator import find_accelerator
    from ethosgen.backend.ethosu.memory_system import MEMORY_MODES, SYSTEM_CONFIGS
    from ethosgen.backend.ethosu.offload import offload
    from ethosgen.backend.ethosu.simulator.machine import load
    from ethosgen.backend.ethosu.stream import ports_of, stream_of

    accelerator = find_accelerator(npu)
    config = SYSTEM_CONFIGS[accelerator.product, mode].name
    plan = offload(network, accelerator, system_config=config, memory_mode=MEMORY_MODES[mode])
    programs = (
        load(stream_of(p).commands, accelerator, ports_of(plan, p)) for p in plan.partitions
    )
    return {"ours": sum(program.activity.cycles for program in programs), "vela": plan.npu_cycles}


# ---- for the bench ---------------------------------------------------------------------------


def measure(models: Iterable[Path], part: str = "npu_model") -> list[Figures]:
    """Measure all networks and MobileNetV2; RuntimeError if one cannot run."""
    with tempfile.TemporaryDirectory(prefix="ethosgen-bench-") as scratch:
        large = Path(scratch) / f"{MOBILENET}.tflite"
        large.write_bytes(mobilenet.build())
        figures = [_measure_apart(path, "--one", part) for path in (*models, large)]
        transposed = large.with_stem(TRANSPOSED)
        transposed.write_bytes(mobilenet.build(channels_first=True))
        return [*figures, _measure_apart(transposed, "--cycles", part)]


def _measure_apart(path: Path, what: str, part: str) -> Figures:
    command = [sys.executable, "-m", "bench.npu_model", what, part, str(path.resolve())]
    alone = os.environ | {"OPENBLAS_NUM_THREADS": "1"}  # TFLite Micro has one thread as well
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=TIMEOUT_S, env=alone, cwd=ROOT
    )
    if done.returncode:
        raise RuntimeError(f"{path.name} on the NPU model: {done.stderr}")
    figures: Figures = json.loads(done.stdout)
    return figures


def misses(results: Figures) -> list[str]:
    """Return one sentence for each limit that is missed."""
    parts = GENERATIONS.items()
    return [text for part, generation in parts for text in _missed(results[part], generation)]


def _missed(figures: Iterable[Figures], generation: Generation) -> list[str]:
    sentences = []
    for row in _run(figures):
        name = f"{row['name']} on {generation.npu}"
        if row["ratio"] > MOST_OF_TFLM:
            sentences.append(
                f"{name}: the NPU model takes {row['ratio']:.1f} times TFLite Micro's time"
            )
        if row["name"] == MOBILENET and row["model_s"] > generation.most_mobilenet_s:
            sentences.append(f"{name}: the NPU model takes {row['model_s']:.2f} s")
        if row["peak_bytes"] > ALLOWANCE_BYTES and _of_tensors(row) > MOST_OF_TENSORS:
            sentences.append(
                f"{name}: the NPU model takes {_of_tensors(row):.1f} times its tensors"
            )
    return sentences


def beyond_tensors(figures: Iterable[Figures]) -> str:
    """Return the page's sentence on networks above the ratio but within ALLOWANCE_BYTES."""
    texts = [
        f"{row['name']} ({_of_tensors(row):.1f} times, {row['peak_bytes'] / 1024:,.0f} KiB)"
        for row in _run(figures)
        if _of_tensors(row) > MOST_OF_TENSORS and row["peak_bytes"] <= ALLOWANCE_BYTES
    ]
    if not texts:
        return "No network needs an exception."
    sentence = (
        f"These exceed it: {', '.join(texts)}. The memory for Python objects, for the NPU's "
        "internal memory and for the smallest chunks does not shrink with the tensors, so every "
        f"network may use {ALLOWANCE_BYTES >> 10} KiB."
    )
    return textwrap.fill(sentence, 100)


def _of_tensors(row: Figures) -> float:
    return float(row["peak_bytes"] / row["tensor_bytes"])


def rows(figures: Iterable[Figures]) -> tuple[list[str], list[list[str]]]:
    """Return the head and the rows of the table of speed and memory."""
    head = ["network", "first sample", "later samples", "TFLite Micro", "ratio"]
    head += ["tensors", "peak memory", "of it Python objects", "ratio"]
    table = [
        [
            row["name"],
            f"{row['first_s'] * 1000:,.0f} ms",
            f"{row['model_s'] * 1000:,.3f} ms",
            f"{row['tflm_s'] * 1000:,.3f} ms",
            f"{row['ratio']:.1f}",
            f"{row['tensor_bytes'] / 1024:,.1f} KiB",
            f"{row['peak_bytes'] / 1024:,.0f} KiB",
            f"{row['object_bytes'] / 1024:,.0f} KiB" if "object_bytes" in row else "-",
            f"{_of_tensors(row):.1f}",
        ]
        for row in _run(figures)
    ]
    return head, table


def _run(figures: Iterable[Figures]) -> list[Figures]:
    """Return the figures of the networks that were run, not only estimated."""
    return [row for row in figures if "ratio" in row]


def cycle_rows(
    figures: Iterable[Figures], npus: tuple[str, ...], mode: str = ""
) -> tuple[list[str], list[list[str]]]:
    """Return the table of our cycles and their difference from Vela's; above NEAR it is bold.

    Without `mode`, it is the one for the default memory mode.
    """
    table = []
    for network in figures:
        row = [network["name"]]
        cells = network["cycles_by_mode"][mode] if mode else network["cycles"]
        for npu in npus:
            cell = cells[npu]
            off = cell["ours"] / cell["vela"] - 1
            text = f"{cell['ours']:,} ({off:+.0%})"
            row.append(f"**{text}**" if abs(off) > NEAR else text)
        table.append(row)
    return ["network", *(npu[7:] for npu in npus)], table


def cycles_page(results: Figures) -> str:
    """Return evidence/cycles.md."""
    return f"""# Cycles

Generated by `make bench` on {results["date"]}; do not edit.

In the NPU model, the performance monitor's cycles are estimates from the command stream
(`generator/ethosgen/backend/ethosu/simulator/cycles.py`). For each operation, the estimate takes
the slower of two units, the MACs (with weight decoding) and the output unit, and adds the time to
write the last block to memory. Copies run in parallel with operations until a wait. The table has
the cycles of one inference and, in parentheses, the difference from Vela {VELA}'s estimate for the
same network and NPU. Bold figures differ by more than {NEAR:.0%}.

{table(*cycle_rows(results["npu_model"], NPUS))}

Networks with bold figures contain a TRANSPOSE on the NPU. Ethos-U55 and U65 have no such operation:
Vela emulates it with 1x1 average pools, strip by strip, and most of them use only one channel of a
micro-block. Our estimate counts those pools like any other pool. Vela estimates a TRANSPOSE from
the bytes that it moves, at full bandwidth: "TODO: Measure variable-implementation ops (default
estimation based on memory access)", according to Regor's `ethos_u55_performance.cpp`. So Vela's
figure is the doubtful one. `{TRANSPOSED}` is `{MOBILENET}` with a transposed input.

## Ethos-U85

U85's estimate (`u85/cycles.py` beside it) follows Regor's `ethos_u85_performance.cpp` more closely:
four blocks are in flight, bursts depend on the layout in memory, and a chain of operations is one
pass of the output unit. It knows the memory of each region: from the NPU's registers in firmware,
from the plan in `ethosgen simulate`. In the memory mode `shared_sram`:

{table(*cycle_rows(results["npu_model_u85"], U85_NPUS))}

In `sram_only`:

{table(*cycle_rows(results["npu_model_u85"], U85_NPUS, "sram_only"))}

In `dedicated_sram`, without a limit of the SRAM:

{table(*cycle_rows(results["npu_model_u85"], U85_NPUS, "dedicated_sram"))}

Bold figures: Vela estimates how long weights take to copy before it divides them into parts. For
the convolutions of `kws_dscnn_int8` on U85-1024, the parts have 7,168 bytes, the whole has 4,768.
Our estimate counts the bytes that the stream copies. With Vela's it differs by 2%.

Alone, our operations have Vela's cycles within 2%. These differ, or their combination:

- Vela has no cycles for GATHER and SCATTER_ND; ours count the bytes.
- Vela counts each phase of a transposed convolution as if it computed the whole OFM.
- Vela hides a copy only behind the operation before it. Ours follows the waits in the stream. With
  operations as small as their latencies, both are rough.
- Vela plans elementwise operations with blocks of up to 512 columns; the register takes 128, and
  ours counts these. Few cycles, except with DRAM's latency.
- If Vela divides operations into stripes (a cascade, for lack of SRAM), its total has their latency
  once; ours has it for each stripe, as Vela's scheduler has.

A stream alone, without registers or a plan, does not say which memory a region is in. Then a region
2 means a dedicated SRAM, with region 0 and 1 in DRAM, as Vela has it; else region 0 is in flash.

Neither estimate includes the hardware's cache misses, bank conflicts, or other bus masters.
"""


if __name__ == "__main__":
    measure_it = measure_here if sys.argv[1] == "--one" else measure_cycles
    sys.stdout.write(json.dumps(measure_it(Path(sys.argv[3]), GENERATIONS[sys.argv[2]])))
