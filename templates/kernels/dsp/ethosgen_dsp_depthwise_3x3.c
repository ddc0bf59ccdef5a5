/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Depthwise convolutions with windows of 3 x 3, two outputs at a time. See ethosgen_dsp.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_dsp_depthwise.h"

#if ETHOSGEN_DSP
#if ETHOSGEN_DUAL_ISSUE
/*
 * Two outputs of a row. Loads run in parallel with products: one after the last use of their register,
 * two before the next use. So loads of the next row, or of other words, are here.
 */
#define ROW_1(row, first, second, next, after) \
    "smlad r2, r12, " first ", r2\n\t"         \
    after                                      \
    "smlatb r3, r12, " first ", r3\n\t"        \
    "smlabt r2, lr, " second ", r2\n\t"        \
    "ldr r12, [" next "]\n\t"                  \
    "smlad r3, lr, " second ", r3\n\t"         \
    "add " row ", " row ", #4\n\t"
#define ROW_2(row, first, second, next, after) \
    "smlad r2, r12, " first ", r2\n\t"         \
    after                                      \
    "smlabt r2, lr, " second ", r2\n\t"        \
    "ldr r12, [" row ", #8]\n\t"               \
    "smlad r3, lr, " first ", r3\n\t"          \
    "add " row ", " row ", #8\n\t"             \
    "smlabt r3, r12, " second ", r3\n\t"       \
    "ldr r12, [" next "]\n\t"
#define AFTER(row) "ldr lr, [" row ", #4]\n\t"
#define WINDOWS(row)                           \
    "ldr r2, [r0, #24]\n\t"                    \
    "ldr r12, [r10]\n\t"                       \
    "mov r3, r2\n\t"                           \
    row("r10", "r4", "r5", "r11", AFTER("r10")) \
    row("r11", "r6", "r7", "r1", AFTER("r11")) \
    row("r1", "r8", "r9", "r0, #28", AFTER("r1")) \
    "smmulr r2, r2, r12\n\t"                   \
    "ldr lr, [r0, #32]\n\t"                    \
    "smmulr r3, r3, r12\n\t"
#define TO_SECOND "add r12, r12, lr\n\t"
#define SECOND "[r12]"
#define TO_NEXT "add r12, r12, lr\n\t"
#else
/* Two outputs of one row of a 3 x 3 window. */
#define ROW_1(row, first, second)              \
    "ldrd r12, lr, [" row "], #4\n\t"          \
    "smlad r2, r12, " first ", r2\n\t"         \
    "smlatb r3, r12, " first ", r3\n\t"        \
    "smlabt r2, lr, " second ", r2\n\t"        \
    "smlad r3, lr, " second ", r3\n\t"
#define ROW_2(row, first, second)              \
    "ldrd r12, lr, [" row "], #8\n\t"          \
    "smlad r2, r12, " first ", r2\n\t"         \
    "ldr r12, [" row "]\n\t"                   \
    "smlabt r2, lr, " second ", r2\n\t"        \
    "smlad r3, lr, " first ", r3\n\t"          \
    "smlabt r3, r12, " second ", r3\n\t"
#define WINDOWS(row)                           \
    "ldr r2, [r0, #24]\n\t"                    \
    "mov r3, r2\n\t"                           \
    row("r10", "r4", "r5")                     \
    row("r11", "r6", "r7")                     \
    row("r1", "r8", "r9")                      \
    "ldrd r12, lr, [r0, #28]\n\t"              \
    "smmulr r2, r2, r12\n\t"                   \
    "smmulr r3, r3, r12\n\t"
#define TO_SECOND
#define SECOND "[r12, lr]"
#define TO_NEXT "add r12, r12, lr, lsl #1\n\t"
#endif
#define RUN_3X3(row)                           \
    "push {r4-r11, lr}\n\t"                    \
    "ldrd r4, r5, [r0, #40]\n\t"               \
    "ldrd r6, r7, [r0, #48]\n\t"               \
    "ldrd r8, r9, [r0, #56]\n"                 \
    "1:\n\t"                                   \
    "ldr r10, [r0]\n\t"                        \
    "ldr r12, [r0, #8]\n\t"                    \
    "ldr r3, [r0, #64]\n\t"                    \
    "ldr r2, [r0, #76]\n\t"                    \
    "add r11, r10, r12\n\t"                    \
    "add r1, r11, r12\n\t"                     \
    "add r3, r3, r10\n\t"                      \
    "strd r3, r2, [r0, #12]\n"                 \
    "2:\n\t"                                   \
    WINDOWS(row)                               \
    "add r2, r2, r2, asr #31\n\t"              \
    "ldr r12, [r0, #36]\n\t"                   \
    "add r3, r3, r3, asr #31\n\t"              \
    "add r2, r2, lr\n\t"                       \
    "add r3, r3, lr\n\t"                       \
    "asr r2, r2, r12\n\t"                      \
    "asr r3, r3, r12\n\t"                      \
    "ldrd r12, lr, [r0, #16]\n\t"              \
    "ssat r2, #8, r2\n\t"                      \
    "ssat r3, #8, r3\n\t"                      \
    "strb r2, [r12]\n\t"                       \
    TO_SECOND                                  \
    "ldr r2, [r0, #12]\n\t"                    \
    "cmp r10, r2\n\t"                          \
    "beq 3f\n\t"                               \
    "strb r3, " SECOND "\n\t"                  \
    TO_NEXT                                    \
    "str r12, [r0, #16]\n\t"                   \
    "b 2b\n"                                   \
    "3:\n\t"                                   \
    "ldr r2, [r0, #80]\n\t"                    \
    "cbnz r2, 4f\n\t"                          \
    "strb r3, " SECOND "\n"                     \
    "4:\n\t"                                   \
    "ldrd r12, lr, [r0]\n\t"                   \
    "add r12, r12, lr\n\t"                     \
    "str r12, [r0]\n\t"                        \
    "ldrd r2, r3, [r0, #68]\n\t"               \
    "ldr r12, [r0, #76]\n\t"                   \
    "subs r3, r3, #1\n\t"                      \
    "add r12, r12, r2\n\t"                     \
    "strd r3, r12, [r0, #72]\n\t"              \
    "bne 1b\n\t"                               \
    "pop {r4-r11, pc}"

/* In assembly, since weights, sums, taps and addresses need all registers. */
__attribute__((naked, no_profile_instrument_function)) void
ethosgen_dsp_run_3x3(struct ethosgen_dsp_run *run __attribute__((unused)))
{
    __asm volatile(RUN_3X3(ROW_1));
}

/* The same, with steps of 2 columns. */
__attribute__((naked, no_profile_instrument_function)) void
ethosgen_dsp_run_3x3_by_2(struct ethosgen_dsp_run *run __attribute__((unused)))
{
    __asm volatile(RUN_3X3(ROW_2));
}
#else
static inline int8_t output_of(const struct ethosgen_dsp_run *run, const int16_t *from)
{
    int32_t sum = run->scale.bias;

    for (int32_t y = 0; y < 3; y++) {
        const int16_t *x = from + y * run->down / 2;

        sum += x[0] * ethosgen_dsp_half(run->weights[2 * y], 0);
        sum += x[1] * ethosgen_dsp_half(run->weights[2 * y], 1);
        sum += x[2] * ethosgen_dsp_half(run->weights[2 * y + 1], 1);
    }
    return (int8_t)ethosgen_dsp_requantize(sum, &run->scale);
}

static inline void run_pairs(struct ethosgen_dsp_run *run, int32_t columns)
{
    for (; run->rows > 0; run->rows--) {
        const int16_t *from = run->row, *end = from + run->pair_bytes / 2;

        run->output = run->row_output;
        for (; from != end; from = &from[2 * columns]) {
            *run->output = output_of(run, from);
            if (from + 2 * columns != end || !run->is_odd) {
                run->output[run->step] = output_of(run, from + columns);
            }
            run->output += 2 * run->step;
        }
        run->row += run->next / 2;
        run->row_output += run->output_row;
    }
}

void ethosgen_dsp_run_3x3(struct ethosgen_dsp_run *run)
{
    run_pairs(run, 1);
}

void ethosgen_dsp_run_3x3_by_2(struct ethosgen_dsp_run *run)
{
    run_pairs(run, 2);
}
#endif
