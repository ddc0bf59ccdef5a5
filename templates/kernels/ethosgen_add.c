/*
 * Sums and differences, element by element. See ethosgen_kernels.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_requantize.h"

#if ETHOSGEN_MVE
/* Like ethosgen_requantize_x4, with one mantissa for all elements. */
static inline int32x4_t scaled(int32x4_t value, int32_t mantissa, int32x4_t shift)
{
    int32x4_t product = vqrdmulhq_n_s32(value, mantissa);
    int32x4_t sign = vshrq_n_s32(vandq_s32(product, shift), 31);

    return vrshlq_s32(vaddq_s32(product, sign), shift);
}

static inline int32x4_t widened(const int8_t *from, mve_pred16_t inside, int32_t zero_point)
{
    return vshlq_n_s32(vsubq_n_s32(vldrbq_z_s32(from, inside), zero_point), ETHOSGEN_ADD_SHIFT);
}

void ethosgen_add_s8(int8_t *output, const int8_t *first, const int8_t *second, int32_t count,
                     const int32_t *shape)
{
    const struct ethosgen_add add = *(const struct ethosgen_add *)shape;
    int32x4_t first_shift = vdupq_n_s32(add.first.shift);
    int32x4_t second_shift = vdupq_n_s32(add.second.shift), shift = vdupq_n_s32(add.shift);
    int32x4_t low = vdupq_n_s32(add.output.low), high = vdupq_n_s32(add.output.high);

    for (int32_t i = 0; i < count; i += 4) {
        mve_pred16_t inside = vctp32q((uint32_t)(count - i));
        int32x4_t left = widened(first + i, inside, add.first.zero_point);
        int32x4_t right = widened(second + i, inside, add.second.zero_point);

        left = scaled(left, add.first.mantissa, first_shift);
        right = scaled(right, add.second.mantissa, second_shift);
        left = scaled(vaddq_s32(left, vmulq_n_s32(right, add.sign)), add.mantissa, shift);
        left = vaddq_n_s32(left, add.output.zero_point);
        vstrbq_p_s32(output + i, vminq_s32(vmaxq_s32(left, low), high), inside);
    }
}

void ethosgen_add_one_s8(int8_t *output, const int8_t *first, const int8_t *second, int32_t count,
                         const int32_t *shape)
{
    const struct ethosgen_add add = *(const struct ethosgen_add *)shape;
    int32x4_t first_shift = vdupq_n_s32(add.first.shift), shift = vdupq_n_s32(add.shift);
    int32x4_t low = vdupq_n_s32(add.output.low), high = vdupq_n_s32(add.output.high);
    int32x4_t right = vdupq_n_s32((*second - add.second.zero_point) * (1 << ETHOSGEN_ADD_SHIFT));

    right = scaled(right, add.second.mantissa, vdupq_n_s32(add.second.shift));
    right = vmulq_n_s32(right, add.sign);
    for (int32_t i = 0; i < count; i += 4) {
        mve_pred16_t inside = vctp32q((uint32_t)(count - i));
        int32x4_t left = widened(first + i, inside, add.first.zero_point);

        left = vaddq_s32(scaled(left, add.first.mantissa, first_shift), right);
        left = vaddq_n_s32(scaled(left, add.mantissa, shift), add.output.zero_point);
        vstrbq_p_s32(output + i, vminq_s32(vmaxq_s32(left, low), high), inside);
    }
}
#else
static inline int32_t widened(int8_t value, const struct ethosgen_scaled *input)
{
    return ethosgen_requantize((value - input->zero_point) * (1 << ETHOSGEN_ADD_SHIFT),
                               input->mantissa, input->shift);
}

void ethosgen_add_s8(int8_t *output, const int8_t *first, const int8_t *second, int32_t count,
                     const int32_t *shape)
{
    const struct ethosgen_add *add = (const struct ethosgen_add *)shape;

    for (int32_t i = 0; i < count; i++) {
        int32_t sum = widened(first[i], &add->first)
            + add->sign * widened(second[i], &add->second);

        output[i] = ethosgen_clamp(ethosgen_requantize(sum, add->mantissa, add->shift),
                                   &add->output);
    }
}

void ethosgen_add_one_s8(int8_t *output, const int8_t *first, const int8_t *second, int32_t count,
                         const int32_t *shape)
{
    const struct ethosgen_add *add = (const struct ethosgen_add *)shape;
    int32_t right = add->sign * widened(*second, &add->second);

    for (int32_t i = 0; i < count; i++) {
        int32_t sum = widened(first[i], &add->first) + right;

        output[i] = ethosgen_clamp(ethosgen_requantize(sum, add->mantissa, add->shift),
                                   &add->output);
    }
}
#endif
