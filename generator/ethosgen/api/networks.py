"""Networks as values, and random samples of them."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import numpy as np

from ethosgen import flow
from ethosgen.samples import drawing
from ethosgen.samples.files import stack_samples
from ethosgen.values.errors import InputError
from ethosgen.values.naming import name_from_file
from ethosgen.values.network import Network
from ethosgen.values.source import AS_GIVEN, AS_IS, ReadOptions
from ethosgen.values.watch import Watch

Array = np.ndarray[Any, Any]
Choice = TypeVar("Choice", bound=Enum)

NetworkLike = str | os.PathLike[str] | Network
"""A network: the path of its file, or the value that `read` returns."""


def read(
    path: str | os.PathLike[str],
    *,
    name: str | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
    input_layout: str = AS_IS,
) -> Network:
    """Read a network in any format that the commands read.

    The network has `inputs` and `outputs`: tensors with a name, a shape, a dtype and a
    quantization.

    Args:
        path: the network's file.
        name: the prefix of the C functions, by default the file's name.
        shapes: the shapes of inputs whose file leaves sizes open, by the input's name.
        input_layout: with "nhwc", inputs of channels-first networks become channels-last.
    """
    fixed = tuple((key, tuple(sizes)) for key, sizes in (shapes or {}).items())
    return flow.read(Path(path), name, Watch(), ReadOptions(fixed, input_layout))


def draw_samples(network: NetworkLike, count: int = 10, seed: int = 0) -> dict[str, Array]:
    """Return the commands' random samples: an array of shape (count, *shape) for each input.

    Args:
        network: the path of a file, or what `read` returned.
        count: the number of samples.
        seed: the seed; the same seed gives the same samples.
    """
    if not isinstance(network, Network):
        network = read(network)
    return stack_samples(drawing.draw_samples(network, count, seed))


@contextmanager
def files_of(networks: Sequence[NetworkLike]) -> Iterator[tuple[tuple[Path, ...], ReadOptions]]:
    """Yield the networks' files, and the options for reading them.

    The source of a network that was already read is written to a temporary folder.
    """
    if not networks:
        raise InputError("name at least one network: the path of its file, or what read() returns")
    options = {_options_of(network) for network in networks}
    if len(options) > 1:
        raise InputError("the networks were read with different options; read all with the same")
    with TemporaryDirectory(prefix="ethosgen-") as folder:
        places = [
            _file_of(network, Path(folder) / str(index)) for index, network in enumerate(networks)
        ]
        yield tuple(places), options.pop()


def names_of(networks: Sequence[NetworkLike], names: Sequence[str]) -> tuple[str, ...]:
    """Return the names for the C functions: the user's, otherwise those of the networks."""
    if names or not any(isinstance(network, Network) for network in networks):
        return tuple(names)
    return tuple(
        network.name if isinstance(network, Network) else name_from_file(Path(network).stem)
        for network in networks
    )


def choice(kind: type[Choice], value: str, argument: str) -> Choice:
    """Return the member with a value; InputError names the argument and the valid values."""
    known = [str(member.value) for member in kind]
    if value not in known:
        raise InputError(f"{argument}: '{value}' is none of {', '.join(known)}")
    return kind(value)


def _options_of(network: NetworkLike) -> ReadOptions:
    source = network.source if isinstance(network, Network) else None
    return source.options if source is not None else AS_GIVEN


def _file_of(network: NetworkLike, folder: Path) -> Path:
    if not isinstance(network, Network):
        return Path(network)
    if network.source is None:
        raise InputError(
            f"'{network.name}' was made from another network and has no file; pass what read() "
            "returned, or a path"
        )
    folder.mkdir()
    place = folder / Path(network.source.name).name
    place.write_bytes(network.source.data)
    return place
