/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of products of a row with the weights of 4 channels, and their conversion to int16.
 *
 * Weights are packed as for ethosgen_matrix_s8.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#ifndef ETHOSGEN_SUMS_H
#define ETHOSGEN_SUMS_H

#include "ethosgen_requantize.h"

enum { ETHOSGEN_LANES = 16, ETHOSGEN_BLOCK = 4 };

/* Return the bytes of the weights of 4 channels. */
static inline int32_t ethosgen_block_bytes(int32_t depth)
{
    return (depth + ETHOSGEN_LANES - 1) / ETHOSGEN_LANES * ETHOSGEN_LANES * ETHOSGEN_BLOCK;
}

#if ETHOSGEN_MVE
/*
 * The sums of 4 channels; `weights` moves past them. One vector of the row and four of weights are
 * 64 products in 10 instructions. In assembly, since the compiler generates neither tail-predicated
 * loops nor moves of two lanes.
 */
static inline int32x4_t ethosgen_sums_x4(const int8_t *row, const int8_t **weights,
                                         const int32_t *bias, int32_t depth)
{
    int32_t sum0 = bias[0], sum1 = bias[1], sum2 = bias[2], sum3 = bias[3];
    int32x4_t all;

    /* q0: a vector of the row. q1 to q3: weights. all: the sums. lr: elements left. */
    __asm volatile("dlstp.8 lr, %[depth]\n"
                   "1:\n\t"
                   "vldrb.8 q0, [%[row]], #16\n\t"
                   "vldrb.8 q1, [%[weights]], #16\n\t"
                   "vmladava.s8 %[sum0], q0, q1\n\t"
                   "vldrb.8 q2, [%[weights]], #16\n\t"
                   "vmladava.s8 %[sum1], q0, q2\n\t"
                   "vldrb.8 q3, [%[weights]], #16\n\t"
                   "vmladava.s8 %[sum2], q0, q3\n\t"
                   "vldrb.8 q1, [%[weights]], #16\n\t"
                   "vmladava.s8 %[sum3], q0, q1\n\t"
                   "letp lr, 1b\n\t"
                   "vmov %q[all][2], %q[all][0], %[sum0], %[sum2]\n\t"
                   "vmov %q[all][3], %q[all][1], %[sum1], %[sum3]"
                   : [all] "=w"(all), [row] "+r"(row), [weights] "+r"(*weights), [sum0] "+Te"(sum0),
                     [sum1] "+Te"(sum1), [sum2] "+Te"(sum2), [sum3] "+Te"(sum3)
                   : [depth] "r"(depth)
                   : "q0", "q1", "q2", "q3", "lr", "memory");
    return all;
}

/* Scale by any multiplier; the left shift wraps, like TensorFlow Lite Micro's. */
static inline int32x4_t ethosgen_rescale_x4(int32x4_t value, const struct ethosgen_multiplier *by)
{
    return ethosgen_requantize_x4(vshlq_r_s32(value, by->left), vdupq_n_s32(by->mantissa),
                                  vdupq_n_s32(by->right));
}

/* Saturate to 16 bits: the even elements; the odd ones are undefined. */
static inline int16x8_t ethosgen_narrow_x4(int32x4_t value)
{
    return vqmovnbq_s32(vreinterpretq_s16_s32(value), value);
}
#else
/* Return a channel's sum; `weights` points to its first weight. Four products per round. */
static inline int32_t ethosgen_sum(const int8_t *row, const int8_t *weights, int32_t sum,
                                   int32_t depth)
{
    for (; depth > 0; depth -= ETHOSGEN_LANES) {
        int32_t left = depth < ETHOSGEN_LANES ? depth : ETHOSGEN_LANES;
        const int8_t *at = weights;

        for (; left >= 4; left -= 4) {
            sum += row[0] * at[0];
            sum += row[1] * at[1];
            sum += row[2] * at[2];
            sum += row[3] * at[3];
            row += 4;
            at += 4;
        }
        for (; left > 0; left--) {
            sum += *row++ * *at++;
        }
        weights += ETHOSGEN_LANES * ETHOSGEN_BLOCK;
    }
    return sum;
}

/* Scale by any multiplier; the left shift wraps, like TensorFlow Lite Micro's. */
static inline int32_t ethosgen_rescale(int32_t value, const struct ethosgen_multiplier *by)
{
    return ethosgen_requantize((int32_t)((uint32_t)value << by->left), by->mantissa, by->right);
}

/* Saturate to 16 bits. */
static inline int32_t ethosgen_narrow(int32_t value)
{
    value = value < INT16_MIN ? INT16_MIN : value;
    return value > INT16_MAX ? INT16_MAX : value;
}
#endif

#endif /* ETHOSGEN_SUMS_H */
