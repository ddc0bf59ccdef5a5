"""Names the element of a pipeline, or the line, that is to blame for a fault."""

from collections.abc import Mapping, Sequence

from ethosgen.targets.session import ElementReport
from ethosgen.targets.wires import (
    DamagedFrameError,
    ForeignFrameError,
    LostFrameError,
    ReceivedFrame,
)
from ethosgen.values.wiring import HOST, Wiring

DAMAGED, LOST, OVERRUN, CREDIT, FOREIGN = 0x101, 0x102, 0x103, 0x104, 0x105
"""Statuses of frames: see ethosgen_handover.h."""


class Blame:
    """The words for faults of the elements `names`, which `wiring` joins."""

    def __init__(self, names: Sequence[str], wiring: Wiring) -> None:
        self._names = names
        self._wiring = wiring

    def line(self, number: int) -> str:
        """Return the place of a line."""
        line = self._wiring.lines[number]
        if line.receiver == HOST:
            return f"behind element '{self._names[line.sender]}'"
        other = self._among(self._wiring.before(line.receiver), line.sender)
        return f"before element '{self._names[line.receiver]}'{other}"

    def end_fault(
        self, sender: int, error: LostFrameError | DamagedFrameError | ForeignFrameError
    ) -> str:
        """Return the words for an element's frame that the host refuses."""
        name = self._names[sender]
        if isinstance(error, ForeignFrameError):
            return foreign_text(name)
        who = f"element '{name}', or its line to the host,"
        if isinstance(error, LostFrameError):
            return f"{who} dropped frame {error.number}: frame {error.got} arrived instead"
        return f"{who} damaged frame {error.number}"

    def frame_fault(self, frame: ReceivedFrame, own_word: int) -> str | None:
        """Return the words for a frame's status, None for one of a network.

        `own_word` is what an element of this pipeline reports with another one's frame.
        """
        if frame.origin >= len(self._names):
            return None
        name, sequence = self._names[frame.origin], frame.sequence
        if frame.status == CREDIT:
            line = self._wiring.lines[self._wiring.behind(frame.origin)[frame.line]]
            return (
                f"{self._element(line.receiver)} released to '{name}' the buffer of another frame"
            )
        lines = self._wiring.before(frame.origin)
        sender = self._wiring.lines[lines[frame.line]].sender if frame.line < len(lines) else HOST
        before = self._source(sender) + ("" if sender == HOST else ", or the line behind it,")
        if frame.status == FOREIGN:
            is_before = sender != HOST and frame.detail == own_word
            return foreign_text(self._names[sender] if is_before else name)
        return {
            DAMAGED: f"{before} damaged frame {sequence}: its CRC or header is wrong at '{name}'",
            LOST: f"{before} dropped frame {sequence}: frame {frame.detail} arrived at '{name}' "
            "instead",
            OVERRUN: f"{before} sent more frames than '{name}' has buffers for",
        }.get(frame.status)

    def stall(self, reports: Sequence[ElementReport], collected: Mapping[int, int]) -> str:
        """Name the element at which a frame stopped, from counts of frames.

        `collected` are the frames that the host has received, by line. An element that waits for
        room delays all before it, so the last one that stopped counts.
        """
        for element in reversed(range(len(reports))):
            for line in self._wiring.behind(element):
                sent = self._wiring.frames(line, element, reports[element].sent)
                arrived = self._arrived(line, reports, collected)
                if arrived is not None and arrived < sent:
                    place = self._place(line)
                    name = self._names[element]
                    return f"element '{name}' dropped frame {arrived}: it did not arrive {place}"
            report = reports[element]
            if report.sent < report.received and not self._is_held_up(element, reports):
                ends = [self._wiring.lines[line].receiver for line in self._wiring.behind(element)]
                behind = " or ".join(self._element(end) for end in ends)
                return (
                    f"element '{self._names[element]}' received frame {report.sent} and has not "
                    f"handed it on, or {behind} has not given back the room for it"
                )
        return self._host_stall(reports, collected)

    def _host_stall(self, reports: Sequence[ElementReport], collected: Mapping[int, int]) -> str:
        lines = self._wiring.behind(HOST)
        counts = {line: self._arrived(line, reports, collected) for line in lines}
        line, count = min(
            ((line, count) for line, count in counts.items() if count is not None),
            key=lambda each: each[1],
            default=(lines[0], 0),
        )
        return (
            f"the line from the host dropped frame {count}: it did not arrive {self._place(line)}"
        )

    def _arrived(
        self, line: int, reports: Sequence[ElementReport], collected: Mapping[int, int]
    ) -> int | None:
        """Return the number of frames that have arrived, None if more may wait at the receiver."""
        receiver = self._wiring.lines[line].receiver
        if receiver == HOST:
            return collected[line]
        if self._is_waiting(line, reports[receiver]):
            return None
        return self._wiring.frames(line, receiver, reports[receiver].received)

    def _is_waiting(self, line: int, report: ElementReport) -> bool:
        """Return whether a frame waits at a line's receiver for those of other lines."""
        facts = self._wiring.lines[line]
        edges = self._wiring.edges_before(self._wiring.elements[facts.receiver][0])
        return bool(report.waiting >> edges.index(facts.edge) & 1)

    def _is_held_up(self, element: int, reports: Sequence[ElementReport]) -> bool:
        """Return whether an element waits for room at one that waits for another's frame."""
        ends = [(n, self._wiring.lines[n].receiver) for n in self._wiring.behind(element)]
        return any(
            end != HOST
            and reports[end].received == reports[end].sent
            and self._is_waiting(n, reports[end])
            for n, end in ends
        )

    def _place(self, line: int) -> str:
        receiver = self._wiring.lines[line].receiver
        return "at the host" if receiver == HOST else f"at '{self._names[receiver]}' whole"

    def _source(self, sender: int) -> str:
        return "the line from the host" if sender == HOST else f"element '{self._names[sender]}'"

    def _element(self, number: int) -> str:
        return "the host" if number == HOST else f"element '{self._names[number]}'"

    def _among(self, lines: Sequence[int], end: int) -> str:
        return f" from {self._element(end)}" if len(lines) > 1 else ""


def foreign_text(name: str) -> str:
    """Return the words for an element of another pipeline."""
    return (
        f"element '{name}' was built from another network than this pipeline, or for other cuts; "
        "generate the pipeline again, and build it"
    )
