"""Compares whole .tosa networks: with TOSA's reference model, and with torch where it made them.

`python -m tests.support.tosa_trials [TITLE]` prints the figures of networks of `tosa_files`.
"""

import sys

from ethosgen.oracle import TOSA
from ethosgen.oracle.tosa import reference_outputs
from ethosgen.samples.drawing import random_samples
from tests.support.tosa_files import CONVERTED, NETWORKS, converted, exported
from tests.support.trials import Trial, try_network

SAMPLES = 3


def exported_trial(title: str) -> Trial:
    """Return the figures of a network that ExecuTorch lowers; its runtime is torch."""
    lowered = exported([title])[title]
    return try_network(lowered.network, title, lowered.samples, lowered.theirs, "PyTorch")


def converted_trial(title: str) -> Trial:
    """Return the figures of a network that Arm's converter makes of a .tflite file."""
    network = converted(CONVERTED[title](), title)
    samples = random_samples(network, SAMPLES, 0)
    theirs = reference_outputs(network, samples)
    return try_network(network, title, samples, theirs, TOSA.title)


def main(*titles: str) -> None:
    """Print the figures of networks."""
    for table, trial in ((NETWORKS, exported_trial), (CONVERTED, converted_trial)):
        for title in table:
            if title in (titles or table):
                figures = trial(title)
                print(
                    f"{title:20s} {trial.__name__} npu {figures.npu} cpu {figures.cpu} of "
                    f"{figures.elements}; on NPU {figures.on_npu} in "
                    f"{len(figures.plan.partitions)}, CPU {figures.on_cpu}; "
                    f"{figures.fidelity.text()}",
                    flush=True,
                )


if __name__ == "__main__":
    main(*sys.argv[1:])
