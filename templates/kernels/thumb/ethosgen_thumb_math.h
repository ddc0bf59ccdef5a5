/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TFLite's conversion of a 32-bit sum to an int8 value.
 *
 * sum * mantissa / 2^31 is rounded to nearest, then divided by a power of two, rounded to nearest
 * with halves away from zero: two roundings, as in TensorFlow Lite Micro's reference kernels.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#ifndef ETHOSGEN_THUMB_MATH_H
#define ETHOSGEN_THUMB_MATH_H

#include "ethosgen_thumb.h"

/*
 * Functions that are all assembly. They rely on the call ABI, which GCC may change for functions
 * whose callers it sees, unless they are `noipa`; Clang never does.
 */
#if defined(__GNUC__) && !defined(__clang__)
#define ETHOSGEN_THUMB_NAKED __attribute__((naked, noipa, no_profile_instrument_function))
#else
#define ETHOSGEN_THUMB_NAKED __attribute__((naked, noinline, no_profile_instrument_function))
#endif

/* With ETHOSGEN_PLAIN_C, kernels have no assembly: slower, and the same bits. */
#if defined(__thumb2__) && !defined(ETHOSGEN_PLAIN_C)
/* Armv7-M multiplies 32 by 32 bits to 64, and saturates. */
#define ETHOSGEN_THUMB2 1

static inline int32_t ethosgen_thumb_saturate(int32_t value)
{
    __asm("ssat %0, #8, %1" : "=r"(value) : "r"(value));
    return value;
}
#else
#define ETHOSGEN_THUMB2 0

static inline int32_t ethosgen_thumb_saturate(int32_t value)
{
    value = value < INT8_MIN ? INT8_MIN : value;
    return value > INT8_MAX ? INT8_MAX : value;
}
#endif

/* (sum * mantissa + 2^30) / 2^31, rounded down; |sum| < 2^30, mantissa >= 0. */
static inline int32_t ethosgen_thumb_high(int32_t sum, int32_t mantissa)
{
#if ETHOSGEN_THUMB2
    return (int32_t)(((int64_t)(2 * sum) * mantissa + ((int64_t)1 << 31)) >> 32);
#else
    /* Halves of 16 bits, since Armv6-M multiplies to 32 bits only; their sums fit. */
    int32_t low = (int16_t)sum, high = (sum - low) >> 16;
    int32_t fine = mantissa & UINT16_MAX, coarse = mantissa >> 16;
    int32_t middle = high * fine + low * coarse + ((low * fine) >> 16);

    return 2 * high * coarse + ((middle + 0x4000) >> 15);
#endif
}

/* Requantize a sum; the value saturates to 8 bits. */
static inline int32_t ethosgen_thumb_requantize(int32_t sum,
                                                const struct ethosgen_core_scale *scale)
{
    int32_t product = ethosgen_thumb_high(sum, scale->mantissa);

    /* The sign is added to round negative halves away from zero. */
    product += product >> 31;
    return ethosgen_thumb_saturate((product + scale->addend) >> scale->shift);
}

/* Replace a value beyond a bound; `is_low` tells which bound. */
static inline __attribute__((always_inline)) void
ethosgen_thumb_bound_one(int8_t *value, int32_t bound, int is_low)
{
    if (is_low ? *value < bound : *value > bound) {
        *value = (int8_t)bound;
    }
}

static inline __attribute__((always_inline)) void
ethosgen_thumb_bound_side(int8_t *values, int32_t count, int32_t bound, int is_low)
{
    for (; count >= 4; count -= 4) {
        ethosgen_thumb_bound_one(values, bound, is_low);
        ethosgen_thumb_bound_one(values + 1, bound, is_low);
        ethosgen_thumb_bound_one(values + 2, bound, is_low);
        ethosgen_thumb_bound_one(values + 3, bound, is_low);
        values += 4;
    }
    for (; count > 0; count--) {
        ethosgen_thumb_bound_one(values++, bound, is_low);
    }
}

/* Limit values to bounds, unless these are the limits of 8 bits. */
static inline void ethosgen_thumb_bound(int8_t *values, int32_t count, int32_t low, int32_t high)
{
    if (low > INT8_MIN) {
        ethosgen_thumb_bound_side(values, count, low, 1);
    }
    if (high < INT8_MAX) {
        ethosgen_thumb_bound_side(values, count, high, 0);
    }
}

#endif /* ETHOSGEN_THUMB_MATH_H */
