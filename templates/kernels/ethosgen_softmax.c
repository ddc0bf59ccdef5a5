/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Softmax of int8 with a table of exponentials. See ethosgen_kernels.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_requantize.h"

enum {
    SUM_BITS = 12,    /* integer bits of a sum of exponentials */
    SHARE_BITS = 23,  /* bits of a share that are dropped in its 8-bit result */
    NEWTON_STEPS = 3,
    GUESS = 1515870810,  /* 48/17 with 2 integer bits */
    SLOPE = -1010580540, /* -32/17 with 2 integer bits */
};

/* The factor from a row's exponentials to its outputs: a mantissa, and a right shift. */
struct share {
    int32_t inverse;
    int32_t exponent;
};

/* a * b as fixed-point numbers between -1 and 1, rounded to nearest. */
static inline int32_t product(int32_t a, int32_t b)
{
    return (int32_t)(((int64_t)a * b + 0x40000000) >> 31);
}

/* x * 2^power, saturated. */
static inline int32_t times_power(int32_t x, int32_t power)
{
    int32_t limit = INT32_MAX >> power;

    if (x > limit) {
        return INT32_MAX;
    }
    return x < -limit - 1 ? INT32_MIN : x * (1 << power);
}

/* The reciprocal of a positive sum: Newton's method on half of its normalized value, 1/2 to 1. */
static struct share share_of(int32_t sum)
{
    int32_t zeros = __builtin_clz((uint32_t)sum);
    int32_t half = (int32_t)((uint32_t)sum << (zeros - 1));
    int32_t inverse = GUESS + product(half, SLOPE);

    for (int32_t step = 0; step < NEWTON_STEPS; step++) {
        int32_t error = 0x20000000 - product(half, inverse);

        inverse += times_power(product(inverse, error), 2);
    }
    return (struct share){times_power(inverse, 1), SUM_BITS + SHARE_BITS - zeros};
}

#if ETHOSGEN_MVE
static inline int8_t greatest_of(const int8_t *row, int32_t depth)
{
    int8_t most = INT8_MIN;

    for (int32_t i = 0; i < depth; i += 16) {
        mve_pred16_t inside = vctp8q((uint32_t)depth - (uint32_t)i);

        most = vmaxvq_p_s8(most, vldrbq_z_s8(row + i, inside), inside);
    }
    return most;
}

/* Look up the exponentials of 4 elements by their distances from the largest. */
static inline int32x4_t exponentials_of(const int8_t *from, int32x4_t greatest,
                                        const int32_t *table, mve_pred16_t inside)
{
    int32x4_t distance = vsubq_s32(greatest, vldrbq_z_s32(from, inside));

    return vldrwq_gather_shifted_offset_z_s32(table, vreinterpretq_u32_s32(distance), inside);
}

static void softmax_row(int8_t *output, const int8_t *row, int32_t depth, const int32_t *table)
{
    int32x4_t greatest = vdupq_n_s32(greatest_of(row, depth)), most = vdupq_n_s32(INT8_MAX);
    int32_t sum = 0;

    for (int32_t i = 0; i < depth; i += 4) {
        mve_pred16_t inside = vctp32q((uint32_t)depth - (uint32_t)i);
        int32x4_t terms = exponentials_of(row + i, greatest, table, inside);

        sum = vaddvaq_p_s32(sum, vrshrq_n_s32(terms, SUM_BITS), inside);
    }
    struct share share = share_of(sum);
    int32x4_t shift = vdupq_n_s32(-share.exponent);

    for (int32_t i = 0; i < depth; i += 4) {
        mve_pred16_t inside = vctp32q((uint32_t)depth - (uint32_t)i);
        int32x4_t terms = exponentials_of(row + i, greatest, table, inside);
        int32x4_t value = vrshlq_s32(vqrdmulhq_n_s32(terms, share.inverse), shift);

        vstrbq_p_s32(output + i, vminq_s32(vaddq_n_s32(value, INT8_MIN), most), inside);
    }
}
#else
/* x / 2^power, rounded to nearest; neither is negative, and quotients below a half are 0. */
static inline int32_t divided(int32_t x, int32_t power)
{
    if (power == 0) {
        return x;
    }
    return power > 31 ? 0 : (int32_t)(((uint32_t)x + ((uint32_t)1 << (power - 1))) >> power);
}

static void softmax_row(int8_t *output, const int8_t *row, int32_t depth, const int32_t *table)
{
    int32_t greatest = INT8_MIN, sum = 0;

    for (int32_t i = 0; i < depth; i++) {
        greatest = row[i] > greatest ? row[i] : greatest;
    }
    for (int32_t i = 0; i < depth; i++) {
        sum += divided(table[greatest - row[i]], SUM_BITS);
    }
    struct share share = share_of(sum);

    for (int32_t i = 0; i < depth; i++) {
        int32_t term = product(share.inverse, table[greatest - row[i]]);
        int32_t value = divided(term, share.exponent) + INT8_MIN;

        output[i] = (int8_t)(value > INT8_MAX ? INT8_MAX : value);
    }
}
#endif

void ethosgen_softmax_s8(int8_t *output, const int8_t *input, int32_t rows, int32_t depth,
                         const int32_t *exponentials)
{
    for (int32_t left = rows; left > 0; left--) {
        softmax_row(output, input, depth, exponentials);
        output = &output[depth];
        input = &input[depth];
    }
}
