"""The front end for .tflite files: a reader that trusts nothing, and the one writer."""

from ethosgen.values.network import Network
from ethosgen.values.source import Source

FORMAT = "tflite"
IDENTIFIER = b"TFL3"


def recognizes(data: bytes) -> bool:
    """Return whether the bytes have the identifier of .tflite files."""
    return data[4:8] == IDENTIFIER


def read(source: Source) -> Network:
    """Read a .tflite file."""
    from ethosgen.frontend.tflite.reader import parse_network

    return parse_network(source.data, source.name)


def written(network: Network) -> Source:
    """Return a network as a .tflite file."""
    from ethosgen.frontend.tflite.writer import file_of

    return Source(FORMAT, f"{network.name}.tflite", file_of(network))
