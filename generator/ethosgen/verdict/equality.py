"""Checks that an optimized network computes what the original does: an oracle runs both.

It shares no code with the optimizer, and does not know its rules. There are random samples, samples
with all elements at an end of their range, and samples that drive the sums of the operators that
read the inputs to their ends, output channel by output channel.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from ethosgen.oracle.answers import Answer, Question, answer
from ethosgen.oracle.excerpt import gather
from ethosgen.oracle.interpreters import awaited
from ethosgen.samples.drawing import default_samples, draw_samples
from ethosgen.samples.ends import drive_to_ends
from ethosgen.values.errors import EthosgenError
from ethosgen.values.grammar import counted
from ethosgen.values.network import Network
from ethosgen.values.outcome import Arrays

SAMPLES = 10
"""Random samples, which include the ends."""
SEED = 1 << 21
"""Their seed; the check's and users' are others."""
MOST_WORK = 1_000_000_000
"""Limit on the multiplications of all samples; a larger network gets fewer."""


def difference(original: Network, changed: Network, oracle: str | None) -> str:
    """Return how outputs of a changed network differ, "" if they do not, or no oracle can tell."""
    samples = samples_for(original)
    try:
        with ThreadPoolExecutor(2) as pool:
            both = (original, replace(changed, source=None))  # not the file that both came from
            asked = [pool.submit(_asked, each, samples, oracle) for each in both]
            golden, ours = awaited(asked)
    except EthosgenError:
        return ""
    compared = golden.against(ours.outputs)
    if not compared.mismatches:
        return ""
    return f"{compared.mismatches} of {counted(compared.elements, 'output')} differ"


def _asked(network: Network, samples: Sequence[Arrays], oracle: str | None) -> Answer:
    return answer(Question(network, samples, oracle))


def samples_for(network: Network) -> list[Arrays]:
    """Return the samples: random ones, and those at the ends of the first operators' sums."""
    driven = _driven(network)
    drawn = draw_samples(network, default_samples(network, SAMPLES, MOST_WORK), SEED)
    room = default_samples(network, SAMPLES + len(driven), MOST_WORK) - len(drawn)
    return [*drawn, *driven[: max(room, 0)]]


def _driven(network: Network) -> list[Arrays]:
    """Return samples in which each input drives the first operator that reads it to its ends."""
    graph = network.graph
    first: dict[int, int] = {}
    for operator in graph.operators:
        for index in operator.inputs:
            if index in graph.inputs:
                first.setdefault(index, operator.index)
    bouquet = gather(network, dict.fromkeys(first.values()))
    if bouquet is None or len(bouquet.network.inputs) != len(graph.inputs):
        return []
    names = {f"{first[i]}:": graph.tensors[i].name for i in graph.inputs}
    if len(names) != len(graph.inputs):
        return []  # an operator of two inputs: their order is the excerpt's own
    return [
        {names[name.partition(":")[0] + ":"]: array for name, array in sample.items()}
        for sample in drive_to_ends(bouquet.network)
    ]
