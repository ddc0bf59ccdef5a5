/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A microphone behind a DMA with two halves; see audio.h and audio_dma.h.
 *
 * Generated once by ethosgen; yours from now on.
 */
#include "audio.h"

#if AUDIO_FROM_DMA

#include "audio_dma.h"

#include <string.h>

static int16_t halves[AUDIO_HALVES][AUDIO_HALF_SAMPLES];
static volatile uint32_t filled; /* halves that the DMA has filled since the start */
static uint32_t taken;           /* halves that were read, or lost */
static uint32_t next;            /* the first sample of the current half that was not read */
static uint32_t lost;

bool audio_start(void)
{
    filled = 0;
    taken = 0;
    next = 0;
    lost = 0;
    return audio_dma_start(halves);
}

void audio_half_done(void)
{
    filled++;
}

uint32_t audio_lost_halves(void)
{
    return lost;
}

/* Wait for an unread half; skip halves that the DMA is overwriting. */
static void wait_for_half(void)
{
    audio_dma_lock();
    while (filled == taken) {
        audio_dma_sleep();
        audio_dma_unlock(); /* the interrupt runs here */
        audio_dma_lock();
    }
    uint32_t waiting = filled - taken;

    if (waiting >= AUDIO_HALVES) {
        lost += waiting - 1u;
        taken += waiting - 1u;
        next = 0;
    }
    audio_dma_unlock();
}

bool audio_read(int16_t *samples, uint32_t count)
{
    while (count > 0u) {
        wait_for_half();
        uint32_t left = AUDIO_HALF_SAMPLES - next;
        uint32_t some = left < count ? left : count;

        memcpy(samples, &halves[taken % AUDIO_HALVES][next], some * sizeof *samples);
        samples += some;
        count -= some;
        next += some;
        if (next == AUDIO_HALF_SAMPLES) {
            next = 0;
            taken++;
        }
    }
    return true;
}

#endif
