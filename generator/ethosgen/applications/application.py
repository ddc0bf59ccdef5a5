"""An application: its files, its networks, its input, and the lines that it prints."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from ethosgen.values.errors import InputError
from ethosgen.values.grammar import counted
from ethosgen.values.network import Network
from ethosgen.values.outcome import Arrays

Networks = Sequence[Network]
TEMPLATES = "apps"
"""The folder of ethosgen's own applications in templates/."""


class Settings(dict[str, int]):
    """The numbers in the project's application/settings.h by name, and its labels.h."""

    def __init__(self, numbers: Mapping[str, int], labels: Sequence[str] = ()) -> None:
        super().__init__(numbers)
        self.labels = tuple(labels)


Run = Callable[[int, Sequence[Arrays]], list[Arrays]]
"""Returns what a network (by its index) answers to samples, each after the other."""


class Application(Protocol):
    """An application; its C files are in NAME/ of its templates, ours in templates/apps/."""

    @property
    def name(self) -> str:
        """The name that users type, also of the folder of its templates."""

    @property
    def title(self) -> str:
        """What it does, in a few words."""

    @property
    def accepts(self) -> str:
        """The files that it takes as its input, for help texts."""

    @property
    def templates(self) -> str:
        """The folder of templates/ in which NAME/ is, or any other folder."""

    @property
    def files(self) -> tuple[str, ...]:
        """Its templates, which become files in application/."""

    def check(self, networks: Networks) -> None:
        """Raise InputError if the networks do not fit."""

    def facts(self, networks: Networks) -> dict[str, Any]:
        """Return values for its templates."""

    def item_bytes(self, networks: Networks) -> int:
        """Return the bytes that the host sends at a time."""

    def item_s(self, settings: Settings) -> float | None:
        """Return the real time from one item to the next, None if unknown."""

    def load(self, paths: Sequence[Path], networks: Networks) -> list[bytes]:
        """Read files as items; InputError names the wrong file."""

    def draw(self, networks: Networks, seed: int) -> list[bytes]:
        """Return items for a trial, for users without files."""

    def expect(
        self, items: Sequence[bytes], networks: Networks, run: Run, settings: Settings
    ) -> list[str]:
        """Return the lines that the application must print."""


@runtime_checkable
class Commanded(Protocol):
    """An application that takes commands of text, not items in frames."""

    def commands(self, item: bytes) -> list[str]:
        """Return the commands for an item."""


@runtime_checkable
class HasMoreFiles(Protocol):
    """An application of which some networks need more files."""

    def more_files(self, networks: Networks) -> tuple[str, ...]:
        """Return the further templates, which become files in application/."""


@runtime_checkable
class TakesRows(Protocol):
    """An application whose network can get its input by rows (`--feed`)."""

    def row_bytes(self, networks: Networks) -> int:
        """Return the bytes of a row, which the host then sends at a time."""


def require_networks(application: str, networks: Networks, count: int, what: str) -> None:
    """Raise InputError unless there are this many networks; `what` describes them."""
    if len(networks) != count:
        raise InputError(
            f"--app {application} is for {what}, but got {counted(len(networks), 'network')}"
        )


def require_one_port(application: str, network: Network, dtypes: Sequence[str]) -> None:
    """Raise InputError unless a network has one input and one output, of certain types."""
    for kind, tensors in (("input", network.inputs), ("output", network.outputs)):
        if len(tensors) != 1:
            raise InputError(
                f"--app {application} needs a network with one input and one output, but "
                f"'{network.name}' has {counted(len(tensors), kind)}"
            )
        if tensors[0].dtype not in dtypes:
            raise InputError(
                f"--app {application} needs a quantized network ({', '.join(dtypes)}), but the "
                f"{kind} of '{network.name}' is {tensors[0].dtype}; quantize it with: ethosgen "
                "quantize"
            )
