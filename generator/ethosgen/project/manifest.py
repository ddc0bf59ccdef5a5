"""Projects: their files in memory, and the manifest that describes them on disk."""

import dataclasses
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ethosgen.aot.times import slice_time, stored_time
from ethosgen.backend import compiler_of, wrapped_of
from ethosgen.board import DEFAULT_MEMORY_MODE, Board
from ethosgen.frontend import source_of, suffix_of
from ethosgen.platforms import DEFAULT_PLATFORM, PLATFORMS, find_platform
from ethosgen.project.capacity import part_sizes
from ethosgen.project.info import ApartInfo, NetworkInfo, ProjectInfo
from ethosgen.project.memory_facts import memory_facts
from ethosgen.project.weights import alignment_of, regions_of
from ethosgen.project.weights_file import SUFFIX, read_weights
from ethosgen.values.advice import Improvement
from ethosgen.values.arena import ArenaSize
from ethosgen.values.errors import InputError
from ethosgen.values.handover import PIPELINE_FILE, PROJECT_FILE
from ethosgen.values.network import Quantization, Tensor
from ethosgen.values.optimization import Change, Optimization
from ethosgen.values.plan import (
    Check,
    Choice,
    CpuOperator,
    IoStyle,
    Offered,
    OffloadMode,
    OffloadOptions,
    Placing,
    PlanSummary,
    Share,
)
from ethosgen.values.profile import ProgramStep
from ethosgen.values.program import Port, Program
from ethosgen.values.schedule import Schedule, Strategy, Streaming
from ethosgen.values.security import Security
from ethosgen.values.source import AS_GIVEN, ReadOptions
from ethosgen.values.time import CpuTime
from ethosgen.version import __version__

FORMAT = 1
"""The manifest's format. A release that adds a field increments it; each reads only its own."""
LIBRARY = "model"
"""The folder of the model library."""
MANIFEST = PROJECT_FILE
"""Describes the library and its files as written. It is in the library's folder, so that both
change in one step."""


@dataclass(frozen=True)
class Project:
    """A project in memory: `files` maps a relative path to its content.

    `names` are the networks'. `library` names the files that generating again replaces; `digest`
    covers all of them.
    """

    names: tuple[str, ...]
    board: str
    npu: str
    io: IoStyle
    memory_mode: str
    platform: str
    security: Security
    digest: str
    files: Mapping[str, bytes] = field(repr=False)
    library: frozenset[str] = field(repr=False)
    app: str | None = None

    @property
    def apart(self) -> bool:
        """Whether weights are in files apart from the code."""
        return any(path.endswith(SUFFIX) for path in self.library)

    @property
    def application(self) -> frozenset[str]:
        """The files that belong to the user once they are written."""
        return frozenset(self.files) - self.library


def digest_of(files: Mapping[str, bytes]) -> str:
    """Return a library's digest: the start of a SHA-256 over names and contents."""
    whole = hashlib.sha256()
    for path in sorted(files):
        whole.update(f"{path}\0{len(files[path])}\0".encode())
        whole.update(files[path])
    return whole.hexdigest()[:16]


def make_manifest(
    programs: Sequence[Program],
    board: Board,
    digest: str,
    library: Mapping[str, bytes],
    platform: str = DEFAULT_PLATFORM,
    memory_mode: str = DEFAULT_MEMORY_MODE,
    app: str | None = None,
) -> bytes:
    """Return the manifest's text. It includes the board's facts, to be self-contained."""
    content = {
        "ethosgen": __version__,
        "format": FORMAT,
        "digest": digest,
        "npu": programs[0].plan.npu,
        "io": programs[0].io.value,
        "memory_mode": memory_mode,
        "networks": [
            {
                **_write_network(program, board, folder_of(program, programs)),
                **_write_weights(program, folder_of(program, programs), library),
            }
            for program in programs
        ],
        "board": board.model_dump(mode="json"),
        **_write_accelerators(programs),
        **({"platform": platform} if platform != DEFAULT_PLATFORM else {}),
        **({"app": app} if app else {}),
        "files": {path: hashlib.sha256(data).hexdigest() for path, data in library.items()},
    }
    return (json.dumps(content, indent=1) + "\n").encode()


def _write_accelerators(programs: Sequence[Program]) -> dict[str, Any]:
    """Return the names of users' accelerators: each has a folder in the library."""
    names = dict.fromkeys(accelerator.name for p in programs for accelerator in wrapped_of(p.plan))
    return {"accelerators": list(names)} if names else {}


def folder_of(program: Program, programs: Sequence[Program]) -> str:
    """Return the folder of a network's files below LIBRARY: "", or a name with a final slash."""
    return f"{program.name}/" if len(programs) > 1 else ""


def data_files(programs: Sequence[Program]) -> frozenset[str]:
    """Return the library's files that other weights change, if these are apart from the code."""
    return frozenset(
        f"{LIBRARY}/{folder_of(program, programs)}{program.name}{suffix}"
        for program in programs
        if program.plan.apart
        for suffix in (SUFFIX, suffix_of(source_of(program.plan.network)))
    )


def _write_network(program: Program, board: Board, folder: str) -> dict[str, Any]:
    asked, source = program.plan.options, source_of(program.plan.network)
    return {
        "name": program.name,
        "source": {
            "format": source.format,
            "file": f"{folder}{program.name}{suffix_of(source)}",
            **_write_reading(source.options),
        },
        "plan": dataclasses.asdict(program.summary()),
        "cpu_time": _write_time(program, board),
        "advice": [dataclasses.asdict(piece) for piece in program.advice],
        "parts": part_sizes(program, board),
        "cpu_ops": list(asked.cpu_ops),
        "offload": asked.mode.value,
        "trust_compiler": asked.trust_compiler,
        "check": asked.check,
        "optimize": asked.optimize,
        "oracle": asked.oracle,
        "steps": asked.steps,
        "schedule": _write_schedule(asked.schedule),
        "inputs": [_write_port(port) for port in program.inputs],
        "outputs": [_write_port(port) for port in program.outputs],
        "calls": [dataclasses.asdict(step) for step in program.steps],
        "memory": memory_facts(program),
        **_write_slices(program, board),
    }


def _write_slices(program: Program, board: Board) -> dict[str, Any]:
    """Return the slices of an inference, and the longest one's time by stored costs."""
    if not program.slices:
        return {}
    longest = slice_time(program, board.cpu.core, board.cpu.clock_hz)
    slices = sum(step.turns for step in program.slices)
    return {"slices": {"count": slices, "longest": longest and longest.as_json()}}


def _write_schedule(schedule: Schedule) -> dict[str, Any]:
    written: dict[str, Any] = {
        "strategy": schedule.strategy.value,
        "arena_bytes": schedule.arena_bytes,
    }
    if schedule.stream is not Streaming.AUTO:
        written["stream"] = schedule.stream.value
    if schedule.fetch_bytes is not None:
        written["fetch_bytes"] = schedule.fetch_bytes
    if schedule.bands_above is not None:
        written["bands_above"] = schedule.bands_above
    asked = {"feed": schedule.feed, "step": schedule.steps}
    return {**written, **{option: True for option, is_asked in asked.items() if is_asked}}


def _write_time(program: Program, board: Board) -> dict[str, Any] | None:
    """Return the CPU's share of an inference by stored costs, None for a core without them."""
    plan = program.plan
    start = compiler_of(plan.accelerator).start_cycles if plan.accelerator else 0
    time = stored_time(plan, board.cpu.core, board.cpu.clock_hz, start)
    return None if time is None else time.as_json()


def _write_weights(
    program: Program, folder: str, library: Mapping[str, bytes]
) -> dict[str, dict[str, Any]]:
    """Return the entry of a network whose weights are apart from the code."""
    if not program.plan.apart:
        return {}
    file = f"{folder}{program.name}{SUFFIX}"
    data = library[f"{LIBRARY}/{file}"]
    digest = read_weights(data, file).digest
    apart = {
        "file": file,
        "bytes": len(data),
        "code": digest,
        "scratches": {scratch.name: scratch.bytes for scratch in program.plan.scratches},
        "alignment": alignment_of(regions_of(program)),
    }
    return {"weights": apart}


def is_project(directory: Path) -> bool:
    """Return whether a directory looks like a project."""
    return (directory / MANIFEST).is_file()


def open_project(directory: Path) -> ProjectInfo:
    """Read a project's manifest; InputError if the directory has none, or a damaged one."""
    path = directory / MANIFEST
    if not directory.is_dir():
        raise InputError(f"there is no directory '{directory}'; create it with: ethosgen project")
    if (directory / PIPELINE_FILE).is_file():
        element = next(iter(sorted(directory.glob(f"*/{MANIFEST}"))), path).parent.parent
        raise InputError(
            f"'{directory}' is a pipeline, and each of its elements is a project: name one, as in "
            f"'{element}'"
        )
    if not path.is_file():
        raise InputError(f"'{directory}' is not an ethosgen project: it has no {MANIFEST}")
    try:
        content = json.loads(path.read_bytes())
        _require_format(path, content["format"], str(content["ethosgen"]))
        return _read_manifest(directory, content)
    except OSError as error:
        raise InputError(f"cannot read '{path}': {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError, ValidationError) as error:
        raise InputError(
            f"'{path}' is damaged ({type(error).__name__}); generate the project again elsewhere"
        ) from None


def _require_format(path: Path, version: object, maker: str) -> None:
    """Raise InputError for a manifest of another format; TypeError for no number."""
    if type(version) is not int:  # true and 1.0 equal 1
        raise TypeError("a format that is not an integer")
    if version != FORMAT:
        remedy = "" if maker == __version__ else f"use ethosgen {maker}, which made it, or "
        raise InputError(
            f"'{path}' has format {version}, but this ethosgen {__version__} reads {FORMAT}; "
            f"{remedy}generate the project again elsewhere"
        )


def _read_manifest(directory: Path, content: Mapping[str, Any]) -> ProjectInfo:
    networks = tuple(_read_network(directory, network) for network in content["networks"])
    if not networks:
        raise ValueError("no network")
    platform = str(content.get("platform", DEFAULT_PLATFORM))
    find_platform(platform)
    known = [name for name in content["board"]["platforms"] if name in PLATFORMS]
    return ProjectInfo(
        directory=directory,
        networks=networks,
        board=Board.model_validate({**content["board"], "platforms": known}),
        npu=str(content["npu"]),
        io=IoStyle(content["io"]),
        digest=str(content["digest"]),
        files={str(path): str(digest) for path, digest in content["files"].items()},
        platform=platform,
        memory_mode=str(content["memory_mode"]),
        accelerators=tuple(_below(directory, name) for name in content.get("accelerators", ())),
        app=content.get("app"),
    )


def _read_network(directory: Path, network: Mapping[str, Any]) -> NetworkInfo:
    source = network["source"]
    path = _below(directory, source["file"])
    return NetworkInfo(
        name=str(network["name"]),
        summary=_read_summary(network["plan"]),
        inputs=tuple(_read_port(i, port) for i, port in enumerate(network["inputs"])),
        outputs=tuple(_read_port(i, port) for i, port in enumerate(network["outputs"])),
        parts={str(part): int(size) for part, size in network["parts"].items()},
        source=path,
        format=str(source["format"]),
        reading=_read_reading(source),
        steps=tuple(ProgramStep(**step) for step in network["calls"]),
        weights=_read_weights(directory, network),
        cpu_time=_read_time(network.get("cpu_time")),
        advice=tuple(Improvement(**piece) for piece in network.get("advice", ())),
        options=OffloadOptions(
            cpu_ops=tuple(map(str, network["cpu_ops"])),
            mode=OffloadMode(network["offload"]),
            trust_compiler=bool(network["trust_compiler"]),
            check=bool(network["check"]),
            optimize=bool(network["optimize"]),
            oracle=network["oracle"],
            steps=float(network["steps"]),
            allow_fallback=True,  # the project was written, so this was allowed, or not needed
            schedule=_read_schedule(network["schedule"]),
        ),
    )


def _read_time(time: Mapping[str, Any] | None) -> CpuTime | None:
    if time is None:
        return None
    return CpuTime(
        int(time["cycles"]),
        None if time["clock_hz"] is None else int(time["clock_hz"]),
        str(time["source"]),
        bool(time["counted"]),
        tuple(map(str, time["unknown_operators"])),
    )


def _read_schedule(schedule: Mapping[str, Any]) -> Schedule:
    limit = schedule["arena_bytes"]
    stream = Streaming(schedule.get("stream", Streaming.AUTO.value))
    return Schedule(
        Strategy(schedule["strategy"]),
        None if limit is None else int(limit),
        stream,
        bool(schedule.get("feed", False)),
        bool(schedule.get("step", False)),
        schedule.get("fetch_bytes"),
        schedule.get("bands_above"),
    )


def _read_weights(directory: Path, network: Mapping[str, Any]) -> ApartInfo | None:
    apart = network.get("weights")
    if apart is None:
        return None
    file, code = _below(directory, apart["file"]), str(apart["code"])
    scratches = {str(name): int(size) for name, size in apart["scratches"].items()}
    return ApartInfo(file, code, scratches, int(apart["alignment"]))


def _below(directory: Path, path: object) -> Path:
    """Return a path in the library; ValueError for one outside."""
    library = directory / LIBRARY
    place = library / str(path)
    if not place.resolve().is_relative_to(library.resolve()):
        raise ValueError("a path outside the library")
    return place


def _write_reading(options: ReadOptions) -> dict[str, Any]:
    """Return the values that differ from the defaults."""
    if options == AS_GIVEN:
        return {}
    shapes = {name: list(shape) for name, shape in options.shapes}
    return {"shapes": shapes, "input_layout": options.input_layout}


def _read_reading(source: Mapping[str, Any]) -> ReadOptions:
    shapes = source.get("shapes", {}).items()
    return ReadOptions(
        tuple((str(name), tuple(map(int, shape))) for name, shape in shapes),
        str(source.get("input_layout", AS_GIVEN.input_layout)),
    )


def _read_summary(plan: Mapping[str, Any]) -> PlanSummary:
    operators = tuple(CpuOperator(**operator) for operator in plan["cpu_operators"])
    choices = tuple(Choice(**choice) for choice in plan["choices"])
    fused = tuple(plan["fused"])
    stored = plan["check"]
    placings = tuple(map(_read_placing, plan["placings"]))
    shares = tuple(Share(**share) for share in plan["shares"])
    check = Check(**{**stored, "cases": tuple(stored["cases"])}) if stored else None
    optimized = plan["optimization"]
    read = {
        "cpu_operators": operators,
        "choices": choices,
        "fused": fused,
        "overlapped": tuple(plan["overlapped"]),
        "arena": ArenaSize(**plan["arena"]) if plan["arena"] else None,
        "check": check,
        "shares": shares,
        "placings": placings,
        "optimization": _read_optimization(optimized) if optimized else None,
        "channels_first": tuple(plan["channels_first"]),
    }
    return PlanSummary(**{**plan, **read})


def _read_optimization(stored: Mapping[str, Any]) -> Optimization:
    changes = tuple(Change(**change) for change in stored["changes"])
    return Optimization(**{**stored, "changes": changes})


def _read_placing(placing: Mapping[str, Any]) -> Placing:
    offers = tuple(Offered(**offer) for offer in placing["offers"])
    return Placing(**{**placing, "offers": offers})


def _write_port(port: Port) -> dict[str, Any]:
    quantization = port.tensor.quantization
    return {
        "name": port.tensor.name,
        "c_name": port.c_name,
        "shape": list(port.tensor.shape),
        "dtype": port.tensor.dtype,
        "offset": port.offset,
        "scale": list(quantization.scale) if quantization else [],
        "zero_point": list(quantization.zero_point) if quantization else [],
        "axis": quantization.axis if quantization else 0,
    }


def _read_port(index: int, port: Mapping[str, Any]) -> Tensor:
    quantization = Quantization(
        tuple(float(scale) for scale in port["scale"]),
        tuple(int(point) for point in port["zero_point"]),
        int(port["axis"]),
    )
    return Tensor(
        index=index,
        name=str(port["name"]),
        shape=tuple(int(size) for size in port["shape"]),
        dtype=str(port["dtype"]),
        quantization=quantization if quantization.scale else None,
    )
