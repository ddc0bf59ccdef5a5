"""The scripts that quantize, one for each format, and how to run them.

A script is a module next to this one that imports only the quantizer's packages and our errors, and
runs in a child process: quantizers crash on damaged networks, print, and may need another
environment. Each has these functions. They take a request of JSON's types, the samples by input
([n, *shape], in the input's dtype), and a folder for files that later calls use:

- inspect(source): inputs and outputs as [name, shape, dtype]; the size of an open dimension is -1
- prepare(source, shapes): store the network with those shapes; return the layers' names
- quantize(activations, keep, wide, output): calibrate, unless an earlier call did, and write
  `output`; `wide` names the layers whose results are int16 among others in int8
- measure(activations, output): "outputs", their energies, which are [signal, noise], summed over
  all samples and elements; and "layers", each with its name, operator, dtype, energy, those of its
  inputs, and the layers that read its result; and "weights", the bytes of weights and biases
  before and after
- integer_ends(output), if the quantizer leaves inputs and outputs in float but could convert them:
  make those of the written network integers; return the names of the changed "ends"
- explore(trials): the outputs' energies for each trial, which is {"activations", "keep", "wide"}
- answers(output): "largest", the index of the largest output of each sample
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import shorten
from typing import Any

import numpy as np

from ethosgen.host.child import ChildError, call, module_of
from ethosgen.host.environments import ENVIRONMENTS
from ethosgen.host.extras import EXTRAS
from ethosgen.host.script import run_script
from ethosgen.values.errors import InputError, UnsupportedError
from ethosgen.values.quantization import FLOAT

Arrays = Mapping[str, np.ndarray[Any, Any]]
Answer = tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]
Step = tuple[str, Mapping[str, Any], Arrays]
"""A function to call, its request and its samples."""

LIMIT_S = 3600.0
"""A large network and a thousand samples take minutes; a child that hangs must end some day."""

LONGEST_WORDS = 400
"""The number of characters that are quoted of a quantizer's own error."""


@dataclass(frozen=True)
class Quantizer:
    """Quantizes one format: its title, the suffix of its files, the quantizer, and its
    installation.

    `ends` are the types that inputs and outputs can have, the usual one first.
    `written` is the suffix of the quantized files, if it differs. A quantizer without `packages`
    has its own environment, named `extra`. `checks` refuses a damaged file before a library that
    trusts it reads it; it may put a checked copy into the folder that the script's functions share.
    """

    title: str
    suffix: str
    tool: str
    script: Path
    packages: tuple[str, ...] = ()
    extra: str = ""
    checks: Callable[[Path, Path], object] = lambda path, folder: path
    ends: tuple[str, ...] = (FLOAT,)
    written: str = ""

    @property
    def output_suffix(self) -> str:
        """The suffix of the quantized files."""
        return self.written or self.suffix

    def require(self) -> None:
        """Raise ToolError if the packages or the environment are missing."""
        if not self.packages:
            ENVIRONMENTS[self.extra].find()
        else:
            EXTRAS[self.extra].require(f"quantizing a network of {self.title}", *self.packages)

    def run(self, steps: Sequence[Step], folder: Path) -> list[Answer]:
        """Call functions of the script, one after another, in one child process.

        Raises InputError for input that it refuses, UnsupportedError if the quantizer fails.
        """
        try:
            return self._call(steps, folder)
        except ChildError as error:
            if error.how == "refused":
                raise InputError(str(error)) from None
            words = shorten(" ".join(str(error).split()), LONGEST_WORDS, placeholder=" …")
            raise UnsupportedError(
                f"{self.tool} cannot quantize '{steps[0][1]['source']}': {words}"
            ) from None

    def _call(self, steps: Sequence[Step], folder: Path) -> list[Answer]:
        if not self.packages:
            return self._call_environment(steps, folder)
        script = Path(__file__)
        refusal, values = call(
            script, "serve", self.script, list(steps), folder, limit_s=LIMIT_S
        ).value
        if refusal is not None:
            raise ChildError("refused", refusal)
        return list(values)

    def _call_environment(self, steps: Sequence[Step], folder: Path) -> list[Answer]:
        asked = {"folder": str(folder), "steps": [(name, dict(about)) for name, about, _ in steps]}
        arrays = {
            f"{number}/{name}": array
            for number, (_, _, inputs) in enumerate(steps)
            for name, array in inputs.items()
        }
        environment = ENVIRONMENTS[self.extra]
        reply = run_script(environment, self.script, "run", asked, arrays, limit_s=LIMIT_S)
        return [
            (values, _own(reply.arrays, f"{number}/"))
            for number, values in enumerate(reply.values["values"])
        ]


def _own(arrays: Arrays, prefix: str) -> dict[str, np.ndarray[Any, Any]]:
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }


def serve(script: Path, steps: Sequence[Step], folder: Path) -> tuple[str | None, list[Answer]]:
    """Call functions of a script, in the child; return the sentence of its refusal, if any."""
    module = module_of(script, "quantizing_script")
    try:
        return None, [getattr(module, name)(asked, arrays, folder) for name, asked, arrays in steps]
    except InputError as error:
        return str(error), []
