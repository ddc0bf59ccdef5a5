/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums and differences of int16, element by element. See ethosgen_kernels_s16.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_kernels_s16.h"
#include "ethosgen_requantize.h"

#if ETHOSGEN_MVE
#include "ethosgen_eight.h"

/* Shift left, and rescale by a factor below 1/2. */
static inline int32x4_t rescaled(int32x4_t value, const struct ethosgen_add_s16 *add)
{
    return ethosgen_scaled_x4(value, add->second_mantissa, add->second_shift);
}

static inline int16x8_t summed(int16x8_t first, int16x8_t second,
                               const struct ethosgen_add_s16 *add)
{
    int16x8_t factor = vdupq_n_s16((int16_t)add->first_factor);
    int32x4_t even = rescaled(vshllbq_n_s16(second, ETHOSGEN_ADD_SHIFT_S16), add);
    int32x4_t odd = rescaled(vshlltq_n_s16(second, ETHOSGEN_ADD_SHIFT_S16), add);

    even = vmlaq_n_s32(vmullbq_int_s16(first, factor), even, add->second_sign);
    odd = vmlaq_n_s32(vmulltq_int_s16(first, factor), odd, add->second_sign);
    return ethosgen_narrow_x8(ethosgen_scaled_x4(even, add->mantissa, add->shift),
                              ethosgen_scaled_x4(odd, add->mantissa, add->shift), add->low,
                              add->high);
}

static inline int16x8_t summed_equal(int16x8_t first, int16x8_t second,
                                     const struct ethosgen_add_s16 *add)
{
    int16x8_t factor = vdupq_n_s16((int16_t)add->first_factor);
    int16x8_t other = vdupq_n_s16((int16_t)(add->second_sign * 16384));
    int32x4_t even = vaddq_s32(vmullbq_int_s16(first, factor), vmullbq_int_s16(second, other));
    int32x4_t odd = vaddq_s32(vmulltq_int_s16(first, factor), vmulltq_int_s16(second, other));

    return ethosgen_narrow_x8(ethosgen_scaled_x4(even, add->mantissa, add->shift),
                              ethosgen_scaled_x4(odd, add->mantissa, add->shift), add->low,
                              add->high);
}

void ethosgen_add_s16(int16_t *output, const int16_t *first, const int16_t *second, int32_t count,
                      const struct ethosgen_add_s16 *shape)
{
    const struct ethosgen_add_s16 add = *shape;

    ETHOSGEN_BY_EIGHT(output, first, second, count, summed, &add);
}

void ethosgen_add_equal_s16(int16_t *output, const int16_t *first, const int16_t *second,
                            int32_t count, const struct ethosgen_add_s16 *shape)
{
    const struct ethosgen_add_s16 add = *shape;

    ETHOSGEN_BY_EIGHT(output, first, second, count, summed_equal, &add);
}
#else
static inline int16_t finished(int32_t sum, const struct ethosgen_add_s16 *add)
{
    int32_t value = ethosgen_requantize(sum, add->mantissa, add->shift);

    value = value < add->low ? add->low : value;
    return (int16_t)(value > add->high ? add->high : value);
}

void ethosgen_add_s16(int16_t *output, const int16_t *first, const int16_t *second, int32_t count,
                      const struct ethosgen_add_s16 *add)
{
    for (int32_t i = 0; i < count; i++) {
        int32_t other = ethosgen_requantize(second[i] * ((int32_t)1 << ETHOSGEN_ADD_SHIFT_S16),
                                            add->second_mantissa, add->second_shift);

        output[i] = finished(first[i] * add->first_factor + other * add->second_sign, add);
    }
}

void ethosgen_add_equal_s16(int16_t *output, const int16_t *first, const int16_t *second,
                            int32_t count, const struct ethosgen_add_s16 *add)
{
    int32_t factor = add->second_sign * ((int32_t)1 << (ETHOSGEN_ADD_SHIFT_S16 - 1));

    for (int32_t i = 0; i < count; i++) {
        output[i] = finished(first[i] * add->first_factor + second[i] * factor, add);
    }
}
#endif
