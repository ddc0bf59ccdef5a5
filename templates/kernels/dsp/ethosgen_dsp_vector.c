/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of few rows and contiguous columns. See ethosgen_dsp.h.
 *
 * Nothing is packed: a row is widened without its zero point, and columns are extended when they are
 * multiplied, two at a time.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_dsp.h"
#include "ethosgen_dsp_math.h"

enum { STEP = 4 };

typedef struct ethosgen_dsp_product VectorProduct;

static inline int32_t add_products(uint32_t a, uint32_t b, int32_t sum)
{
#if ETHOSGEN_DSP
    return __smlad((int16x2_t)a, (int16x2_t)b, sum);
#else
    sum += (int32_t)(int16_t)a * (int16_t)b;
    return sum + (int32_t)(int16_t)(a >> 16) * (int16_t)(b >> 16);
#endif
}

/* The next values, at most 4; others are 0. */
static inline uint32_t some_of(const int8_t *from, int32_t count, int32_t step)
{
    uint32_t word = 0;

    for (int32_t place = 0; place < count && place < STEP; place++) {
        word |= (uint32_t)(uint8_t)*from << (8 * place);
        from = &from[step];
    }
    return word;
}

/* Write a row without its zero point: places 0 and 2, then 1 and 3; return its sum. */
static int32_t widen(int16_t *to, const int8_t *from, const VectorProduct *product)
{
    int32_t sum = 0;

    for (int32_t left = product->depth; left > 0; left -= STEP) {
        for (int32_t place = 0; place < STEP; place++) {
            int32_t value = place < left ? from[place * product->first_step] : product->first_zero;

            value -= product->first_zero;
            sum += value;
            to[place / 2 + place % 2 * 2] = (int16_t)value;
        }
        to += STEP;
        from += STEP * product->first_step;
    }
    return sum;
}

/* Add the products of a row and two columns. */
static inline void multiply(int32_t sums[2], const int16_t *row, const int8_t *one,
                            const int8_t *other, int32_t depth)
{
    int32_t a = sums[0], b = sums[1], left = depth;

    for (; left >= STEP; left -= STEP) {
        uint32_t even = ethosgen_dsp_word(row), odd = ethosgen_dsp_word(row + 2);
        uint32_t first = ethosgen_dsp_word(one), second = ethosgen_dsp_word(other);

        a = add_products(even, ethosgen_dsp_even(first), a);
        a = add_products(odd, ethosgen_dsp_odd(first), a);
        b = add_products(even, ethosgen_dsp_even(second), b);
        b = add_products(odd, ethosgen_dsp_odd(second), b);
        row += STEP;
        one += STEP;
        other += STEP;
    }
    if (left > 0) {
        uint32_t even = ethosgen_dsp_word(row), odd = ethosgen_dsp_word(row + 2);
        uint32_t first = some_of(one, left, 1), second = some_of(other, left, 1);

        a = add_products(odd, ethosgen_dsp_odd(first), add_products(even, ethosgen_dsp_even(first), a));
        b = add_products(odd, ethosgen_dsp_odd(second),
                         add_products(even, ethosgen_dsp_even(second), b));
    }
    sums[0] = a;
    sums[1] = b;
}

void ethosgen_dsp_vector_s8(int8_t *output, const int8_t *first, const int8_t *second, void *room,
                            const VectorProduct *product)
{
    const struct ethosgen_core_scale *scale = product->scales;
    int32_t depth = product->depth, columns = product->columns;

    for (int32_t row = 0; row < product->rows; row++) {
        int32_t start = -product->second_zero * widen(room, first, product);
        const int8_t *column = second;

        for (int32_t at = 0; at < columns; at += 2) {
            const int8_t *next = at + 1 < columns ? column + depth : column;
            int32_t sums[2] = {start, start};

            multiply(sums, room, column, next, depth);
            output[at] = (int8_t)ethosgen_dsp_requantize(2 * (sums[0] + scale->bias), scale);
            if (at + 1 < columns) {
                output[at + 1] = (int8_t)ethosgen_dsp_requantize(2 * (sums[1] + scale->bias), scale);
            }
            column = &column[2 * depth];
        }
        first += product->first_next;
        output = &output[columns];
    }
}
