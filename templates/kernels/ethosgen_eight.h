/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elementwise loops over int16, 8 elements at a time, with Helium.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#ifndef ETHOSGEN_EIGHT_H
#define ETHOSGEN_EIGHT_H

#include "ethosgen_requantize.h"

/* Like ethosgen_requantize_x4, with one factor below 1/2: `shift` is negative. */
static inline int32x4_t ethosgen_scaled_x4(int32x4_t value, int32_t mantissa, int32_t shift)
{
    int32x4_t product = vqrdmulhq_n_s32(value, mantissa);

    return vrshlq_n_s32(vaddq_s32(product, vshrq_n_s32(product, 31)), shift);
}

/* Saturate even and odd elements to 16 bits, and limit them. */
static inline int16x8_t ethosgen_narrow_x8(int32x4_t even, int32x4_t odd, int32_t low,
                                           int32_t high)
{
    int16x8_t both = vqmovntq_s32(vqmovnbq_s32(vdupq_n_s16(0), even), odd);

    both = vmaxq_s16(both, vdupq_n_s16((int16_t)low));
    return vminq_s16(both, vdupq_n_s16((int16_t)high));
}

/* output[i] = function(first[i], second[i], with), first whole vectors, then the rest. */
#define ETHOSGEN_BY_EIGHT(output, first, second, count, function, with)                          \
    do {                                                                                         \
        int32_t left = (count);                                                                  \
        for (; left >= 8; left -= 8) {                                                           \
            vstrhq_s16(output, function(vldrhq_s16(first), vldrhq_s16(second), with));           \
            output += 8;                                                                         \
            first += 8;                                                                          \
            second += 8;                                                                         \
        }                                                                                        \
        if (left > 0) {                                                                          \
            mve_pred16_t inside = vctp16q((uint32_t)left);                                       \
            vstrhq_p_s16(output,                                                                 \
                         function(vldrhq_z_s16(first, inside), vldrhq_z_s16(second, inside),     \
                                  with),                                                         \
                         inside);                                                                \
        }                                                                                        \
    } while (0)

#endif /* ETHOSGEN_EIGHT_H */
