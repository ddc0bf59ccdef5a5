"""The cache hooks for Arm's driver, compiled for this machine with a cache that takes notes.

Both of the driver's signatures (it changed in April 2025), with Zephyr's cache interface and
without it.
"""

import ctypes
import itertools
import subprocess
from pathlib import Path

import pytest

from tests import ROOT
from tests.support.needs import needs_gcc

SOURCE = ROOT / "zephyr_app" / "lib" / "npu" / "cache.c"
FLAGS = ("-std=c11", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-shared", "-fPIC")

DRIVER = """
#include <stddef.h>
#include <stdint.h>
#ifdef ETHOSGEN_CACHE_HOOKS_TAKE_POINTER
void ethosu_flush_dcache(uint32_t *p, size_t bytes);
void ethosu_invalidate_dcache(uint32_t *p, size_t bytes);
#else
void ethosu_flush_dcache(const uint64_t *base_addr, const size_t *base_addr_size, int count);
void ethosu_invalidate_dcache(const uint64_t *base_addr, const size_t *base_addr_size, int count);
#endif
"""
NOTES = """
#include <stddef.h>
#include <stdint.h>
struct note { int what; uint64_t addr; uint64_t bytes; };
__attribute__((weak)) struct note notes[64];
__attribute__((weak)) int count;
static inline int take(int what, void *addr, size_t bytes)
{
    notes[count++] = (struct note){what, (uint64_t)(uintptr_t)addr, bytes};
    return 0;
}
"""
ZEPHYRS = f"""{NOTES}
#define sys_cache_data_flush_range(addr, bytes) take(1, addr, bytes)
#define sys_cache_data_invd_range(addr, bytes) take(2, addr, bytes)
#define sys_cache_data_flush_all() take(3, NULL, 0)
#define sys_cache_data_flush_and_invd_all() take(4, NULL, 0)
"""
PROCESSORS = f"""{NOTES}
__attribute__((weak)) struct {{ uint32_t CCR; }} scb;
#define SCB (&scb)
#define SCB_CCR_DC_Msk (1u << 16)
#define SCB_CleanDCache_by_Addr(addr, bytes) ((void)take(1, addr, (size_t)(bytes)))
#define SCB_InvalidateDCache_by_Addr(addr, bytes) ((void)take(2, addr, (size_t)(bytes)))
#define SCB_CleanDCache() ((void)take(3, NULL, 0))
#define SCB_CleanInvalidateDCache() ((void)take(4, NULL, 0))
"""
FLUSH, INVALIDATE, FLUSH_ALL, FLUSH_AND_INVALIDATE_ALL = 1, 2, 3, 4

pytestmark = needs_gcc


class Note(ctypes.Structure):
    """The maintenance operations that the cache received."""

    _fields_ = (("what", ctypes.c_int), ("addr", ctypes.c_uint64), ("bytes", ctypes.c_uint64))


class Hooks:
    """cache.c, and what it told the cache."""

    def __init__(self, place: Path, is_pointer: bool, is_zephyrs: bool) -> None:
        (place / "zephyr").mkdir(parents=True)
        (place / "ethosu_driver.h").write_text(DRIVER)
        (place / "zephyr" / "cache.h").write_text(ZEPHYRS)
        (place / "cmsis_core.h").write_text(PROCESSORS)
        defined = ["-DETHOSGEN_CACHE_HOOKS_TAKE_POINTER"] if is_pointer else []
        defined += ["-DCONFIG_CACHE_MANAGEMENT=1", "-DCONFIG_DCACHE=1"] if is_zephyrs else []
        library = place / "cache.so"
        command = ["gcc", *FLAGS, *defined, f"-I{place}", str(SOURCE), "-o", str(library)]
        subprocess.run(command, check=True)
        self.c = ctypes.CDLL(str(library))

    def notes(self) -> list[tuple[int, int, int]]:
        """Return the calls that the cache received since the last time."""
        count = ctypes.c_int.in_dll(self.c, "count")
        taken = (Note * 64).in_dll(self.c, "notes")[: count.value]
        count.value = 0
        return [(note.what, note.addr, note.bytes) for note in taken]

    def enable(self) -> None:
        """Turn the processor's cache on, where the hooks look whether it is."""
        ctypes.c_uint32.in_dll(self.c, "scb").value = 1 << 16


@pytest.fixture(params=itertools.product([True, False], [True, False]), ids=str)
def hooks(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Hooks, bool]:
    is_pointer, is_zephyrs = request.param
    built = Hooks(tmp_path / "stub", is_pointer, is_zephyrs)
    if not is_zephyrs:
        built.enable()
    return built, is_pointer


RANGES = ((0x7000_0000, 31_104), (0x3100_0000, 22_208), (0x3101_0000, 512))


def test_each_range_is_flushed_and_invalidated_once(hooks: tuple[Hooks, bool]) -> None:
    built, is_pointer = hooks
    for name, what in (("flush", FLUSH), ("invalidate", INVALIDATE)):
        call = getattr(built.c, f"ethosu_{name}_dcache")
        if is_pointer:
            for addr, size in RANGES:
                call(ctypes.c_void_p(addr), ctypes.c_size_t(size))
        else:
            ranges = (*RANGES, (0, 0))  # a base pointer that is not in use
            addrs = (ctypes.c_uint64 * len(ranges))(*(addr for addr, _ in ranges))
            sizes = (ctypes.c_size_t * len(ranges))(*(size for _, size in ranges))
            call(addrs, sizes, ctypes.c_int(len(ranges)))
        assert built.notes() == [(what, addr, size) for addr, size in RANGES]


def test_null_is_all_memory_and_nothing_is_lost(tmp_path: Path) -> None:
    for is_zephyrs in (True, False):
        built = Hooks(tmp_path / str(is_zephyrs), True, is_zephyrs)
        if not is_zephyrs:
            built.enable()
        built.c.ethosu_flush_dcache(None, ctypes.c_size_t(0))
        built.c.ethosu_invalidate_dcache(None, ctypes.c_size_t(0))
        assert built.notes() == [(FLUSH_ALL, 0, 0), (FLUSH_AND_INVALIDATE_ALL, 0, 0)]


@pytest.mark.parametrize("is_pointer", [True, False])
def test_a_cache_that_is_off_is_left_alone(is_pointer: bool, tmp_path: Path) -> None:
    built = Hooks(tmp_path / "stub", is_pointer, False)
    for call in (built.c.ethosu_flush_dcache, built.c.ethosu_invalidate_dcache):
        if is_pointer:
            call(ctypes.c_void_p(64), ctypes.c_size_t(64))
            call(None, ctypes.c_size_t(0))
        else:
            call((ctypes.c_uint64 * 1)(64), (ctypes.c_size_t * 1)(64), ctypes.c_int(1))
    assert built.notes() == []
