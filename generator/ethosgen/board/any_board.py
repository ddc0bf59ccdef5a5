"""A stand-in for any board, for a library: its integrator knows the memories, ethosgen does not."""

from ethosgen.backend import accelerators, default_accelerator
from ethosgen.board import Board
from ethosgen.board.cpu import Cpu
from ethosgen.board.facts import BoardMemory, ConsoleFacts, Counter, FirmwarePlacement, Npu

ANY_BOARD = "any"
"""Its name; no board file has it."""

_SIZE_BYTES = 0x2000_0000
"""Size of each memory: more than any network takes."""


def any_board() -> Board:
    """Return a board with every NPU, and with SRAM, flash and DRAM that hold every network.

    The NPU reaches SRAM by its port 0 and the others by port 1, as in Arm's subsystems. The board
    has a data cache, so code respects cache lines.
    """
    near = {"data": "sram", "arena": "sram", "io": "sram"}
    far = {"code": "flash", "commands": "flash", "weights": "flash"}
    return Board(
        name=ANY_BOARD,
        description="any board",
        platforms=[],
        cpu=Cpu(core="cortex-m55", icache=True, dcache=True),
        npu=Npu(
            default=default_accelerator().name,
            configurations=[*accelerators()],
            secure=True,
            privileged=True,
        ),
        memories={
            "flash": _memory(0, "flash", "rx", 1),
            "sram": _memory(1, "sram", "rw", 0),
            "dram": _memory(2, "dram", "rw", 1),
        },
        placements={
            "shared_sram": FirmwarePlacement(**near, **far),
            "sram_only": FirmwarePlacement(
                **near, **{**far, "commands": "sram", "weights": "sram"}
            ),
            "dedicated_sram": FirmwarePlacement(
                **{**near, "arena": "dram", "io": "dram"}, **far, fast="sram"
            ),
        },
        console=ConsoleFacts(uart="cmsdk", baud=115_200),
        counter=Counter(kind="dwt", control_addr=0xE0001000, value_addr=0xE0001004, hz=1),
    )


def _memory(index: int, kind: str, access: str, npu_port: int) -> BoardMemory:
    return BoardMemory.model_validate(
        {
            "start_addr": index * _SIZE_BYTES,
            "size_bytes": _SIZE_BYTES,
            "kind": kind,
            "access": access,
            "npu_port": npu_port,
        }
    )
