/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums and differences, element by element. See ethosgen_kernels.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_requantize.h"

#if ETHOSGEN_MVE
/* Like ethosgen_requantize_x4, with one mantissa for all elements. */
static inline int32x4_t scaled(int32x4_t value, int32_t mantissa, int32x4_t shift)
{
    int32x4_t product = vqrdmulhq_n_s32(value, mantissa);
    int32x4_t sign = vshrq_n_s32(vandq_s32(product, shift), 31);

    return vrshlq_s32(vaddq_s32(product, sign), shift);
}

static inline int32x4_t widened(const int8_t *from, mve_pred16_t inside, int32_t zero_point)
{
    return vshlq_n_s32(vsubq_n_s32(vldrbq_z_s32(from, inside), zero_point), ETHOSGEN_ADD_SHIFT);
}

/* vshl by this makes -1 of a negative number and 0 of others, or 0 of all if `shift` is 0. */
static inline int32x4_t sign_shift(int32_t shift)
{
    return vdupq_n_s32(shift < 0 ? -31 : 32);
}

/*
 * 4 sums per iteration, in assembly, since the compiler does not generate tail-predicated loops. Half of
 * the first input, shifted, is its product with `factor`; `COMBINE(second, first)` adds the two
 * registers' elements, the second's scaled, to those of the second. The second's sign is added before
 * its shift, as in ethosgen_requantize_x4; the sum is rounded as ethosgen_rounding_x4 says.
 *
 * The first loop loads and multiplies the next elements between the shifts and sums of these, so that
 * fewer instructions wait for each other; it leaves 4 to 7 elements to the second, which has tail
 * predication. The second computes up to 11 elements alone.
 *
 * In the first loop, q0: elements of the first input, then outputs. q1: those of the second, then
 * sums. q2: signs, then roundings. In the second, q0: elements of the second input, then outputs. q1:
 * those of the first. lr: rounds, then elements left.
 */
#define ETHOSGEN_SUMS(COMBINE)                                                                 \
    const struct ethosgen_scaled *scaled = &add->second;                                       \
    int32_t factor = add->first_sign * (ETHOSGEN_ADD_ONE / 2);                                 \
    int32_t rounding[4];                                                                       \
                                                                                               \
    vstrwq_s32(rounding, ethosgen_rounding_x4(vdupq_n_s32(add->shift), add->output.zero_point));\
    __asm volatile("cmp %[count], #12\n\t"                                                     \
                   "blt 2f\n\t"                                                                \
                   "lsr lr, %[count], #2\n\t"                                                  \
                   "sub lr, lr, #1\n\t"                                                        \
                   "vldrb.s32 q1, [%[second]], #4\n\t"                                         \
                   "vmlas.s32 q1, %q[unit], %[second_offset]\n\t"                              \
                   "vqrdmulh.s32 q1, q1, %[second_mantissa]\n\t"                               \
                   "dls lr, lr\n"                                                              \
                   "1:\n\t"                                                                    \
                   "vshl.s32 q2, q1, %q[second_sign]\n\t"                                      \
                   "vldrb.s32 q0, [%[first]], #4\n\t"                                          \
                   "vadd.s32 q1, q1, q2\n\t"                                                   \
                   "vldrw.32 q2, [%[rounding]]\n\t"                                            \
                   "vrshl.s32 q1, %[second_shift]\n\t" COMBINE("q1", "q0")                     \
                   "vadd.s32 q1, q1, %[first_offset]\n\t"                                      \
                   "vsri.32 q2, q1, #31\n\t"                                                   \
                   "vqrdmulh.s32 q0, q1, %[mantissa]\n\t"                                      \
                   "vldrb.s32 q1, [%[second]], #4\n\t"                                         \
                   "vqsub.s32 q0, q0, q2\n\t"                                                  \
                   "vmlas.s32 q1, %q[unit], %[second_offset]\n\t"                              \
                   "vqshl.s32 q0, q0, %q[shift]\n\t"                                           \
                   "vqrdmulh.s32 q1, q1, %[second_mantissa]\n\t"                               \
                   "vshr.u32 q0, q0, #24\n\t"                                                  \
                   "vstrb.32 q0, [%[output]], #4\n\t"                                          \
                   "le lr, 1b\n\t"                                                             \
                   "subs %[second], #4\n\t"                                                    \
                   "and %[count], %[count], #3\n\t"                                            \
                   "adds %[count], #4\n"                                                       \
                   "2:\n\t"                                                                    \
                   "dlstp.32 lr, %[count]\n"                                                   \
                   "3:\n\t"                                                                    \
                   "vldrb.s32 q0, [%[second]], #4\n\t"                                         \
                   "vldrb.s32 q1, [%[first]], #4\n\t"                                          \
                   "vmlas.s32 q0, %q[unit], %[second_offset]\n\t"                              \
                   "vqrdmulh.s32 q0, q0, %[second_mantissa]\n\t"                               \
                   "vshl.s32 q2, q0, %q[second_sign]\n\t"                                      \
                   "vadd.s32 q0, q0, q2\n\t"                                                   \
                   "vldrw.32 q2, [%[rounding]]\n\t"                                            \
                   "vrshl.s32 q0, %[second_shift]\n\t" COMBINE("q0", "q1")                     \
                   "vadd.s32 q0, q0, %[first_offset]\n\t"                                      \
                   "vsri.32 q2, q0, #31\n\t"                                                   \
                   "vqrdmulh.s32 q0, q0, %[mantissa]\n\t"                                      \
                   "vqsub.s32 q0, q0, q2\n\t"                                                  \
                   "vqshl.s32 q0, q0, %q[shift]\n\t"                                           \
                   "vshr.u32 q0, q0, #24\n\t"                                                  \
                   "vstrb.32 q0, [%[output]], #4\n\t"                                          \
                   "letp lr, 3b"                                                               \
                   : [output] "+l"(output), [first] "+l"(first), [second] "+l"(second),        \
                     [count] "+r"(count)                                                       \
                   : [factor] "r"(factor),                                                     \
                     [first_offset] "r"(-factor * add->first.zero_point),                      \
                     [second_offset] "r"(-scaled->zero_point * ETHOSGEN_ADD_ONE),              \
                     [second_mantissa] "r"(scaled->mantissa),                                  \
                     [second_shift] "r"(scaled->shift), [mantissa] "r"(add->mantissa),         \
                     [rounding] "r"(rounding),                                                 \
                     [unit] "w"(vdupq_n_s32(ETHOSGEN_ADD_ONE)),                                \
                     [second_sign] "w"(sign_shift(scaled->shift)),                             \
                     [shift] "w"(vdupq_n_s32(add->shift + ETHOSGEN_TOP))                       \
                   : "q0", "q1", "q2", "lr", "cc", "memory")

/* The assembly uses most registers and leaves none for counters, as in verify --coverage. */
#define UNCOUNTED __attribute__((noinline, no_profile_instrument_function))
#define PLUS(second, first) "vmla.s32 " second ", " first ", %[factor]\n\t"
#define MINUS(second, first)                          \
    "vmul.s32 " first ", " first ", %[factor]\n\t"    \
    "vsub.s32 " second ", " first ", " second "\n\t"

static UNCOUNTED void add_all(int8_t *output, const int8_t *first, const int8_t *second, int32_t count,
                              const struct ethosgen_add *add)
{
    ETHOSGEN_SUMS(PLUS);
}

static UNCOUNTED void subtract_all(int8_t *output, const int8_t *first, const int8_t *second,
                                   int32_t count, const struct ethosgen_add *add)
{
    ETHOSGEN_SUMS(MINUS);
}

void ethosgen_add_s8(int8_t *output, const int8_t *first, const int8_t *second, int32_t count,
                     const struct ethosgen_add *add)
{
    add_all(output, first, second, count, add);
    ethosgen_limit_s8(output, count, add->output.low, add->output.high);
}

void ethosgen_sub_s8(int8_t *output, const int8_t *first, const int8_t *second, int32_t count,
                     const struct ethosgen_add *add)
{
    subtract_all(output, first, second, count, add);
    ethosgen_limit_s8(output, count, add->output.low, add->output.high);
}

void ethosgen_add_one_s8(int8_t *output, const int8_t *first, const int8_t *second, int32_t count,
                         const struct ethosgen_add *shape)
{
    const struct ethosgen_add add = *shape;
    int32x4_t first_shift = vdupq_n_s32(add.first.shift), shift = vdupq_n_s32(add.shift);
    int32x4_t low = vdupq_n_s32(add.output.low), high = vdupq_n_s32(add.output.high);
    int32x4_t right = vdupq_n_s32((*second - add.second.zero_point) * ETHOSGEN_ADD_ONE);

    right = scaled(right, add.second.mantissa, vdupq_n_s32(add.second.shift));
    right = vmulq_n_s32(right, add.second_sign);
    for (int32_t i = 0; i < count; i += 4) {
        mve_pred16_t inside = vctp32q((uint32_t)count - (uint32_t)i);
        int32x4_t left = widened(first + i, inside, add.first.zero_point);

        left = vaddq_s32(scaled(left, add.first.mantissa, first_shift), right);
        left = vaddq_n_s32(scaled(left, add.mantissa, shift), add.output.zero_point);
        vstrbq_p_s32(output + i, vminq_s32(vmaxq_s32(left, low), high), inside);
    }
}
#else
static inline int32_t widened(int8_t value, const struct ethosgen_scaled *input)
{
    return ethosgen_requantize((value - input->zero_point) * ETHOSGEN_ADD_ONE,
                               input->mantissa, input->shift);
}

void ethosgen_add_s8(int8_t *output, const int8_t *first, const int8_t *second, int32_t count,
                     const struct ethosgen_add *add)
{
    for (int32_t i = 0; i < count; i++) {
        int32_t sum = add->first_sign * widened(first[i], &add->first)
            + add->second_sign * widened(second[i], &add->second);

        output[i] = ethosgen_clamp(ethosgen_requantize(sum, add->mantissa, add->shift),
                                   &add->output);
    }
}

void ethosgen_sub_s8(int8_t *output, const int8_t *first, const int8_t *second, int32_t count,
                     const struct ethosgen_add *add)
{
    ethosgen_add_s8(output, first, second, count, add);
}

void ethosgen_add_one_s8(int8_t *output, const int8_t *first, const int8_t *second, int32_t count,
                         const struct ethosgen_add *add)
{
    int32_t right = add->second_sign * widened(*second, &add->second);

    for (int32_t i = 0; i < count; i++) {
        int32_t sum = add->first_sign * widened(first[i], &add->first) + right;

        output[i] = ethosgen_clamp(ethosgen_requantize(sum, add->mantissa, add->shift),
                                   &add->output);
    }
}
#endif
