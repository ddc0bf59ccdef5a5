"""The networks' own runtimes, which made or usually run a file, for the comparison of fidelity.

RUNTIMES lists them by the format of a network's source. They do not decide about exactness.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ethosgen.oracle.runtimes import onnx, torch
from ethosgen.values.outcome import Arrays
from ethosgen.values.source import Source


@dataclass(frozen=True)
class Runtime:
    """Runs an unchanged source.

    `run` returns the outputs of each sample by the names of the network's outputs; ToolError if
    the runtime is not installed, UnsupportedError if it refuses the file. `version` returns the
    runtime's version.
    """

    title: str
    run: Callable[[Source, Sequence[Arrays]], list[Arrays]]
    version: Callable[[], str]


RUNTIMES: Mapping[str, Runtime] = {
    "onnx": Runtime("ONNX Runtime", onnx.run, onnx.version),
    "pt2": Runtime("PyTorch", torch.run, torch.version),
}
