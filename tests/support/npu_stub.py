"""An NPU that adds one to each element: a register file without the real NPU model."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ethosgen.backend.ethosu.accelerator import find_accelerator
from ethosgen.backend.stream_run import StreamRun
from ethosgen.targets import SharedMemory
from ethosgen.values.errors import EthosgenError, NpuFault
from tests.support.programs import COMMANDS, ELEMENTS, OUTPUT_OFFSET

ID, STATUS, CMD, RESET, QBASE, QREAD, QSIZE, PROT, CONFIG = 0, 1, 2, 3, 4, 6, 8, 9, 10
REGIONCFG, BASEP0 = 15, 32
IDLE = 0xFFFF_FFFF


class PlusOneNpu:
    """Runs COMMANDS as "output = input + 1"; other streams are parse errors."""

    def __init__(
        self,
        page: np.ndarray[Any, np.dtype[np.uint32]],
        memory: Sequence[SharedMemory],
        raise_irq: Callable[[], None],
        npu: str = "ethos-u55-128",
    ) -> None:
        self.page, self.memory, self.raise_irq = page, memory, raise_irq
        self.last_fault: EthosgenError | None = None
        self.last_run: StreamRun | None = None
        self.region_configurations: list[int] = []
        accelerator = find_accelerator(npu)
        page[:] = 0
        page[ID], page[CONFIG] = accelerator.id_word, accelerator.config_word
        page[STATUS], page[CMD], page[RESET] = 8, 0xC, IDLE

    def poll(self) -> bool:
        """Serve RESET and CMD; CMD is read first, since a driver writes it last."""
        command, reset = int(self.page[CMD]), int(self.page[RESET])
        if reset != IDLE:
            self.page[PROT], self.page[STATUS], self.page[RESET] = reset, 0, IDLE
        if command & 1:
            self.page[CMD] = 0
            self._run()
        return reset != IDLE or bool(command & 1)

    def _run(self) -> None:
        page = self.page
        self.region_configurations.append(int(page[REGIONCFG]))
        stream = self._view(int(page[QBASE]), int(page[QSIZE])).tobytes()
        if stream == COMMANDS:
            base = [int(page[BASEP0 + 2 * i]) for i in range(4)]
            is_caller = base[3] != 0
            source = base[2] if is_caller else base[1]
            target = base[3] if is_caller else base[1] + OUTPUT_OFFSET
            self._view(target, ELEMENTS)[:] = self._view(source, ELEMENTS) + np.uint8(1)
            page[STATUS] = 1 << 5 | 2
        else:
            self.last_fault = NpuFault("parse", "an unknown stream", 4, "NPU_OP_STOP")
            page[STATUS] = 1 << 4 | 2
        page[QREAD] = len(stream)
        self.raise_irq()

    def _view(self, addr: int, size: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
        for part in self.memory:
            if part.start_addr <= addr and addr + size <= part.start_addr + len(part.memory):
                return part.memory[addr - part.start_addr :][:size]
        raise AssertionError(f"0x{addr:x} is outside the firmware's memory")
