"""The front end for .pt2 files: programs that torch.export.save wrote, quantized by PT2E.

archive     checks a file and rewrites it without anything pickled; no torch
importer    runs in the environment "torch": program to Relax to graph
"""

from collections.abc import Mapping

from ethosgen.frontend.torch.archive import recognizes as recognizes
from ethosgen.host.environments import ENVIRONMENTS
from ethosgen.values.network import Network
from ethosgen.values.source import Source

FORMAT = "pt2"


def read(source: Source) -> Network:
    """Read a .pt2 file."""
    from ethosgen.frontend.torch.reader import read_network

    return read_network(source)


def origin(source: Source) -> Mapping[str, str]:
    """Return the torch that saved a .pt2 file, and the version of its schema."""
    from ethosgen.frontend.torch.archive import checked

    model = checked(source).model
    schema = model["schema_version"]
    return {
        "producer": "torch",
        "producer_version": str(model.get("torch_version", "")),
        "schema_version": f"{schema['major']}.{schema.get('minor', 0)}",
    }


def versions() -> str:
    """Return what identifies the packages of the environment that reads a file."""
    return ENVIRONMENTS["torch"].identity
