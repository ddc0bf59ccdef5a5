/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One row times weights, for 8 channels at a time. See ethosgen_kernels.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_requantize.h"

#include <stddef.h>

/* ISO C guarantees strings of 4095 characters; the compilers of this assembly accept more. */
#pragma GCC diagnostic ignored "-Woverlength-strings"

#if ETHOSGEN_MVE
/* The products of a vector, whose first 16 weights are loaded, and the next vector's first: 64 bytes. */
#define PRODUCTS                    \
    "vmladava.s8 r0, q0, q2\n\t"    \
    "vldrb.8 q3, [r7], #16\n\t"     \
    "vmladava.s8 r2, q0, q3\n\t"    \
    "vldrb.8 q2, [r7], #16\n\t"     \
    "vmladava.s8 r4, q0, q2\n\t"    \
    "vldrb.8 q3, [r7], #16\n\t"     \
    "vmladava.s8 r6, q0, q3\n\t"    \
    "vldrb.8 q2, [r7], #16\n\t"     \
    "vmladava.s8 r8, q0, q2\n\t"    \
    "vldrb.8 q3, [r7], #16\n\t"     \
    "vmladava.s8 r10, q0, q3\n\t"   \
    "vldrb.8 q2, [r7], #16\n\t"     \
    "vmladava.s8 r12, q0, q2\n\t"   \
    "vldrb.8 q3, [r7], #16\n\t"     \
    "vmladava.s8 lr, q0, q3\n\t"    \
    "vldrb.8 q2, [r7], #16\n\t"
#define LOAD_VECTOR "vldrb.8 q0, [r1], #16\n\t"

_Static_assert((uint32_t)offsetof(struct ethosgen_matrix, output) == 12u,
               "the assembly has this offset");

/*
 * r1, r11: row, the end of its last vector. r7: weights. r0, r2, r4, r6, r8, r10, r12, lr: sums.
 * r5: output. r3: biases. r9: where the loop starts. q0: a vector of the row. q2, q3: weights.
 * q1: zero point. q6, q7: bounds. On the stack: 1, row, shift, mantissa, the last place in the output.
 *
 * A load takes as long as a MAC, and both run in parallel, so the number of loads decides. All even
 * registers hold sums; the loop (1) has no hardware support, and computes 8 vectors per round, in the
 * first perhaps fewer: it starts at one of 8 places, 68 bytes apart. The predicate is for a row of less
 * than one vector. q4 requantizes the even channels, q5 the odd ones; vqdmlah by 1 adds the sign, which
 * rounds halves away from zero. Meanwhile the sums get the next biases.
 *
 * q4, q5: sums of the even and of the odd channels, then q4: outputs.
 */
ETHOSGEN_ASSEMBLY void ethosgen_row_eight_s8(
    int8_t *output __attribute__((unused)), const int8_t *row __attribute__((unused)),
    const int8_t *weights __attribute__((unused)), const int32_t *scales __attribute__((unused)),
    const struct ethosgen_matrix *shape __attribute__((unused)))
{
    __asm volatile(
        "push {r3-r11, lr}\n\t"
        "vpush {d8-d15}\n\t"
        "mov r5, r0\n\t"
        "ldr r7, [sp, #104]\n\t"
        "ldm r7, {r0, r4, r6, r8, r10, r11}\n\t"
        "mov r7, r2\n\t"
        "vctp.8 r4\n\t"
        "adds r4, #15\n\t"
        "vdup.16 q1, r8\n\t"
        "lsrs r4, r4, #4\n\t"
        "vdup.16 q6, r10\n\t"
        "adds r6, r5\n\t"
        "vdup.16 q7, r11\n\t"
        "subs r6, #8\n\t"
        "vldrb.8 q2, [r7], #16\n\t"
        "add r11, r1, r4, lsl #4\n\t"
        "negs r4, r4\n\t"
        "and r4, r4, #7\n\t"
        "movs r0, #68\n\t"
        "adr r9, 2f\n\t"
        "mla r9, r4, r0, r9\n\t"
        "ldrd r4, r2, [r3], #8\n\t"
        "movs r0, #1\n\t"
        "push {r0, r1, r2, r4, r6}\n\t"
        "ldrd r0, r2, [r3], #8\n\t"
        "ldrd r4, r6, [r3], #8\n\t"
        "ldrd r8, r10, [r3], #8\n\t"
        "ldrd r12, lr, [r3], #8\n\t"
        "vpst\n\t"
        "vldrbt.8 q0, [r1], #16\n\t"
        "mov pc, r9\n\t"
        ".balign 4\n\t"
        "1:\n\t"
        LOAD_VECTOR
        "2:\n\t"
        PRODUCTS LOAD_VECTOR
        PRODUCTS LOAD_VECTOR
        PRODUCTS LOAD_VECTOR
        PRODUCTS LOAD_VECTOR
        PRODUCTS LOAD_VECTOR
        PRODUCTS LOAD_VECTOR
        PRODUCTS LOAD_VECTOR
        PRODUCTS
        "cmp r1, r11\n\t"
        "bne 1b\n\t"
        "vmov q4[2], q4[0], r0, r8\n\t"
        "ldrd r0, r8, [sp, #12]\n\t"
        "vmov q4[3], q4[1], r4, r12\n\t"
        "ldrd r12, r1, [sp]\n\t"
        "vqrdmulh.s32 q4, q4, r0\n\t"
        "vmov q5[2], q5[0], r2, r10\n\t"
        "ldr r4, [sp, #8]\n\t"
        "vqdmlah.s32 q4, q4, r12\n\t"
        "vmov q5[3], q5[1], r6, lr\n\t"
        "cmp r5, r8\n\t"
        "vqrdmulh.s32 q5, q5, r0\n\t"
        "vrshl.s32 q4, r4\n\t"
        "ldrd r0, r2, [r3], #8\n\t"
        "vqdmlah.s32 q5, q5, r12\n\t"
        "vqmovnb.s32 q4, q4\n\t"
        "ldrd r8, r10, [r3, #8]\n\t"
        "vrshl.s32 q5, r4\n\t"
        "ldrd r12, lr, [r3, #16]\n\t"
        "vqmovnt.s32 q4, q5\n\t"
        "vpst\n\t"
        "vldrbt.8 q0, [r1], #16\n\t"
        "vqadd.s16 q4, q4, q1\n\t"
        "ldrd r4, r6, [r3], #24\n\t"
        "vmax.s16 q4, q4, q6\n\t"
        "vmin.s16 q4, q4, q7\n\t"
        "vstrb.16 q4, [r5], #8\n\t"
        "it ne\n\t"
        "movne pc, r9\n\t"
        "add sp, #20\n\t"
        "vpop {d8-d15}\n\t"
        "pop {r3-r11, pc}");
}
#else
enum { LANES = 16, EIGHT = 8, BIASES = 2 };

void ethosgen_row_eight_s8(int8_t *output, const int8_t *row, const int8_t *weights,
                           const int32_t *scales, const struct ethosgen_matrix *shape)
{
    int32_t depth = shape->depth;
    int32_t block_bytes = (depth + LANES - 1) / LANES * LANES * EIGHT;

    for (int32_t channel = 0; channel < shape->channels; channel++) {
        const int8_t *vector =
            weights + channel / EIGHT * block_bytes + channel % EIGHT * LANES;
        int32_t sum = scales[BIASES + channel];

        for (int32_t k = 0; k < depth; k++) {
            sum += row[k] * vector[k / LANES * LANES * EIGHT + k % LANES];
        }
        output[channel] =
            ethosgen_clamp(ethosgen_requantize(sum, scales[0], scales[1]), &shape->output);
    }
}
#endif
