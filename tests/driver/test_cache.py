"""The library's cache maintenance against a model of a write-back cache with lines of 32 bytes.

The hooks are a project's, compiled for this machine; their accesses to the processor's registers go
to the model.
"""

import ctypes
import random
import subprocess
from collections.abc import Callable

import pytest

from ethosgen.board import load_board
from ethosgen.project import render
from ethosgen.values.plan import IoStyle
from tests.support.needs import needs_gcc
from tests.support.programs import make_program

LINE = 32
BASE, SIZE = 0x31000000, 4096
MODEL = """
#include <stdint.h>
extern void (*flush_line)(uint32_t addr);
extern int has_cache;
#define ETHOSGEN_NPU_FLUSH_LINE(addr) flush_line(addr)
#define ETHOSGEN_NPU_HAS_CACHE() has_cache
"""
FLUSH = ctypes.CFUNCTYPE(None, ctypes.c_uint32)

pytestmark = needs_gcc


class Cache:
    """The processor's view through its cache, and the NPU's view: main memory."""

    def __init__(self, seed: int) -> None:
        self.memory = bytearray(SIZE)
        self.lines: dict[int, bytearray] = {}
        self.dirty: set[int] = set()
        self._random = random.Random(seed)

    def _line(self, addr: int) -> bytearray:
        start = addr // LINE * LINE
        if start not in self.lines:
            self.lines[start] = self.memory[start : start + LINE]
        return self.lines[start]

    def write(self, addr: int, data: bytes) -> None:
        """Write as the processor does: into lines, which are memory's only later."""
        for i, byte in enumerate(data, addr):
            self._line(i)[i % LINE] = byte
            self.dirty.add(i // LINE * LINE)

    def read(self, addr: int, size: int) -> bytes:
        """Read as the processor does."""
        return bytes(self._line(i)[i % LINE] for i in range(addr, addr + size))

    def flush(self, addr: int) -> None:
        """Write a line back and forget it, as DCCIMVAC does."""
        start = addr // LINE * LINE
        line = self.lines.pop(start, None)
        if line is not None and start in self.dirty:
            self.memory[start : start + LINE] = line
        self.dirty.discard(start)

    def evict(self) -> None:
        """Let the cache write back and forget some lines for reasons of its own."""
        for start in list(self.lines):
            if self._random.random() < 0.5:
                self.flush(start)


Maintain = Callable[[Cache, str, int, int], None]


@pytest.fixture(scope="module")
def maintain(tmp_path_factory: pytest.TempPathFactory) -> Maintain:
    """Return a function that calls one of the library's hooks for a range of memory."""
    place = tmp_path_factory.mktemp("hooks")
    files = render(make_program(), load_board("corstone300")).files
    for name in ("ethosgen_npu.h", "ethosgen_status.h", "ethosgen_npu_hooks.c"):
        (place / name).write_bytes(files[f"model/{name}"])
    (place / "model.h").write_text(MODEL)
    (place / "model.c").write_text(
        '#include "model.h"\nvoid (*flush_line)(uint32_t);int has_cache;'
        "void ethosgen_npu_barrier(void){}"
    )
    sources = [place / "ethosgen_npu_hooks.c", place / "model.c"]
    library = place / "hooks.so"
    command = ["gcc", "-std=c11", "-w", "-shared", "-fPIC", "-DETHOSGEN_PLAIN_C"]
    command += ["-include", str(place / "model.h")]
    subprocess.run([*command, f"-I{place}", *map(str, sources), "-o", str(library)], check=True)
    c = ctypes.CDLL(str(library))

    def call(cache: Cache, what: str, addr: int, size: int) -> None:
        told = FLUSH(lambda line: cache.flush(line - BASE))
        ctypes.c_void_p.in_dll(c, "flush_line").value = ctypes.cast(told, ctypes.c_void_p).value
        ctypes.c_int.in_dll(c, "has_cache").value = 1
        bases = (ctypes.c_size_t * 8)(BASE + addr)
        getattr(c, f"ethosgen_npu_{what}_cache")(bases, (ctypes.c_uint32 * 8)(size))

    return call


def differences(
    maintain: Maintain | None, neighbour: int, seed: int, skip: str = "", size: int = 96
) -> int:
    """Return the number of wrong bytes after the NPU adds one to `size` bytes at 512, in place.

    The processor writes to `neighbour` meanwhile, and the cache evicts lines when it likes to.
    """
    cache = Cache(seed)
    content = random.Random(seed).randbytes(size)
    cache.read(512, size)
    cache.write(512, content)
    cache.evict()
    if maintain and skip != "clean":
        maintain(cache, "clean", 512, size)
    cache.read(512, size)  # as speculation does
    cache.write(neighbour, b"\x55")
    result = bytes((byte + 1) & 255 for byte in cache.memory[512 : 512 + size])
    cache.memory[512 : 512 + size] = result
    cache.evict()
    if maintain and skip != "invalidate":
        maintain(cache, "invalidate", 512, size)
    wanted = bytes((byte + 1) & 255 for byte in content)
    return sum(a != b for a, b in zip(cache.read(512, size), wanted, strict=True))


SEEDS = range(50)


def test_nothing_differs_with_the_librarys_maintenance(maintain: Maintain) -> None:
    assert not any(differences(maintain, 512 - 1, seed) for seed in SEEDS)
    assert not any(differences(maintain, 512 + 96, seed) for seed in SEEDS)


@pytest.mark.parametrize("skip", ["clean", "invalidate"])
def test_an_omission_is_caught(maintain: Maintain, skip: str) -> None:
    assert any(differences(maintain, 0, seed, skip) for seed in SEEDS)
    assert any(differences(None, 0, seed) for seed in SEEDS)


def test_a_neighbour_in_a_line_spoils_the_output(maintain: Maintain) -> None:
    """Buffers must be whole lines: here the last has 16 bytes, followed by a neighbour."""
    assert any(differences(maintain, 512 + 80, seed, size=80) for seed in SEEDS)


def test_buffers_are_whole_lines_where_the_board_has_a_data_cache() -> None:
    files = render(make_program(IoStyle.CALLER), load_board("corstone300")).files
    header = files["model/plus_one.h"].decode()
    assert "#define PLUS_ONE_BUFFER_ALIGNMENT 32\n" in header
    assert "#define PLUS_ONE_INPUT_BUFFER_BYTES 1504\n" in header, "47 lines, for 1500 bytes"
    assert "#define PLUS_ONE_ARENA_ALIGNMENT 32\n" in header
    assert "% (uintptr_t)PLUS_ONE_BUFFER_ALIGNMENT != 0u" in files["model/plus_one.c"].decode()
