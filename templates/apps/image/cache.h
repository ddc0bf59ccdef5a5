/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maintenance of the data cache for memory shared with a DMA controller. On a core without a data cache,
 * the functions do nothing.
 *
 * Generated once by ethosgen; yours from now on.
 */
#ifndef CACHE_H
#define CACHE_H

#include <stddef.h>
#include <stdint.h>

#define CACHE_LINE_BYTES 32

{% if platform.has_cache_calls %}
#include <zephyr/cache.h>

/* Drop lines, so that the next read comes from memory. */
static inline void cache_invalidate(const void *start, size_t bytes)
{
    (void)sys_cache_data_invd_range((void *)(uintptr_t)start, bytes);
}

/* Write lines back, so that others see them in memory. */
static inline void cache_clean(const void *start, size_t bytes)
{
    (void)sys_cache_data_flush_range((void *)(uintptr_t)start, bytes);
}
{% else %}
{% if board.cpu.dcache %}
/* In the System Control Space. */
#define CACHE_CCR (*(volatile uint32_t *)0xE000ED14u)
#define CACHE_DCIMVAC (*(volatile uint32_t *)0xE000EF5Cu)
#define CACHE_DCCMVAC (*(volatile uint32_t *)0xE000EF68u)
#define CACHE_CCR_DC (1u << 16)

static inline void cache_maintain(volatile uint32_t *operation, const void *start, size_t bytes)
{
    if ((CACHE_CCR & CACHE_CCR_DC) == 0) {
        return; /* the cache is off, or there is none */
    }
    __asm volatile("dsb" ::: "memory");
    for (size_t offset = 0; offset < bytes; offset += CACHE_LINE_BYTES) {
        *operation = (uint32_t)((uintptr_t)start + offset);
    }
    __asm volatile("dsb\n\tisb" ::: "memory");
}

{% endif %}
/* Drop lines, so that the next read comes from memory. */
static inline void cache_invalidate(const void *start, size_t bytes)
{
{% if board.cpu.dcache %}
    cache_maintain(&CACHE_DCIMVAC, start, bytes);
{% else %}
    (void)start; /* a {{ board.cpu.core }} here has no data cache */
    (void)bytes;
{% endif %}
}

/* Write lines back, so that others see them in memory. */
static inline void cache_clean(const void *start, size_t bytes)
{
{% if board.cpu.dcache %}
    cache_maintain(&CACHE_DCCMVAC, start, bytes);
{% else %}
    (void)start;
    (void)bytes;
{% endif %}
}
{% endif %}

#endif /* CACHE_H */
