/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of products of an int16 row with the int8 weights of 4 channels, and their conversion to int16.
 *
 * Weights are packed as for ethosgen_matrix_s16.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#ifndef ETHOSGEN_SUMS_S16_H
#define ETHOSGEN_SUMS_S16_H

#include "ethosgen_requantize.h"

enum { ETHOSGEN_LANES_S16 = 8, ETHOSGEN_BLOCK_S16 = 4 };

/* Return the bytes of the weights of 4 channels. */
static inline int32_t ethosgen_block_bytes_s16(int32_t depth)
{
    return (int32_t)((uint32_t)(depth + ETHOSGEN_LANES_S16 - 1) / ETHOSGEN_LANES_S16
                     * ETHOSGEN_LANES_S16 * ETHOSGEN_BLOCK_S16);
}

#if ETHOSGEN_MVE
/*
 * The sums of 4 channels; `weights` moves past them. One vector of the row and four of weights are
 * 32 products in 10 instructions. In assembly, since the compiler generates neither tail-predicated
 * loops nor moves of two lanes.
 */
static inline int32x4_t ethosgen_sums_s16_x4(const int16_t *row, const int8_t **weights,
                                             int32_t depth)
{
    int32_t sum0 = 0, sum1 = 0, sum2 = 0, sum3 = 0;
    int32x4_t all;

    /* q0: a vector of the row. q1 to q3: weights. all: the sums. lr: elements left. */
    __asm volatile("dlstp.16 lr, %[depth]\n"
                   "1:\n\t"
                   "vldrh.16 q0, [%[row]], #16\n\t"
                   "vldrb.s16 q1, [%[weights]], #8\n\t"
                   "vmladava.s16 %[sum0], q0, q1\n\t"
                   "vldrb.s16 q2, [%[weights]], #8\n\t"
                   "vmladava.s16 %[sum1], q0, q2\n\t"
                   "vldrb.s16 q3, [%[weights]], #8\n\t"
                   "vmladava.s16 %[sum2], q0, q3\n\t"
                   "vldrb.s16 q1, [%[weights]], #8\n\t"
                   "vmladava.s16 %[sum3], q0, q1\n\t"
                   "letp lr, 1b\n\t"
                   "vmov %q[all][2], %q[all][0], %[sum0], %[sum2]\n\t"
                   "vmov %q[all][3], %q[all][1], %[sum1], %[sum3]"
                   : [all] "=w"(all), [row] "+r"(row), [weights] "+l"(*weights), [sum0] "+Te"(sum0),
                     [sum1] "+Te"(sum1), [sum2] "+Te"(sum2), [sum3] "+Te"(sum3)
                   : [depth] "r"(depth)
                   : "q0", "q1", "q2", "q3", "lr", "memory");
    return all;
}

/*
 * TensorFlow Lite Micro's sum * mantissa of 15 bits / 2^n, rounded once, halves up: `mantissa` is
 * shifted left by 16 bits, and `shift` is 16 - n, negative. Below 2^16 the product does not matter.
 */
static inline int32x4_t ethosgen_rescale_once_x4(int32x4_t sum, int32x4_t mantissa,
                                                 int32x4_t shift)
{
    return vrshlq_s32(vmulhq_s32(sum, mantissa), shift);
}
#else
/* Return a channel's sum; `weights` points to its first weight. */
static inline int32_t ethosgen_sum_s16(const int16_t *row, const int8_t *weights, int32_t depth)
{
    int32_t sum = 0;

    for (int32_t k = 0; k < depth; k++) {
        sum += row[k] * weights[k / ETHOSGEN_LANES_S16 * ETHOSGEN_LANES_S16 * ETHOSGEN_BLOCK_S16
                                + k % ETHOSGEN_LANES_S16];
    }
    return sum;
}

/* See the form for Helium. */
static inline int32_t ethosgen_rescale_once(int32_t sum, int32_t mantissa, int32_t shift)
{
    return (int32_t)(((int64_t)sum * mantissa + ((int64_t)1 << (31 - shift))) >> (32 - shift));
}
#endif

#endif /* ETHOSGEN_SUMS_S16_H */
