"""The study file (TOML): what a sweep measures, with one sentence for each fault."""

import glob
import json
import re
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from ethosgen.values.errors import InputError
from ethosgen.values.schedule import Strategy
from ethosgen.values.source import AS_IS, CHANNELS_LAST
from ethosgen.values.toml_lines import describe_fault

_SCHEMA_ADDRESS = "https://json-schema.org/draft/2020-12/schema"
_UNITS = {"": 1, "b": 1, "kib": 1 << 10, "mib": 1 << 20}
_SIZE = re.compile(r"(\d+)\s*(b|kib|mib)?", re.IGNORECASE)


def _bytes_of(size: int | str) -> int:
    """Return a size in bytes; ValueError for what is none."""
    found = _SIZE.fullmatch(str(size).strip())
    value = int(found[1]) * _UNITS[(found[2] or "").lower()] if found else 0
    if value < 1:
        raise ValueError(f"'{size}' is not a size; write bytes, KiB or MiB: 65536, '64KiB'")
    return value


def _some(values: list[str]) -> list[str]:
    if not values:
        raise ValueError("is empty; name at least one, or delete the line for the default")
    return values


Names = Annotated[list[str], AfterValidator(_some)]
Size = Annotated[int | str, AfterValidator(_bytes_of)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Study(_Table):
    """A study: every combination of its lists is a point."""

    networks: Names = Field(
        description="Files of networks, relative to the study; * and ? stand for any letters."
    )
    boards: Names = Field(["corstone300"], description="Names or files of boards; all.")
    npus: Names = Field(["all"], description="NPUs; all of the board; none: the CPU alone.")
    memory_modes: list[str] = Field(
        [], description="sram_only, shared_sram, dedicated_sram; all; empty: the board's own."
    )
    strategies: Annotated[list[Strategy], Field(min_length=1)] = Field(
        [Strategy.PERFORMANCE], description="What Vela minimises: performance, size."
    )
    arena_limits: list[Size] = Field(
        [], description="Also compile with these limits of SRAM: bytes, or '64KiB'."
    )
    front: bool = Field(
        False, description="Search schedules, and measure the front of each NPU and memory mode."
    )
    samples: Annotated[int, Field(ge=0)] | None = Field(
        None, description="Random samples for exactness; 0 omits it; by default 5, or fewer."
    )
    seed: int = Field(0, ge=0, description="Seed of the samples.")
    build: bool = Field(False, description="Compile the firmware too, for the size of its code.")
    offload: Literal["all", "auto", "none"] = Field(
        "all", description="Operators for the NPU: all, those estimated faster there, or none."
    )
    cpu_ops: list[str] = Field([], description="Operators to keep on the CPU, by TFLite's names.")
    check: bool = Field(True, description="Compare each plan with the oracle before it is used.")
    trust_compiler: bool = Field(False, description="Offload despite known errata, unchecked.")
    allow_difference: float = Field(
        0.0, ge=0, description="The steps by which outputs of accelerators may differ."
    )
    oracle: str | None = Field(None, description="The oracle that decides.")
    shapes: dict[str, list[int]] = Field({}, description="Shapes of inputs with open sizes.")
    input_layout: Literal["as-is", "nhwc"] = Field(
        "as-is", description="nhwc: inputs of channels-first networks have channels last."
    )


assert {AS_IS, CHANNELS_LAST} == {"as-is", "nhwc"}


def load_study(path: Path) -> Study:
    """Read a study; InputError names the file, the line and the field that is wrong."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        facts = tomllib.loads(text)
    except OSError as error:
        raise InputError(f"cannot read study '{path}': {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"study '{path}' is not TOML: {error}") from None
    try:
        return Study.model_validate(facts)
    except ValidationError as error:
        raise InputError(f"study '{path}'{describe_fault(error.errors()[0], text)}") from None


def find_networks(study: Study, path: Path) -> tuple[Path, ...]:
    """Return the networks' files, each once; InputError for a pattern that fits none."""
    found: list[Path] = []
    for pattern in study.networks:
        whole = str(path.parent / Path(pattern).expanduser())
        if not glob.has_magic(whole) or Path(whole).exists():
            found.append(Path(whole))
            continue
        fitting = [Path(one) for one in sorted(glob.glob(whole, recursive=True))]  # noqa: PTH207 - absolute patterns too
        files = [one for one in fitting if one.is_file()]
        if not files:
            raise InputError(f"study '{path}': networks: no file fits '{pattern}'")
        found += files
    return tuple(dict.fromkeys(found))


def study_schema() -> str:
    """Return the JSON schema of study files, for editors."""
    schema: dict[str, Any] = Study.model_json_schema()
    schema["title"] = "ethosgen study"
    return json.dumps({"$schema": _SCHEMA_ADDRESS, **schema}, indent=1, sort_keys=True) + "\n"
