/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DSP instructions, and TFLite's conversion of a 32-bit sum to an int8 value.
 *
 * sum * mantissa / 2^31 is rounded to nearest, then divided by a power of two, rounded to nearest
 * with halves away from zero: two roundings, as in TensorFlow Lite Micro's reference kernels.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#ifndef ETHOSGEN_DSP_MATH_H
#define ETHOSGEN_DSP_MATH_H

#include "ethosgen_core.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/*
 * Functions that are all assembly. They rely on the call ABI, which GCC may change for functions
 * whose callers it sees unless they are `noipa`; Clang never does.
 */
#if defined(__GNUC__) && !defined(__clang__)
#define ETHOSGEN_DSP_NAKED __attribute__((naked, noipa, no_profile_instrument_function))
#else
#define ETHOSGEN_DSP_NAKED __attribute__((naked, noinline, no_profile_instrument_function))
#endif

/* With ETHOSGEN_PLAIN_C, kernels have neither assembly nor intrinsics: slower, and the same bits. */
#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP && defined(__ARM_FEATURE_SIMD32) \
    && !defined(ETHOSGEN_PLAIN_C)
#define ETHOSGEN_DSP 1
#include <arm_acle.h>

#if defined(__GNUC__) && !defined(__OPTIMIZE__)
#error "compile this file with -O2: its assembly needs the registers"
#endif

/* (twice * mantissa + 2^31) / 2^32, rounded down. */
static inline int32_t ethosgen_dsp_high(int32_t twice, int32_t mantissa)
{
    int32_t high;

    __asm("smmulr %0, %1, %2" : "=r"(high) : "r"(twice), "r"(mantissa));
    return high;
}

/* Bytes 0 and 2 of a word, and bytes 1 and 3, as two values of 16 bits. */
static inline uint32_t ethosgen_dsp_even(uint32_t word)
{
    uint32_t pair;

    __asm("sxtb16 %0, %1" : "=r"(pair) : "r"(word));
    return pair;
}

static inline uint32_t ethosgen_dsp_odd(uint32_t word)
{
    uint32_t pair;

    __asm("sxtb16 %0, %1, ror #8" : "=r"(pair) : "r"(word));
    return pair;
}
#else
#define ETHOSGEN_DSP 0

static inline int32_t ethosgen_dsp_high(int32_t twice, int32_t mantissa)
{
    return (int32_t)(((int64_t)twice * mantissa + ((int64_t)1 << 31)) >> 32);
}

static inline uint32_t ethosgen_dsp_even(uint32_t word)
{
    return (uint16_t)(int8_t)word | (uint32_t)(int8_t)(word >> 16) << 16;
}

static inline uint32_t ethosgen_dsp_odd(uint32_t word)
{
    return ethosgen_dsp_even(word >> 8);
}
#endif

/*
 * A Cortex-M7 runs two instructions at a time. A compiler recognizes it only by its unit for doubles,
 * Zephyr by its configuration; other builds may define the macro.
 */
#ifndef ETHOSGEN_DUAL_ISSUE
#if defined(CONFIG_CPU_CORTEX_M7)
#define ETHOSGEN_DUAL_ISSUE 1
#elif ETHOSGEN_DSP && __ARM_ARCH == 7 && defined(__ARM_FP)
#define ETHOSGEN_DUAL_ISSUE (__ARM_FP & 8)
#else
#define ETHOSGEN_DUAL_ISSUE 0
#endif
#endif

#if (ETHOSGEN_DSP || defined(__thumb2__)) && !defined(ETHOSGEN_PLAIN_C)
/* Armv7-M saturates without DSP instructions. */
static inline int32_t ethosgen_dsp_saturate(int32_t value)
{
    __asm("ssat %0, #8, %1" : "=r"(value) : "r"(value));
    return value;
}

static inline int32_t ethosgen_dsp_saturate_16(int32_t value)
{
    __asm("ssat %0, #16, %1" : "=r"(value) : "r"(value));
    return value;
}
#else
static inline int32_t ethosgen_dsp_saturate(int32_t value)
{
    value = value < INT8_MIN ? INT8_MIN : value;
    return value > INT8_MAX ? INT8_MAX : value;
}

static inline int32_t ethosgen_dsp_saturate_16(int32_t value)
{
    value = value < INT16_MIN ? INT16_MIN : value;
    return value > INT16_MAX ? INT16_MAX : value;
}
#endif

/* A word of 4 bytes from any address. */
static inline uint32_t ethosgen_dsp_word(const void *from)
{
    uint32_t word;

    (void)memcpy(&word, from, sizeof word);
    return word;
}

/* Requantize twice a sum; the value saturates to 8 bits. */
static inline int32_t ethosgen_dsp_requantize(int32_t twice, const struct ethosgen_core_scale *scale)
{
    int32_t product = ethosgen_dsp_high(twice, scale->mantissa);

    /* The sign is added to round negative halves away from zero. */
    product += product >> 31;
    return ethosgen_dsp_saturate((product + scale->addend) >> scale->shift);
}

/* Rescale a sum. */
static inline int32_t ethosgen_dsp_rescale(int32_t value, const struct ethosgen_dsp_multiplier *by)
{
    int32_t product = ethosgen_dsp_high((int32_t)((uint32_t)value << by->left), by->mantissa);

    /* The sign is added to round negative halves away from zero. */
    product += (product >> 31) & by->sign;
    return (product + by->half) >> by->right;
}

#if ETHOSGEN_DSP
/* The greater of each pair of bytes. */
static inline uint32_t ethosgen_dsp_greatest(uint32_t a, uint32_t b)
{
    uint32_t made;

    __asm("ssub8 %0, %1, %2\n\t"
          "sel %0, %1, %2" : "=&r"(made) : "r"(a), "r"(b));
    return made;
}

static inline uint32_t ethosgen_dsp_least(uint32_t a, uint32_t b)
{
    uint32_t made;

    __asm("ssub8 %0, %1, %2\n\t"
          "sel %0, %2, %1" : "=&r"(made) : "r"(a), "r"(b));
    return made;
}
#else
static inline uint32_t ethosgen_dsp_greatest(uint32_t a, uint32_t b)
{
    uint32_t made = 0;

    for (int32_t lane = 0; lane < 32; lane += 8) {
        int8_t one = (int8_t)(a >> lane), other = (int8_t)(b >> lane);

        made |= (uint32_t)(uint8_t)(one > other ? one : other) << lane;
    }
    return made;
}

static inline uint32_t ethosgen_dsp_least(uint32_t a, uint32_t b)
{
    /* The complement reverses the order of two numbers. */
    return ~ethosgen_dsp_greatest(~a, ~b);
}
#endif

/* Limit values to bounds, unless these are the limits of 8 bits. */
static inline void ethosgen_dsp_bound(int8_t *values, int32_t count, int32_t low, int32_t high)
{
    uint32_t lows = (uint8_t)low * 0x01010101u, highs = (uint8_t)high * 0x01010101u;

    if (low == INT8_MIN && high == INT8_MAX) {
        return;
    }
    for (; count >= 4; count -= 4) {
        uint32_t word = ethosgen_dsp_greatest(ethosgen_dsp_word(values), lows);

        word = ethosgen_dsp_least(word, highs);
        (void)memcpy((uint8_t *)values, (const uint8_t *)&word, sizeof word);
        values += 4;
    }
    for (; count > 0; count--) {
        int32_t value = *values < low ? low : *values;

        *values++ = (int8_t)(value > high ? high : value);
    }
}

#if ETHOSGEN_DSP
/* The greater of each pair of 16-bit values. */
static inline uint32_t ethosgen_dsp_greatest_16(uint32_t a, uint32_t b)
{
    uint32_t made;

    __asm("ssub16 %0, %1, %2\n\t"
          "sel %0, %1, %2" : "=&r"(made) : "r"(a), "r"(b));
    return made;
}

static inline uint32_t ethosgen_dsp_least_16(uint32_t a, uint32_t b)
{
    uint32_t made;

    __asm("ssub16 %0, %1, %2\n\t"
          "sel %0, %2, %1" : "=&r"(made) : "r"(a), "r"(b));
    return made;
}
#else
static inline uint32_t ethosgen_dsp_greatest_16(uint32_t a, uint32_t b)
{
    int16_t low = (int16_t)((int16_t)a > (int16_t)b ? a : b);
    int16_t high = (int16_t)((int16_t)(a >> 16) > (int16_t)(b >> 16) ? a >> 16 : b >> 16);

    return (uint16_t)low | (uint32_t)(uint16_t)high << 16;
}

static inline uint32_t ethosgen_dsp_least_16(uint32_t a, uint32_t b)
{
    /* The complement reverses the order of two numbers. */
    return ~ethosgen_dsp_greatest_16(~a, ~b);
}
#endif

/* Limit 16-bit values to bounds, unless these are the limits of 16 bits. */
static inline void ethosgen_dsp_bound_s16(int16_t *values, int32_t count, int32_t low, int32_t high)
{
    if (low == INT16_MIN && high == INT16_MAX) {
        return;
    }
    uint32_t lows = (uint16_t)low | (uint32_t)low << 16;
    uint32_t highs = (uint16_t)high | (uint32_t)high << 16;

    for (; count >= 2; count -= 2) {
        uint32_t pair = ethosgen_dsp_greatest_16(ethosgen_dsp_word(values), lows);

        pair = ethosgen_dsp_least_16(pair, highs);
        (void)memcpy((uint8_t *)values, (const uint8_t *)&pair, sizeof pair);
        values += 2;
    }
    if (count > 0) {
        int32_t value = *values < low ? low : *values;

        *values = (int16_t)(value > high ? high : value);
    }
}

#endif /* ETHOSGEN_DSP_MATH_H */
