/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pixels between four others of float32. See ethosgen_floats.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_floats_math.h"

enum { LANES = ETHOSGEN_LANES };

#if ETHOSGEN_MVE_F
static inline float32x4_t weigh(const float *corner, float down, float across, int32_t left)
{
    return vmulq_n_f32(vmulq_n_f32(ethosgen_load(corner, left), down), across);
}

static inline void four_channels(float *output, const float *const corners[4], int32_t channel,
                                 float down, float across, int32_t left)
{
    float up = 1.0f - down, back = 1.0f - across;
    float32x4_t sum = weigh(corners[0] + channel, up, back, left);

    sum = vaddq_f32(sum, weigh(corners[1] + channel, down, back, left));
    sum = vaddq_f32(sum, weigh(corners[2] + channel, up, across, left));
    sum = vaddq_f32(sum, weigh(corners[3] + channel, down, across, left));
    ethosgen_store(output + channel, sum, left);
}

void ethosgen_resize_f32(float *output, const float *top_left, const float *bottom_left,
                         const float *top_right, const float *bottom_right, float down,
                         float across, int32_t channels)
{
    const float *const corners[4] = {top_left, bottom_left, top_right, bottom_right};
    int32_t channel = 0;

    for (; channel + LANES <= channels; channel += LANES) {
        four_channels(output, corners, channel, down, across, LANES);
    }
    if (channel < channels) {
        four_channels(output, corners, channel, down, across, channels - channel);
    }
}
#else
void ethosgen_resize_f32(float *output, const float *top_left, const float *bottom_left,
                         const float *top_right, const float *bottom_right, float down,
                         float across, int32_t channels)
{
    float up = 1.0f - down, back = 1.0f - across;

    for (int32_t i = channels; i > 0; i--) {
        float sum = *top_left++ * up * back;

        sum += *bottom_left++ * down * back;
        sum += *top_right++ * up * across;
        sum += *bottom_right++ * down * across;
        *output++ = sum;
    }
}
#endif
