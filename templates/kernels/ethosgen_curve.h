/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The logistic function and tanh of several values at once, from one table of lines.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#ifndef ETHOSGEN_CURVE_H
#define ETHOSGEN_CURVE_H

#include "ethosgen_requantize.h"

/*
 * One table serves both curves, since tanh(x) is 2 * sigmoid(2x) - 1. A line covers 2^BITS units of 1 /
 * (3 * 4096), and a right SHIFT converts its height to units of 2^-15; MIDDLE is the curve's value at
 * 0.
 */
enum { UNUSED, BITS, SHIFT, MIDDLE, NUMBERS };

/*
 * Each file names its own curves: its compiler knows the numbers, and the self-test reads them. GCC
 * selects a first number where it chooses a curve, with more instructions than it loads the others.
 */
extern const int32_t SIGMOID[NUMBERS], TANH[NUMBERS];
const int32_t SIGMOID[NUMBERS] = {0, 9, 10, 0x4000}, TANH[NUMBERS] = {0, 8, 8, 0};

enum { LINES = 256 };

/* `values` has one number for each of several elements. */
#if ETHOSGEN_MVE
enum { UNITS = 4 };
typedef int32x4_t values;

static inline values all(int32_t value)
{
    return vdupq_n_s32(value);
}

static inline values bounded(values x, int32_t low, int32_t high)
{
    return vminq_s32(vmaxq_s32(x, all(low)), all(high));
}

/* Divide by 2^shift, rounded to nearest, halves up. */
static inline values shifted(values x, int32_t shift)
{
    return vrshlq_n_s32(x, -shift);
}

/* Return the height of the curve at a distance from its middle. */
static inline values height(values distance, const int16_t *lines, int32_t bits)
{
    values within = vminq_s32(distance, all((LINES - 1) << bits));
    uint32x4_t line = vreinterpretq_u32_s32(vshlq_r_s32(within, -bits));
    values start = vldrhq_gather_shifted_offset_s32(lines, line);
    values slope = vldrhq_gather_shifted_offset_s32(lines + LINES, line);

    return vaddq_s32(vshlq_r_s32(start, bits), vmulq_s32(within, slope));
}

static inline values magnitude(values x)
{
    return vabsq_s32(x);
}

static inline values sign_of(values x)
{
    return vshrq_n_s32(x, 31);
}
#else
enum { UNITS = 1 };
typedef int32_t values;

static inline values bounded(values x, int32_t low, int32_t high)
{
    x = x < low ? low : x;
    return x > high ? high : x;
}

static inline values shifted(values x, int32_t shift)
{
    return (int32_t)((x + ((int64_t)1 << shift >> 1)) >> shift);
}

static inline values height(values distance, const int16_t *lines, int32_t bits)
{
    values most = (LINES - 1) << bits, within = distance < most ? distance : most;
    const int16_t *line = lines + (within >> bits);

    return line[0] * (1 << bits) + within * line[LINES];
}

static inline values magnitude(values x)
{
    return x < 0 ? -x : x;
}

/* -1, or 0 if x is not negative. */
static inline values sign_of(values x)
{
    return x >> 31;
}
#endif

/* Return the curve at x. Below 0 it is mirrored: the complement rounds halves down. */
static inline values bent(values x, const int16_t *lines, const int32_t *curve)
{
    values above = height(magnitude(x), lines, curve[BITS]);

    return shifted(above ^ sign_of(x), curve[SHIFT]) + curve[MIDDLE];
}

#endif /* ETHOSGEN_CURVE_H */
