"""The front end for .tosa files: TOSA 1.0, both profiles."""

from collections.abc import Mapping

from ethosgen.frontend.tosa.identifier import FORMAT, recognizes
from ethosgen.values.network import Network
from ethosgen.values.source import Source

__all__ = ["FORMAT", "origin", "read", "recognizes", "written"]


def read(source: Source) -> Network:
    """Read a .tosa file."""
    from ethosgen.frontend.tosa.reader import parse_network

    return parse_network(source.data, source.name)


def origin(source: Source) -> Mapping[str, str]:
    """Return the version of TOSA that a file states; it has no field for its writer."""
    from ethosgen.frontend.flatbuffer import Fields
    from ethosgen.frontend.tosa.reader import version_of

    return {"tosa_version": ".".join(map(str, version_of(Fields.root(source.data))))}


def written(network: Network) -> Source:
    """Return a network of TOSA's operators as a .tosa file."""
    from ethosgen.frontend.tosa.writer import file_of

    return Source(FORMAT, f"{network.name}.tosa", file_of(network))
