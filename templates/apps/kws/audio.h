/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The microphone: a stream of samples, int16, one channel, {{ "{:,}".format(sample_rate) }} a second.
 *
 * Replace this part for a real microphone. audio_host.c reads the host's files; audio_dma.c has the
 * double buffer for a PDM or I2S microphone behind DMA: set AUDIO_FROM_DMA there.
 *
 * Generated once by ethosgen; yours from now on.
 */
#ifndef AUDIO_H
#define AUDIO_H

#include <stdbool.h>
#include <stdint.h>

#define AUDIO_RATE {{ sample_rate }}u

/* 1: audio_dma.c is the driver, and the board defines the functions of audio_dma.h. */
#define AUDIO_FROM_DMA 0

/* Start the microphone; return false if it has no more data: the program ends. */
bool audio_start(void);

/* Wait for the next `count` samples; return false when the stream ends. A real microphone's never
 * does. */
bool audio_read(int16_t *samples, uint32_t count);

#endif /* AUDIO_H */
