/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A double buffer between a microphone's DMA and the application; see audio.h.
 *
 * Generated once by ethosgen; yours from now on.
 */
#ifndef AUDIO_DMA_H
#define AUDIO_DMA_H

#include <stdbool.h>
#include <stdint.h>

#define AUDIO_HALVES 2u
#define AUDIO_HALF_SAMPLES 320u /* 20 ms: the time that the application has for the other half */

/* Write this for your board: start the microphone (PDM filter or I2S) and a circular DMA into the
 * two halves, and call audio_half_done() from its half-transfer and full-transfer interrupts.
 * Return false if that is impossible. With a data cache, put the halves into uncached memory, or
 * invalidate a half before audio_half_done(). */
bool audio_dma_start(int16_t halves[AUDIO_HALVES][AUDIO_HALF_SAMPLES]);

/* Write this for your board: sleep until an interrupt (a __WFI() is enough). It is called with
 * interrupts disabled: __WFI() wakes up even then, and no wake-up is lost. */
void audio_dma_sleep(void);

/* Write these for your board: __disable_irq() and __enable_irq(). */
void audio_dma_lock(void);
void audio_dma_unlock(void);

/* Tell that the DMA has filled the next half; call it from the interrupt. */
void audio_half_done(void);

/* Return how many halves were lost since the start because the application was too slow. */
uint32_t audio_lost_halves(void);

#endif /* AUDIO_DMA_H */
