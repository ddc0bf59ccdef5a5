/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conversion of float32 to integers and back, with scale and zero point. See ethosgen_floats.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_floats_math.h"

#include <math.h>

enum { SCALE, RECIPROCAL, LOW, HIGH };

#if ETHOSGEN_MVE_F
/* Clang has no name for the predicate, and does not keep it across assembly. */
#ifdef __clang__
#define P0
#else
#define P0 , "p0"
#endif

/*
 * Helium cannot divide. The product with the rounded reciprocal is off by at most one in its last
 * place; its remainder corrects that, so that the quotient is the rounded one (Markstein's theorem;
 * the scale's mantissa must not be all ones). Inputs are limited first, since infinity has no
 * remainder; NaN stays NaN, which vcvta converts to 0. vcvta rounds halves away from zero, like roundf.
 *
 * q0: values, then remainders. q1: quotients, then outputs. lr: elements left.
 */
#define QUANTIZE(bits, suffix)                                                                 \
    void ethosgen_quantize_##bits##_f32(void *output, const float *input, int32_t count,       \
                                        int32_t zero_point, const float *scale)                \
    {                                                                                          \
        register int32_t left __asm("lr") = count;                                             \
                                                                                               \
        __asm volatile("dlstp.32 lr, lr\n"                                                     \
                       "1:\n\t"                                                                \
                       "vldrw.32 q0, [%[input]], #16\n\t"                                      \
                       "vpt.f32 gt, %q[low], q0\n\t"                                           \
                       "vmovt q0, %q[low]\n\t"                                                 \
                       "vpt.f32 gt, q0, %q[high]\n\t"                                          \
                       "vmovt q0, %q[high]\n\t"                                                \
                       "vmul.f32 q1, q0, %[reciprocal]\n\t"                                    \
                       "vfms.f32 q0, q1, %q[scale]\n\t"                                        \
                       "vfma.f32 q1, q0, %[reciprocal]\n\t"                                    \
                       "vcvta.s32.f32 q1, q1\n\t"                                              \
                       "vadd.i32 q1, q1, %[zero_point]\n\t"                                    \
                       "vstr" suffix " q1, [%[output]], #" #bits " / 2\n\t"                    \
                       "letp lr, 1b"                                                           \
                       : [input] "+r"(input), [output] "+r"(output), "+r"(left)                \
                       : [high] "w"(vdupq_n_f32(scale[HIGH])),                                 \
                         [low] "w"(vdupq_n_f32(scale[LOW])),                                   \
                         [scale] "w"(vdupq_n_f32(scale[SCALE])),                               \
                         [reciprocal] "r"(scale[RECIPROCAL]), [zero_point] "r"(zero_point)     \
                       : "q0", "q1", "memory" P0);                                            \
    }

/* q0: values. lr: elements left. */
#define DEQUANTIZE(name, type, suffix, step)                                                   \
    void ethosgen_dequantize_##name##_f32(float *output, const void *input, int32_t count,     \
                                          int32_t zero_point, const float *scale)              \
    {                                                                                          \
        register int32_t left __asm("lr") = count;                                             \
                                                                                               \
        __asm volatile("dlstp.32 lr, lr\n"                                                     \
                       "1:\n\t"                                                                \
                       "vldr" suffix " q0, [%[input]], #" #step "\n\t"                         \
                       "vsub.i32 q0, q0, %[zero_point]\n\t"                                    \
                       "vcvt.f32.s32 q0, q0\n\t"                                               \
                       "vmul.f32 q0, q0, %[scale]\n\t"                                         \
                       "vstrw.32 q0, [%[output]], #16\n\t"                                     \
                       "letp lr, 1b"                                                           \
                       : [input] "+r"(input), [output] "+r"(output), "+r"(left)                \
                       : [zero_point] "r"(zero_point), [scale] "r"(scale[SCALE])               \
                       : "q0", "memory");                                                      \
    }
#else
#define QUANTIZE(bits, suffix)                                                                 \
    void ethosgen_quantize_##bits##_f32(void *output, const float *input, int32_t count,       \
                                        int32_t zero_point, const float *scale)                \
    {                                                                                          \
        int##bits##_t *to = output;                                                            \
                                                                                               \
        for (int32_t i = 0; i < count; i++) {                                                  \
            float value = ethosgen_limit(input[i], scale[LOW], scale[HIGH]);                   \
                                                                                               \
            to[i] = (int##bits##_t)((int32_t)roundf(value / scale[SCALE]) + zero_point);       \
        }                                                                                      \
    }

#define DEQUANTIZE(name, type, suffix, step)                                                   \
    void ethosgen_dequantize_##name##_f32(float *output, const void *input, int32_t count,     \
                                          int32_t zero_point, const float *scale)              \
    {                                                                                          \
        const type *from = input;                                                              \
                                                                                               \
        for (int32_t i = 0; i < count; i++) {                                                  \
            output[i] = scale[SCALE] * (float)(from[i] - zero_point);                          \
        }                                                                                      \
    }
#endif

QUANTIZE(8, "b.32")
QUANTIZE(16, "h.32")
DEQUANTIZE(s8, int8_t, "b.s32", 4)
DEQUANTIZE(u8, uint8_t, "b.u32", 4)
DEQUANTIZE(s16, int16_t, "h.s32", 8)
