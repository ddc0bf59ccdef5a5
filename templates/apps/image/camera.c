/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A camera's two buffers, and the data cache; see camera.h.
 *
 * Generated once by ethosgen; yours from now on.
 */
#include "camera.h"

#include "cache.h"

#include <assert.h>
#include <stddef.h>

#define BUFFERS 2u
#define BUFFER_BYTES ((CAMERA_BUFFER_BYTES + CACHE_LINE_BYTES - 1) / CACHE_LINE_BYTES * CACHE_LINE_BYTES)

/* Whole cache lines: invalidating one must not lose other data. If your DMA controller does not
 * reach the memory of .bss, give these a section that your linker script places elsewhere. */
_Alignas(CACHE_LINE_BYTES) static uint8_t buffers[BUFFERS][BUFFER_BYTES];
static uint32_t filling; /* the buffer that belongs to the DMA controller */
static volatile bool is_ready;

static_assert(sizeof buffers[0] % CACHE_LINE_BYTES == 0, "each buffer begins at a line");

void camera_buffer_ready(void)
{
    is_ready = true;
}

static void capture(uint32_t buffer)
{
    filling = buffer;
    is_ready = false;
    /* A line that was written earlier must not overwrite the camera's data in memory. */
    cache_invalidate(buffers[buffer], BUFFER_BYTES);
    camera_dma_start(buffers[buffer]);
}

bool camera_start(void)
{
    if (!camera_dma_init()) {
        return false;
    }
    capture(0);
    return true;
}

const uint8_t *camera_next(void)
{
    if (!camera_dma_wait(&is_ready)) {
        return NULL;
    }
    const uint8_t *whole = buffers[filling];

    capture((filling + 1u) % BUFFERS);
    cache_invalidate(whole, BUFFER_BYTES); /* old lines may hide the DMA controller's data */
    return whole;
}
