"""Rules that the facts of a board must satisfy together; each yields faults, the field first."""

from collections.abc import Iterator
from itertools import combinations
from typing import Any

from ethosgen.backend import accelerators
from ethosgen.board.facts import BAREMETAL_UARTS, BoardFacts, FirmwarePlacement
from ethosgen.platforms import find_platform, first_platform, names_of
from ethosgen.values.device import PAGE_BYTES
from ethosgen.values.grammar import counted

BOOT2 = "boot2"
"""The memory of an RP2040's second stage of the boot."""
_BOOT2_BYTES = 256
_DWT_CTRL = 0xE0001000
_DWT_CYCCNT = 0xE0001004
_WRITTEN = ("data", "arena", "io", "fast")
_SRAMS = ("sram", "tcm")
_ENDS = ("*/", '"""', "\\")


def faults(board: BoardFacts) -> Iterator[str]:
    """Yield the faults, each as "field: fault"."""
    yield from _words(board)
    yield from _linux(board)
    yield from _overlaps(board)
    yield from _modes(board)
    for mode, placement in board.placements.items():
        yield from _placement(board, f"placements.{mode}", placement)
        yield from _mode(board, mode, placement)
    yield from _qemu(board)
    yield from _baremetal(board)
    yield from _counter(board)
    yield from _boot(board)
    yield from _zephyr(board)
    yield from _csolution(board)
    yield from _doubts(board)


def _words(board: BoardFacts) -> Iterator[str]:
    """Yield characters that would end the comments and docstrings that contain them."""
    text = board.description
    if not text.strip() or not text.isprintable() or any(end in text for end in _ENDS):
        yield (
            "description: must be one line of plain text, without "
            f"{' '.join(_ENDS)}: generated comments contain it"
        )


def _linux(board: BoardFacts) -> Iterator[str]:
    """Yield contradictions between Linux, and the tables that only other boards have."""
    has_linux = board.linux is not None
    yield from _own_table(board, "linux", "[linux]", has_linux)
    if (board.cpu.core == "aarch64") != has_linux:
        yield "cpu.core: must be aarch64 for a board with [linux], and only there"
    alone = first_platform(board.platforms, lambda platform: platform.is_alone)
    if alone and len(board.platforms) > 1:
        yield (
            f'platforms: a board with "{alone.name}" has no other platform; write one file for each'
        )
    if has_linux and board.npu is not None:
        yield "npu: Linux has its own driver for it; delete the table"
    for table in ("console", "counter"):
        if (getattr(board, table) is None) != has_linux:
            yield (
                f"{table}: Linux has its own driver for it; delete the table"
                if has_linux
                else f"{table}: missing; only a board with [linux] has none"
            )


def _overlaps(board: BoardFacts) -> Iterator[str]:
    for (name, first), (other, second) in combinations(board.memories.items(), 2):
        if name.upper() == other.upper():  # as the linker script writes them
            yield f"memories.{other}: differs from memories.{name} only in upper and lower case"
        if first.start_addr < second.end_addr and second.start_addr < first.end_addr:
            start = max(first.start_addr, second.start_addr)
            end = min(first.end_addr, second.end_addr)
            yield (
                f"memories.{other}: overlaps '{name}' from 0x{start:08x} to 0x{end - 1:08x}; name "
                "only one alias of each memory"
            )
    for name, memory in board.memories.items():
        if memory.end_addr > 1 << 32:
            yield f"memories.{name}.size_bytes: ends beyond 0xffffffff"


def _modes(board: BoardFacts) -> Iterator[str]:
    if board.default_memory_mode not in board.placements:
        yield (
            f"default_memory_mode: there is no placement for {board.default_memory_mode}, only "
            f"for: {', '.join(board.placements)}"
        )


def _placement(board: BoardFacts, where: str, placement: FirmwarePlacement) -> Iterator[str]:
    for part, memory in placement.model_dump(exclude_none=True).items():
        if memory not in board.memories:
            yield (
                f"{where}.{part}: there is no memory '{memory}'; there are: "
                f"{', '.join(board.memories)}"
            )
            return
    for part, memory in placement.npu_parts().items():
        if board.npu is not None and board.memories[memory].npu_port is None:
            yield f"{where}.{part}: the NPU does not reach '{memory}'"
    for part in _WRITTEN:
        memory = getattr(placement, part)
        if memory is not None and "w" not in board.memories[memory].access:
            yield f"{where}.{part}: '{memory}' is not writable"
    if "x" not in board.memories[placement.code].access:
        yield f"{where}.code: '{placement.code}' is not executable"
    if placement.copied_from is None:
        return
    for part in ("commands", "weights"):
        memory = getattr(placement, part)
        if memory is None:
            continue
        if memory != placement.copied_from and "w" not in board.memories[memory].access:
            yield f"{where}.{part}: is copied, but '{memory}' is not writable"


def _mode(board: BoardFacts, mode: str, placement: FirmwarePlacement) -> Iterator[str]:
    """Yield contradictions between a placement and Vela's definition of the mode (vela.ini)."""
    where = f"placements.{mode}"
    if board.npu is None:
        if placement.fast is not None:
            yield f"{where}.fast: only an NPU has one; delete the line"
        return
    if placement.commands is None:
        yield f"{where}.commands: missing; name the memory from which the NPU fetches commands"
        return
    memories = board.memories
    if mode == "dedicated_sram" and placement.fast is None:
        yield f"{where}.fast: missing; name the SRAM reserved for the NPU"
        return
    if mode != "dedicated_sram" and placement.fast is not None:
        yield f"{where}.fast: only dedicated_sram has one; delete the line"
        return
    near = {"fast": placement.fast} if placement.fast else {"arena": placement.arena}
    if mode == "sram_only":
        near |= {"commands": placement.commands, "weights": placement.weights}
    for part, memory in near.items():
        if memories[memory].kind not in _SRAMS:
            yield f"{where}.{part}: '{memory}' is {memories[memory].kind}, not SRAM"
        if memories[memory].npu_port == 1:
            yield f"{where}.{part}: must be on the NPU's port 0, but '{memory}' is on port 1"
    if mode == "dedicated_sram" and memories[placement.arena].npu_port != 1:
        yield f"{where}.arena: must be on the NPU's port 1"
    if mode != "sram_only" and memories[placement.weights].npu_port != 1:
        yield f"{where}.weights: must be on the NPU's port 1"


def _qemu(board: BoardFacts) -> Iterator[str]:
    qemu = board.run.qemu
    if qemu is not None and board.run.stand_in is not None:
        yield "run.stand_in: delete the line: with run.qemu, QEMU runs the board itself"
    if qemu is None:
        return
    shared = qemu.shared
    if shared is None:
        if board.npu is not None:
            yield "run.qemu.memory_backend: missing; the NPU model needs memory that QEMU shares"
        return
    memory = board.memories.get(shared.npu_memory)
    if memory is None:
        yield f"run.qemu.npu_memory: there is no memory '{shared.npu_memory}'"
        return
    inside = shared.shared_start_addr <= memory.start_addr
    if not inside or memory.end_addr > shared.shared_end_addr:
        yield f"run.qemu.npu_memory: '{shared.npu_memory}' is not wholly in the shared memory"
    elif shared.npu_base_addr != memory.end_addr - (size := _register_bytes(board)):
        yield (
            f"run.qemu.npu_base_addr: must be 0x{memory.end_addr - size:08x}, so that the NPU's "
            "registers end where npu_memory does"
        )


def _own_table(board: BoardFacts, table: str, header: str, has_table: bool) -> Iterator[str]:
    """Yield a contradiction between a table and the only platform whose boards have it."""
    (name,) = names_of(lambda platform: platform.own_table == table)
    if (name in board.platforms) != has_table:
        yield f'{table}: set both "{name}" in platforms and a {header}, or neither'


def _register_bytes(board: BoardFacts) -> int:
    """Return the size of the largest NPU's registers."""
    names = board.npu.configurations if board.npu else []
    return max((accelerators()[name].register_bytes for name in names), default=PAGE_BYTES)


def _baremetal(board: BoardFacts) -> Iterator[str]:
    """Yield missing facts that the start-up code of a bare-metal project needs."""
    platforms = [name for name in board.platforms if find_platform(name).boots]
    if not platforms or board.console is None:
        return
    npu = {"npu.base_addr": board.npu.base_addr, "npu.irq": board.npu.irq} if board.npu else {}
    needed = {
        **npu,
        "console.base_addr": board.console.base_addr,
        "console.rx_irq": board.console.rx_irq,
        "console.clock_hz": board.console.clock_hz,
    }
    for path, value in needed.items():
        if value is None:
            yield f'{path}: missing, but platforms has "{platforms[0]}", which needs it'
    if board.console.uart not in BAREMETAL_UARTS:
        yield (
            f"console.uart: bare-metal projects support only {' and '.join(BAREMETAL_UARTS)}; "
            f'remove "{platforms[0]}" from platforms'
        )


def _counter(board: BoardFacts) -> Iterator[str]:
    """Yield faults of a cycle counter of the DWT, whose addresses are the architecture's."""
    if board.counter is None or board.counter.kind != "dwt":
        return
    if board.cpu.is_baseline:
        yield (
            f"counter.kind: a {board.cpu.core} has no DWT with a cycle counter; use its SysTick "
            '(kind = "systick", control_addr = 0xe000e010, value_addr = 0xe000e018), or a timer'
        )
    elif (board.counter.control_addr, board.counter.value_addr) != (_DWT_CTRL, _DWT_CYCCNT):
        yield (
            f"counter.control_addr: the DWT of a {board.cpu.core} is at 0x{_DWT_CTRL:08x} (CTRL) "
            f"and 0x{_DWT_CYCCNT:08x} (CYCCNT)"
        )


def _boot(board: BoardFacts) -> Iterator[str]:
    """Yield faults of the boot ROM's second stage."""
    memory = board.memories.get(BOOT2)
    if board.cpu.boot == "rp2040" and (memory is None or memory.size_bytes != _BOOT2_BYTES):
        size = counted(_BOOT2_BYTES, "byte")
        yield f"cpu.boot: an RP2040 needs memories.{BOOT2}, of {size}"


def _zephyr(board: BoardFacts) -> Iterator[str]:
    yield from _own_table(board, "run.zephyr", "[[run.zephyr]]", bool(board.run.zephyr))
    shared = {(known.program, known.program_bytes) for known in board.run.zephyr}
    if len(shared) > 1:
        yield "run.zephyr: program and program_bytes must be the same in each: they share overlays"
    for program, program_bytes in shared:
        if program is None or program_bytes is None:
            continue
        if program not in board.memories:
            yield f"run.zephyr.program: there is no memory '{program}'"
        elif program_bytes >= board.memories[program].size_bytes:
            yield f"run.zephyr.program_bytes: leaves nothing of '{program}' for networks"


def _csolution(board: BoardFacts) -> Iterator[str]:
    needing = first_platform(board.platforms, lambda platform: platform.needed_table == "cmsis")
    if needing and board.cmsis is None:
        yield (
            f'cmsis: missing, but platforms has "{needing.name}", which needs its device and packs'
        )


def _doubts(board: BoardFacts) -> Iterator[str]:
    facts = board.model_dump()
    for path in board.unverified:
        value: Any = facts
        for part in path.split("."):
            if not isinstance(value, dict) or part not in value:
                yield f"unverified: '{path}' is not a fact of this file"
                break
            value = value[part]


def trustzone_faults(board: BoardFacts) -> Iterator[str]:
    """Yield contradictions between [trustzone] and the board, for non-secure firmware.

    A board without such firmware may have any memories.
    """
    trustzone = board.trustzone
    if trustzone is None:
        return
    if not board.cpu.has_stack_limit:
        yield f"trustzone: a {board.cpu.core} has no TrustZone; delete the table"
    named = {"code": trustzone.code.memory, "data": trustzone.data.memory}
    named |= {f"mpcs.{i}": controller.memory for i, controller in enumerate(trustzone.mpcs)}
    named |= {f"tgus.{i}": gate.memory for i, gate in enumerate(trustzone.tgus)}
    for field, name in named.items():
        if name not in board.memories:
            yield f"trustzone.{field}.memory: there is no memory '{name}'"
            return
    for mode, placement in board.placements.items():
        for part in ("code", "data"):
            if getattr(placement, part) != named[part]:
                yield (
                    f"trustzone.{part}.memory: must be '{getattr(placement, part)}', as in "
                    f"placements.{mode}: the secure image is at its start"
                )
    for name, memory in board.memories.items():
        if not memory.start_addr >> trustzone.secure_bit & 1:
            yield f"memories.{name}.start_addr: is not secure, by bit {trustzone.secure_bit}"
    for part, reserved in (("code", trustzone.code), ("data", trustzone.data)):
        if reserved.size_bytes >= board.memories[reserved.memory].size_bytes:
            yield f"trustzone.{part}.size_bytes: leaves nothing of '{reserved.memory}'"
