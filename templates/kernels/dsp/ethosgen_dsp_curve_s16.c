/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The logistic function and tanh of int16. See ethosgen_dsp_s16.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_dsp.h"
#include "ethosgen_dsp_math.h"

/* Bits of a line's number, of an argument within a line, and below a unit of the output. */
enum { LINE_BITS = 8, LOGISTIC_BITS = 9, TANH_BITS = 8, LOGISTIC_DOWN = 10, TANH_DOWN = 8 };
enum { MIDDLE = 0x100 };

#if ETHOSGEN_DSP
#define SATURATE(value, bits)                  \
    __asm("ssat %0, %2, %1" : "=r"(value) : "r"(value), "I"(1 + LINE_BITS + (bits)))
#else
#define SATURATE(value, bits) (value) = bounded(value, MIDDLE << (bits))

static inline int32_t bounded(int32_t value, int32_t end)
{
    value = value < -end ? -end : value;
    return value < end ? value : end - 1;
}
#endif

/* The lines around the middle. */
struct lines {
    const int32_t *heights;
    const int16_t *slopes;
};

static inline int16_t logistic(int32_t value, const struct lines *lines,
                               const struct ethosgen_dsp_curve_s16 *curve)
{
    int32_t x = (value * curve->factor + curve->half) >> curve->shift, line;

    SATURATE(x, LOGISTIC_BITS);
    line = x >> LOGISTIC_BITS;
    return (int16_t)((lines->heights[line] + x * lines->slopes[line]) >> LOGISTIC_DOWN);
}

static inline int16_t tanh_of(int32_t value, const struct lines *lines,
                              const struct ethosgen_dsp_curve_s16 *curve)
{
    int32_t x = (value * curve->factor + curve->half) >> curve->shift, line;

    SATURATE(x, TANH_BITS);
    line = x >> TANH_BITS;
    return (int16_t)((lines->heights[line] + x * lines->slopes[line]) >> TANH_DOWN);
}

#define EACH(function)                         \
    for (; count >= 4; count -= 4) {           \
        output[0] = function(input[0], &lines, &curve); \
        output[1] = function(input[1], &lines, &curve); \
        output[2] = function(input[2], &lines, &curve); \
        output[3] = function(input[3], &lines, &curve); \
        input += 4;                            \
        output += 4;                           \
    }                                          \
    for (; count > 0; count--) {               \
        *output++ = function(*input++, &lines, &curve); \
    }

void ethosgen_dsp_curve_s16(int16_t *output, const int16_t *input, int32_t count,
                            const int32_t *heights, const int16_t *slopes,
                            const struct ethosgen_dsp_curve_s16 *shape)
{
    const struct ethosgen_dsp_curve_s16 curve = *shape;
    const struct lines lines = {heights + MIDDLE, slopes + MIDDLE};

    if (curve.is_tanh != 0) {
        EACH(tanh_of)
    } else {
        EACH(logistic)
    }
}
