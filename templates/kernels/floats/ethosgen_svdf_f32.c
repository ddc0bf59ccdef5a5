/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of an SVDF of float32. See ethosgen_floats.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_floats_math.h"

enum { LANES = ETHOSGEN_LANES };

#if ETHOSGEN_MVE_F
void ethosgen_svdf_f32(float *output, float *state, const float *features, const float *weights,
                       int32_t filters, int32_t memory)
{
    uint32x4_t places = vmulq_n_u32(vidupq_n_u32(0, 1), (uint32_t)memory);

    for (int32_t left = filters; left > 0; left -= LANES) {
        mve_pred16_t inside = vctp32q((uint32_t)left);
        float32x4_t sum = vdupq_n_f32(0.0f), value;
        float *step = state;

        for (int32_t later = memory - 1; later > 0; later--) {
            value = vldrwq_gather_shifted_offset_z_f32(step + 1, places, inside);
            vstrwq_scatter_shifted_offset_p_f32(step, places, value, inside);
            sum = vaddq_f32(sum, vmulq_f32(value, vldrwq_f32(weights)));
            weights += LANES;
            step++;
        }
        value = vldrwq_z_f32(features, inside);
        vstrwq_scatter_shifted_offset_p_f32(step, places, value, inside);
        sum = vaddq_f32(sum, vmulq_f32(value, vldrwq_f32(weights)));
        weights += LANES;
        vstrwq_p_f32(output, sum, inside);
        output += LANES;
        features += LANES;
        state += LANES * memory;
    }
}
#else
void ethosgen_svdf_f32(float *output, float *state, const float *features, const float *weights,
                       int32_t filters, int32_t memory)
{
    for (int32_t filter = 0; filter < filters; filter++) {
        const float *weight = weights + filter % LANES;
        float sum = 0.0f;

        for (int32_t later = memory - 1; later > 0; later--) {
            float value = state[1];

            *state++ = value;
            sum += value * *weight;
            weight += LANES;
        }
        *state++ = *features;
        output[filter] = sum + *features++ * *weight;
        if (filter % LANES == LANES - 1) {
            weights += LANES * memory;
        }
    }
}
#endif
