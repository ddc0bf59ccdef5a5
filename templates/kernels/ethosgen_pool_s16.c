/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pools of int16 over windows, many channels at a time. See ethosgen_kernels_s16.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_kernels_s16.h"
#include "ethosgen_requantize.h"

#if ETHOSGEN_MVE
enum { LANES = 8 };

/* The maximum of 16 channels; `pool` is not read between rows. */
static inline void most_of_sixteen(int16_t *output, const int16_t *row, int32_t rows,
                                   int32_t columns, const struct ethosgen_pool_s16 *pool)
{
    int16x8_t first = vdupq_n_s16((int16_t)pool->low), second = first;
    int16x8_t high = vdupq_n_s16((int16_t)pool->high);
    int32_t step = pool->channels;

    for (; rows > 0; rows--, row += pool->row_step) {
        const int16_t *pixel = row;

        for (int32_t x = columns; x > 0; x--, pixel = &pixel[step]) {
            first = vmaxq_s16(first, vldrhq_s16(pixel));
            second = vmaxq_s16(second, vldrhq_s16(pixel + LANES));
        }
    }
    vstrhq_s16(output, vminq_s16(first, high));
    vstrhq_s16(output + LANES, vminq_s16(second, high));
}

static inline void most_of_eight(int16_t *output, const int16_t *row, int32_t rows,
                                 int32_t columns, mve_pred16_t inside,
                                 const struct ethosgen_pool_s16 *pool)
{
    int16x8_t most = vdupq_n_s16((int16_t)pool->low);
    int32_t step = pool->channels;

    for (; rows > 0; rows--, row += pool->row_step) {
        const int16_t *pixel = row;

        for (int32_t x = columns; x > 0; x--, pixel = &pixel[step]) {
            most = vmaxq_s16(most, vldrhq_z_s16(pixel, inside));
        }
    }
    vstrhq_p_s16(output, vminq_s16(most, vdupq_n_s16((int16_t)pool->high)), inside);
}

void ethosgen_max_pool_s16(int16_t *output, const int16_t *input, int32_t rows, int32_t columns,
                           const struct ethosgen_pool_s16 *pool)
{
    int32_t left = pool->channels;

    for (; left >= 2 * LANES; left -= 2 * LANES) {
        most_of_sixteen(output, input, rows, columns, pool);
        output += 2 * LANES;
        input += 2 * LANES;
    }
    for (; left > 0; left -= LANES) {
        most_of_eight(output, input, rows, columns, vctp16q((uint32_t)left), pool);
        output += LANES;
        input += LANES;
    }
}

/*
 * sum / count, halves rounded away from zero. The upper half of the product with the reciprocal, which
 * is rounded up, is the quotient if count * (|sum| + half) < 2^32.
 */
static inline int32x4_t divided(int32x4_t sum, uint32_t count, uint32_t reciprocal)
{
    uint32x4_t size = vaddq_n_u32(vreinterpretq_u32_s32(vabsq_s32(sum)), count / 2u);
    int32x4_t quotient = vreinterpretq_s32_u32(
        count == 1u ? size : vmulhq_u32(size, vdupq_n_u32(reciprocal)));

    return vnegq_m_s32(quotient, quotient, vcmpltq_n_s32(sum, 0));
}

/* The sums of 4 channels. Not inline, to save code. */
static __attribute__((noinline)) int32x4_t sums_of_four(const int16_t *row, int32_t rows,
                                                        int32_t columns,
                                                        const struct ethosgen_pool_s16 *pool,
                                                        mve_pred16_t inside)
{
    int32x4_t sums = vdupq_n_s32(0);
    int32_t step = pool->channels;

    for (; rows > 0; rows--, row += pool->row_step) {
        const int16_t *pixel = row;

        for (int32_t x = columns; x > 0; x--, pixel = &pixel[step]) {
            sums = vaddq_s32(sums, vldrhq_z_s32(pixel, inside));
        }
    }
    return sums;
}

/* The sums of 8 channels. */
static inline void sums_of_eight(const int16_t *row, int32_t rows, int32_t columns,
                                 const struct ethosgen_pool_s16 *pool, int32x4_t *first,
                                 int32x4_t *second)
{
    int32x4_t left = vdupq_n_s32(0), right = left;
    int32_t step = pool->channels;

    for (; rows > 0; rows--, row += pool->row_step) {
        const int16_t *pixel = row;

        for (int32_t x = columns; x > 0; x--, pixel = &pixel[step]) {
            left = vaddq_s32(left, vldrhq_s32(pixel));
            right = vaddq_s32(right, vldrhq_s32(pixel + LANES / 2));
        }
    }
    *first = left;
    *second = right;
}

/* Divide, limit and store 4 channels, or fewer. */
static inline void store(int16_t *output, int32x4_t sums, uint32_t count, uint32_t reciprocal,
                         mve_pred16_t inside, const struct ethosgen_pool_s16 *pool)
{
    sums = vmaxq_s32(divided(sums, count, reciprocal), vdupq_n_s32(pool->low));
    vstrhq_p_s32(output, vminq_s32(sums, vdupq_n_s32(pool->high)), inside);
}

void ethosgen_average_pool_s16(int16_t *output, const int16_t *input, int32_t rows, int32_t columns,
                               const struct ethosgen_pool_s16 *pool)
{
    uint32_t count = (uint32_t)(rows * columns), reciprocal = UINT32_MAX / count + 1u;
    int32_t left = pool->channels;

    for (; left >= LANES; left -= LANES, input += LANES, output += LANES) {
        int32x4_t first, second;

        sums_of_eight(input, rows, columns, pool, &first, &second);
        store(output, first, count, reciprocal, vctp32q(LANES), pool);
        store(output + LANES / 2, second, count, reciprocal, vctp32q(LANES), pool);
    }
    for (; left > 0; left -= LANES / 2, input += LANES / 2, output += LANES / 2) {
        mve_pred16_t inside = vctp32q((uint32_t)left);

        store(output, sums_of_four(input, rows, columns, pool, inside), count, reciprocal, inside,
              pool);
    }
}
#else
static inline int16_t within(int32_t value, const struct ethosgen_pool_s16 *pool)
{
    value = value < pool->low ? pool->low : value;
    return (int16_t)(value > pool->high ? pool->high : value);
}

void ethosgen_max_pool_s16(int16_t *output, const int16_t *input, int32_t rows, int32_t columns,
                           const struct ethosgen_pool_s16 *pool)
{
    for (int32_t channel = 0; channel < pool->channels; channel++) {
        int32_t most = INT16_MIN;

        for (int32_t tap = 0; tap < rows * columns; tap++) {
            int16_t value = input[tap / columns * pool->row_step
                                  + tap % columns * pool->channels + channel];

            most = value > most ? value : most;
        }
        output[channel] = within(most, pool);
    }
}

void ethosgen_average_pool_s16(int16_t *output, const int16_t *input, int32_t rows, int32_t columns,
                               const struct ethosgen_pool_s16 *pool)
{
    int32_t count = rows * columns;

    for (int32_t channel = 0; channel < pool->channels; channel++) {
        int32_t sum = 0;

        for (int32_t tap = 0; tap < count; tap++) {
            sum += input[tap / columns * pool->row_step + tap % columns * pool->channels
                         + channel];
        }
        output[channel] = within((sum + (sum > 0 ? count / 2 : -(count / 2))) / count, pool);
    }
}
#endif
