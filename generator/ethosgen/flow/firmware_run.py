"""Runs the networks of a firmware in turn, and judges each one's outputs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ethosgen.flow.coverage import measure_coverage
from ethosgen.flow.cpu_time import counting, cpu_time
from ethosgen.flow.models import devices_of, simulator_for
from ethosgen.flow.planning import make_plan, stored_settings
from ethosgen.flow.profiling import median, with_operations
from ethosgen.platforms import find_platform
from ethosgen.samples.files import save_samples
from ethosgen.values.grammar import counted
from ethosgen.values.network import Network
from ethosgen.values.outcome import Arrays, Outcome, Sample, constant_outputs
from ethosgen.values.profile import NPU, Profile
from ethosgen.values.report import FirmwareReport, Report
from ethosgen.values.security import SecureSide
from ethosgen.values.watch import Watch
from ethosgen.verdict.bisection import Attempt, diagnose
from ethosgen.verdict.fidelity import measure_fidelity, require_runtime
from ethosgen.verdict.judgement import USUAL, Criteria, Inputs, choose_samples, judge, with_examples
from ethosgen.verdict.trial import Make

if TYPE_CHECKING:
    from ethosgen.board import Board
    from ethosgen.cycles.inference import InferenceCounter
    from ethosgen.project.info import ProjectInfo
    from ethosgen.targets import Line
    from ethosgen.toolchain import Built


@dataclass(frozen=True)
class RunOptions:
    """The samples of a run, the file for their outputs, and the outputs' references.

    `line` connects to a board or a computer. With `profile` reports have the costs of steps, with
    `coverage` the part of the generated C that the samples reach. With `self_test` the firmware was
    built to start only if all self-tests pass.
    """

    inputs: Inputs
    criteria: Criteria = USUAL
    output_path: Path | None = None
    line: "Line | None" = None
    profile: bool = False
    coverage: bool = False
    self_test: bool = False


def run_and_judge(
    networks: Mapping[int, Network],
    info: "ProjectInfo",
    built: "Built",
    options: RunOptions,
    watch: Watch,
    on_target: Attempt | None = None,
) -> Report | FirmwareReport:
    """Run samples of networks, one of each in turn so that faults show, and compare all outputs.

    `networks` has the networks by their index in the project. Returns a Report for one, a
    FirmwareReport for several. The criteria's oracle overrides the project's; `on_target` tries a
    part of a network as firmware.
    """
    require_runtime(networks.values(), options.criteria)
    examples = (options.inputs, options.criteria)
    asked = {index: with_examples(network, *examples) for index, network in networks.items()}
    samples = {i: choose_samples(network, asked[i][0]) for i, network in networks.items()}
    jobs = _interleave(samples)
    with counting(info, built) as counter:
        outcome = _run(jobs, info, built, options, watch, counter)
    covered = measure_coverage(jobs, outcome, info, built.on, watch) if options.coverage else None
    done = {index: _of(index, jobs, outcome.samples) for index in networks}
    if options.output_path is not None:
        save_samples(options.output_path, [sample.outputs for sample in done[next(iter(networks))]])
    reports = []
    for index, network in networks.items():
        results, fed, (inputs, criteria) = done[index], samples[index], asked[index]
        outputs = [sample.outputs for sample in results]
        oracle = criteria.oracle or info.networks[index].options.oracle
        wanted = replace(criteria, oracle=oracle, steps=info.networks[index].summary.steps)
        make = _planner(info, index)
        golden, second = judge(network, fed, outputs, watch, wanted)
        reports.append(
            Report(
                **_counters(results),
                npu_hz=info.board.npu.clock_hz if info.board.npu else None,
                cpu_time=cpu_time(results, counter, info, index),
                **_sizes(info, built, index, len(networks) == 1),
                network=info.names[index],
                plan=info.networks[index].summary,
                board=info.board.name,
                on=built.on,
                stand_in=_stand_in(info.board) if built.on == "qemu" else None,
                secure_side=_secure_side(info, built),
                samples=len(results),
                drawn=inputs.drawn(network, len(results)),
                golden=golden,
                second=second,
                fidelity=measure_fidelity(network, fed, outputs, criteria, watch),
                ended=outcome.ended,
                constant=constant_outputs(fed, outputs),
                wall_s=watch.wall_s if len(networks) == 1 else {},
                profile=_profile(network, results, make),
                self_test=options.self_test,
                diagnosis=diagnose(network, fed, golden, make, watch, on_target),
                advice=info.networks[index].advice,
            )
        )
    return replace(_whole(reports, info, built, watch), coverage=covered)


def _whole(
    reports: Sequence[Report], info: "ProjectInfo", built: "Built", watch: Watch
) -> Report | FirmwareReport:
    """Return the only report, or a joint one with the firmware's sizes."""
    if len(reports) == 1:
        return reports[0]
    flash_room, ram_room = _room(info)
    return FirmwareReport(
        flash_capacity=flash_room,
        ram_capacity=ram_room,
        reports=tuple(reports),
        flash_bytes=built.sizes.flash,
        ram_bytes=built.sizes.ram,
        library_bytes=built.sizes.library,
        shared_bytes=_shared(built),
        wall_s=watch.wall_s,
    )


def _stand_in(board: "Board") -> str | None:
    """Name the board that stands in on QEMU, and its processor."""
    emulated = board.on_qemu
    if emulated is None or emulated is board:
        return None
    return f"the {emulated.cpu.core} of {emulated.name}"


def _secure_side(info: "ProjectInfo", built: "Built") -> SecureSide | None:
    """Return the evidence of a non-secure run, which fails without it; None for a secure run."""
    from ethosgen.targets import expected_evidence, secure_image
    from ethosgen.toolchain import measure_elf

    if not info.board.is_non_secure:
        return None
    sizes = measure_elf(secure_image(built.elf))
    confirmed = tuple(expected_evidence(info).values())
    return SecureSide(confirmed, sizes.flash["total"], sizes.ram["total"])


def _planner(info: "ProjectInfo", index: int) -> Make:
    """Return a function that plans a network with the project's options."""
    settings = stored_settings(info, index).unchecked()
    return lambda network: make_plan(network, settings, Watch())


def _run(
    jobs: Sequence[tuple[int, Arrays]],
    info: "ProjectInfo",
    built: "Built",
    options: RunOptions,
    watch: Watch,
    counter: "InferenceCounter | None",
) -> Outcome:
    from ethosgen.targets import run

    known = replace(info, devices=devices_of(info, built.on))
    with watch.phase("run", f"running on {built.on}"):
        return run(
            built.elf,
            known,
            [sample for _, sample in jobs],
            order=[index for index, _ in jobs],
            on=built.on,
            attach=simulator_for(info, built.on),
            line=options.line,
            progress=_report_samples(watch, built.on),
            profile=options.profile,
            counter=counter,
        )


def run_samples(
    samples: Sequence[Arrays],
    info: "ProjectInfo",
    built: "Built",
    options: RunOptions,
    watch: Watch,
) -> Outcome:
    """Run samples of a firmware's only network."""
    return _run([(0, sample) for sample in samples], info, built, options, watch, None)


def _profile(network: Network, results: Sequence[Sample], make: Make) -> Profile | None:
    """Return the median inference's profile, with the operations of the NPU."""
    profile = median(results)
    if profile is None or all(cost.step.on != NPU for cost in profile.steps):
        return profile
    return with_operations(profile, make(network))


def _interleave(samples: Mapping[int, Sequence[Arrays]]) -> list[tuple[int, Arrays]]:
    """Return all first samples, all second samples, …, to reveal corruption of another's memory."""
    rounds = zip_longest(*samples.values())
    return [
        (index, sample)
        for each in rounds
        for index, sample in zip(samples, each, strict=True)
        if sample is not None
    ]


def _of(index: int, jobs: Sequence[tuple[int, Arrays]], samples: Sequence[Sample]) -> list[Sample]:
    return [sample for (i, _), sample in zip(jobs, samples, strict=True) if i == index]


def _sizes(info: "ProjectInfo", built: "Built", index: int, is_alone: bool) -> dict[str, Any]:
    """Return a report's sizes: the network's own, and the firmware's if it is the only network."""
    network = info.networks[index]
    share = None
    if len(info.networks) > 1:
        share = {
            **built.sizes.networks.get(network.name, {}),
            "command_streams": network.parts["commands"],
            "weights": network.parts["weights"],
            "arena": network.parts["arena"],
        }
    if not is_alone:
        return {"network_bytes": share}
    flash_room, ram_room = _room(info)
    return {
        "network_bytes": share,
        "flash_bytes": built.sizes.flash,
        "ram_bytes": built.sizes.ram,
        "library_bytes": built.sizes.library,
        "flash_capacity": flash_room,
        "ram_capacity": ram_room,
    }


def _room(info: "ProjectInfo") -> tuple[int | None, int | None]:
    """Return the bytes of the board's memories of constants and of data; None on Linux."""
    from ethosgen.project import room_bytes

    if find_platform(info.platform).is_alone:
        return None, None
    return room_bytes(info.board, info.memory_mode)


def _shared(built: "Built") -> dict[str, int]:
    """Return the sizes that the networks share: the driver and the arena."""
    own = built.sizes.networks.values()
    code = {kind: all_ - sum(o[kind] for o in own) for kind, all_ in built.sizes.library.items()}
    return {**code, "arena": built.sizes.ram.get("arena", 0)}


def _counters(samples: Sequence[Sample]) -> dict[str, Any]:
    """Return each counter's worst value over the samples."""

    def worst(values: list[int | None]) -> int | None:
        return max((v for v in values if v is not None), default=None)

    return {
        "cpu_instructions": worst([s.cpu_instructions for s in samples]),
        "init_instructions": worst([s.init_instructions for s in samples]),
        "slice_instructions": worst([s.slice_instructions for s in samples]),
        "stack_bytes": worst([s.stack_bytes for s in samples]),
        "run_stack": max(
            (s.run_stack for s in samples if s.run_stack), key=lambda use: use.used, default=None
        ),
        "npu_pmu": _largest([s.npu_pmu for s in samples if s.npu_pmu]),
        "run_ns": _spread([s.run_ns for s in samples if s.run_ns is not None]),
    }


def _largest(figures: Sequence[Mapping[str, int]]) -> dict[str, int] | None:
    """Return the maximum of each figure; samples lack some, since networks run in turn."""
    names = dict.fromkeys(name for counters in figures for name in counters)
    return {name: max(counters.get(name, 0) for counters in figures) for name in names} or None


def _spread(times_ns: Sequence[int]) -> dict[str, int] | None:
    """Return the minimum, the median and the maximum."""
    if not times_ns:
        return None
    ordered = sorted(times_ns)
    return {"least": ordered[0], "median": ordered[len(ordered) // 2], "most": ordered[-1]}


def _report_samples(watch: Watch, on: str) -> Callable[[int, int], None]:
    def report(done: int, count: int) -> None:
        watch.say(f"running on {on}: {done} of {counted(count, 'sample')}")

    return report
