"""Files of weights apart from the code: built from a retrained network, checked for a project."""

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ethosgen.flow.firmware import find_firmware
from ethosgen.flow.firmware_run import RunOptions, run_and_judge
from ethosgen.flow.planning import (
    compile_placed,
    make_plan,
    read,
    read_stored,
    stored_settings,
)
from ethosgen.flow.reserve import with_reserve
from ethosgen.flow.self_test import with_golden
from ethosgen.host.file_errors import require_writable
from ethosgen.project.info import ApartInfo, NetworkInfo, ProjectInfo
from ethosgen.project.weights_file import (
    SUFFIX,
    Weights,
    WeightsCode,
    read_weights,
    stored_name,
    write_weights,
)
from ethosgen.values.accelerator import NO_NPU
from ethosgen.values.errors import InputError, cannot_write
from ethosgen.values.grammar import counted
from ethosgen.values.network import Network, Tensor
from ethosgen.values.plan import IoStyle, Plan
from ethosgen.values.program import Program
from ethosgen.values.report import FirmwareReport, Report
from ethosgen.values.source import AS_GIVEN, ReadOptions
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import Inputs

if TYPE_CHECKING:
    from ethosgen.project import Project

_LONGEST_LINE = 60
"""Most characters of a line of C in a message."""


@dataclass(frozen=True)
class BuiltWeights:
    """A file of weights for a network of a project, and the network from which it was built."""

    file: Path
    bytes: int
    weights: Weights
    network: Network
    index: int


def read_file(file: Path, codes: Sequence[WeightsCode] = ()) -> Weights:
    """Read a file of weights; WeightsError if it is damaged, or for none of `codes`."""
    try:
        return read_weights(file.read_bytes(), f"'{file}'", codes)
    except OSError as error:
        raise InputError(f"cannot read '{file}': {error.strerror}") from None


def codes_of(info: ProjectInfo) -> tuple[WeightsCode, ...]:
    """Return the weights that a project's code expects; InputError if they are in the code."""
    aparts = ((name, _require_apart(info, i)) for i, name in enumerate(info.names))
    return tuple(
        WeightsCode(stored_name(name), apart.code, None, apart.alignment) for name, apart in aparts
    )


def build_weights(
    source: Path,
    directory: Path,
    *,
    network: str | None = None,
    output: Path | None = None,
    revision: int = 0,
    force: bool = False,
    reading: ReadOptions = AS_GIVEN,
    watch: Watch,
) -> BuiltWeights:
    """Build the file of weights of a retrained network, for the code of a project.

    `network` is the name, if the project has several. The network is planned with the project's
    options, and checked against the oracle. If it needs other code, InputError says what differs.
    """
    from ethosgen.project import open_project

    info = open_project(directory)
    index = _choose(info, network)
    apart = _require_apart(info, index)
    name = info.names[index]
    place = output or Path(f"{name}{SUFFIX}")
    if place.exists() and not force:
        raise InputError(f"'{place}' exists; name another file with -o, or replace it with --force")
    retrained = read(source, name, watch, reading)
    plans = [
        _plan(retrained if i == index else read_stored(stored, watch), info, i, watch, i == index)
        for i, stored in enumerate(info.networks)
    ]
    weights = _fitting(plans, index, info, apart, watch)
    data = write_weights(replace(weights, revision=revision), apart.alignment)
    require_writable(place.absolute().parent)
    try:
        place.write_bytes(data)
    except OSError as error:
        raise cannot_write(place, error) from None
    return BuiltWeights(place, len(data), replace(weights, revision=revision), retrained, index)


def verify_weights(
    built: BuiltWeights, directory: Path, *, on: str = "qemu", inputs: Inputs, watch: Watch
) -> Report | FirmwareReport:
    """Run a project's built firmware with a file of weights, and check its outputs."""
    from ethosgen.project import open_project

    info = open_project(directory)
    firmware = replace(find_firmware(info, on), on=on)
    networks = list(info.networks)
    apart = _require_apart(info, built.index)
    file = built.file.absolute()
    networks[built.index] = replace(networks[built.index], weights=replace(apart, file=file))
    info = replace(info, networks=tuple(networks))
    return run_and_judge({built.index: built.network}, info, firmware, RunOptions(inputs), watch)


def _require_apart(info: ProjectInfo, index: int) -> ApartInfo:
    apart = info.networks[index].weights
    if apart is None:
        raise InputError(
            f"'{info.directory}' has its weights in the code; generate it elsewhere with: ethosgen "
            "project --weights blob"
        )
    return apart


def _choose(info: ProjectInfo, name: str | None) -> int:
    if name is not None:
        return info.index(name)
    if len(info.networks) > 1:
        raise InputError(
            f"'{info.directory}' has {counted(len(info.networks), 'network')}; choose one with "
            f"--network: {', '.join(info.names)}"
        )
    return 0


def _plan(network: Network, info: ProjectInfo, index: int, watch: Watch, is_new: bool) -> Plan:
    """Plan a network as its project was; only a new plan is compared with the oracle."""
    settings = stored_settings(info, index)
    return make_plan(network, settings if is_new else settings.unchecked(), watch)


def _fitting(
    plans: Sequence[Plan], index: int, info: ProjectInfo, apart: ApartInfo, watch: Watch
) -> Weights:
    """Return the weights of one of the plans; InputError if the project's code differs."""
    from ethosgen.project import render

    known = [_require_apart(info, i).scratches for i in range(len(plans))]
    programs = [
        compile_placed(with_reserve(plan, sizes), info.board, info.memory_mode, watch)
        for plan, sizes in zip(plans, known, strict=True)
    ]
    programs[index] = with_golden(programs[index], watch)
    with watch.phase("render", "comparing the code"):
        project = render(programs, info.board, platform=info.platform, memory_mode=info.memory_mode)
        path = apart.file.resolve().relative_to(info.directory.resolve()).as_posix()
        weights = read_weights(project.files[path], path)
    if weights.digest == apart.code:
        return weights
    lacks = list(_interface(programs[index], info.networks[index]))
    lacks += _scratch_lacks(plans[index], apart)
    what = "; ".join(lacks or _lines(info, apart, project))
    raise InputError(
        f"the code in '{info.directory}' cannot run this network: {what}; an update of the weights "
        f"alone must keep all this, so generate a new project{_advice(info)}, and update the "
        "firmware"
    )


def _advice(info: ProjectInfo) -> str:
    """Return the option that lets more networks fit."""
    if info.npu == NO_NPU or info.io is IoStyle.CALLER:
        return ""
    return " (with --io caller, which does not depend on Vela's layout of the arena)"


def _scratch_lacks(plan: Plan, apart: ApartInfo) -> Iterator[str]:
    for scratch in plan.scratches:
        has = apart.scratches.get(scratch.name, 0)
        if scratch.bytes > has:
            needed = counted(scratch.bytes, "byte")
            yield f"the NPU's {scratch.name} needs {needed} instead of {has:,}"


def _interface(program: Program, known: NetworkInfo) -> Iterator[str]:
    ends = (("input", known.inputs, program.inputs), ("output", known.outputs, program.outputs))
    for kind, old, ports in ends:
        if len(old) != len(ports):
            yield f"it has {counted(len(ports), kind)} instead of {len(old)}"
            continue
        for was, port in zip(old, ports, strict=True):
            for what, had, other in (
                ("type", was.dtype, port.tensor.dtype),
                ("shape", list(was.shape), list(port.tensor.shape)),
                ("scale and zero point", _scales(was), _scales(port.tensor)),
            ):
                if had != other:
                    yield f"{kind} '{port.tensor.name}' has {what} {other} instead of {had}"
    partitions = sum(partition.on_npu for partition in program.plan.partitions)
    if partitions != known.summary.partitions:
        parts = counted(partitions, "part")
        yield f"the NPU runs {parts} of it instead of {known.summary.partitions}"


def _scales(tensor: Tensor) -> str:
    quantization = tensor.quantization
    if quantization is None:
        return "none"
    pairs = zip(quantization.scale, quantization.zero_point, strict=False)
    return ", ".join(f"{scale:.9g} and {point}" for scale, point in pairs)


def _lines(info: ProjectInfo, apart: ApartInfo, project: "Project") -> Iterator[str]:
    """Yield the first differing lines of C of each file."""
    from ethosgen.project import code_text

    folder = apart.file.parent.resolve().relative_to(info.directory.resolve()).as_posix()
    name = apart.file.name.removesuffix(SUFFIX)
    is_reported = False
    for path, data in sorted(project.files.items()):
        own = path.startswith((f"{folder}/{name}.", f"{folder}/{name}_"))
        if not path.endswith((".c", ".h")) or path not in project.library:
            continue
        file = info.directory / path
        old = code_text(file.read_bytes()) if file.is_file() else ""
        new = code_text(data)
        if own and old != new and path != f"{folder}/{name}.c":
            is_reported = True
            yield f"{path} would have {_first(old, new)}"
    if not is_reported:
        yield (
            "the lengths of its constants, or the kernels of this version of ethosgen, differ from "
            "those that the code was generated with"
        )


def _first(old: str, new: str) -> str:
    """Quote the first line that differs."""
    added = removed = ""
    for line in difflib.ndiff(old.splitlines(), new.splitlines()):
        if line.startswith("- ") and not removed:
            removed = line[2:]
        if line.startswith("+ ") and not added:
            added = line[2:]
        if added and removed:
            break
    return f"`{_short(added)}` instead of `{_short(removed)}`"


def _short(line: str) -> str:
    return line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}…"
