/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pools of float32, a pixel at a time. See ethosgen_floats.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include <float.h>

#include "ethosgen_floats_math.h"

enum { LANES = ETHOSGEN_LANES };

/* The elements of a window inside the input. */
struct window {
    const float *input;
    int32_t rows;
    int32_t columns;
};

#if ETHOSGEN_MVE_F
static inline float32x4_t maxima(struct window window, const struct ethosgen_pool_f32 *pool,
                                 int32_t left)
{
    float32x4_t most = vdupq_n_f32(-FLT_MAX);

    for (int32_t y = window.rows; y > 0; y--) {
        const float *pixel = window.input;

        for (int32_t x = window.columns; x > 0; x--) {
            float32x4_t value = ethosgen_load(pixel, left);

            /* A NaN is not greater than the maximum so far, and nothing is greater than a NaN. */
            most = vpselq_f32(value, most, vcmpgtq_f32(value, most));
            pixel += pool->tap_floats;
        }
        window.input += pool->row_floats;
    }
    return most;
}

static inline float32x4_t averages(struct window window, const struct ethosgen_pool_f32 *pool,
                                   int32_t left)
{
    float32x4_t sum = vdupq_n_f32(0.0f);
    float count = (float)(window.rows * window.columns);

    for (int32_t y = window.rows; y > 0; y--) {
        const float *pixel = window.input;

        for (int32_t x = window.columns; x > 0; x--) {
            sum = vaddq_f32(sum, ethosgen_load(pixel, left));
            pixel += pool->tap_floats;
        }
        window.input += pool->row_floats;
    }
    for (int32_t i = 0; i < LANES; i++) {
        sum[i] /= count;
    }
    return sum;
}

/* All channels of an output; all vectors but the last are whole. */
#define POOL(name, values)                                                                     \
    void name(float *output, const float *input, int32_t rows, int32_t columns,                \
              const float *bounds, const struct ethosgen_pool_f32 *pool)                       \
    {                                                                                          \
        float32x4_t low = vdupq_n_f32(bounds[0]), high = vdupq_n_f32(bounds[1]);               \
        struct window window = {input, rows, columns};                                         \
        int32_t left = pool->channels;                                                         \
                                                                                               \
        for (; left >= LANES; left -= LANES) {                                                 \
            vstrwq_f32(output, ethosgen_limit_x4(values(window, pool, LANES), low, high));     \
            output += LANES;                                                                   \
            window.input += LANES;                                                             \
        }                                                                                      \
        if (left > 0) {                                                                        \
            ethosgen_store(output, ethosgen_limit_x4(values(window, pool, left), low, high),   \
                           left);                                                              \
        }                                                                                      \
    }
#else
static inline void combine_maximum(float *most, float value)
{
    *most = ethosgen_greater(*most, value);
}

static inline void combine_sum(float *sum, float value)
{
    *sum += value;
}

/* Combine all elements of 4 channels, or of one. */
#define COMBINE(combine, held, count)                                       \
    do {                                                                    \
        const float *row = window.input;                                    \
                                                                            \
        for (int32_t y = window.rows; y > 0; y--) {                         \
            const float *pixel = row;                                       \
                                                                            \
            for (int32_t x = window.columns; x > 0; x--) {                  \
                combine(held, pixel[0]);                                    \
                if ((count) > 1) {                                          \
                    combine((held) + 1, pixel[1]);                          \
                    combine((held) + 2, pixel[2]);                          \
                    combine((held) + 3, pixel[3]);                          \
                }                                                           \
                pixel += pool->tap_floats;                                  \
            }                                                               \
            row += pool->row_floats;                                        \
        }                                                                   \
    } while (0)

#define POOL_OF(name, combine, start, finished)                                                \
    void name(float *output, const float *input, int32_t rows, int32_t columns,                \
              const float *bounds, const struct ethosgen_pool_f32 *pool)                       \
    {                                                                                          \
        struct window window = {input, rows, columns};                                         \
        float low = bounds[0], high = bounds[1], count = (float)(rows * columns);              \
        int32_t left = pool->channels;                                                         \
                                                                                               \
        (void)count;                                                                           \
        for (; left >= LANES; left -= LANES) {                                                 \
            float held[LANES] = {start, start, start, start};                                  \
                                                                                               \
            COMBINE(combine, held, LANES);                                                     \
            *output++ = ethosgen_limit(finished(held[0], count), low, high);                   \
            *output++ = ethosgen_limit(finished(held[1], count), low, high);                   \
            *output++ = ethosgen_limit(finished(held[2], count), low, high);                   \
            *output++ = ethosgen_limit(finished(held[3], count), low, high);                   \
            window.input += LANES;                                                             \
        }                                                                                      \
        for (; left > 0; left--) {                                                             \
            float held = start;                                                                \
                                                                                               \
            COMBINE(combine, &held, 1);                                                        \
            *output++ = ethosgen_limit(finished(held, count), low, high);                      \
            window.input++;                                                                    \
        }                                                                                      \
    }
#endif

#if ETHOSGEN_MVE_F
POOL(ethosgen_max_pool_f32, maxima)
POOL(ethosgen_average_pool_f32, averages)
#else
#define ITSELF(value, count) (value)
#define QUOTIENT(value, count) ((value) / (count))
POOL_OF(ethosgen_max_pool_f32, combine_maximum, -FLT_MAX, ITSELF)
POOL_OF(ethosgen_average_pool_f32, combine_sum, 0.0f, QUOTIENT)
#endif
