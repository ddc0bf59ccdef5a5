/*
 * Cache maintenance around each run, where the processor has a data cache and Zephyr's own driver
 * leaves this to the application (all before 4.3). The hooks' signature changed with the driver of
 * April 2025; CMakeLists.txt looks which one the driver has.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <ethosu_driver.h>
#include <stddef.h>
#include <zephyr/cache.h>

#ifdef ETHOSGEN_CACHE_HOOKS_TAKE_POINTER
void ethosu_flush_dcache(uint32_t *memory, size_t bytes)
{
    if (memory == NULL) {
        sys_cache_data_flush_all();
    } else {
        sys_cache_data_flush_range(memory, bytes);
    }
}

void ethosu_invalidate_dcache(uint32_t *memory, size_t bytes)
{
    /* What the processor wrote meanwhile beside the NPU's memory must not be lost. */
    if (memory == NULL) {
        sys_cache_data_flush_and_invd_all();
    } else {
        sys_cache_data_flush_and_invd_range(memory, bytes);
    }
}
#else
void ethosu_flush_dcache(const uint64_t *base_addr, const size_t *base_addr_size, int num_base_addr)
{
    for (int i = 0; i < num_base_addr; i++) {
        if (base_addr_size[i] != 0) {
            sys_cache_data_flush_range((void *)(uintptr_t)base_addr[i], base_addr_size[i]);
        }
    }
}

void ethosu_invalidate_dcache(const uint64_t *base_addr, const size_t *base_addr_size,
                              int num_base_addr)
{
    for (int i = 0; i < num_base_addr; i++) {
        if (base_addr_size[i] != 0) {
            sys_cache_data_invd_range((void *)(uintptr_t)base_addr[i], base_addr_size[i]);
        }
    }
}
#endif
