"""The front end for .tflite files: a reader that trusts nothing, and the one writer."""

from ethosgen.frontend.tflite.identifier import FORMAT, recognizes
from ethosgen.values.network import Network
from ethosgen.values.source import Source

__all__ = ["FORMAT", "read", "recognizes", "written"]


def read(source: Source) -> Network:
    """Read a .tflite file."""
    from ethosgen.frontend.tflite.reader import parse_network

    return parse_network(source.data, source.name)


def written(network: Network) -> Source:
    """Return a network as a .tflite file."""
    from ethosgen.frontend.tflite.writer import file_of

    return Source(FORMAT, f"{network.name}.tflite", file_of(network))
