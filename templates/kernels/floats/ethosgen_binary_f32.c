/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums, differences and products of float32. See ethosgen_floats.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_floats_math.h"

enum { LANES = ETHOSGEN_LANES };

#if ETHOSGEN_MVE_F
#define SECOND(is_one) ((is_one) ? vdupq_n_f32(*second) : vldrwq_f32(second))
#define LAST(is_one) ((is_one) ? vdupq_n_f32(*second) : vldrwq_z_f32(second, inside))

/* A loop over rows of `count` elements; the last vector is not whole. */
#define BINARY(name, operation, sign, is_one)                                                  \
    void name(float *output, const float *first, const float *second, int32_t count,           \
              const float *bounds)                                                             \
    {                                                                                          \
        float32x4_t low = vdupq_n_f32(bounds[0]), high = vdupq_n_f32(bounds[1]);               \
                                                                                               \
        for (; count >= LANES; count -= LANES) {                                               \
            float32x4_t value = operation(vldrwq_f32(first), SECOND(is_one));                  \
                                                                                               \
            vstrwq_f32(output, ethosgen_limit_x4(value, low, high));                           \
            output += LANES;                                                                   \
            first += LANES;                                                                    \
            second += (is_one) ? 0 : LANES;                                                    \
        }                                                                                      \
        if (count > 0) {                                                                       \
            mve_pred16_t inside = vctp32q((uint32_t)count);                                    \
            float32x4_t value = operation(vldrwq_z_f32(first, inside), LAST(is_one));          \
                                                                                               \
            vstrwq_p_f32(output, ethosgen_limit_x4(value, low, high), inside);                 \
        }                                                                                      \
    }
#else
#define ELEMENT(i, sign, is_one)                                                                   \
    output[i] = ethosgen_limit(first[i] sign second[(is_one) ? 0 : (i)], low, high)

#define BINARY(name, operation, sign, is_one)                                                  \
    void name(float *output, const float *first, const float *second, int32_t count,           \
              const float *bounds)                                                             \
    {                                                                                          \
        float low = bounds[0], high = bounds[1];                                               \
                                                                                               \
        for (; count >= LANES; count -= LANES) {                                               \
            ELEMENT(0, sign, is_one);                                                          \
            ELEMENT(1, sign, is_one);                                                          \
            ELEMENT(2, sign, is_one);                                                          \
            ELEMENT(3, sign, is_one);                                                          \
            output += LANES;                                                                   \
            first += LANES;                                                                    \
            second += (is_one) ? 0 : LANES;                                                    \
        }                                                                                      \
        for (int32_t i = 0; i < count; i++) {                                                  \
            ELEMENT(i, sign, is_one);                                                          \
        }                                                                                      \
    }
#endif

BINARY(ethosgen_add_f32, vaddq_f32, +, 0)
BINARY(ethosgen_add_one_f32, vaddq_f32, +, 1)
BINARY(ethosgen_sub_f32, vsubq_f32, -, 0)
BINARY(ethosgen_sub_one_f32, vsubq_f32, -, 1)
BINARY(ethosgen_mul_f32, vmulq_f32, *, 0)
BINARY(ethosgen_mul_one_f32, vmulq_f32, *, 1)
