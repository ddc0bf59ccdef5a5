/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pools over windows, many channels at a time. See ethosgen_kernels.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_requantize.h"

#if ETHOSGEN_MVE
enum { LANES = 16 };

/* A window's pixels: one loop is enough if they are in one row or one column. */
struct pixels {
    int32_t rows, columns;
    int32_t row_step, step;
};

static inline struct pixels pixels_of(int32_t rows, int32_t columns, const struct ethosgen_pool *pool)
{
    if (columns == 1) {
        return (struct pixels){1, rows, 0, pool->row_step};
    }
    return (struct pixels){rows, columns, pool->row_step, pool->channels};
}

/* Two whole vectors of each pixel. */
static inline void maxima_of_two(int8_t *output, const int8_t *row, struct pixels of, int8x16_t low,
                                 int8x16_t high)
{
    int8x16_t first = low, second = low;

    for (; of.rows > 0; of.rows--, row += of.row_step) {
        const int8_t *pixel = row;

        for (int32_t x = of.columns; x > 0; x--, pixel += of.step) {
            first = vmaxq_s8(first, vldrbq_s8(pixel));
            second = vmaxq_s8(second, vldrbq_s8(pixel + LANES));
        }
    }
    vstrbq_s8(output, vminq_s8(first, high));
    vstrbq_s8(output + LANES, vminq_s8(second, high));
}

static inline void maxima_of_one(int8_t *output, const int8_t *row, struct pixels of, int8x16_t low,
                                 int8x16_t high, mve_pred16_t inside)
{
    int8x16_t most = low;

    for (; of.rows > 0; of.rows--, row += of.row_step) {
        const int8_t *pixel = row;

        for (int32_t x = of.columns; x > 0; x--, pixel += of.step) {
            most = vmaxq_s8(most, vldrbq_z_s8(pixel, inside));
        }
    }
    vstrbq_p_s8(output, vminq_s8(most, high), inside);
}

void ethosgen_max_pool_s8(int8_t *output, const int8_t *input, int32_t rows, int32_t columns,
                          const struct ethosgen_pool *pool)
{
    int8x16_t low = vdupq_n_s8((int8_t)pool->low), high = vdupq_n_s8((int8_t)pool->high);
    struct pixels of = pixels_of(rows, columns, pool);
    int32_t left = pool->channels;

    for (; left >= 2 * LANES; left -= 2 * LANES, output += 2 * LANES, input += 2 * LANES) {
        maxima_of_two(output, input, of, low, high);
    }
    for (; left > 0; left -= LANES, output += LANES, input += LANES) {
        maxima_of_one(output, input, of, low, high, vctp8q((uint32_t)left));
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

void ethosgen_average_pool_s8(int8_t *output, const int8_t *input, int32_t rows, int32_t columns,
                              const struct ethosgen_pool *pool)
{
    uint32_t count = (uint32_t)(rows * columns), reciprocal = UINT32_MAX / count + 1u;
    int16x8_t low = vdupq_n_s16((int16_t)pool->low), high = vdupq_n_s16((int16_t)pool->high);

    for (int32_t channel = 0; channel < pool->channels; channel += 8) {
        mve_pred16_t inside = vctp16q((uint32_t)pool->channels - (uint32_t)channel);
        const int8_t *row = input + channel;
        int16x8_t sum = vdupq_n_s16(0);

        for (int32_t y = rows; y > 0; y--, row += pool->row_step) {
            const int8_t *pixel = row;

            for (int32_t x = columns; x > 0; x--, pixel += pool->channels) {
                sum = vaddq_s16(sum, vldrbq_z_s16(pixel, inside));
            }
        }
        int32x4_t even = divided(vmovlbq_s16(sum), count, reciprocal);
        int32x4_t odd = divided(vmovltq_s16(sum), count, reciprocal);
        int16x8_t both = vmovntq_s32(vmovnbq_s32(sum, even), odd);

        vstrbq_p_s16(output + channel, vminq_s16(vmaxq_s16(both, low), high), inside);
    }
}
#else
static inline int8_t within(int32_t value, const struct ethosgen_pool *pool)
{
    value = value < pool->low ? pool->low : value;
    return (int8_t)(value > pool->high ? pool->high : value);
}

void ethosgen_max_pool_s8(int8_t *output, const int8_t *input, int32_t rows, int32_t columns,
                          const struct ethosgen_pool *pool)
{
    for (int32_t channel = 0; channel < pool->channels; channel++) {
        int32_t most = INT8_MIN;

        for (int32_t tap = 0; tap < rows * columns; tap++) {
            int8_t value = input[tap / columns * pool->row_step
                                 + tap % columns * pool->channels + channel];

            most = value > most ? value : most;
        }
        output[channel] = within(most, pool);
    }
}

void ethosgen_average_pool_s8(int8_t *output, const int8_t *input, int32_t rows, int32_t columns,
                              const struct ethosgen_pool *pool)
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
