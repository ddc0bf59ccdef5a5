"""The front end for ExecuTorch's .pte files: programs whose work is done by Ethos-U delegates."""

from ethosgen.frontend.pte.identifier import FORMAT, recognizes
from ethosgen.values.network import Network
from ethosgen.values.source import Source

__all__ = ["FORMAT", "read", "recognizes"]


def read(source: Source) -> Network:
    """Read a .pte file."""
    from ethosgen.frontend.pte.reader import parse_network

    return parse_network(source.data, source.name)
