"""The study file (TOML): what a sweep measures, with one sentence for each fault."""

import glob
import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    FiniteFloat,
    WithJsonSchema,
)

from ethosgen.samples.pictures import RESIZES, Preparation
from ethosgen.toml.files import load_toml, schema_text
from ethosgen.values.accuracy import RESET, SEQUENCE, STREAM
from ethosgen.values.errors import InputError
from ethosgen.values.schedule import Strategy
from ethosgen.values.source import AS_IS, CHANNELS_LAST

_UNITS = {"": 1, "b": 1, "kib": 1 << 10, "mib": 1 << 20}
_NUMBER = {"type": "number"}
_REALS = {"anyOf": [_NUMBER, {"type": "array", "items": _NUMBER}]}
_SIZE = re.compile(r"(\d+)\s*(b|kib|mib)?", re.IGNORECASE)


def _bytes_of(size: int | str) -> int:
    """Return a size in bytes; ValueError for other texts."""
    match = _SIZE.fullmatch(str(size).strip())
    value = int(match[1]) * _UNITS[(match[2] or "").lower()] if match else 0
    if value < 1:
        raise ValueError(f"'{size}' is not a size; write bytes, KiB or MiB: 65536, '64KiB'")
    return value


def _some(values: list[str]) -> list[str]:
    if not values:
        raise ValueError("is empty; name at least one, or delete the line for the default")
    return values


def _listed(value: object) -> object:
    return [value] if isinstance(value, int | float) else value


Names = Annotated[list[str], AfterValidator(_some)]
Reals = Annotated[list[FiniteFloat], BeforeValidator(_listed), WithJsonSchema(_REALS)]
Size = Annotated[int | str, AfterValidator(_bytes_of)]


class _StudyTable(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def _divisible(state: object) -> object:
    if state == STREAM:
        raise ValueError(
            f"a {STREAM} cannot be divided into shards, as each sample needs the state after all "
            f"before it; measure it with ethosgen accuracy --state {STREAM}"
        )
    return state


class DataTable(_StudyTable):
    """Labelled data, and the judgement of outputs, as for `ethosgen accuracy`."""

    path: str = Field(
        description="An .npz file or a folder of arrays, pictures or sounds, relative to the study."
    )
    name: str | None = Field(
        None, description="Its name in the results; by default the file's name."
    )
    networks: list[str] = Field(
        [], description="Patterns for the study's networks that use it; empty: all."
    )
    labels: str | None = Field(
        None, description="A file of labels (.npy), classes' names (.txt) or files' labels (.csv)."
    )
    on: Names = Field(
        ["simulate"],
        description="simulate or an oracle; the figures come from the first, and the others must "
        "agree with it in each sample.",
    )
    shard_size: Annotated[int, Field(ge=1)] | None = Field(
        None,
        description="Maximum number of samples in a shard; by default 512, fewer if they "
        "are large.",
    )
    mean: Reals = Field(
        [], description="The value to subtract from a pixel, or one for each channel."
    )
    std: Reals = Field(
        [], description="The value to divide the difference by, or one for each channel."
    )
    resize: Literal["stretch", "crop"] | None = Field(
        None, description="Resize pictures to the input."
    )
    pad: bool = Field(False, description="Add silence to sounds, or cut off their end.")
    state: Annotated[Literal["reset", "sequence"], BeforeValidator(_divisible)] = Field(
        "reset",
        description="sequence: each sample is a sequence of inputs, of which the last one counts.",
    )
    output: str | int | None = Field(None, description="The output to judge, by name or index.")
    score: str | int | None = Field(
        None, description="A detector's score: reconstruction, or the index of an element."
    )
    top: list[Annotated[int, Field(ge=1)]] = Field(
        [], description="Also count samples whose class is among the best k, for each k."
    )

    @property
    def called(self) -> str:
        """The data's name in results."""
        return self.name or Path(self.path).stem

    @property
    def preparation(self) -> Preparation:
        """The conversion of pictures and sounds."""
        return Preparation(tuple(self.mean), tuple(self.std), self.resize, self.pad)

    @property
    def tops(self) -> tuple[int, ...]:
        """Each k whose best classes are counted, 1 first."""
        return tuple(dict.fromkeys((1, *self.top)))


def _tables(tables: object) -> object:
    if isinstance(tables, dict):
        raise ValueError("is one table; write [[data]], since a study may have several")
    return tables


def _distinct(tables: list[DataTable]) -> list[DataTable]:
    names = [table.called for table in tables]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"two tables are called '{twice}'; give each its own name")
    return tables


class Study(_StudyTable):
    """A study: every combination of its lists is a point."""

    networks: Names = Field(
        description="Network files, relative to the study, with * and ? as wildcards."
    )
    boards: Names = Field(["corstone300"], description="Names or files of boards; all.")
    npus: Names = Field(["all"], description="NPUs; all of the board; none: the CPU alone.")
    memory_modes: list[str] = Field(
        [], description="sram_only, shared_sram, dedicated_sram; all; empty: the board's own."
    )
    strategies: Annotated[list[Strategy], Field(min_length=1)] = Field(
        [Strategy.PERFORMANCE], description="What Vela optimizes: performance, size."
    )
    arena_limits: list[Size] = Field(
        [], description="Also compile with these SRAM limits: bytes, or '64KiB'."
    )
    front: bool = Field(
        False, description="Search schedules, and measure the front of each NPU and memory mode."
    )
    samples: Annotated[int, Field(ge=0)] | None = Field(
        None, description="Random samples for exactness; 0 omits it; by default 5, or fewer."
    )
    seed: int = Field(0, ge=0, description="Seed for the random samples.")
    build: bool = Field(False, description="Compile the firmware too, for the size of its code.")
    offload: Literal["all", "auto", "none"] = Field(
        "all",
        description="Which operators run on the NPU: all, those estimated faster there, or none.",
    )
    cpu_ops: list[str] = Field([], description="Operators to keep on the CPU, by TFLite's names.")
    check: bool = Field(True, description="Compare each plan with the oracle before it is used.")
    optimize: bool = Field(True, description="Leave out what cannot change a network's outputs.")
    trust_compiler: bool = Field(False, description="Offload despite known errata, unchecked.")
    allow_difference: float = Field(
        0.0, ge=0, description="The steps by which outputs of accelerators may differ."
    )
    oracle: str | None = Field(None, description="The oracle that decides.")
    shapes: dict[str, list[int]] = Field({}, description="Shapes of inputs with open sizes.")
    input_layout: Literal["as-is", "nhwc"] = Field(
        "as-is", description="nhwc: inputs of channels-first networks become channels-last."
    )

    data: Annotated[list[DataTable], BeforeValidator(_tables), AfterValidator(_distinct)] = Field(
        [], description="Labelled data on which accuracy is measured too."
    )


assert {AS_IS, CHANNELS_LAST} == {"as-is", "nhwc"}
assert {RESET, SEQUENCE} == {"reset", "sequence"}
assert set(RESIZES) == {"stretch", "crop"}


def load_study(path: Path) -> Study:
    """Read a study; InputError names the file, the line and the field that is wrong."""
    return load_toml(path, "study", Study)


def find_networks(study: Study, path: Path) -> tuple[Path, ...]:
    """Return the networks' files, each once; InputError for a pattern that fits none."""
    networks = _fitting(study.networks, path, f"study '{path}': networks")
    return tuple(dict.fromkeys(networks))


def networks_of(table: DataTable, study: Study, path: Path) -> frozenset[Path]:
    """Return the networks that a table of data is for; InputError for one of no study."""
    networks = find_networks(study, path)
    if not table.networks:
        return frozenset(networks)
    where = f"study '{path}': data '{table.called}': networks"
    fitting = _fitting(table.networks, path, where)
    stranger = next((name for name in fitting if name not in networks), None)
    if stranger is not None:
        raise InputError(f"{where}: '{stranger}' is none of the study's networks; add it there")
    return frozenset(fitting)


def _fitting(patterns: list[str], path: Path, where: str) -> list[Path]:
    """Return the files that fit patterns, which are relative to the study."""
    paths: list[Path] = []
    for pattern in patterns:
        whole = str(path.parent / Path(pattern).expanduser())
        if not glob.has_magic(whole) or Path(whole).exists():
            paths.append(Path(whole))
            continue
        fitting = [Path(name) for name in sorted(glob.glob(whole, recursive=True))]  # noqa: PTH207 - absolute patterns too
        files = [file for file in fitting if file.is_file()]
        if not files:
            raise InputError(f"{where}: no file fits '{pattern}'")
        paths += files
    return paths


def study_schema() -> str:
    """Return the JSON schema of study files, for editors."""
    return schema_text(Study, "ethosgen study")
