/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of int16, element by element. See ethosgen_kernels_s16.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_kernels_s16.h"
#include "ethosgen_requantize.h"

#if ETHOSGEN_MVE
#include "ethosgen_eight.h"

static inline int16x8_t multiplied(int16x8_t first, int16x8_t second,
                                   const struct ethosgen_mul_s16 *mul)
{
    int32x4_t even = vmullbq_int_s16(first, second), odd = vmulltq_int_s16(first, second);

    return ethosgen_narrow_x8(ethosgen_scaled_x4(even, mul->mantissa, mul->shift),
                              ethosgen_scaled_x4(odd, mul->mantissa, mul->shift), mul->low,
                              mul->high);
}

void ethosgen_mul_s16(int16_t *output, const int16_t *first, const int16_t *second, int32_t count,
                      const struct ethosgen_mul_s16 *shape)
{
    const struct ethosgen_mul_s16 mul = *shape;

    ETHOSGEN_BY_EIGHT(output, first, second, count, multiplied, &mul);
}
#else
void ethosgen_mul_s16(int16_t *output, const int16_t *first, const int16_t *second, int32_t count,
                      const struct ethosgen_mul_s16 *mul)
{
    for (int32_t i = 0; i < count; i++) {
        int32_t value = ethosgen_requantize(first[i] * second[i], mul->mantissa, mul->shift);

        value = value < mul->low ? mul->low : value;
        output[i] = (int16_t)(value > mul->high ? mul->high : value);
    }
}
#endif
