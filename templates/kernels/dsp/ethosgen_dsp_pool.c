/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pools, 4 channels at a time. See ethosgen_dsp.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_dsp.h"
#include "ethosgen_dsp_math.h"

enum { LANES = 4 };

#if ETHOSGEN_DSP
static inline uint32_t add_halves(uint32_t a, uint32_t b)
{
    return (uint32_t)__sadd16((int16x2_t)a, (int16x2_t)b);
}
#else
static inline uint32_t add_halves(uint32_t a, uint32_t b)
{
    return ((a + b) & UINT16_MAX) | ((a >> 16) + (b >> 16)) << 16;
}
#endif

/* The first channel of a block that has all its channels. */
static inline int32_t start_of(int32_t channel, const struct ethosgen_core_pool *pool)
{
    return channel + LANES > pool->channels ? pool->channels - LANES : channel;
}

static inline int8_t average_of(int16_t sum, int32_t count)
{
    int32_t half = count / 2;

    return (int8_t)((sum + (sum > 0 ? half : -half)) / count);
}

void ethosgen_dsp_average_pool_s8(int8_t *output, const int8_t *input, int32_t rows,
                                  int32_t columns, const struct ethosgen_core_pool *pool)
{
    int32_t count = rows * columns;

    for (int32_t channel = 0; channel < pool->channels; channel += LANES) {
        int32_t start = start_of(channel, pool);
        uint32_t even = 0, odd = 0;

        for (int32_t row = 0; row < rows; row++) {
            const int8_t *pixel = input + row * pool->row_step + start;

            for (int32_t left = columns; left > 0; left--) {
                uint32_t word = ethosgen_dsp_word(pixel);

                even = add_halves(even, ethosgen_dsp_even(word));
                odd = add_halves(odd, ethosgen_dsp_odd(word));
                pixel += pool->channels;
            }
        }
        output[start] = average_of((int16_t)even, count);
        output[start + 1] = average_of((int16_t)odd, count);
        output[start + 2] = average_of((int16_t)(even >> 16), count);
        output[start + 3] = average_of((int16_t)(odd >> 16), count);
    }
    ethosgen_dsp_bound(output, pool->channels, pool->low, pool->high);
}

void ethosgen_dsp_max_pool_s8(int8_t *output, const int8_t *input, int32_t rows, int32_t columns,
                              const struct ethosgen_core_pool *pool)
{
    for (int32_t channel = 0; channel < pool->channels; channel += LANES) {
        int32_t start = start_of(channel, pool);
        uint32_t most = ethosgen_dsp_word(input + start);

        for (int32_t row = 0; row < rows; row++) {
            const int8_t *pixel = input + row * pool->row_step + start;

            for (int32_t left = columns; left > 0; left--) {
                most = ethosgen_dsp_greatest(most, ethosgen_dsp_word(pixel));
                pixel += pool->channels;
            }
        }
        (void)memcpy((uint8_t *)(output + start), (const uint8_t *)&most, sizeof most);
    }
    ethosgen_dsp_bound(output, pool->channels, pool->low, pool->high);
}
