/*
 * Products, element by element. See ethosgen_kernels.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_requantize.h"

#if ETHOSGEN_MVE
/* Multiply 4 elements by 4 factors and store the result. */
static inline void multiply(int8_t *to, const int8_t *from, int32x4_t factors,
                            const struct ethosgen_mul *mul, mve_pred16_t inside)
{
    int32x4_t value = vsubq_n_s32(vldrbq_z_s32(from, inside), mul->first_zero_point);

    value = ethosgen_requantize_x4(vmulq_s32(value, factors), vdupq_n_s32(mul->mantissa),
                                   vdupq_n_s32(mul->shift));
    value = vaddq_n_s32(value, mul->output.zero_point);
    value = vmaxq_s32(value, vdupq_n_s32(mul->output.low));
    vstrbq_p_s32(to, vminq_s32(value, vdupq_n_s32(mul->output.high)), inside);
}

void ethosgen_mul_s8(int8_t *output, const int8_t *first, const int8_t *second, int32_t count,
                     const int32_t *shape)
{
    const struct ethosgen_mul mul = *(const struct ethosgen_mul *)shape;

    for (int32_t i = 0; i < count; i += 4) {
        mve_pred16_t inside = vctp32q((uint32_t)(count - i));
        int32x4_t factors = vldrbq_z_s32(second + i, inside);

        multiply(output + i, first + i, vsubq_n_s32(factors, mul.second_zero_point), &mul, inside);
    }
}

void ethosgen_mul_one_s8(int8_t *output, const int8_t *first, const int8_t *second, int32_t count,
                         const int32_t *shape)
{
    const struct ethosgen_mul mul = *(const struct ethosgen_mul *)shape;
    int32x4_t factors = vdupq_n_s32(*second - mul.second_zero_point);

    for (int32_t i = 0; i < count; i += 4) {
        multiply(output + i, first + i, factors, &mul, vctp32q((uint32_t)(count - i)));
    }
}
#else
static inline int8_t multiplied(int8_t value, int32_t factor, const struct ethosgen_mul *mul)
{
    int32_t product = (value - mul->first_zero_point) * factor;

    return ethosgen_clamp(ethosgen_requantize(product, mul->mantissa, mul->shift), &mul->output);
}

void ethosgen_mul_s8(int8_t *output, const int8_t *first, const int8_t *second, int32_t count,
                     const int32_t *shape)
{
    const struct ethosgen_mul *mul = (const struct ethosgen_mul *)shape;

    for (int32_t i = 0; i < count; i++) {
        output[i] = multiplied(first[i], second[i] - mul->second_zero_point, mul);
    }
}

void ethosgen_mul_one_s8(int8_t *output, const int8_t *first, const int8_t *second, int32_t count,
                         const int32_t *shape)
{
    const struct ethosgen_mul *mul = (const struct ethosgen_mul *)shape;
    int32_t factor = *second - mul->second_zero_point;

    for (int32_t i = 0; i < count; i++) {
        output[i] = multiplied(first[i], factor, mul);
    }
}
#endif
