"""Reads `ethosgen.toml`: the settings of a folder's networks, and their budgets."""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from ethosgen.toml.files import load_toml, schema_text
from ethosgen.toml.tables import Table
from ethosgen.values.sizes import EXAMPLES, bytes_of

FILE = "ethosgen.toml"

Value = str | int | float | bool
"""What an option can be."""


def _bytes(value: Any) -> int:
    """Read a size; ValueError for another text."""
    size = bytes_of(str(value))
    if size is None:
        raise ValueError(f"'{value}' is not a size; write bytes, KiB or MiB: {EXAMPLES}")
    return size


Size = Annotated[int, BeforeValidator(_bytes), WithJsonSchema({"type": ["integer", "string"]})]
"""Bytes, or a text with KiB or MiB."""


class Budget(Table):
    """Limits; `ethosgen check` fails if one is exceeded. Leave out figures without a limit."""

    ms: Annotated[float, Field(gt=0)] | None = None
    """Most milliseconds of one inference."""
    ram: Size | None = None
    """Most RAM of the firmware: bytes, or a text with KiB or MiB."""
    flash: Size | None = None
    """Most flash of the firmware: bytes, or a text with KiB or MiB."""
    stack: Size | None = None
    """Most stack of an inference: bytes, or a text with KiB or MiB."""
    accuracy: Annotated[float, Field(ge=0, le=1)] | None = None
    """Least accuracy, or AUC of a detector, of 1; needs [accuracy]."""


class AccuracyTable(Table):
    """Labelled data, and how they are judged: options of `ethosgen accuracy`."""

    data: str
    """Samples: an .npz file, or a folder."""
    labels: str | None = None
    """Labels, or the classes' names."""
    mean: list[float] = Field(default_factory=list)
    """For pictures: what is subtracted from a pixel, once or for each channel."""
    std: list[float] = Field(default_factory=list)
    """For pictures: what a pixel is divided by."""
    resize: Literal["stretch", "crop"] | None = None
    """How pictures become as large as the input."""
    pad: bool = False
    """Whether sounds that are too short get silence."""
    output: str | None = None
    """The output to judge, if there are several."""
    score: str | None = None
    """For a detector: "reconstruction", or an element of the output."""
    state: Literal["reset", "sequence", "stream"] = "reset"
    """When the state of a network is reset."""


class Workspace(Table):
    """The file `ethosgen.toml`. Paths are relative to its folder."""

    networks: Annotated[list[str], Field(min_length=1)]
    """The networks' files; several go into one firmware."""
    board: str | None = None
    """The board, as in --board."""
    npu: str | None = None
    """The NPU, as in --npu; none for the CPU alone."""
    project: str | None = None
    """The folder of the generated project, for project, build, run and flash."""
    options: dict[str, Value | list[Value]] = Field(default_factory=dict)
    """More options of the commands by their long names, without the dashes."""
    accuracy: AccuracyTable | None = None
    budget: Budget = Budget()
    """What an inference and the firmware may take."""


def find_workspace(start: Path) -> Path | None:
    """Return the nearest ethosgen.toml in a folder or those above it, None if there is none."""
    folders = (start, *start.parents)
    return next((folder / FILE for folder in folders if (folder / FILE).is_file()), None)


def load_workspace(path: Path) -> Workspace:
    """Read an ethosgen.toml; InputError names the line and the field of a fault."""
    return load_toml(path, "workspace", Workspace)


def workspace_schema() -> str:
    """Return the JSON schema of the file, for editors."""
    return schema_text(Workspace, FILE)


def initial_text(networks: list[str], board: str | None, npu: str | None, data: str | None) -> str:
    """Return the text of a new file; unknown values are in comments."""

    def line(key: str, value: str | None, example: str) -> str:
        return f'{key} = "{value}"' if value else f'# {key} = "{example}"'

    files = ", ".join(f'"{name}"' for name in networks)
    accuracy = f'[accuracy]\ndata = "{data}"\n' if data else '# [accuracy]\n# data = "test.npz"\n'
    return (
        "# With it verify, check, report, accuracy, project, build and run need no arguments.\n"
        "# What the command line names wins. ethosgen init --schema prints this file's schema.\n"
        f"networks = [{files}]\n"
        f"{line('board', board, 'corstone300')}\n"
        f"{line('npu', npu, 'ethos-u55-128')}\n"
        'project = "firmware"\n'
        "\n"
        "[options] # by their long names\n"
        '# sram-limit = "256KiB"\n'
        "\n"
        f"{accuracy}"
        "\n"
        "[budget] # ethosgen check fails if one is exceeded\n"
        "# ms = 20\n"
        '# ram = "256KiB"\n'
        '# flash = "1MiB"\n'
        "# accuracy = 0.9\n"
    )
