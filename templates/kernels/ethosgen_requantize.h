/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TFLite's conversion of a 32-bit sum to an int8 value, for 1 and for 4 elements.
 *
 * sum * mantissa / 2^31 is rounded to nearest, then divided by a power of two, rounded to nearest
 * with halves away from zero: two roundings, as in TensorFlow Lite Micro's reference kernels.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#ifndef ETHOSGEN_REQUANTIZE_H
#define ETHOSGEN_REQUANTIZE_H

#include "ethosgen_kernels.h"

/* Code that seldom runs is compiled for size. */
#define ETHOSGEN_RARE __attribute__((noinline, cold))

/* With ETHOSGEN_PLAIN_C, kernels have neither assembly nor intrinsics: slower, and the same bits. */
#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 1) && !defined(ETHOSGEN_PLAIN_C)
#define ETHOSGEN_MVE 1
#include <arm_mve.h>

#if defined(__GNUC__) && !defined(__OPTIMIZE__)
#error "compile this file with -O2: its assembly needs the registers"
#endif

/* With frame pointers, GCC leaves some of the assembly one register too few. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("omit-frame-pointer")
#endif

/* The predicate, as a register that assembly changes; Clang has no name for it. */
#ifdef __clang__
#define ETHOSGEN_P0
#else
#define ETHOSGEN_P0 , "p0"
#endif

/* A function in assembly alone, with all registers, under all compiler options. */
#ifdef __clang__
#define ETHOSGEN_ASSEMBLY __attribute__((naked, noinline, no_profile_instrument_function))
#else
#define ETHOSGEN_ASSEMBLY __attribute__((naked, noinline, noipa, no_profile_instrument_function))
#endif

/* `shift` is 0 or negative. The sign is added first to round negative halves away from zero. */
static inline int32x4_t ethosgen_requantize_x4(int32x4_t sum, int32x4_t mantissa, int32x4_t shift)
{
    int32x4_t product = vqrdmulhq_s32(sum, mantissa);
    int32x4_t sign = vshrq_n_s32(vandq_s32(product, shift), 31);
    return vrshlq_s32(vaddq_s32(product, sign), shift);
}

/*
 * For shifts from -22 to -2 the output is the highest byte of
 *
 *     (product - rounding, saturated) << (24 + shift), saturated,
 *
 * if bit 0 of `rounding` is the sum's sign. `rounding` is - (zero point + half) << -shift. The sum's
 * sign is the product's, except for products of 0: with either sign they make 0.
 */
enum { ETHOSGEN_TOP = 24 };

static inline int32x4_t ethosgen_rounding_x4(int32x4_t shift, int32_t zero_point)
{
    return vshlq_s32(vdupq_n_s32(-2 * zero_point - 1), vsubq_s32(vdupq_n_s32(-1), shift));
}

/* Limit outputs to bounds. */
static inline void ethosgen_bound(int8_t *output, int32_t bytes, int8x16_t low, int8x16_t high)
{
    /* q0: outputs. lr: bytes left. */
    __asm volatile("wlstp.8 lr, %[bytes], 2f\n"
                   "1:\n\t"
                   "vldrb.8 q0, [%[output]]\n\t"
                   "vmax.s8 q0, q0, %q[low]\n\t"
                   "vmin.s8 q0, q0, %q[high]\n\t"
                   "vstrb.8 q0, [%[output]], #16\n\t"
                   "letp lr, 1b\n"
                   "2:"
                   : [output] "+r"(output)
                   : [bytes] "r"(bytes), [low] "w"(low), [high] "w"(high)
                   : "q0", "lr", "memory");
}
#else
#define ETHOSGEN_MVE 0

/* `shift` is 0 or negative. */
static inline int32_t ethosgen_requantize(int32_t sum, int32_t mantissa, int32_t shift)
{
    int32_t product = (int32_t)(((int64_t)sum * mantissa + 0x40000000) >> 31);
    int32_t mask = (int32_t)((1u << -shift) - 1u);
    int32_t rest = product & mask;
    return (product >> -shift) + (rest > (mask >> 1) + (product < 0));
}

static inline int8_t ethosgen_clamp(int32_t value, const struct ethosgen_output *to)
{
    value = (int32_t)((uint32_t)value + (uint32_t)to->zero_point); /* wraps, as TFLite Micro's does */
    value = value < to->low ? to->low : value;
    return (int8_t)(value > to->high ? to->high : value);
}
#endif

#endif /* ETHOSGEN_REQUANTIZE_H */
