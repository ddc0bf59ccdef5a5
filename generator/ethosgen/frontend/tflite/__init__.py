"""The front end for .tflite files: a reader that trusts nothing, and the one writer."""

from dataclasses import replace

from ethosgen.frontend.tflite.identifier import FORMAT, recognizes
from ethosgen.values.network import Network
from ethosgen.values.source import CHANNELS_LAST, Source

__all__ = ["FORMAT", "read", "recognizes", "written"]


def read(source: Source) -> Network:
    """Read a .tflite file; InputError for a layout that it cannot have."""
    from ethosgen.frontend.tflite.reader import parse_network

    network = parse_network(source.data, source.name)
    if source.options.input_layout != CHANNELS_LAST:
        return network
    from ethosgen.frontend.tflite.layout import with_channels_last

    return with_channels_last(replace(network, source=source))


def written(network: Network) -> Source:
    """Return a network as a .tflite file."""
    from ethosgen.frontend.tflite.writer import file_of

    return Source(FORMAT, f"{network.name}.tflite", file_of(network))
