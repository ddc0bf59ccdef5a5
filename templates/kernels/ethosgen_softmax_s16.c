/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Softmax of int16. See ethosgen_kernels_s16.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_kernels_s16.h"
#include "ethosgen_sums.h"

/* A curve has 512 lines of 128 inputs each. */
enum { LINE_BITS = 7, MIDDLE = 256 };

/* Return a curve's value at an int16. */
static inline int32_t interpolated(const int16_t *curve, int32_t x)
{
    const int16_t *left = curve + (x >> LINE_BITS) + MIDDLE;
    int32_t within = x & ((1 << LINE_BITS) - 1);

    return left[0] + (((left[1] - left[0]) * within + (1 << (LINE_BITS - 1))) >> LINE_BITS);
}

static inline int32_t limited(int32_t x)
{
    x = x < INT16_MIN ? INT16_MIN : x;
    return x > INT16_MAX ? INT16_MAX : x;
}

/* The factor of a row's exponentials; the products are divided by 2^shift. */
struct share {
    int32_t factor;
    int32_t shift;
};

/* Return the reciprocal of a row's sum, which is positive. */
static inline struct share share_of(int32_t total, const int16_t *reciprocals)
{
    int32_t places = __builtin_clz((uint32_t)total) - 1;
    int32_t mantissa = (int32_t)((((int64_t)total << places) + 0x2000) >> 14);
    int32_t above_one = mantissa - 0x8000 - 0x10000;

    return (struct share){interpolated(reciprocals, limited(above_one)), 30 - places};
}

#if ETHOSGEN_MVE
static inline int32_t greatest_of(const int16_t *row, int32_t depth)
{
    int16_t greatest = INT16_MIN;

    for (; depth > 0; depth -= 8) {
        mve_pred16_t inside = vctp16q((uint32_t)depth);

        greatest = vmaxvq_p_s16(greatest, vldrhq_z_s16(row, inside), inside);
        row += 8;
    }
    return greatest;
}

/*
 * Store the exponentials of a row, and return their sum. From a factor of 2^16 on, distances wrap like
 * TensorFlow Lite Micro's, so they can be beyond either end of the curve.
 */
static inline int32_t raised(int16_t *output, const int16_t *row, int32_t depth, int32_t greatest,
                            const int16_t *curve, const struct ethosgen_multiplier *by)
{
    int32x4_t mask = vdupq_n_s32((1 << LINE_BITS) - 1);
    int32x4_t least = vdupq_n_s32(INT16_MIN), most = vdupq_n_s32(INT16_MAX);
    int32x4_t mantissa = vdupq_n_s32(by->mantissa), right = vdupq_n_s32(by->right);
    int32_t total = 0, left = by->left;

    for (; depth > 0; depth -= 4) {
        mve_pred16_t inside = vctp32q((uint32_t)depth);
        int32x4_t x = vsubq_n_s32(vldrhq_z_s32(row, inside), greatest);
        uint32x4_t line;
        int32x4_t start, step;

        x = ethosgen_requantize_x4(vshlq_r_s32(x, left), mantissa, right);
        x = vminq_s32(vmaxq_s32(vaddq_n_s32(x, INT16_MAX), least), most);
        line = vreinterpretq_u32_s32(vaddq_n_s32(vshrq_n_s32(x, LINE_BITS), MIDDLE));
        start = vldrhq_gather_shifted_offset_z_s32(curve, line, inside);
        step = vsubq_s32(vldrhq_gather_shifted_offset_z_s32(curve + 1, line, inside), start);
        step = vrshrq_n_s32(vmulq_s32(step, vandq_s32(x, mask)), LINE_BITS);
        start = vaddq_s32(start, step);
        vstrhq_p_s32(output, start, inside);
        total = vaddvaq_p_s32(total, start, inside);
        row += 4;
        output += 4;
    }
    return total;
}

static inline void divide(int16_t *output, int32_t depth, struct share share)
{
    int32x4_t zero = vdupq_n_s32(0), most = vdupq_n_s32(INT16_MAX);

    for (; depth > 0; depth -= 4) {
        mve_pred16_t inside = vctp32q((uint32_t)depth);
        int32x4_t x = vmulq_n_s32(vldrhq_z_s32(output, inside), share.factor);

        x = vmaxq_s32(vrshlq_n_s32(x, -share.shift), zero);
        vstrhq_p_s32(output, vminq_s32(x, most), inside);
        output += 4;
    }
}
#else
static inline int32_t greatest_of(const int16_t *row, int32_t depth)
{
    int32_t greatest = INT16_MIN;

    for (int32_t i = 0; i < depth; i++) {
        greatest = row[i] > greatest ? row[i] : greatest;
    }
    return greatest;
}

static inline int32_t raised(int16_t *output, const int16_t *row, int32_t depth, int32_t greatest,
                            const int16_t *curve, const struct ethosgen_multiplier *by)
{
    int32_t total = 0;

    for (int32_t i = 0; i < depth; i++) {
        int32_t x = ethosgen_rescale(row[i] - greatest, by);

        x = interpolated(curve, limited((int32_t)((uint32_t)x + (uint32_t)INT16_MAX)));
        output[i] = (int16_t)x;
        total += x;
    }
    return total;
}

static inline void divide(int16_t *output, int32_t depth, struct share share)
{
    for (int32_t i = 0; i < depth; i++) {
        int32_t x = (output[i] * share.factor + (1 << (share.shift - 1))) >> share.shift;

        output[i] = (int16_t)(x < 0 ? 0 : limited(x));
    }
}
#endif

void ethosgen_softmax_s16(int16_t *output, const int16_t *input, const int16_t *exponentials,
                          const int16_t *reciprocals, const struct ethosgen_softmax_s16 *shape)
{
    const struct ethosgen_softmax_s16 softmax = *shape;

    for (int32_t left = softmax.rows; left > 0; left--) {
        int32_t greatest = greatest_of(input, softmax.depth);
        int32_t total = raised(output, input, softmax.depth, greatest, exponentials, &softmax.scale);

        divide(output, softmax.depth, share_of(total, reciprocals));
        input += softmax.depth;
        output += softmax.depth;
    }
}
