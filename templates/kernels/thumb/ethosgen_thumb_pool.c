/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pools of int8, 4 channels at a time. See ethosgen_thumb.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_thumb_math.h"

enum { FOUR = 4 };

typedef struct ethosgen_core_pool Pool;

static inline int32_t greater(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

/* The maxima of `count` channels, 1 or 4. */
static inline __attribute__((always_inline)) void
find_maxima(int8_t *output, const int8_t *input, int32_t rows, int32_t columns, int32_t count,
            const Pool *pool)
{
    int32_t a = INT8_MIN, b = a, c = a, d = a, pixel = pool->channels;

    for (; rows > 0; rows--) {
        const int8_t *at = input;

        for (int32_t left = columns; left > 0; left--) {
            a = greater(a, at[0]);
            if (count == FOUR) {
                b = greater(b, at[1]);
                c = greater(c, at[2]);
                d = greater(d, at[3]);
            }
            at = &at[pixel];
        }
        input += pool->row_step;
    }
    output[0] = (int8_t)a;
    if (count == FOUR) {
        output[1] = (int8_t)b;
        output[2] = (int8_t)c;
        output[3] = (int8_t)d;
    }
}

void ethosgen_thumb_max_pool_s8(int8_t *output, const int8_t *input, int32_t rows, int32_t columns,
                                const Pool *pool)
{
    int32_t channel = 0;

    for (; channel + FOUR <= pool->channels; channel += FOUR) {
        find_maxima(output + channel, input + channel, rows, columns, FOUR, pool);
    }
    for (; channel < pool->channels; channel++) {
        find_maxima(output + channel, input + channel, rows, columns, 1, pool);
    }
    ethosgen_thumb_bound(output, pool->channels, pool->low, pool->high);
}

static inline int8_t average(int32_t sum, int32_t count)
{
    return (int8_t)((sum + (sum > 0 ? count / 2 : -(count / 2))) / count);
}

/* The averages of `count` channels, 1 or 4. */
static inline __attribute__((always_inline)) void
find_averages(int8_t *output, const int8_t *input, int32_t rows, int32_t columns, int32_t count,
              const Pool *pool)
{
    int32_t a = 0, b = 0, c = 0, d = 0, pixel = pool->channels, taps = rows * columns;

    for (; rows > 0; rows--) {
        const int8_t *at = input;

        for (int32_t left = columns; left > 0; left--) {
            a += at[0];
            if (count == FOUR) {
                b += at[1];
                c += at[2];
                d += at[3];
            }
            at = &at[pixel];
        }
        input += pool->row_step;
    }
    output[0] = average(a, taps);
    if (count == FOUR) {
        output[1] = average(b, taps);
        output[2] = average(c, taps);
        output[3] = average(d, taps);
    }
}

void ethosgen_thumb_average_pool_s8(int8_t *output, const int8_t *input, int32_t rows,
                                    int32_t columns, const Pool *pool)
{
    int32_t channel = 0;

    for (; channel + FOUR <= pool->channels; channel += FOUR) {
        find_averages(output + channel, input + channel, rows, columns, FOUR, pool);
    }
    for (; channel < pool->channels; channel++) {
        find_averages(output + channel, input + channel, rows, columns, 1, pool);
    }
    ethosgen_thumb_bound(output, pool->channels, pool->low, pool->high);
}
