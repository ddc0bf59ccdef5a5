"""Fidelity: the distance of a firmware's outputs from those of the network's own runtime.

It is not exactness. A runtime that computes a quantized network in float may round differently, so
outputs may sometimes differ by a step; a step is the distance between two values that the output
can have.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ethosgen.values.grammar import counted
from ethosgen.values.network import Network
from ethosgen.values.outcome import Arrays

Array = np.ndarray[Any, Any]

LEAD = 2.0
"""The lead of the largest output in steps above which both must have the same largest output."""
_LEVELS = 255
"""Steps in the range of a float output that has no quantization of its own: those of 8 bits."""


@dataclass(frozen=True)
class Fidelity:
    """The comparison with a network's own runtime; `title` and `version` are the runtime's.

    `equal` elements differ by less than half a step, `by_one` by less than one and a half;
    `most_steps` is the largest difference. `same_largest` counts rows (of the last axis) of samples
    with the same largest element in both, `close_largest` others in which the runtime's lead is at
    most LEAD steps. `limit` is the user's, in steps. `skipped` tells why nothing was compared.
    """

    title: str
    version: str = ""
    elements: int = 0
    equal: int = 0
    by_one: int = 0
    most_steps: float = 0.0
    rows: int = 0
    same_largest: int = 0
    close_largest: int = 0
    limit: float | None = None
    skipped: str = ""

    @property
    def passed(self) -> bool:
        """Whether the differences are within the user's limit; true without one."""
        if self.limit is None:
            return True
        return self.elements > 0 and self.most_steps < self.limit + 0.5

    def text(self) -> str:
        """Return the figures, for people."""
        if self.skipped:
            return f"not compared with {self.title}: {self.skipped}"
        others = self.elements - self.equal - self.by_one
        who = f"{self.title} {self.version}".strip()
        words = [f"{self.equal:,} of {counted(self.elements, 'output')} equal {who}'s"]
        if self.by_one:
            words.append(f"{self.by_one} differ by one step")
        if others:
            words.append(f"{others} by more, the largest by {self.most_steps:.1f}")
        if self.rows:
            words.append(f"same largest output in {self.same_largest:,} of {self.rows:,}")
        if self.close_largest:
            words.append(f"its lead, in steps, is at most {LEAD:g} in {self.close_largest}")
        if not self.passed:
            words.append(f"the limit is {self.limit:g}")
        return ", ".join(words)

    def as_json(self) -> dict[str, Any]:
        """Return an object of JSON types."""
        return asdict(self) | {"passed": self.passed}


def compare_fidelity(
    network: Network,
    ours: Sequence[Arrays],
    theirs: Sequence[Arrays],
    title: str,
    version: str,
    limit: float | None,
) -> Fidelity:
    """Compare outputs with a runtime's, by name; a missing output is an infinite difference."""
    steps_of = {t.name: _step(network, t.name, theirs) for t in network.outputs}
    differences, rows, same, close = [], 0, 0, 0
    for mine, golden in zip(ours, theirs, strict=True):
        for name, step in steps_of.items():
            want, have = golden.get(name), mine.get(name)
            if want is None or have is None or want.shape != have.shape:
                differences.append(np.array([np.inf]))
                continue
            differences.append(_steps(have, want, step))
            agree = _largest(have, want, step)
            rows, same, close = rows + agree[0], same + agree[1], close + agree[2]
    steps = np.concatenate(differences) if differences else np.zeros(0)
    return Fidelity(
        title,
        version,
        elements=steps.size,
        equal=int(np.sum(steps < 0.5)),
        by_one=int(np.sum((steps >= 0.5) & (steps < 1.5))),
        most_steps=float(np.max(steps, initial=0.0)),
        rows=rows,
        same_largest=same,
        close_largest=close,
        limit=limit,
    )


def _steps(have: Array, want: Array, step: float) -> Array:
    """Return each element's difference in steps; NaN equals NaN and equal infinities are equal."""
    ours, golden = have.astype(np.float64).ravel(), want.astype(np.float64).ravel()
    alike = (ours == golden) | (np.isnan(ours) & np.isnan(golden))
    with np.errstate(invalid="ignore"):
        steps = np.where(alike, 0.0, np.abs(ours - golden) / step)
    return np.asarray(np.where(np.isnan(steps), np.inf, steps))


def _largest(have: Array, want: Array, step: float) -> tuple[int, int, int]:
    """Return the number of rows, of those with the same largest element, and of close ones."""
    if have.ndim == 0 or have.shape[-1] < 2 or have.dtype == np.bool_:
        return 0, 0, 0
    ours = have.reshape(-1, have.shape[-1]).astype(np.float64)
    golden = want.reshape(-1, want.shape[-1]).astype(np.float64)
    places = np.argmax(ours, axis=1)
    with np.errstate(invalid="ignore"):  # infinity minus infinity: neither is larger
        lead = np.max(golden, axis=1) - golden[np.arange(len(golden)), places]
    return len(ours), int(np.sum(lead == 0)), int(np.sum((lead > 0) & (lead <= LEAD * step)))


def _step(network: Network, name: str, theirs: Sequence[Arrays]) -> float:
    """Return the distance between two values of an output."""
    graph = network.graph
    output = next(tensor for tensor in network.outputs if tensor.name == name)
    if np.dtype(output.dtype).kind != "f":
        return 1.0
    index = output.index
    for op in reversed(graph.operators):
        if index in op.outputs:
            source = graph.tensors[op.inputs[0]]
            if op.code == "DEQUANTIZE" and source.quantization:
                return float(source.quantization.scale[0])
            if op.code not in _MOVES:
                break
            index = source.index
    values = [golden[name] for golden in theirs if name in golden]
    finite = [v[np.isfinite(v)] for v in values]  # an infinite step would make all outputs equal
    spread = max((float(np.ptp(v)) for v in finite if v.size), default=0.0)
    return spread / _LEVELS or 1.0


_MOVES = frozenset({"RESHAPE", "TRANSPOSE"})
"""Operators that may follow the last DEQUANTIZE."""
