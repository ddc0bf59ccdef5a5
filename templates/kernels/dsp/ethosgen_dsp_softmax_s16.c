/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SOFTMAX of int16. See ethosgen_dsp_s16.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_dsp.h"
#include "ethosgen_dsp_math.h"

/* A line of a table covers 128 arguments; argument 0 is the start of line 256. */
enum { LINE_BITS = 7, LINE = 1 << LINE_BITS, MIDDLE = 256 };

/*
 * Bits of an int32 without its sign; bits of a normalized sum below an index of the table of
 * reciprocals.
 */
enum { VALUE_BITS = 31, DROPPED_BITS = 14, ONE = 0x8000 };

#if ETHOSGEN_DSP
static inline int32_t add_products(uint32_t a, uint32_t b, int32_t sum)
{
    return __smlad((int16x2_t)a, (int16x2_t)b, sum);
}

static inline int32_t leading_zeros(uint32_t value)
{
    int32_t count;

    __asm("clz %0, %1" : "=r"(count) : "r"(value));
    return count;
}

static inline int32_t without_sign(int32_t value)
{
    __asm("usat %0, #15, %1" : "=r"(value) : "r"(value));
    return value;
}
#else
static inline int32_t add_products(uint32_t a, uint32_t b, int32_t sum)
{
    return sum + (int32_t)(int16_t)a * (int16_t)b + (int32_t)(int16_t)(a >> 16) * (int16_t)(b >> 16);
}

static inline int32_t leading_zeros(uint32_t value)
{
    int32_t count = 0;

    for (; value < (uint32_t)1 << VALUE_BITS; value <<= 1) {
        count++;
    }
    return count;
}

static inline int32_t without_sign(int32_t value)
{
    value = value < 0 ? 0 : value;
    return value < ONE ? value : ONE - 1;
}
#endif

/* Interpolate between two values of a table, which share a word. */
static inline int32_t interpolated(const int16_t *middle, int32_t at)
{
    uint32_t offset = (uint32_t)at & (LINE - 1);
    uint32_t shares = LINE + offset * (UINT16_MAX);

    return add_products(ethosgen_dsp_word(middle + (at >> LINE_BITS)), shares, LINE / 2)
        >> LINE_BITS;
}

static int32_t greatest_of(const int16_t *values, int32_t count)
{
    int32_t greatest = INT16_MIN;

    for (; count > 0; count--) {
        greatest = *values > greatest ? *values : greatest;
        values++;
    }
    return greatest;
}

/* Write the exponentials of the distances from the largest; return their sum. */
static int32_t exponentials(int16_t *to, const int16_t *values, int32_t count,
                            const int16_t *table, const struct ethosgen_dsp_multiplier *by)
{
    const struct ethosgen_dsp_multiplier scale = *by;
    int32_t greatest = greatest_of(values, count), sum = 0;

    for (; count > 0; count--) {
        int32_t at = ethosgen_dsp_rescale(*values++ - greatest, &scale) + INT16_MAX;
        int32_t value = interpolated(table, ethosgen_dsp_saturate_16(at));

        *to++ = (int16_t)value;
        sum += value;
    }
    return sum;
}

void ethosgen_dsp_softmax_s16(int16_t *output, const int16_t *input, int32_t count,
                              const int16_t *exponents, const int16_t *reciprocals,
                              const struct ethosgen_dsp_softmax_s16 *softmax)
{
    int32_t depth = softmax->depth;

    for (; count > 0; count--) {
        uint32_t sum = (uint32_t)exponentials(output, input, depth, exponents + MIDDLE,
                                              &softmax->scale);
        int32_t places = leading_zeros(sum) - 1, shift = VALUE_BITS - 1 - places;
        uint32_t rounded = (sum << places) + ((uint32_t)1 << (DROPPED_BITS - 1));
        int32_t above_one = (int32_t)(rounded >> DROPPED_BITS) - 3 * ONE;
        int32_t scale = interpolated(reciprocals + MIDDLE, ethosgen_dsp_saturate_16(above_one));
        int32_t half = (int32_t)(1u << shift >> 1);

        for (int32_t left = depth; left > 0; left--) {
            *output = (int16_t)without_sign((*output * scale + half) >> shift);
            output++;
        }
        input = &input[depth];
    }
}
