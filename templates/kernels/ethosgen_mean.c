/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Averages over all pixels of an input. See ethosgen_kernels.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_requantize.h"

static inline int8_t mean(int32_t sum, int32_t count, int32_t low, int32_t high)
{
    int32_t value = (sum + (sum > 0 ? count / 2 : -(count / 2))) / count;

    value = value < low ? low : value;
    return (int8_t)(value > high ? high : value);
}

#if ETHOSGEN_MVE
void ethosgen_mean_s8(int8_t *output, const int8_t *pixels, int32_t count, int32_t channels,
                      int32_t low, int32_t high)
{
    for (int32_t channel = 0; channel < channels; channel += 4) {
        mve_pred16_t inside = vctp32q((uint32_t)channels - (uint32_t)channel);
        const int8_t *pixel = pixels + channel;
        int32x4_t sum = vdupq_n_s32(0);

        for (int32_t left = count; left > 0; left--) {
            sum = vaddq_s32(sum, vldrbq_z_s32(pixel, inside));
            pixel = &pixel[channels];
        }
        int32x4_t values = vdupq_n_s32(mean(vgetq_lane_s32(sum, 0), count, low, high));
        values = vsetq_lane_s32(mean(vgetq_lane_s32(sum, 1), count, low, high), values, 1);
        values = vsetq_lane_s32(mean(vgetq_lane_s32(sum, 2), count, low, high), values, 2);
        values = vsetq_lane_s32(mean(vgetq_lane_s32(sum, 3), count, low, high), values, 3);
        vstrbq_p_s32(output + channel, values, inside);
    }
}
#else
void ethosgen_mean_s8(int8_t *output, const int8_t *pixels, int32_t count, int32_t channels,
                      int32_t low, int32_t high)
{
    for (int32_t channel = 0; channel < channels; channel++) {
        int32_t sum = 0;

        for (int32_t pixel = 0; pixel < count; pixel++) {
            sum += pixels[pixel * channels + channel];
        }
        output[channel] = mean(sum, count, low, high);
    }
}
#endif
