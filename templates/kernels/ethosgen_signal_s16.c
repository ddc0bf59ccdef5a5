/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prepares int16 samples for a Fourier transform: a window, and a shift to the full range. See
 * ethosgen_kernels.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_requantize.h"

enum {
    LEAST = -32768,
    MOST = 32767,
    HALF = 16384,
};

/* TensorFlow Lite Micro's amplitude: for -32768 it is -32768, so any later value exceeds it. */
static int32_t ordered_amplitude(const int16_t *input, int32_t count)
{
    int32_t most = 0;

    for (int32_t i = 0; i < count; i++) {
        int32_t value = input[i];

        if (value > most) {
            most = value;
        } else if (-value > most) {
            most = (int16_t)-value;
        } else {
            /* not larger */
        }
    }
    return most;
}

#if ETHOSGEN_MVE
void ethosgen_window_s16(int16_t *output, const int16_t *input, const int16_t *window,
                         int32_t count, int32_t shift)
{
    int32x4_t places = vdupq_n_s32(-shift);

    for (int32_t i = 0; i < count; i += 8) {
        int32_t left = count - i;
        mve_pred16_t inside = vctp16q((uint32_t)left);
        int16x8_t x = vldrhq_z_s16(input + i, inside), w = vldrhq_z_s16(window + i, inside);
        int16x8_t y = vqmovnbq_s32(x, vshlq_s32(vmullbq_int_s16(x, w), places));

        y = vqmovntq_s32(y, vshlq_s32(vmulltq_int_s16(x, w), places));
        vstrhq_p_s16(output + i, y, inside);
    }
}

/* The largest amplitude; for -32768 it is 32768. */
static inline int32_t greatest(const int16_t *input, int32_t count)
{
    uint16_t most = 0;

    for (int32_t i = 0; i < count; i += 8) {
        int32_t left = count - i;

        most = vmaxavq_s16(most, vldrhq_z_s16(input + i, vctp16q((uint32_t)left)));
    }
    return most;
}

static inline void shifted(int16_t *output, const int16_t *input, int32_t count, int32_t bits)
{
    for (int32_t i = 0; i < count; i += 8) {
        int32_t left = count - i;
        mve_pred16_t inside = vctp16q((uint32_t)left);

        vstrhq_p_s16(output + i, vshlq_r_s16(vldrhq_z_s16(input + i, inside), bits), inside);
    }
}
#else
void ethosgen_window_s16(int16_t *output, const int16_t *input, const int16_t *window,
                         int32_t count, int32_t shift)
{
    for (int32_t i = 0; i < count; i++) {
        int32_t product = input[i] * window[i] >> shift;

        product = product < LEAST ? LEAST : product;
        output[i] = (int16_t)(product > MOST ? MOST : product);
    }
}

/* The largest amplitude; for -32768 it is 32768. */
static int32_t greatest(const int16_t *input, int32_t count)
{
    int32_t most = 0;

    for (int32_t i = 0; i < count; i++) {
        int32_t amplitude = input[i] < 0 ? -input[i] : input[i];

        most = amplitude > most ? amplitude : most;
    }
    return most;
}

static void shifted(int16_t *output, const int16_t *input, int32_t count, int32_t bits)
{
    for (int32_t i = 0; i < count; i++) {
        output[i] = (int16_t)(input[i] * (1 << bits));
    }
}
#endif

void ethosgen_auto_scale_s16(int16_t *output, int32_t *bits, const int16_t *input, int32_t count)
{
    int32_t most = greatest(input, count), places = 0;

    if (most > MOST) {
        most = ordered_amplitude(input, count);
    }
    for (; most > 0 && most < HALF; most *= 2) {
        places++;
    }
    *bits = places;
    shifted(output, input, count, places);
}
