/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products, element by element. See ethosgen_kernels.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_requantize.h"

#if ETHOSGEN_MVE
/*
 * 8 products per iteration. Only loads and stores are predicated: half of a product must not be. `LOAD`
 * loads 8 elements of the inputs and subtracts the zero points. Shifts and sums of one half are between
 * multiplications of the other, since two of a kind wait for each other. The sign is added before the
 * shift, as in ethosgen_requantize_x4, unless the shift is 0.
 */
#define LOAD_FIRST                                                                             \
    "vpst\n\t"                                                                                 \
    "vldrbt.s16 q0, [%[first]], #8\n\t"                                                        \
    "vsub.i16 q0, q0, %[zero_point]\n\t"

/*
 * q0: elements of the first input, then odd products. q1: elements of the second, or the factor.
 * q2: even products, then outputs. q3: signs. lr: rounds left.
 */
#define ETHOSGEN_PRODUCTS(LOAD)                                                                \
    __asm volatile("dls lr, %[times]\n\t"                                                      \
                   "vdup.16 q1, %[factor]\n"                                                   \
                   "1:\n\t"                                                                    \
                   "vctp.16 %[count]\n\t"                                                      \
                   LOAD "vmullb.s16 q2, q0, q1\n\t"                                            \
                   "vqrdmulh.s32 q2, q2, %[mantissa]\n\t"                                      \
                   "vshl.s32 q3, q2, %q[sign]\n\t"                                             \
                   "vmullt.s16 q0, q0, q1\n\t"                                                 \
                   "vadd.i32 q2, q2, q3\n\t"                                                   \
                   "vqrdmulh.s32 q0, q0, %[mantissa]\n\t"                                      \
                   "vrshl.s32 q2, %[shift]\n\t"                                                \
                   "vshl.s32 q3, q0, %q[sign]\n\t"                                             \
                   "sub %[count], #8\n\t"                                                      \
                   "vadd.i32 q0, q0, q3\n\t"                                                   \
                   "vqmovnb.s32 q2, q2\n\t"                                                    \
                   "vrshl.s32 q0, %[shift]\n\t"                                                \
                   "vqmovnt.s32 q2, q0\n\t"                                                    \
                   "vqadd.s16 q2, q2, %[output_point]\n\t"                                     \
                   "vmax.s16 q2, q2, %q[low]\n\t"                                              \
                   "vmin.s16 q2, q2, %q[high]\n\t"                                             \
                   "vpst\n\t"                                                                  \
                   "vstrbt.16 q2, [%[output]], #8\n\t"                                         \
                   "le lr, 1b"                                                                 \
                   : [output] "+l"(output), [first] "+l"(first), [second] "+l"(second),        \
                     [count] "+r"(count)                                                       \
                   : [times] "r"((count + 7) >> 3), [zero_point] "r"(mul->first_zero_point),   \
                     [factor] "r"(*second - mul->second_zero_point),                           \
                     [second_point] "r"(mul->second_zero_point),                               \
                     [mantissa] "r"(mul->mantissa), [shift] "r"(mul->shift),                   \
                     [output_point] "r"(mul->output.zero_point),                               \
                     [sign] "w"(vdupq_n_s32(mul->shift < 0 ? -31 : 32)),                       \
                     [low] "w"(vdupq_n_s16((int16_t)mul->output.low)),                         \
                     [high] "w"(vdupq_n_s16((int16_t)mul->output.high))                        \
                   : "q0", "q1", "q2", "q3", "lr", "memory" ETHOSGEN_P0)

void ethosgen_mul_s8(int8_t *output, const int8_t *first, const int8_t *second, int32_t count,
                     const struct ethosgen_mul *mul)
{
    ETHOSGEN_PRODUCTS(LOAD_FIRST
                      "vpst\n\t"
                      "vldrbt.s16 q1, [%[second]], #8\n\t"
                      "vsub.i16 q1, q1, %[second_point]\n\t");
}

void ethosgen_mul_one_s8(int8_t *output, const int8_t *first, const int8_t *second, int32_t count,
                         const struct ethosgen_mul *mul)
{
    ETHOSGEN_PRODUCTS(LOAD_FIRST);
}
#else
/* Products of two bytes are so small that adding half a step of the shift cannot overflow. */
static inline int8_t multiplied(int8_t value, int32_t factor, const struct ethosgen_mul *mul)
{
    int32_t product = (value - mul->first_zero_point) * factor, shift = -mul->shift;

    product = (int32_t)(((int64_t)product * mul->mantissa + 0x40000000) >> 31);
    if (shift > 0) {
        product = (product + (product >> 31) + (1 << (shift - 1))) >> shift;
    }
    return ethosgen_clamp(product, &mul->output);
}

void ethosgen_mul_s8(int8_t *output, const int8_t *first, const int8_t *second, int32_t count,
                     const struct ethosgen_mul *mul)
{
    for (int32_t i = 0; i < count; i++) {
        output[i] = multiplied(first[i], second[i] - mul->second_zero_point, mul);
    }
}

void ethosgen_mul_one_s8(int8_t *output, const int8_t *first, const int8_t *second, int32_t count,
                         const struct ethosgen_mul *mul)
{
    int32_t factor = *second - mul->second_zero_point;

    for (int32_t i = 0; i < count; i++) {
        output[i] = multiplied(first[i], factor, mul);
    }
}
#endif
