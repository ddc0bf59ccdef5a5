"""The scripts that quantize, one for each format, and how to run them.

A script is a module beside this one that imports only the quantizer's packages, and runs in a
child process: quantizers crash on damaged networks, print, and need not live in ethosgen's
environment. Each has these functions. They take a request of JSON's types, the samples by input
([n, *shape], in the input's dtype), and a folder for files that later calls use:

- inspect(source): inputs and outputs as [name, shape, dtype]; the size of an open dimension is -1
- prepare(source, shapes): store the network with those shapes; return the layers' names
- quantize(activations, keep, output): calibrate, unless an earlier call did, and write `output`
- measure(activations, output): each layer's name, operator, dtype, energy = [signal, noise] and
  those of its inputs, summed over all samples and elements, and the layers that read its result
- explore(trials): the outputs' energies for each trial, which is {"activations", "keep"}
- answers(output): "largest", the index of the largest output of each sample
"""

import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import shorten
from typing import Any

import numpy as np

from ethosgen.host.child import ChildError, call
from ethosgen.values.errors import InputError, ToolError, UnsupportedError

Arrays = Mapping[str, np.ndarray[Any, Any]]
Answer = tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]

LIMIT_S = 3600.0
"""A large network and a thousand samples take minutes; a child that hangs must end some day."""

LONGEST_WORDS = 400
"""The number of characters that are quoted of a quantizer's own error."""


@dataclass(frozen=True)
class Quantizer:
    """Quantizes one format: its title, the suffix of its files, who does it, and how to get that.

    `checks` refuses a damaged file before a library that trusts it reads it.
    """

    title: str
    suffix: str
    tool: str
    script: Path
    packages: tuple[str, ...] = ()
    extra: str = ""
    checks: Callable[[Path], object] = field(default=lambda path: path)

    def require(self) -> None:
        """Raise ToolError if the packages are missing."""
        if not all(map(importlib.util.find_spec, self.packages)):
            raise ToolError(
                f"quantizing a network of {self.title} needs {self.tool}; install it with: "
                f"pip install 'ethosgen[{self.extra}]'"
            )

    def run(
        self, function: str, request: Mapping[str, Any], folder: Path, arrays: Arrays
    ) -> Answer:
        """Call a function of the script in a child process.

        Raises InputError for what it refuses, UnsupportedError if the quantizer fails.
        """
        try:
            answer = call(
                Path(__file__),
                "serve",
                self.script,
                function,
                dict(request),
                dict(arrays),
                folder,
                limit_s=LIMIT_S,
            )
        except ChildError as error:
            words = shorten(" ".join(str(error).split()), LONGEST_WORDS, placeholder=" …")
            raise UnsupportedError(
                f"{self.tool} cannot quantize '{request['source']}': {words}"
            ) from None
        refusal, values = answer.value
        if refusal is not None:
            raise InputError(refusal)
        made: Answer = values
        return made


def serve(
    script: Path, function: str, request: Mapping[str, Any], arrays: Arrays, folder: Path
) -> tuple[str | None, Answer]:
    """Call a function of a script, in the child; return the sentence of its refusal, if any."""
    spec = importlib.util.spec_from_file_location("quantizing_script", script)
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot load {script}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    try:
        return None, getattr(module, function)(request, arrays, folder)
    except Exception as error:
        if sentence := getattr(error, "sentence", None):
            return sentence, ({}, {})
        raise
