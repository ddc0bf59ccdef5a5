/*
 * Pools over windows, many channels at a time. See ethosgen_kernels.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_requantize.h"

#if ETHOSGEN_MVE
void ethosgen_max_pool_s8(int8_t *output, const int8_t *input, int32_t rows, int32_t columns,
                          const struct ethosgen_pool *pool)
{
    int8x16_t low = vdupq_n_s8((int8_t)pool->low), high = vdupq_n_s8((int8_t)pool->high);

    for (int32_t channel = 0; channel < pool->channels; channel += 16) {
        mve_pred16_t inside = vctp8q((uint32_t)(pool->channels - channel));
        const int8_t *row = input + channel;
        int8x16_t most = low;

        for (int32_t y = rows; y > 0; y--, row += pool->row_step) {
            const int8_t *pixel = row;

            for (int32_t x = columns; x > 0; x--, pixel += pool->channels) {
                most = vmaxq_s8(most, vldrbq_z_s8(pixel, inside));
            }
        }
        vstrbq_p_s8(output + channel, vminq_s8(most, high), inside);
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

void ethosgen_average_pool_s8(int8_t *output, const int8_t *input, int32_t rows, int32_t columns,
                              const struct ethosgen_pool *pool)
{
    uint32_t count = (uint32_t)(rows * columns), reciprocal = UINT32_MAX / count + 1;
    int16x8_t low = vdupq_n_s16((int16_t)pool->low), high = vdupq_n_s16((int16_t)pool->high);

    for (int32_t channel = 0; channel < pool->channels; channel += 8) {
        mve_pred16_t inside = vctp16q((uint32_t)(pool->channels - channel));
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
