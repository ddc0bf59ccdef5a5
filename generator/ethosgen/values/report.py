"""The answers of `verify` and `simulate`: figures, comparisons and the verdict."""

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ethosgen.values.accelerator import NO_NPU
from ethosgen.values.advice import Improvement
from ethosgen.values.application import ApplicationReport
from ethosgen.values.configurations import SramChoice
from ethosgen.values.coverage import CodeCoverage
from ethosgen.values.fidelity import Fidelity
from ethosgen.values.grammar import counted, steps_text
from ethosgen.values.grounds import grounded
from ethosgen.values.headline import Headline, Latency, Occupancy
from ethosgen.values.outcome import Difference, OutputComparison, StackUse
from ethosgen.values.plan import PlanSummary
from ethosgen.values.profile import Profile
from ethosgen.values.security import SecureSide
from ethosgen.values.time import CpuTime, rounded

_QEMU = "qemu"
"""The target whose clock says nothing about the board's."""


@dataclass(frozen=True)
class Culprit:
    """The first operator whose result differs from the oracle's, after equal ones only.

    `operator` is its index in the network, `output` the tensor that it writes, `on` "npu", "cpu"
    or a user's accelerator. `difference` is in that tensor or another that is live then; None if
    the NPU model stops with `fault`. `unclear` counts the operators right before it that might be
    the cause instead.
    """

    operator: int
    code: str
    output: str
    on: str
    difference: Difference | None
    fault: str = ""
    unclear: int = 0

    def text(self) -> str:
        """Return the operator and its result, for people."""
        of = f" or one of the {self.unclear} before it" if self.unclear else ""
        return (
            f"operator {self.operator}, {self.code} ('{self.output}'){of}, on the "
            f"{self.on.upper() if self.on in ('npu', 'cpu') else self.on}: "
            f"{self.difference.text() if self.difference else self.fault}"
        )

    def as_json(self) -> dict[str, Any]:
        """Return an object of JSON types."""
        return {
            "operator": self.operator,
            "code": self.code,
            "output": self.output,
            "on": self.on,
            "difference": self.difference.as_json() if self.difference else None,
            "fault": self.fault or None,
            "unclear": self.unclear,
        }


@dataclass(frozen=True)
class Diagnosis:
    """Why outputs differ: the operator that the simulator found, or a note why it found none.

    `is_firmware` means that the simulator agrees with the oracle: only the firmware is wrong.
    """

    culprit: Culprit | None
    note: str = ""
    is_firmware: bool = False

    def text(self) -> str:
        """Return the finding, for people."""
        side = "; the simulator is right, so only the firmware differs" if self.is_firmware else ""
        return self.culprit.text() + side if self.culprit else self.note

    def as_json(self) -> dict[str, Any]:
        """Return an object of JSON types."""
        culprit = self.culprit.as_json() if self.culprit else None
        return {"operator": culprit, "only_firmware": self.is_firmware, "note": self.note}


@dataclass(frozen=True)
class Drawn:
    """The random samples: their number by distribution, and the seed.

    `is_short` means that they are fewer than usual, because the network is large.
    """

    seed: int
    distributions: Mapping[str, int]
    is_short: bool = False


@dataclass(frozen=True)
class Report:
    """The answer to "does my network work on this board?"; None for a figure that does not apply.

    `golden` is the comparison with TFLite Micro, or with LiteRT if TFLite Micro cannot run the
    network, and alone decides; it is None for a compiled file, which TFLite Micro cannot
    run without an NPU. `second` is LiteRT's, None if LiteRT cannot run the network or has already
    decided. `ended` means that the firmware's own end marker was seen.
    """

    network: str
    board: str | None
    on: str
    plan: PlanSummary
    samples: int
    golden: OutputComparison | None
    second: OutputComparison | None
    ended: bool
    flash_bytes: Mapping[str, int] | None = None
    ram_bytes: Mapping[str, int] | None = None
    library_bytes: Mapping[str, int] | None = None
    """The model library's own share, driver included: code, constants, static data."""
    cpu_instructions: int | None = None
    cpu_time: CpuTime | None = None
    """The processor's share of an inference, of the samples the largest."""
    init_instructions: int | None = None
    slice_instructions: int | None = None
    """Those of the longest slice of an inference that runs in slices."""
    stack_bytes: int | None = None
    run_stack: StackUse | None = None
    npu_pmu: Mapping[str, int] | None = None
    """The firmware's readings of the NPU's PMU: cycles, and events by Arm's names."""
    model_cycles: int | None = None
    """The NPU model's estimate where no firmware read the PMU."""
    npu_hz: int | None = None
    """The NPU's clock in the board's file; None if it does not say, or there is no NPU."""
    run_ns: Mapping[str, int] | None = None
    """The least, the median and the most nanoseconds of an inference, by the target's own clock."""
    profile: Profile | None = None
    """What each step costs, in the inference with the median cost; None if nobody asked."""
    wall_s: Mapping[str, float] = field(default_factory=dict)
    self_test: bool = False
    """Whether the firmware was built to start only if all self-tests pass."""
    network_bytes: Mapping[str, int] | None = None
    """With several networks in a firmware, the bytes of this one alone."""
    drawn: Drawn | None = None
    """How the samples were drawn; None if the user passed them."""
    fidelity: Fidelity | None = None
    """The comparison with the network's own runtime; it decides only with a limit."""
    stand_in: str | None = None
    """What ran the firmware on QEMU, which lacks the board; None if it was the board itself."""
    secure_side: SecureSide | None = None
    """The secure image of a non-secure firmware; None if the firmware is secure."""
    diagnosis: Diagnosis | None = None
    """Which layer differs, if the golden comparison failed."""
    sram_choice: SramChoice | None = None
    """What a limit of the SRAM chose; None if there was none."""
    application: ApplicationReport | None = None
    """The application's run; None if the firmware has no other."""
    constant: tuple[str, ...] = ()
    """Outputs that were the same for all samples."""
    flash_capacity: int | None = None
    """The bytes of the memories that hold code and constants."""
    ram_capacity: int | None = None
    """The bytes of the memories that hold data, stack and tensors."""
    advice: tuple[Improvement, ...] = ()
    """What would help, the largest gain first."""
    coverage: CodeCoverage | None = None
    """What the samples reach of the generated C; None if nobody asked, or of several networks."""

    @property
    def findings(self) -> dict[str, str]:
        """The findings about the run, a mismatch or the oracle, by a short title, for people."""
        texts = {}
        if self.stand_in:
            texts["stand-in"] = f"{self.stand_in} ran the firmware: QEMU has no {self.board}"
        if self.secure_side:
            texts |= self.secure_side.findings
        if self.self_test and self.ended:
            texts["self-test"] = "passed when the firmware started"
        if self.golden and self.golden.note:
            texts["oracle"] = f"{self.golden.title} {self.golden.version}: {self.golden.note}"
        if self.golden and self.golden.left_out:
            count = counted(self.golden.left_out, "output")
            texts["left out"] = f"{count}: {self.golden.left_out_why}"
        if self.second and self.second.note:
            texts["odd"] = f"{self.second.note}; --oracle chooses who decides"
        if self.constant:
            names = ", ".join(f"'{name}'" for name in self.constant)
            texts["constant"] = (
                f"the same in each of {counted(self.samples, 'sample')}, which proves little: "
                f"{names}; pass inputs that change it with --input"
            )
        if self.golden and self.golden.first:
            texts["first"] = self.golden.first.text()
        if self.diagnosis:
            texts["layer"] = self.diagnosis.text()
        return texts

    @property
    def passed(self) -> bool:
        """True only if every element of every sample was present and equal, or close enough."""
        golden = self.golden
        exact = golden is not None and golden.elements > 0 and golden.mismatches == 0
        near = self.fidelity is None or self.fidelity.passed
        return self.ended and exact and near and _has_passed(self.application)

    @property
    def verdict(self) -> str:
        """PASS, FAIL, or NOT COMPARED for a complete run that has no golden output.

        "PASS within N steps" if the user allows this, and a part of the plan is not exact.
        """
        if self.passed:
            return self._within or "PASS"
        is_open = self.golden is None and (self.fidelity is None or self.fidelity.passed)
        is_open &= self.application is None or self.application.expected is None
        return "NOT COMPARED" if self.ended and is_open else "FAIL"

    @property
    def networks(self) -> tuple["Report", ...]:
        """The reports of single networks, as in a FirmwareReport."""
        return (self,)

    @property
    def headline(self) -> Headline:
        """The summary."""
        return Headline(
            self.verdict,
            self.subject,
            self._compared,
            self._latency,
            _occupancy(self.ram_bytes, self.ram_capacity),
            _occupancy(self.flash_bytes, self.flash_capacity),
            self.advice[0] if self.advice and self.verdict != "FAIL" else None,
        )

    @property
    def subject(self) -> str:
        """The network and the setting: "digits on corstone300 (ethos-u55-128, qemu)"."""
        place = self.board or ("this machine" if self.plan.npu == NO_NPU else "the NPU model")
        return f"{self.network} on {place} ({self.plan.npu}, {self.on})"

    @property
    def _compared(self) -> str:
        """The compared outputs, their reference, and the result, in one sentence."""
        golden, second = self.golden, self.second
        if not self.ended:
            return "the firmware's end marker was never seen"
        if golden is None:
            return "no golden output to compare with"
        of = f"{counted(golden.elements, 'output')} of {counted(self.samples, 'sample')}"
        title = golden.title or golden.oracle
        if golden.mismatches:
            far = f"by at most {golden.max_abs_diff:g}"
            return f"{golden.mismatches:,} of {of} differ from {title}'s, {far}"
        if golden.steps:
            return f"{of} within {steps_text(golden.steps)} of {title}'s"
        if golden.close:
            return f"{of} equal {title}'s, {golden.close:,} within the tolerance"
        is_equal = second is not None and second.elements and not second.skipped
        both = is_equal and second is not None and not second.mismatches and not second.close
        also = f" and {second.title or second.oracle}'s" if both and second else ""
        return f"{of} equal {title}'s{also}"

    @property
    def _latency(self) -> Latency | None:
        """The time of an inference: measured by the target's clock, or from the models' cycles."""
        if self.run_ns and self.on != _QEMU:
            return Latency(self.run_ns["median"] / 1e9, None, is_estimate=False)
        cpu, hz = self.cpu_time, self.npu_hz
        cycles = self.npu_pmu["cycles"] if self.npu_pmu else self.model_cycles
        on_npu = cycles / hz if cycles is not None and hz else None
        if cpu is None or cpu.seconds is None or (self._calls_npu and on_npu is None):
            return None
        return Latency.counted(cpu, on_npu, self.plan.shares, self.plan.hidden_cycles)

    @property
    def _calls_npu(self) -> bool:
        return self.plan.npu != NO_NPU and self.plan.partitions > 0

    @property
    def _within(self) -> str:
        """The verdict of outputs that are near the oracle's, "" if they must be equal."""
        steps = self.golden.steps if self.golden else 0
        return f"PASS within {steps_text(steps)}" if steps else ""

    @property
    def _npu_milliseconds(self) -> float | None:
        """The time of the NPU's cycles at its clock, rounded."""
        if not self.npu_pmu or not self.npu_hz:
            return None
        return rounded(1e3 * self.npu_pmu["cycles"] / self.npu_hz)

    @property
    def _glance(self) -> dict[str, Any]:
        advice = [piece.as_json() for piece in self.advice]
        tested = {"self_test": "passed" if self.ended else None} if self.self_test else {}
        return {"headline": self.headline.as_json(), "advice": advice, **tested}

    @property
    def slice_time(self) -> CpuTime | None:
        """The time of the longest slice, if its instructions take the average time."""
        if not (self.cpu_time and self.cpu_instructions and self.slice_instructions):
            return None
        share = self.slice_instructions / self.cpu_instructions
        return replace(self.cpu_time, cycles=round(share * self.cpu_time.cycles))

    @property
    def _sizes_json(self) -> dict[str, Any]:
        names = "flash_bytes", "ram_bytes", "library_bytes", "network_bytes"
        return {name: dict(getattr(self, name) or {}) or None for name in names}

    def as_json(self) -> dict[str, Any]:
        """Return the report as an object of JSON types."""
        first = self.golden.first if self.golden else None
        return {
            "model": self.network,
            "board": self.board,
            "on": self.on,
            "stand_in": self.stand_in,
            "security": self.secure_side.as_json() if self.secure_side else None,
            "passed": self.passed,
            "samples": self.samples,
            **_drawn_json(self.drawn),
            "verdict": self.verdict,
            **self._glance,
            "oracle": oracle_json(self.golden) if self.golden else None,
            "mismatches": self.golden.mismatches if self.golden else None,
            "max_abs_diff": _finite(self.golden.max_abs_diff) if self.golden else None,
            "first_difference": first.as_json() if first else None,
            "constant_outputs": list(self.constant),
            "diagnosis": self.diagnosis.as_json() if self.diagnosis else None,
            "oracles": {c.oracle: comparison_json(c) for c in (self.golden, self.second) if c},
            "fidelity": self.fidelity.as_json() if self.fidelity else None,
            **self._sizes_json,
            "arena": self.plan.arena.as_json() if self.plan.arena else None,
            "compiler_sram_bytes": self.plan.sram_bytes,
            "cpu_instructions": self.cpu_instructions,
            "cpu_time": self.cpu_time.as_json() if self.cpu_time else None,
            "init_instructions": self.init_instructions,
            "slice_instructions": self.slice_instructions,
            "slice_time": self.slice_time.as_json() if self.slice_time else None,
            "stack_bytes": self.stack_bytes,
            "run_stack": dataclasses.asdict(self.run_stack) if self.run_stack else None,
            "npu_pmu": dict(self.npu_pmu) if self.npu_pmu else None,
            "npu_milliseconds": self._npu_milliseconds,
            "run_ns": dict(self.run_ns) if self.run_ns else None,
            "profile": self.profile.as_json() if self.profile else None,
            "coverage": self.coverage.as_json() if self.coverage else None,
            **_application_json(self.application),
            "npu_cycles_estimate": self.plan.npu_cycles,
            "npu": {
                "name": self.plan.npu,
                "partitions": self.plan.partitions,
                "cpu_operators": len(self.plan.cpu_operators),
                "npu_operators": self.plan.npu_operators,
            },
            "accelerators": [dataclasses.asdict(share) for share in self.plan.shares],
            "operators": [dataclasses.asdict(placing) for placing in self.plan.placings],
            "check": dataclasses.asdict(self.plan.check) if self.plan.check else None,
            "choices": [dataclasses.asdict(choice) for choice in self.plan.choices],
            "sram_choice": self.sram_choice.as_json() if self.sram_choice else None,
            "fused": list(self.plan.fused),
            "overlapped": list(self.plan.overlapped),
            "decompressed": dict(self.plan.decompressed) if self.plan.decompressed else None,
            "optimization": (done := self.plan.optimization) and dataclasses.asdict(done),
            "cpu_operators": [
                {"operator": c.code, "output": c.output, **grounded(c.reason, c.erratum)}
                for c in self.plan.cpu_operators
            ],
            "wall_s": {name: round(seconds, 3) for name, seconds in self.wall_s.items()},
        }


@dataclass(frozen=True)
class FirmwareReport:
    """The answer for a firmware of several networks: a Report of each, and the firmware's sizes.

    `shared_bytes` is the memory that the networks share: the library's code, constants and data
    apart from their own, and the arena.
    """

    reports: tuple[Report, ...]
    flash_bytes: Mapping[str, int]
    ram_bytes: Mapping[str, int]
    library_bytes: Mapping[str, int]
    shared_bytes: Mapping[str, int]
    wall_s: Mapping[str, float] = field(default_factory=dict)
    application: ApplicationReport | None = None
    """The application's run; None if the firmware has no other."""
    flash_capacity: int | None = None
    ram_capacity: int | None = None
    """As a Report's."""
    coverage: CodeCoverage | None = None
    """What the samples of all networks reach of the generated C; None if nobody asked."""

    @property
    def networks(self) -> tuple[Report, ...]:
        """The reports of single networks."""
        return self.reports

    @property
    def headline(self) -> Headline:
        """The summary for the whole firmware."""
        first, count = self.reports[0], counted(len(self.reports), "network")
        return Headline(
            self.verdict,
            f"{count} in one firmware on {first.board} ({first.plan.npu}, {first.on})",
            ram=_occupancy(self.ram_bytes, self.ram_capacity),
            flash=_occupancy(self.flash_bytes, self.flash_capacity),
        )

    @property
    def passed(self) -> bool:
        """True only if every network passed, and the application."""
        networks = bool(self.reports) and all(report.passed for report in self.reports)
        return networks and _has_passed(self.application)

    @property
    def verdict(self) -> str:
        """PASS, FAIL if any network fails, or NOT COMPARED; the widest "PASS within N steps"."""
        if self.passed:
            steps = [report.golden.steps if report.golden else 0 for report in self.reports]
            return self.reports[steps.index(max(steps))].verdict
        verdicts = {report.verdict for report in self.reports}
        if self.application is not None:
            verdicts.add(self.application.verdict)
        return "NOT COMPARED" if "FAIL" not in verdicts and verdicts else "FAIL"

    def as_json(self) -> dict[str, Any]:
        """Return the report as an object of JSON types; "samples" counts each network's."""
        first = self.reports[0]
        counts = [report.golden.mismatches for report in self.reports if report.golden]
        return {
            "board": first.board,
            "on": first.on,
            "passed": self.passed,
            "verdict": self.verdict,
            "headline": self.headline.as_json(),
            "samples": max(report.samples for report in self.reports),
            "mismatches": sum(counts) if len(counts) == len(self.reports) else None,
            "flash_bytes": dict(self.flash_bytes),
            "ram_bytes": dict(self.ram_bytes),
            "library_bytes": dict(self.library_bytes),
            "shared_bytes": dict(self.shared_bytes),
            "networks": [report.as_json() for report in self.reports],
            "coverage": self.coverage.as_json() if self.coverage else None,
            **_application_json(self.application),
            "wall_s": {name: round(seconds, 3) for name, seconds in self.wall_s.items()},
        }


def _drawn_json(drawn: Drawn | None) -> dict[str, Any]:
    shares = dict(drawn.distributions) if drawn else None
    return {"seed": drawn.seed if drawn else None, "distributions": shares}


def _occupancy(used: Mapping[str, int] | None, capacity: int | None) -> Occupancy | None:
    return Occupancy(used["total"], capacity) if used and "total" in used else None


def _has_passed(application: ApplicationReport | None) -> bool:
    return application is None or application.passed


def _application_json(application: ApplicationReport | None) -> dict[str, Any]:
    return {"application": application.as_json()} if application else {}


def oracle_json(decided: OutputComparison) -> dict[str, str | None]:
    """Return the oracle that decided as an object of JSON types."""
    return {
        "name": decided.oracle,
        "version": decided.version or None,
        "note": decided.note or None,
    }


def comparison_json(comparison: OutputComparison) -> dict[str, Any]:
    """Return a comparison as an object of JSON types."""
    if comparison.skipped:
        return {"skipped": comparison.skipped}
    return {
        "mismatches": comparison.mismatches,
        "close": comparison.close,
        "allowed_steps": comparison.steps,
        "elements": comparison.elements,
        "max_abs_diff": _finite(comparison.max_abs_diff),
        "left_out": comparison.left_out,
        "left_out_why": comparison.left_out_why or None,
    }


def _finite(value: float) -> float | int | None:
    """Return a difference; null if it is infinite, which JSON cannot express."""
    if not math.isfinite(value):
        return None
    return int(value) if value == int(value) else value
