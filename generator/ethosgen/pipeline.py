"""The flow, joined: read, offload, compile, render, build, run, compare.

    .tflite ──▶ Model ──▶ OffloadPlan ──▶ Program ──▶ Project ──▶ ELF ──▶ Outcome ──▶ Report

Every function takes a Watch, which times the stages and tells the user where the work is.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ethosgen.accelerator import Accelerator, find_accelerator
from ethosgen.flatbuffer import read_model
from ethosgen.model import Model
from ethosgen.naming import check_name, name_from_file
from ethosgen.outcome import Arrays, Comparison, compare
from ethosgen.plan import IoStyle, OffloadPlan
from ethosgen.program import Program
from ethosgen.report import Report, plan_figures
from ethosgen.samples import load_samples, save_samples
from ethosgen.watch import Watch

DEFAULT_NPU = "ethos-u55-128"
"""What `simulate` assumes where no board says otherwise."""


@dataclass(frozen=True)
class Inputs:
    """Where samples come from: a file, or `count` random ones from `seed`."""

    path: Path | None
    count: int
    seed: int


def read(path: Path, name: str | None, watch: Watch) -> Model:
    """Read a network and give it a name that C accepts."""
    chosen = check_name(name) if name is not None else name_from_file(path.stem)
    with watch.stage("read", f"reading {path.name}"):
        model = read_model(path)
    return Model(chosen, model.data, model.graphs, model.metadata)


def make_plan(model: Model, accelerator: Accelerator, io: IoStyle, watch: Watch) -> OffloadPlan:
    """Let Vela decide what the NPU runs."""
    from ethosgen.offload import offload

    with watch.stage("offload", f"compiling for {accelerator.name} (Vela)"):
        return offload(model, accelerator, io)


def make_program(plan: OffloadPlan, watch: Watch) -> Program:
    """Let TVM compile the rest to C."""
    with watch.stage("aot", "compiling for the CPU (TVM)"):
        from ethosgen.aot import compile_program

        return compile_program(plan, plan.model.name)


def choose_samples(model: Model, inputs: Inputs) -> list[Arrays]:
    """Load the user's samples, or make random ones."""
    from ethosgen.reference import random_samples

    if inputs.path is not None:
        return load_samples(inputs.path, model.inputs)
    return random_samples(model, inputs.count, inputs.seed)


def judge(
    model: Model, samples: Sequence[Arrays], outputs: Sequence[Arrays], watch: Watch
) -> tuple[Comparison, Comparison | None]:
    """Compare outputs with TFLite Micro's, which decide, and with LiteRT's."""
    from ethosgen.reference import golden_outputs, second_opinion

    with watch.stage("reference", "asking TFLite Micro and LiteRT"):
        golden = golden_outputs(model, samples)
        second = second_opinion(model, samples)
    return (
        compare("tflm", list(outputs), golden),
        compare("litert", list(outputs), second) if second is not None else None,
    )


def simulate(
    path: Path,
    *,
    npu: str | None,
    inputs: Inputs,
    output_path: Path | None = None,
    watch: Watch,
) -> Report:
    """Run a network with its partitions on the functional model, in process."""
    accelerator = find_accelerator(npu or DEFAULT_NPU)
    model = read(path, None, watch)
    samples = choose_samples(model, inputs)
    plan = make_plan(model, accelerator, IoStyle.ARENA, watch)
    outputs = _simulate_samples(plan, samples, watch)
    if output_path is not None:
        save_samples(output_path, outputs)
    golden, second = judge(model, samples, outputs, watch)
    return Report(
        **plan_figures(plan),
        board=None,
        on="simulate",
        samples=len(samples),
        golden=golden,
        second=second,
        ended=True,
        wall_s=watch.wall_s,
    )


def _simulate_samples(plan: OffloadPlan, samples: Sequence[Arrays], watch: Watch) -> list[Arrays]:
    from ethosgen.aot import evaluate
    from ethosgen.npu.host import PartitionRunner

    with watch.stage("load", "preparing the NPU model"):
        runner = PartitionRunner(plan)
    outputs = []
    with watch.stage("simulate", "running the NPU model"):
        for index, sample in enumerate(samples):
            watch.say(f"running the NPU model: sample {index + 1} of {len(samples)}")
            outputs.append(evaluate(plan, sample, runner))
    return outputs
