/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pools of int16, 8 channels at a time, then 2. See ethosgen_dsp_s16.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_dsp.h"
#include "ethosgen_dsp_math.h"

enum { LANES = 8, PAIR = 2 };

typedef struct ethosgen_dsp_pool_s16 PoolS16;

#if ETHOSGEN_DSP
/* A sum plus the lower half of a pair, and plus the upper. */
static inline int32_t add_low(uint32_t pair, int32_t sum)
{
    __asm("sxtah %0, %0, %1" : "+r"(sum) : "r"(pair));
    return sum;
}

static inline int32_t add_high(uint32_t pair, int32_t sum)
{
    return sum + ((int32_t)pair >> 16);
}
#else
static inline int32_t add_low(uint32_t pair, int32_t sum)
{
    return sum + (int16_t)pair;
}

static inline int32_t add_high(uint32_t pair, int32_t sum)
{
    return sum + (int16_t)(pair >> 16);
}
#endif

static inline int16_t average_of(int32_t sum, int32_t count)
{
    int32_t half = count / 2;

    return (int16_t)((sum + (sum > 0 ? half : -half)) / count);
}

/* The averages of 8 channels. */
static void average_many(int16_t *output, const int16_t *input, int32_t rows, int32_t columns,
                         const PoolS16 *pool)
{
    int32_t count = rows * columns;
    int32_t sum0 = 0, sum1 = 0, sum2 = 0, sum3 = 0, sum4 = 0, sum5 = 0, sum6 = 0, sum7 = 0;

    for (; rows > 0; rows--) {
        const int16_t *pixel = input;

        for (int32_t left = columns; left > 0; left--) {
            uint32_t pair0 = ethosgen_dsp_word(pixel), pair1 = ethosgen_dsp_word(pixel + 2);

            sum0 = add_low(pair0, sum0);
            sum1 = add_high(pair0, sum1);
            sum2 = add_low(pair1, sum2);
            sum3 = add_high(pair1, sum3);
            pair0 = ethosgen_dsp_word(pixel + 4);
            pair1 = ethosgen_dsp_word(pixel + 6);
            sum4 = add_low(pair0, sum4);
            sum5 = add_high(pair0, sum5);
            sum6 = add_low(pair1, sum6);
            sum7 = add_high(pair1, sum7);
            pixel += pool->channels;
        }
        input += pool->row_step;
    }
    output[0] = average_of(sum0, count);
    output[1] = average_of(sum1, count);
    output[2] = average_of(sum2, count);
    output[3] = average_of(sum3, count);
    output[4] = average_of(sum4, count);
    output[5] = average_of(sum5, count);
    output[6] = average_of(sum6, count);
    output[7] = average_of(sum7, count);
}

static void average_pair(int16_t *output, const int16_t *input, int32_t rows, int32_t columns,
                         const PoolS16 *pool)
{
    int32_t count = rows * columns, sum0 = 0, sum1 = 0;

    for (; rows > 0; rows--) {
        const int16_t *pixel = input;

        for (int32_t left = columns; left > 0; left--) {
            uint32_t pair = ethosgen_dsp_word(pixel);

            sum0 = add_low(pair, sum0);
            sum1 = add_high(pair, sum1);
            pixel += pool->channels;
        }
        input += pool->row_step;
    }
    output[0] = average_of(sum0, count);
    output[1] = average_of(sum1, count);
}

/* The maxima of 8 channels. */
static void maximum_many(int16_t *output, const int16_t *input, int32_t rows, int32_t columns,
                         const PoolS16 *pool)
{
    uint32_t most0 = ethosgen_dsp_word(input), most1 = ethosgen_dsp_word(input + 2);
    uint32_t most2 = ethosgen_dsp_word(input + 4), most3 = ethosgen_dsp_word(input + 6);

    for (; rows > 0; rows--) {
        const int16_t *pixel = input;

        for (int32_t left = columns; left > 0; left--) {
            most0 = ethosgen_dsp_greatest_16(most0, ethosgen_dsp_word(pixel));
            most1 = ethosgen_dsp_greatest_16(most1, ethosgen_dsp_word(pixel + 2));
            most2 = ethosgen_dsp_greatest_16(most2, ethosgen_dsp_word(pixel + 4));
            most3 = ethosgen_dsp_greatest_16(most3, ethosgen_dsp_word(pixel + 6));
            pixel += pool->channels;
        }
        input += pool->row_step;
    }
    (void)memcpy((uint8_t *)output, (const uint8_t *)&most0, sizeof most0);
    (void)memcpy((uint8_t *)(output + 2), (const uint8_t *)&most1, sizeof most1);
    (void)memcpy((uint8_t *)(output + 4), (const uint8_t *)&most2, sizeof most2);
    (void)memcpy((uint8_t *)(output + 6), (const uint8_t *)&most3, sizeof most3);
}

static void maximum_pair(int16_t *output, const int16_t *input, int32_t rows, int32_t columns,
                         const PoolS16 *pool)
{
    uint32_t most = ethosgen_dsp_word(input);

    for (; rows > 0; rows--) {
        const int16_t *pixel = input;

        for (int32_t left = columns; left > 0; left--) {
            most = ethosgen_dsp_greatest_16(most, ethosgen_dsp_word(pixel));
            pixel += pool->channels;
        }
        input += pool->row_step;
    }
    (void)memcpy((uint8_t *)output, (const uint8_t *)&most, sizeof most);
}

typedef void Block(int16_t *output, const int16_t *input, int32_t rows, int32_t columns,
                   const PoolS16 *pool);

/* Compute all channels; an odd last one shares a pair with the one before. */
static inline void all_channels(int16_t *output, const int16_t *input, int32_t rows,
                                int32_t columns, const PoolS16 *pool, Block *many, Block *pair)
{
    int32_t channels = pool->channels, channel = 0;

    for (; channel + LANES <= channels; channel += LANES) {
        many(output + channel, input + channel, rows, columns, pool);
    }
    for (; channel < channels; channel += PAIR) {
        int32_t start = channel + PAIR > channels ? channels - PAIR : channel;

        pair(output + start, input + start, rows, columns, pool);
    }
    ethosgen_dsp_bound_s16(output, channels, pool->low, pool->high);
}

void ethosgen_dsp_average_pool_s16(int16_t *output, const int16_t *input, int32_t rows,
                                   int32_t columns, const PoolS16 *shape)
{
    all_channels(output, input, rows, columns, shape, average_many, average_pair);
}

void ethosgen_dsp_max_pool_s16(int16_t *output, const int16_t *input, int32_t rows, int32_t columns,
                               const PoolS16 *shape)
{
    all_channels(output, input, rows, columns, shape, maximum_many, maximum_pair);
}
