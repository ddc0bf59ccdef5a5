/*
 * The logistic function and tanh of int16. See ethosgen_kernels_s16.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_curve.h"
#include "ethosgen_kernels_s16.h"

/* At both ends TensorFlow Lite Micro's logistic function is one unit from its limits. */
enum { LEAST = 1, MOST = INT16_MAX };

#if ETHOSGEN_MVE
static inline values load(const int16_t *from, int32_t count)
{
    return vldrhq_z_s32(from, vctp32q((uint32_t)count));
}

static inline void store(int16_t *to, values x, int32_t count)
{
    vstrhq_p_s32(to, x, vctp32q((uint32_t)count));
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

void ethosgen_curve_s16(int16_t *output, const int16_t *input, int32_t count, const int16_t *lines,
                        const int32_t *shape)
{
    const struct ethosgen_curve_s16 curve = *(const struct ethosgen_curve_s16 *)shape;

    for (int32_t i = 0; i < count; i += UNITS) {
        values x = shifted(load(input + i, count - i) * curve.factor, curve.shift);

        x = curve.is_tanh ? bent(x, lines, &TANH) : bounded(bent(x, lines, &SIGMOID), LEAST, MOST);
        store(output + i, x, count - i);
    }
}
