"""The front end for ExecuTorch's programs, whose work is done by Ethos-U delegates.

They are .pte files, or .bpte files, which have test cases beside the program.
"""

from ethosgen.frontend.pte.identifier import FORMAT, recognizes
from ethosgen.values.examples import Examples
from ethosgen.values.network import Network
from ethosgen.values.source import Source

__all__ = ["FORMAT", "examples", "read", "recognizes"]


def read(source: Source) -> Network:
    """Read a .pte or .bpte file."""
    from ethosgen.frontend.pte.reader import parse_network

    return parse_network(source.data, source.name)


def examples(source: Source, network: Network) -> Examples | None:
    """Return the test cases of a .bpte file for the network that was read from it."""
    from ethosgen.frontend.pte.bundle import examples_of

    return examples_of(source, network)
