/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cache maintenance around each run, if the processor has a data cache and Zephyr's own driver leaves
 * this to the application (before 4.3, and later without CONFIG_CACHE_MANAGEMENT).
 *
 * It uses Zephyr's cache interface if that is configured. If not, a boot loader or the SoC's start-up
 * code may still have turned on the cache; then it uses CMSIS-Core's functions.
 *
 * The hooks' signature changed with the driver of April 2025; CMakeLists.txt checks which one the
 * driver has.
 */
#include <ethosu_driver.h>
#include <stdbool.h>
#include <stddef.h>
#if defined(CONFIG_CACHE_MANAGEMENT) && defined(CONFIG_DCACHE)
#include <zephyr/cache.h>

static void flush(void *memory, size_t bytes)
{
    (void)sys_cache_data_flush_range(memory, bytes);
}

static void invalidate(void *memory, size_t bytes)
{
    (void)sys_cache_data_invd_range(memory, bytes);
}

#ifdef ETHOSGEN_CACHE_HOOKS_TAKE_POINTER
static void flush_all(void)
{
    (void)sys_cache_data_flush_all();
}

static void flush_and_invalidate_all(void)
{
    (void)sys_cache_data_flush_and_invd_all();
}
#endif
#else
#include <cmsis_core.h>

static bool is_on(void)
{
    return (SCB->CCR & SCB_CCR_DC_Msk) != 0;
}

static void flush(void *memory, size_t bytes)
{
    if (is_on()) {
        SCB_CleanDCache_by_Addr(memory, (int32_t)bytes);
    }
}

static void invalidate(void *memory, size_t bytes)
{
    if (is_on()) {
        SCB_InvalidateDCache_by_Addr(memory, (int32_t)bytes);
    }
}

#ifdef ETHOSGEN_CACHE_HOOKS_TAKE_POINTER
static void flush_all(void)
{
    if (is_on()) {
        SCB_CleanDCache();
    }
}

static void flush_and_invalidate_all(void)
{
    if (is_on()) {
        SCB_CleanInvalidateDCache();
    }
}
#endif
#endif

#ifdef ETHOSGEN_CACHE_HOOKS_TAKE_POINTER
/* This driver passes NULL for all memory if a caller gives no sizes; we always give them. */
void ethosu_flush_dcache(uint32_t *memory, size_t bytes)
{
    if (memory == NULL) {
        flush_all();
    } else if (bytes != 0) {
        flush(memory, bytes);
    }
}

void ethosu_invalidate_dcache(uint32_t *memory, size_t bytes)
{
    if (memory == NULL) {
        flush_and_invalidate_all(); /* the processor's own writes must not be lost */
    } else if (bytes != 0) {
        invalidate(memory, bytes);
    }
}
#else
void ethosu_flush_dcache(const uint64_t *base_addr, const size_t *base_addr_size, int num_base_addr)
{
    for (int i = 0; i < num_base_addr; i++) {
        if (base_addr_size[i] != 0u) {
            flush((void *)(uintptr_t)base_addr[i], base_addr_size[i]);
        }
    }
}

void ethosu_invalidate_dcache(const uint64_t *base_addr, const size_t *base_addr_size,
                              int num_base_addr)
{
    for (int i = 0; i < num_base_addr; i++) {
        if (base_addr_size[i] != 0u) {
            invalidate((void *)(uintptr_t)base_addr[i], base_addr_size[i]);
        }
    }
}
#endif
