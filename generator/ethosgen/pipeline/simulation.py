"""A network on this machine: its partitions on the functional model of the NPU."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ethosgen.accelerator import require_model
from ethosgen.outcome import Arrays
from ethosgen.pipeline.judgement import Inputs, choose_samples, judge
from ethosgen.pipeline.planning import choose_accelerator, make_plan, read
from ethosgen.plan import IoStyle, OffloadPlan, Partition
from ethosgen.report import Report
from ethosgen.samples import save_samples
from ethosgen.watch import Watch

if TYPE_CHECKING:
    from ethosgen.npu.trace import Trace


def simulate(
    path: Path,
    *,
    npu: str | None,
    inputs: Inputs,
    output_path: Path | None = None,
    cpu_ops: Sequence[str] = (),
    offload: str = "all",
    original: Path | None = None,
    trace: "Trace | None" = None,
    watch: Watch,
) -> Report:
    """Run a network with its partitions on the functional model, in process.

    `trace` is told of every operation of the NPU.
    """
    model = read(path, None, watch)
    accelerator = choose_accelerator(model, npu, None)
    if accelerator is not None:
        require_model(accelerator)
    samples = choose_samples(model, inputs)
    plan = make_plan(model, accelerator, IoStyle.ARENA, watch, cpu_ops, mode=offload)
    outputs = _simulate_samples(plan, samples, trace, watch)
    if output_path is not None:
        save_samples(output_path, outputs)
    golden, second = judge(model, samples, outputs, watch, original)
    return Report(
        model=model.name,
        board=None,
        on="simulate",
        plan=plan.summary(),
        samples=len(samples),
        drawn=inputs.drawn(),
        golden=golden,
        second=second,
        ended=True,
        wall_s=watch.wall_s,
    )


def _simulate_samples(
    plan: OffloadPlan, samples: Sequence[Arrays], trace: "Trace | None", watch: Watch
) -> list[Arrays]:
    from ethosgen.aot import evaluate
    from ethosgen.npu.host import PartitionRunner

    what = "running the NPU model" if plan.accelerator else "running on this machine"
    with watch.stage("load", "preparing the NPU model"):
        runner = PartitionRunner(plan, trace) if plan.accelerator else _no_npu
    outputs = []
    with watch.stage("simulate", what):
        for index, sample in enumerate(samples):
            watch.say(f"{what}: sample {index + 1} of {len(samples)}")
            if trace is not None:
                trace.begin_sample()
            outputs.append(evaluate(plan, sample, runner))
    if trace is not None:
        trace.check_dumps()
    return outputs


def _no_npu(partition: Partition, _inputs: Arrays) -> Arrays:
    raise ValueError(f"{partition.name} in a plan without an NPU")
