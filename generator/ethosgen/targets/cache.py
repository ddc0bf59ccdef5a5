"""A write-back data cache for QEMU, which has none: it reveals missing cache maintenance.

The memory that QEMU shares is the processor's view through the cache. The NPU works on main
memory, which is a copy here. A line of 32 bytes moves between them only when the firmware flushes
it, or when the cache evicts it, which caches may do at any time. The cache is as large as the
memory, so it never evicts a line for lack of space. A line is dirty if it differs from its content
when it was last read.

The firmware accesses the cache through a page below the NPU's registers. `cache_header` is C
code for that; GCC's -include puts it before the library's hooks, which treat the page as the
processor's registers.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ethosgen.backend.protocol import Attach, SharedMemory
from ethosgen.backend.stream_run import StreamRun
from ethosgen.values.errors import EthosgenError
from ethosgen.values.multiples import CACHE_LINE_BYTES

Bytes = np.ndarray[Any, np.dtype[np.uint8]]
Words = np.ndarray[Any, np.dtype[np.uint32]]

PAGE_BYTES = 4096
_FLUSH, _IS_ON = 0, 1
"""Words of the page: the line to flush, plus 1 until the cache has flushed it; and CCR.DC."""
_CMD, _CMD_RUN = 2, 1
"""A word of the NPU's registers, and its bit that starts a run."""
_EVICTED = 0.5
"""The share of lines that are evicted when a run begins, and again when it ends."""

_HEADER = """\
/* The data cache that ethosgen models for QEMU (ethosgen/targets/cache.py). Only for tests. */
#include <stdint.h>

#define ETHOSGEN_NPU_HAS_CACHE() (((volatile uint32_t *){page:#x}u)[{is_on}] != 0)
#define ETHOSGEN_NPU_FLUSH_LINE(addr) ethosgen_flush_modelled_line(addr)

static inline void ethosgen_flush_modelled_line(uint32_t addr)
{{
    volatile uint32_t *flush = &((volatile uint32_t *){page:#x}u)[{flush}];

    *flush = addr | 1u;
    while (*flush != 0) {{
    }}
}}
"""


def cache_header(npu_base_addr: int) -> str:
    """Return the C header that makes a firmware use the cache, for GCC's -include."""
    return _HEADER.format(page=npu_base_addr - PAGE_BYTES, flush=_FLUSH, is_on=_IS_ON)


class _CachedPart:
    """A part of memory: the processor's view, the contents read into the cache, main memory."""

    def __init__(self, shared: SharedMemory) -> None:
        self.start_addr = shared.start_addr
        self._seen = shared.memory
        self._read = shared.memory.copy()
        self.main = shared.memory.copy()

    def flush(self, line: int) -> None:
        """Write a dirty line back and invalidate it: the processor sees main memory then."""
        low = max(line - self.start_addr, 0)
        here = slice(low, max(line - self.start_addr + CACHE_LINE_BYTES, low))
        seen = self._seen[here].copy()
        if not np.array_equal(seen, self._read[here]):
            self.main[here] = seen
        if not np.array_equal(seen, self.main[here]):
            self._seen[here] = self.main[here]
        self._read[here] = self.main[here]


def _lines(shared: SharedMemory) -> range:
    """Return the addresses of the lines that contain a byte of a part."""
    first = shared.start_addr // CACHE_LINE_BYTES * CACHE_LINE_BYTES
    return range(first, shared.start_addr + len(shared.memory), CACHE_LINE_BYTES)


class CachedNpu:
    """An NPU model with a data cache. One thread serves both, so lines move in order."""

    def __init__(
        self,
        attach: Attach,
        pages: tuple[Words, Words],
        memory: Sequence[SharedMemory],
        raise_irq: Callable[[], None],
        seed: int,
    ) -> None:
        """Create the model on main memory. `pages` are the cache's and the NPU's.

        The contents of `memory`, which were loaded with the firmware, are also in main memory.
        """
        self._page, self._registers = pages
        self._parts = [_CachedPart(shared) for shared in memory]
        self._evictable = [line for shared in memory if shared.writable for line in _lines(shared)]
        self._random = np.random.default_rng(seed)
        self._raise_irq = raise_irq
        main = [
            dataclasses.replace(shared, memory=part.main)
            for shared, part in zip(memory, self._parts, strict=True)
        ]
        self._model = attach(self._registers, main, self._end_run)
        self._page[_FLUSH], self._page[_IS_ON] = 0, 1

    @property
    def last_run(self) -> StreamRun | None:
        """The last command stream, None before the first."""
        return self._model.last_run

    @property
    def last_fault(self) -> EthosgenError | None:
        """The fault that ended the last command stream, None if it ended normally."""
        return self._model.last_fault

    def poll(self) -> bool:
        """Flush the line that the firmware requests, and serve the NPU's registers."""
        asked = int(self._page[_FLUSH])
        if asked:
            self._flush(asked // CACHE_LINE_BYTES * CACHE_LINE_BYTES)
            self._page[_FLUSH] = 0
        if int(self._registers[_CMD]) & _CMD_RUN:
            self._evict()
        return self._model.poll() or asked != 0

    def _end_run(self) -> None:
        self._evict()
        self._raise_irq()

    def _flush(self, line: int) -> None:
        for part in self._parts:
            part.flush(line)

    def _evict(self) -> None:
        """Evict lines. The processor waits for the NPU and writes to none of them."""
        for line in self._evictable:
            if self._random.random() < _EVICTED:
                self._flush(line)
