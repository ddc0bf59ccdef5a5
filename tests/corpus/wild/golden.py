"""The golden outputs of a random network, from TFLite Micro or operator by operator."""

from dataclasses import dataclass
from typing import Any

from ethosgen.oracle.pieces import take_apart
from ethosgen.oracle.tflm import golden_outputs
from ethosgen.values.errors import InputError
from ethosgen.values.network import Network
from ethosgen.values.outcome import Arrays


@dataclass
class Golden:
    """The oracles' outputs by name for each sample, and the oracles that computed them.

    `why` is the reason if there are none.
    """

    outputs: list[Arrays] | None
    oracles: tuple[str, ...] = ()
    why: str = ""


def golden(network: Network, samples: list[dict[str, Any]], limit_s: float) -> Golden:
    """Ask TFLite Micro for the whole network, and both oracles for its operators if it lacks one.

    An operator that TFLite Micro answers by chance counts as lacking.
    """
    try:
        return Golden(golden_outputs(network, samples), ("tflm",))
    except InputError as error:
        first = str(error)
    try:
        pieces = take_apart(network, samples, limit_s)
    except InputError as error:
        return Golden(None, why=f"{first} | {error}")
    return Golden(pieces.outputs, (*sorted(set(pieces.oracles)),))
