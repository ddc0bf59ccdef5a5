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

        for (int32_t x = columns; x > 0; x--, pixel += step) {
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

        for (int32_t x = columns; x > 0; x--, pixel += step) {
            most = vmaxq_s16(most, vldrhq_z_s16(pixel, inside));
        }
    }
    vstrhq_p_s16(output, vminq_s16(most, vdupq_n_s16((int16_t)pool->high)), inside);
}

void ethosgen_max_pool_s16(int16_t *output, const int16_t *input, int32_t rows, int32_t columns,
                           const int32_t *shape)
{
    const struct ethosgen_pool_s16 *pool = (const struct ethosgen_pool_s16 *)shape;
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
    uint32x4_t size = vaddq_n_u32(vreinterpretq_u32_s32(vabsq_s32(sum)), count / 2);
    int32x4_t quotient = vreinterpretq_s32_u32(
        count == 1 ? size : vmulhq_u32(size, vdupq_n_u32(reciprocal)));

    return vnegq_m_s32(quotient, quotient, vcmpltq_n_s32(sum, 0));
}

/* Load 4 of `left` elements, where zeros follow. */
static inline int32x4_t four(const int16_t *from, int32_t left)
{
    return left >= LANES ? vldrhq_s32(from)
                         : vldrhq_z_s32(from, vctp32q(left > 0 ? (uint32_t)left : 0));
}

/* The average of 8 channels, or of `left` if there are fewer. */
static inline void average_of_eight(int16_t *output, const int16_t *row, int32_t rows,
                                    int32_t columns, int32_t left, uint32_t reciprocal,
                                    const struct ethosgen_pool_s16 *pool)
{
    int32x4_t first = vdupq_n_s32(0), second = first;
    int32_t step = pool->channels, behind = left >= LANES ? left : left - LANES / 2;
    uint32_t count = (uint32_t)(rows * columns);
    int32x4_t low = vdupq_n_s32(pool->low), high = vdupq_n_s32(pool->high);

    for (; rows > 0; rows--, row += pool->row_step) {
        const int16_t *pixel = row;

        for (int32_t x = columns; x > 0; x--, pixel += step) {
            first = vaddq_s32(first, four(pixel, left));
            second = vaddq_s32(second, four(pixel + LANES / 2, behind));
        }
    }
    first = vminq_s32(vmaxq_s32(divided(first, count, reciprocal), low), high);
    second = vminq_s32(vmaxq_s32(divided(second, count, reciprocal), low), high);
    if (left >= LANES) {
        vstrhq_s32(output, first);
        vstrhq_s32(output + LANES / 2, second);
    } else {
        vstrhq_p_s32(output, first, vctp32q((uint32_t)left));
        vstrhq_p_s32(output + LANES / 2, second, vctp32q(behind > 0 ? (uint32_t)behind : 0));
    }
}

void ethosgen_average_pool_s16(int16_t *output, const int16_t *input, int32_t rows,
                               int32_t columns, const int32_t *shape)
{
    const struct ethosgen_pool_s16 *pool = (const struct ethosgen_pool_s16 *)shape;
    uint32_t reciprocal = UINT32_MAX / (uint32_t)(rows * columns) + 1;
    int32_t left = pool->channels;

    for (; left >= LANES; left -= LANES) {
        average_of_eight(output, input, rows, columns, LANES, reciprocal, pool);
        input += LANES;
        output += LANES;
    }
    if (left > 0) {
        average_of_eight(output, input, rows, columns, left, reciprocal, pool);
    }
}
#else
static inline int16_t within(int32_t value, const struct ethosgen_pool_s16 *pool)
{
    value = value < pool->low ? pool->low : value;
    return (int16_t)(value > pool->high ? pool->high : value);
}

void ethosgen_max_pool_s16(int16_t *output, const int16_t *input, int32_t rows, int32_t columns,
                           const int32_t *shape)
{
    const struct ethosgen_pool_s16 *pool = (const struct ethosgen_pool_s16 *)shape;

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

void ethosgen_average_pool_s16(int16_t *output, const int16_t *input, int32_t rows,
                               int32_t columns, const int32_t *shape)
{
    const struct ethosgen_pool_s16 *pool = (const struct ethosgen_pool_s16 *)shape;
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
