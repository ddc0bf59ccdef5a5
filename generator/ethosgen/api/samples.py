"""The samples of a run, and the references for its outputs."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TypedDict

import numpy as np

from ethosgen.api.networks import Array, NetworkLike, read
from ethosgen.values.errors import InputError
from ethosgen.values.grammar import counted
from ethosgen.values.network import Network
from ethosgen.verdict.judgement import Criteria, Inputs

InputsLike = str | os.PathLike[str] | Array | Mapping[str, Array]
"""Samples: the path of an .npz file or folder, an array for each input by name, or one array."""


class SampleOptions(TypedDict, total=False):
    """The commands' options for samples, all with their defaults."""

    inputs: InputsLike | None
    """The samples, in the inputs' own types; by default random ones."""
    samples: int | None
    """The number of random samples; by default the network's size decides."""
    seed: int
    """The seed of random samples, by default 0."""
    golden: str | os.PathLike[str] | None
    """The original of a compiled network, or an .npz file with golden outputs for the inputs."""
    fidelity: float | None
    """The limit of differences from the network's own runtime, in steps."""


def judged_samples(
    network: NetworkLike | None, options: SampleOptions, oracle: str | None = None
) -> tuple[Inputs, Criteria]:
    """Return the source of samples, and the criteria for their outputs.

    `network` is None for several networks, which have no single input.
    """
    golden = options.get("golden")
    criteria = Criteria(None if golden is None else Path(golden), oracle, options.get("fidelity"))
    return inputs_of(network, options), criteria


def inputs_of(network: NetworkLike | None, options: SampleOptions) -> Inputs:
    """Return the source of samples; a single array belongs to the network's only input."""
    inputs, samples, seed = options.get("inputs"), options.get("samples"), options.get("seed", 0)
    if samples is not None and samples < 1:
        raise InputError(f"samples={samples}: nothing to compare; pass 1 or more, or none")
    if inputs is None:
        return Inputs(None, samples, seed)
    if isinstance(inputs, (str, os.PathLike)):
        return Inputs(Path(inputs), samples, seed)
    if isinstance(inputs, Mapping):
        arrays = {name: np.asarray(array) for name, array in inputs.items()}
        return Inputs(None, samples, seed, arrays)
    if network is None:
        raise InputError("a single array needs a single network; pass a mapping by input")
    known = network if isinstance(network, Network) else read(network)
    names = [tensor.name for tensor in known.inputs]
    if len(names) != 1:
        raise InputError(
            f"'{known.name}' has {counted(len(names), 'input')}; pass an array for each by name: "
            + ", ".join(f"'{name}'" for name in names)
        )
    return Inputs(None, samples, seed, {names[0]: np.asarray(inputs)})
