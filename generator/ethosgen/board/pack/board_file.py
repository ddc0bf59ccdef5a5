"""Write a board file for a pack's device: the pack's facts, derived facts, blanks."""

import json
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ethosgen.backend import accelerators
from ethosgen.board.blanks import BLANK
from ethosgen.board.cpu import CORES, Core, CoreName
from ethosgen.board.facts import BAREMETAL_UARTS
from ethosgen.board.pack.description import (
    Algorithm,
    NpuFeature,
    PackDevice,
    PackMemory,
    PackProcessor,
)

_FPUS = {
    "0": "none", "NO_FPU": "none", "1": "single", "FPU": "single", "SP_FPU": "single",
    "2": "double", "DP_FPU": "double",
}  # fmt: skip
_DSPS = {"0": False, "NO_DSP": False, "1": True, "DSP": True}
_KINDS = {
    "tcm": re.compile(r"[ID]TCM|TCM", re.IGNORECASE),
    "dram": re.compile(r"DDR|DRAM|PSRAM|HYPER", re.IGNORECASE),
    "flash": re.compile(r"FLASH|ROM|MRAM|RRAM|NVM|XIP", re.IGNORECASE),
    "sram": re.compile(r"(?<!I)RAM", re.IGNORECASE),  # IRAM1 may be anything
}
"""Kinds by the usual names of memories; the first match counts."""
_LARGEST = 1 << 32


@dataclass(frozen=True)
class _Chosen:
    """A memory of the pack that goes into the file, with its assumed kind; None is a blank."""

    name: str
    start_addr: int
    size_bytes: int
    access: str
    kind: str | None
    startup: bool
    default: bool
    npu_start_addr: int | None = None


def file_name(device: PackDevice, processor: PackProcessor) -> str:
    """Return the file's default name: the device's, and the core's if there are several."""
    parts = [device.name] + (
        [processor.name] if len(device.processors) > 1 and processor.name else []
    )
    return re.sub(r"[^a-z0-9]+", "-", "-".join(parts).lower()).strip("-") + ".toml"


def board_text(device: PackDevice, processor: PackProcessor, path: Path) -> str:
    """Return a board file with blanks to fill in, each with a question."""
    memories = _memories(device, processor)
    flashers = _flash(device)
    has_npu = _may_have_npu(device, processor)
    doubts = [
        *(["npu.secure", "npu.privileged"] if has_npu else []),
        "placements", "counter", "flash.pyocd",
        *(f"memories.{m.name}.kind" for m in memories if m.kind),
        *(
            f"memories.{m.name}.npu_start_addr"
            for m in memories
            if has_npu and m.npu_start_addr is not None
        ),
    ]  # fmt: skip
    if processor.mve is None and _core(processor).has_mve:
        doubts.append("cpu.core")
    lines = [
        f"# {device.vendor} {device.name}, from the CMSIS pack {device.pack}.",
        f'# The pack does not have all facts: fill in each "{BLANK}" (or delete its line if',
        f"# the comment says so), then check with: ethosgen boards show "
        f"{shlex.quote(f'./{path.name}')}",
        "",
        f"description = {_quoted(_title(device, processor))}",
        'platforms = ["baremetal", "csolution"]',
        f"unverified = {_listed(doubts)}",
        f"notes = {_listed(_notes(device, processor))}",
        "",
        *_cpu(processor),
        "",
        *([*_npu(device, processor), ""] if has_npu else []),
        *(line for memory in memories for line in _memory(memory, has_npu)),
        *_placements(memories, has_npu),
        *_devices(processor),
        *flashers,
        "# Its names in CMSIS-Toolbox, for --platform csolution.",
        "[cmsis]",
        f"device = {_quoted(_cmsis_name(device, processor))}",
        f"packs = [{_quoted(device.pack)}]",
    ]
    return "\n".join(lines) + "\n"


def _title(device: PackDevice, processor: PackProcessor) -> str:
    core = f", {processor.name}" if processor.name else ""
    return f"{device.vendor} {device.name}{core}"


def _cmsis_name(device: PackDevice, processor: PackProcessor) -> str:
    name = f"{device.vendor}::{device.name}"
    several = len(device.processors) > 1 and processor.name
    return f"{name}:{processor.name}" if several else name


def _notes(device: PackDevice, processor: PackProcessor) -> list[str]:
    what = "the NPU or the console" if _may_have_npu(device, processor) else "the console"
    notes = [f"Written from {device.pack}; a pack has no addresses of {what}."]
    notes += [
        f"Flash algorithm {a.file}" + _range(a.start_addr, a.size_bytes) for a in device.algorithms
    ]
    notes += [f"The pack names an NPU: {npu.words}" for npu in device.npus]
    if processor.trustzone == "TZ":
        notes.append("The core has TrustZone and starts in secure state: use secure addresses.")
    return notes


def _range(start: int | None, size: int | None) -> str:
    return (
        "" if start is None or size is None else f" for {_hex(start)} to {_hex(start + size - 1)}"
    )


def _core_name(processor: PackProcessor) -> CoreName:
    name: Any = processor.core.lower().replace("+", "plus")
    return name  # type: ignore[no-any-return]


def _core(processor: PackProcessor) -> Core:
    return CORES[_core_name(processor)]


def _may_have_npu(device: PackDevice, processor: PackProcessor) -> bool:
    """Return whether to ask for an NPU: the pack names one, or such cores often have one."""
    return bool(device.npus) or _core(processor).has_mve


def _cpu(processor: PackProcessor) -> Iterator[str]:
    core = _core(processor)
    yield "[cpu]"
    yield f"core = {_quoted(_core_name(processor))}"
    if core.has_mve:
        if processor.mve is not None:
            yield f"mve = {_bool(processor.mve != 'NO_MVE')}"
        if processor.mve == "MVE":
            yield "mve_float = false"
    if core.has_caches:
        yield f'icache = "{BLANK}"  # true if it has an instruction cache, else false'
        yield f'dcache = "{BLANK}"  # true if it has a data cache, else false'
    if core.may_lack_dsp and processor.dsp in _DSPS:
        yield f"dsp = {_bool(_DSPS[processor.dsp])}"
    if processor.fpu in _FPUS:
        yield f"fpu = {_quoted(_FPUS[processor.fpu])}"
    elif core.fpu != "none" and not core.has_mve:
        yield f'fpu = "{BLANK}"  # "none", "single" or "double"'
    if processor.clock_hz is None:
        yield f'clock_hz = "{BLANK}"  # the core\'s clock rate, or delete this line'
    else:
        yield f"clock_hz = {processor.clock_hz:_}"


def _npu(device: PackDevice, processor: PackProcessor) -> Iterator[str]:
    names = [name for npu in _own_npus(device, processor) for name in _configurations(npu)]
    yield "[npu]"
    if len(names) == 1:
        yield f"default = {_quoted(names[0])}"
        yield f"configurations = {_listed(names)}"
    else:
        choice = f": one of {', '.join(names)}" if names else ", for instance ethos-u55-128"
        yield f'default = "{BLANK}"  # the NPU of this core{choice}'
        yield f'configurations = ["{BLANK}"]  # the same, and other configurations of the chip'
    yield f'base_addr = "{BLANK}"  # address of the NPU\'s registers'
    yield f'irq = "{BLANK}"  # the NPU\'s interrupt at this core'
    yield f"secure = {_bool(processor.trustzone != 'NO_TZ')}"
    yield "privileged = true"


def _own_npus(device: PackDevice, processor: PackProcessor) -> list[NpuFeature]:
    """Return the NPUs that the pack assigns to this core, or whose words end like its name."""
    for_all = [npu for npu in device.npus if npu.processor in (None, processor.name)]
    ending = (processor.name or "").split("_")[-1]
    named = [npu for npu in for_all if ending and re.search(rf"\b{re.escape(ending)}\b", npu.words)]
    of_core = [npu for npu in for_all if npu.processor is not None]
    return of_core or named or for_all


def _configurations(npu: NpuFeature) -> list[str]:
    return [
        name
        for name, accelerator in accelerators().items()
        if accelerator.product == npu.product and npu.macs in (None, accelerator.macs)
    ]


def _memories(device: PackDevice, processor: PackProcessor) -> list[_Chosen]:
    """Return the core's memories, one alias of each, the secure one if there are two.

    If an alias belongs to this core (its TCM), the other address is the one that the rest of the
    chip uses, the NPU included; if it belongs to another core, that core keeps the memory.
    """
    by_name = {memory.name: memory for memory in device.memories}
    cores = {m.alias: m.processor for m in device.memories if m.alias and m.processor}
    own = [
        memory
        for memory in device.memories
        if memory.processor in (None, processor.name)
        and (memory.alias is None or memory.processor is not None)
        and memory.name not in cores
    ]
    has_secure = any("s" in memory.access for memory in own)
    chosen: list[_Chosen] = []
    for memory in own:
        access = "".join(letter for letter in "rwx" if letter in memory.access)
        is_other_alias = has_secure and "n" in memory.access and "s" not in memory.access
        is_outside = memory.start_addr % 4 or not 0 < memory.size_bytes <= _LARGEST
        if "r" not in access or "p" in memory.access or is_other_alias or is_outside:
            continue
        end = memory.start_addr + memory.size_bytes
        if end > _LARGEST or any(
            memory.start_addr < c.start_addr + c.size_bytes and c.start_addr < end for c in chosen
        ):
            continue
        part = _choose(memory, access, {c.name for c in chosen}, device.algorithms)
        seen_as = by_name.get(memory.alias or "")
        if seen_as is not None:
            part = replace(part, npu_start_addr=seen_as.start_addr)
        chosen.append(part)
    return chosen


def _choose(
    memory: PackMemory, access: str, taken: set[str], algorithms: Sequence[Algorithm]
) -> _Chosen:
    name = re.sub(r"[^a-z0-9_]+", "_", memory.name.lower()).strip("_")
    if not name or name[0].isdigit():
        name = f"memory_{name}".rstrip("_")
    while name in taken:
        name += "_2"
    return _Chosen(
        name,
        memory.start_addr,
        memory.size_bytes,
        access,
        _kind(memory, access, algorithms),
        memory.startup,
        memory.default,
    )


def _kind(memory: PackMemory, access: str, algorithms: Sequence[Algorithm]) -> str | None:
    """Return a memory's kind from its name, its flash algorithm and its access rights."""
    for algorithm in algorithms:
        start, size = algorithm.start_addr, algorithm.size_bytes
        if start is not None and size is not None and start <= memory.start_addr < start + size:
            return "flash"
    for kind, pattern in _KINDS.items():
        if pattern.search(memory.name):
            return kind
    return None if "w" in access else "flash"


def _memory(memory: _Chosen, has_npu: bool) -> Iterator[str]:
    yield f"[memories.{memory.name}]"
    yield f"start_addr = {_hex(memory.start_addr)}"
    yield f"size_bytes = {_hex(memory.size_bytes)}"
    if memory.kind is None:
        yield f'kind = "{BLANK}"  # "tcm", "sram", "dram" or "flash"'
    else:
        yield f"kind = {_quoted(memory.kind)}"
    yield f"access = {_quoted(memory.access)}"
    if has_npu and memory.kind != "tcm":
        yield (
            f'npu_port = "{BLANK}"  # 0 or 1, the NPU\'s AXI port that reaches it; delete this '
            "line if none does"
        )
    if has_npu and memory.npu_start_addr is not None:
        yield f"npu_start_addr = {_hex(memory.npu_start_addr)}"
    yield ""


def _placements(memories: Sequence[_Chosen], has_npu: bool) -> Iterator[str]:
    """Yield an initial placement, with the usual memory for each part."""

    def first(*choices: Iterator[_Chosen]) -> str:
        return next((m.name for choice in choices for m in choice), BLANK)

    code = first(
        (m for m in memories if m.startup and "x" in m.access),
        (m for m in memories if m.kind == "flash" and "x" in m.access),
        (m for m in memories if "x" in m.access),
    )
    near = [m for m in memories if "w" in m.access and m.name != code]
    arena = first(
        iter(sorted((m for m in near if m.kind == "sram"), key=lambda m: -m.size_bytes)),
        iter([] if has_npu else near),
    )
    data = first(
        (m for m in near if m.kind == "tcm" and not re.match(r".*itcm", m.name)),
        (m for m in near if m.default),
        iter(near),
    )
    weights = first(
        (m for m in memories if m.kind == "flash"), (m for m in memories if m.kind == "dram")
    )
    why = {
        "code": "the memory of vectors, instructions and constants",
        "data": "the memory of variables and the stack",
        "arena": "the SRAM of the network's tensors" + (", at the NPU's port 0" if has_npu else ""),
        "io": "the same",
        "commands": "the memory of the NPU's commands, for example flash",
        "weights": "the memory of the network's weights"
        + (", at the NPU's port 1" if has_npu else ""),
    }
    parts = {"code": code, "data": data, "arena": arena, "io": arena}
    parts |= {"commands": weights} if has_npu else {}
    yield "[placements.shared_sram]"
    for part, memory in {**parts, "weights": weights}.items():
        comment = f"  # {why[part]}" if memory == BLANK else ""
        yield f"{part} = {_quoted(memory)}{comment}"
    yield ""


def _devices(processor: PackProcessor) -> Iterator[str]:
    yield "[console]"
    known = ", ".join(map(_quoted, BAREMETAL_UARTS))
    yield f'uart = "{BLANK}"  # one that start-up can drive: {known}'
    yield f'base_addr = "{BLANK}"  # address of the UART\'s registers'
    yield f'rx_irq = "{BLANK}"  # its interrupt at this core'
    yield f'clock_hz = "{BLANK}"  # the clock that its divider divides'
    yield "baud = 115_200"
    yield ""
    has_dwt = _core(processor).arch != "armv6s-m"
    yield "# The processor's own counter" + (", of cycles." if has_dwt else ".")
    yield "[counter]"
    yield f'kind = "{"dwt" if has_dwt else "systick"}"'
    yield f"control_addr = {'0xe0001000' if has_dwt else '0xe000e010'}"
    yield f"value_addr = {'0xe0001004' if has_dwt else '0xe000e018'}"
    if processor.clock_hz is None:
        yield f'hz = "{BLANK}"  # the core\'s clock rate'
    else:
        yield f"hz = {processor.clock_hz:_}"
    yield ""
    yield "[run.serial]"
    yield 'reset = "none"'
    yield ""


def _flash(device: PackDevice) -> Iterator[str]:
    yield "# pyOCD gets a device's flash algorithms once, with: pyocd pack install " + device.name
    yield "[flash.pyocd]"
    target = re.sub(r"[^a-z0-9]", "_", device.name.lower())
    yield f'command = ["pyocd", "flash", "--target", {_quoted(target)}, "{{elf}}"]'
    yield ""


def _listed(words: Sequence[str]) -> str:
    if sum(map(len, words)) < 70:
        return "[" + ", ".join(map(_quoted, words)) + "]"
    return "[\n" + "".join(f"    {_quoted(word)},\n" for word in words) + "]"


def _quoted(text: Any) -> str:
    return json.dumps(text, ensure_ascii=False)


def _bool(value: bool) -> str:
    return "true" if value else "false"


def _hex(value: int) -> str:
    return f"0x{value:08x}"
