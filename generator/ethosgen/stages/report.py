"""The answer of a pipeline's run: outputs compared, and each element's cycles."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ethosgen.stages.timing import PipelineTiming
from ethosgen.values.fidelity import Fidelity
from ethosgen.values.outcome import Difference, OutputComparison
from ethosgen.values.plan import PlanSummary
from ethosgen.values.report import comparison_json, oracle_json


@dataclass(frozen=True)
class ElementFigures:
    """The average cycles of an element for one sample, by its own clock.

    `cpu` is its network's work on the processor, `npu` on the NPU; `receive` and `send` are the
    processor's work on frames, interrupts included. `wire` is the time of frames on the outgoing
    links, by their bandwidth. One of `replicas` runs only its share of the samples.
    """

    name: str
    board: str
    clock_hz: int
    estimated: int
    cpu: int
    npu: int
    receive: int
    send: int
    wire: int
    sent_bytes: int
    stack_bytes: int
    replicas: int = 1

    @property
    def cycles(self) -> int:
        """All cycles for one sample."""
        return self.cpu + self.npu + self.receive + max(self.send, self.wire)


@dataclass(frozen=True)
class Suspect:
    """The element that answered wrongly, and its first wrong tensor.

    `element` is None if none did in a second run, as `note` says.
    """

    element: str | None
    difference: Difference | None = None
    note: str = ""

    def text(self) -> str:
        """Return the finding, for people."""
        if self.element is None or self.difference is None:
            return self.note
        return f"element '{self.element}' is the first that is wrong: {self.difference.text()}"

    def as_json(self) -> dict[str, Any]:
        """Return an object of JSON types."""
        difference = self.difference.as_json() if self.difference else None
        return {"element": self.element, "difference": difference, "note": self.note}


@dataclass(frozen=True)
class PipelineReport:
    """A pipeline's run: the verdict is the whole network's, as on one element.

    `plans` are the elements'. `alone` are the cycles of the whole network on the first element,
    None for the reason `why_not_alone`. `suspect` is set if outputs differ from the golden ones.
    """

    network: str
    link: str
    samples: int
    elements: tuple[ElementFigures, ...]
    schedule: PipelineTiming
    golden: OutputComparison | None
    second: OutputComparison | None
    plans: tuple[PlanSummary, ...]
    alone: int | None
    why_not_alone: str = ""
    is_alone_equal: bool = True
    seed: int | None = None
    fidelity: Fidelity | None = None
    suspect: Suspect | None = None
    wall_s: Mapping[str, float] = field(default_factory=dict)
    ended: bool = True
    """Each element's end marker was seen: there is no report otherwise."""

    @property
    def findings(self) -> dict[str, str]:
        """The findings about a mismatch, by a short title, for people."""
        texts = {}
        if self.golden and self.golden.note:
            texts["oracle"] = f"{self.golden.title} {self.golden.version}: {self.golden.note}"
        if self.golden and self.golden.first:
            texts["first"] = self.golden.first.text()
        if self.suspect:
            texts["element"] = self.suspect.text()
        return texts

    @property
    def clock_hz(self) -> int:
        """The clock of the figures of the whole pipeline: the first element's."""
        return self.elements[0].clock_hz

    @property
    def interval(self) -> int:
        """Cycles between two outputs of the full pipeline."""
        return round(self.schedule.interval * self.clock_hz)

    @property
    def latency(self) -> int:
        """Cycles of a sample through the empty pipeline."""
        return round(self.schedule.latency * self.clock_hz)

    @property
    def full_latency(self) -> int:
        """Cycles of a sample through the full pipeline."""
        return round(self.schedule.full_latency * self.clock_hz)

    @property
    def slowest(self) -> ElementFigures:
        """The element that limits the throughput."""
        return max(self.elements, key=lambda each: each.cycles / each.clock_hz / each.replicas)

    @property
    def passed(self) -> bool:
        """True only if every element of every sample was present and equal, or close enough."""
        golden = self.golden
        exact = golden is not None and golden.elements > 0 and golden.mismatches == 0
        return exact and self.is_alone_equal and self._is_near

    @property
    def verdict(self) -> str:
        """PASS, FAIL, or NOT COMPARED for a run that has no golden output."""
        if self.passed:
            return "PASS"
        is_open = self.golden is None and self.is_alone_equal and self._is_near
        return "NOT COMPARED" if is_open else "FAIL"

    @property
    def _is_near(self) -> bool:
        """Return whether outputs are near enough to those of the network's own runtime."""
        return self.fidelity is None or self.fidelity.passed

    def as_json(self) -> dict[str, Any]:
        """Return the report as an object of JSON types."""
        golden = self.golden
        return {
            "model": self.network,
            "link": self.link,
            "passed": self.passed,
            "verdict": self.verdict,
            "samples": self.samples,
            "seed": self.seed,
            "oracle": oracle_json(golden) if golden else None,
            "mismatches": golden.mismatches if golden else None,
            "first_difference": golden.first.as_json() if golden and golden.first else None,
            "diagnosis": self.suspect.as_json() if self.suspect else None,
            "fidelity": self.fidelity.as_json() if self.fidelity else None,
            "oracles": {c.oracle: comparison_json(c) for c in (golden, self.second) if c},
            "clock_hz": self.clock_hz,
            "interval_cycles": self.interval,
            "latency_cycles": self.latency,
            "full_latency_cycles": self.full_latency,
            "slowest": self.slowest.name,
            "elements": [
                {**asdict(element), "cycles": element.cycles, "plan": plan_json(plan)}
                for element, plan in zip(self.elements, self.plans, strict=True)
            ],
            "one_element_cycles": self.alone,
            "why_not_one_element": self.why_not_alone or None,
            "wall_s": {name: round(seconds, 3) for name, seconds in self.wall_s.items()},
        }


def plan_json(plan: PlanSummary) -> dict[str, Any]:
    """Return an element's plan as an object of JSON types: who runs what, and each offer."""
    return {
        "npu": plan.npu,
        "npu_operators": plan.npu_operators,
        "partitions": plan.partitions,
        "cpu_operators": len(plan.cpu_operators),
        "accelerators": [asdict(share) for share in plan.shares],
        "operators": [asdict(placing) for placing in plan.placings],
    }
