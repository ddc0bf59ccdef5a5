"""The front end for ExecuTorch's .pte files: programs whose work is done by Ethos-U delegates."""

from ethosgen.values.network import Network
from ethosgen.values.source import Source

FORMAT = "pte"
IDENTIFIER = b"ET12"


def recognizes(data: bytes) -> bool:
    """Return whether the bytes have the identifier of .pte files."""
    return data[4:8] == IDENTIFIER


def read(source: Source) -> Network:
    """Read a .pte file."""
    from ethosgen.frontend.pte.reader import parse_network

    return parse_network(source.data, source.name)
