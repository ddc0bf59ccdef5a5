/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The logistic function and tanh of int16. See ethosgen_kernels_s16.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#define SIGMOID ethosgen_curve_s16_sigmoid
#define TANH ethosgen_curve_s16_tanh

#include "ethosgen_curve.h"
#include "ethosgen_kernels_s16.h"

/* At both ends TensorFlow Lite Micro's logistic function is one unit from its limits. */
enum { LEAST = 1, MOST = INT16_MAX };

#if ETHOSGEN_MVE
static inline values load(const int16_t *from, int32_t count)
{
    return count >= UNITS ? vldrhq_s32(from) : vldrhq_z_s32(from, vctp32q((uint32_t)count));
}

static inline void store(int16_t *to, values x, int32_t count)
{
    if (count >= UNITS) {
        vstrhq_s32(to, x);
    } else {
        vstrhq_p_s32(to, x, vctp32q((uint32_t)count));
    }
}
#else
static inline values load(const int16_t *from, int32_t count)
{
    (void)count;
    return from[0];
}

static inline void store(int16_t *to, values x, int32_t count)
{
    (void)count;
    to[0] = (int16_t)x;
}
#endif

/* Apply the curve to at most UNITS elements; tanh needs no further bounds. */
static inline void bend(int16_t *output, const int16_t *input, int32_t count,
                        const int16_t *lines, const struct ethosgen_curve_s16 *by,
                        const int32_t *curve)
{
    values x = bent(shifted(load(input, count) * by->factor, by->shift), lines, curve);

    store(output, curve == TANH ? x : bounded(x, LEAST, MOST), count);
}

static inline void bend_all(int16_t *output, const int16_t *input, int32_t count,
                            const int16_t *lines, const struct ethosgen_curve_s16 *by,
                            const int32_t *curve)
{
    for (; count >= UNITS; count -= UNITS) {
        bend(output, input, UNITS, lines, by, curve);
        input += UNITS;
        output += UNITS;
    }
    if (count > 0) {
        bend(output, input, count, lines, by, curve);
    }
}

void ethosgen_curve_s16(int16_t *output, const int16_t *input, int32_t count, const int16_t *lines,
                        const struct ethosgen_curve_s16 *shape)
{
    const struct ethosgen_curve_s16 by = *shape;

    if (by.is_tanh != 0) {
        bend_all(output, input, count, lines, &by, TANH);
    } else {
        bend_all(output, input, count, lines, &by, SIGMOID);
    }
}
