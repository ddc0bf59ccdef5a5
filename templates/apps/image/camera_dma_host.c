/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A camera whose pixels come from images on the host; see camera.h and feed.h.
 *
 * The processor itself copies the data from the console to the buffer, instead of a DMA controller.
 *
 * Generated once by ethosgen; yours from now on.
 */
#include "cache.h"
#include "camera.h"
#include "feed.h"

static uint8_t *target;

bool camera_dma_init(void)
{
    return feed_start(CAMERA_BUFFER_BYTES);
}

void camera_dma_start(uint8_t *buffer)
{
    target = buffer;
}

bool camera_dma_wait(const volatile bool *is_ready)
{
    while (!*is_ready) {
        if (!feed_receive(target)) {
            return false;
        }
        cache_clean(target, CAMERA_BUFFER_BYTES); /* DMA would have written to memory */
        camera_buffer_ready();
    }
    return true;
}
