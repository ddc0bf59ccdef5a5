"""Compares outputs with those of the network's own runtime."""

from collections.abc import Iterable, Sequence

import numpy as np

from ethosgen.oracle.runtimes import RUNTIMES
from ethosgen.values.errors import InputError, ToolError, UnsupportedError
from ethosgen.values.fidelity import Fidelity, compare_fidelity
from ethosgen.values.network import Network
from ethosgen.values.outcome import Arrays
from ethosgen.values.source import CHANNELS_LAST, Source
from ethosgen.values.watch import Watch
from ethosgen.verdict.golden_file import holds_outputs, measure_golden_file
from ethosgen.verdict.judgement import Criteria


def require_runtime(networks: Iterable[Network], criteria: Criteria) -> None:
    """Raise InputError if there is a limit but a network has no runtime to compare with."""
    if criteria.fidelity is None or holds_outputs(criteria.golden):
        return
    for network in networks:
        if network.source is None or network.source.format not in RUNTIMES:
            known = ", ".join(runtime.title for runtime in RUNTIMES.values())
            raise InputError(
                f"--fidelity compares with a network's own runtime, and '{network.name}' has none; "
                f"ethosgen knows {known}; pass its outputs with --golden OUTPUTS.npz"
            )


def _as_in_file(source: Source, samples: Sequence[Arrays]) -> Sequence[Arrays]:
    """Return samples in the file's own layout."""
    if source.options.input_layout != CHANNELS_LAST:
        return samples
    return [
        {name: np.moveaxis(a, -1, 1) if a.ndim > 2 else a for name, a in sample.items()}
        for sample in samples
    ]


def measure_fidelity(
    network: Network,
    samples: Sequence[Arrays],
    outputs: Sequence[Arrays],
    criteria: Criteria,
    watch: Watch,
) -> Fidelity | None:
    """Compare with the runtime of the source's format, None if the format has none.

    The user's golden outputs replace it. With a limit, ToolError if the runtime is missing.
    """
    source, limit = network.source, criteria.fidelity
    if criteria.golden is not None and holds_outputs(criteria.golden):
        return measure_golden_file(network, outputs, criteria.golden, limit)
    runtime = RUNTIMES.get(source.format) if source else None
    if source is None or runtime is None:
        return None
    try:
        with watch.phase("fidelity", f"asking {runtime.title}"):
            theirs = runtime.run(source, _as_in_file(source, samples))
    except (ToolError, UnsupportedError) as error:
        if limit is not None:
            raise
        return Fidelity(runtime.title, skipped=str(error))
    return compare_fidelity(network, outputs, theirs, runtime.title, runtime.version(), limit)
