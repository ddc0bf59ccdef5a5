/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A microphone whose samples come from a file on the host; see audio.h and feed.h. The host sends the
 * next block while the application works on this one.
 *
 * Generated once by ethosgen; yours from now on.
 */
#include "audio.h"

#if !AUDIO_FROM_DMA

#include "feed.h"

#include <string.h>

#define BLOCK {{ block_samples }}u /* samples that the host sends at a time */

static int16_t block[BLOCK];
static uint32_t next = BLOCK; /* the first sample of the block that was not read */

bool audio_start(void)
{
    next = BLOCK;
    return feed_start(sizeof block);
}

bool audio_read(int16_t *samples, uint32_t count)
{
    while (count > 0u) {
        if (next == BLOCK) {
            if (!feed_receive(block)) {
                return false;
            }
            next = 0;
        }
        uint32_t some = BLOCK - next < count ? BLOCK - next : count;

        memcpy(samples, &block[next], some * sizeof *samples);
        samples += some;
        next += some;
        count -= some;
    }
    return true;
}

#endif
