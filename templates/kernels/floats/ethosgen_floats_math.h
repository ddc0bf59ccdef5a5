/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernels for float32 share: which processor they are for, copies, and bounds.
 *
 * A product is rounded before it is added, as on a processor without a fused multiply-add, so that
 * results are those of the reference kernels on a computer. Helium takes subnormal numbers for
 * zero (docs/builds.md); nothing else does here.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#ifndef ETHOSGEN_FLOATS_MATH_H
#define ETHOSGEN_FLOATS_MATH_H

#include <stdint.h>

/* Before all code, including arm_mve.h: results must not depend on the compiler's options. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("fp-contract=off", "no-fast-math", "no-single-precision-constant")
#pragma GCC optimize("no-tree-vectorize", "no-tree-slp-vectorize")
/* With frame pointers, builds leave some of the assembly one register too few. */
#pragma GCC optimize("omit-frame-pointer")
#else
#ifdef __FAST_MATH__
#error "compile this file with -fno-fast-math: its results would differ"
#endif
#pragma STDC FP_CONTRACT OFF
#endif

/* With ETHOSGEN_PLAIN_C, kernels have neither assembly nor intrinsics: slower, and the same bits. */
#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 2) && !defined(ETHOSGEN_PLAIN_C)
#define ETHOSGEN_MVE_F 1
#include <arm_mve.h>
#else
#define ETHOSGEN_MVE_F 0
#endif

#if !ETHOSGEN_MVE_F && defined(__thumb2__) && defined(__ARM_FP) && (__ARM_FP & 4) \
    && !defined(ETHOSGEN_PLAIN_C)
#define ETHOSGEN_FPU 1 /* a floating-point unit of a Cortex-M, with 32 registers */
#else
#define ETHOSGEN_FPU 0
#endif

#if (ETHOSGEN_MVE_F || ETHOSGEN_FPU) && defined(__GNUC__) && !defined(__OPTIMIZE__)
#error "compile this file with -O2: its assembly needs the registers"
#endif

/* Compilers do not announce FPv5, which has VSEL: Armv8-M has it, and a Cortex-M7 with doubles. */
#if ETHOSGEN_FPU && (__ARM_ARCH >= 8 || (__ARM_FP & 8))
#define ETHOSGEN_VSEL 1
#else
#define ETHOSGEN_VSEL 0
#endif

#include "ethosgen_floats.h"

enum { ETHOSGEN_LANES = 4 };

#if ETHOSGEN_MVE_F
/*
 * Like C++'s min(max(x, low), high): NaN stays NaN, and -0 stays -0 at a bound of 0. To Helium NaN
 * is less than any number, but no number is greater than it.
 */
static inline float32x4_t ethosgen_limit_x4(float32x4_t x, float32x4_t low, float32x4_t high)
{
#if defined(__clang__)
    x = vpselq_f32(low, x, vcmpgtq_f32(low, x));
    x = vpselq_f32(high, x, vcmpgtq_f32(x, high));
#else
    __asm("vpt.f32 gt, %q[low], %q[x]\n\t"
          "vmovt %q[x], %q[low]\n\t"
          "vpt.f32 gt, %q[x], %q[high]\n\t"
          "vmovt %q[x], %q[high]"
          : [x] "+w"(x)
          : [low] "w"(low), [high] "w"(high)
          : "p0");
#endif
    return x;
}

static inline float32x4_t ethosgen_load(const float *from, int32_t left)
{
    return left >= ETHOSGEN_LANES ? vldrwq_f32(from) : vldrwq_z_f32(from, vctp32q((uint32_t)left));
}

static inline void ethosgen_store(float *to, float32x4_t values, int32_t left)
{
    if (left >= ETHOSGEN_LANES) {
        vstrwq_f32(to, values);
    } else {
        vstrwq_p_f32(to, values, vctp32q((uint32_t)left));
    }
}

static inline void ethosgen_copy_f32(float *to, const float *from, int32_t count)
{
    /* q0: a vector. lr: elements left. */
    __asm volatile("wlstp.32 lr, %[count], 2f\n"
                   "1:\n\t"
                   "vldrw.32 q0, [%[from]], #16\n\t"
                   "vstrw.32 q0, [%[to]], #16\n\t"
                   "letp lr, 1b\n"
                   "2:"
                   : [to] "+r"(to), [from] "+r"(from)
                   : [count] "r"(count)
                   : "q0", "lr", "memory");
}

static inline void ethosgen_zero_f32(float *to, int32_t count)
{
    /* q0: zeros. lr: elements left. */
    __asm volatile("vmov.i32 q0, #0\n\t"
                   "wlstp.32 lr, %[count], 2f\n"
                   "1:\n\t"
                   "vstrw.32 q0, [%[to]], #16\n\t"
                   "letp lr, 1b\n"
                   "2:"
                   : [to] "+r"(to)
                   : [count] "r"(count)
                   : "q0", "lr", "memory");
}
#else
static inline float ethosgen_greater(float x, float than)
{
#if ETHOSGEN_VSEL
    __asm("vcmp.f32 %[than], %[x]\n\t"
          "vmrs APSR_nzcv, fpscr\n\t"
          "vselgt.f32 %[x], %[than], %[x]"
          : [x] "+t"(x)
          : [than] "t"(than)
          : "cc");
    return x;
#else
    return x < than ? than : x;
#endif
}

/* Like C++'s min(max(x, low), high): NaN stays NaN, and -0 stays -0 at a bound of 0. */
static inline float ethosgen_limit(float x, float low, float high)
{
    x = ethosgen_greater(x, low);
#if ETHOSGEN_VSEL
    __asm("vcmp.f32 %[x], %[high]\n\t"
          "vmrs APSR_nzcv, fpscr\n\t"
          "vselgt.f32 %[x], %[high], %[x]"
          : [x] "+t"(x)
          : [high] "t"(high)
          : "cc");
    return x;
#else
    return high < x ? high : x;
#endif
}

struct ethosgen_four {
    float values[ETHOSGEN_LANES];
};

static inline void ethosgen_copy_f32(float *to, const float *from, int32_t count)
{
    for (; count >= ETHOSGEN_LANES; count -= ETHOSGEN_LANES) {
        *(struct ethosgen_four *)to = *(const struct ethosgen_four *)from;
        to += ETHOSGEN_LANES;
        from += ETHOSGEN_LANES;
    }
    for (; count > 0; count--) {
        *to++ = *from++;
    }
}

static inline void ethosgen_zero_f32(float *to, int32_t count)
{
    for (; count > 0; count--) {
        *to++ = 0.0f;
    }
}
#endif

#endif /* ETHOSGEN_FLOATS_MATH_H */
