/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of a row times weights. See ethosgen_dsp_sums.h, and ethosgen_dsp_matrix.c for the weights.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_dsp_sums.h"
#include "ethosgen_dsp_tile.h"

enum { MOST = ETHOSGEN_DSP_MOST_PLACES, STEP = ETHOSGEN_DSP_STEP };

/* In the order in which the assembly loads its fields. */
struct job {
    const int32_t *row;
    const int8_t *weights;
    const int32_t *biases;
    int32_t *sums;
    int32_t pairs;
    int32_t steps;
    int32_t excess;
};

#if ETHOSGEN_DSP
/* The sums of a row for 8 places: 16 products in 14 instructions. */
#define WORD(row, weights)                     \
    "uxtb16 r12, " weights "\n\t"              \
    "smlad r3, " row ", r12, r3\n\t"           \
    "smlad lr, " row ", " weights ", lr\n\t"
#define EIGHT_PLACES                           \
    "ldm r1!, {r4-r7}\n\t"                     \
    "ldm r2!, {r8-r11}\n\t"                    \
    WORD("r4", "r8") WORD("r5", "r9") WORD("r6", "r10") WORD("r7", "r11")

/*
 * In assembly, since the values, the weights and the sums need all registers.
 *
 * r0: rounds. r1: row. r2: weights. r3: the sum of the first channel. lr: that of both. r4 to r7:
 * words of the row. r8 to r11: weights. r12: biases, then the first channel's weights.
 *
 * Behind the loop, r0: job. r4: biases. r5: sums. r6: pairs. r8: excess. r9: the second channel's
 * bias.
 */
static ETHOSGEN_DSP_NAKED void multiply(struct job *job __attribute__((unused)))
{
    __asm volatile("push {r0, r4-r11, lr}\n\t"
                   "ldr r2, [r0, #4]\n"
                   "1:\n\t"
                   "ldr r1, [r0]\n\t"
                   "ldr r12, [r0, #8]\n\t"
                   "ldr r3, [r12]\n\t"
                   "mov lr, r3\n\t"
                   "ldr r0, [r0, #20]\n\t"
                   "lsrs r0, r0, #1\n\t"
                   "bcc 2f\n\t"
                   "ldrd r4, r5, [r1], #8\n\t"
                   "ldrd r8, r9, [r2], #8\n\t"
                   WORD("r4", "r8") WORD("r5", "r9")
                   "cmp r0, #0\n\t"
                   "beq 4f\n"
                   "2:\n\t"
                   "lsrs r0, r0, #1\n\t"
                   "bcc 3f\n\t"
                   EIGHT_PLACES
                   "cmp r0, #0\n\t"
                   "beq 4f\n"
                   "3:\n\t" EIGHT_PLACES EIGHT_PLACES
                   "subs r0, r0, #1\n\t"
                   "bne 3b\n"
                   "4:\n\t"
                   "ldr r0, [sp]\n\t"
                   "ldrd r4, r5, [r0, #8]\n\t"
                   "ldr r6, [r0, #16]\n\t"
                   "ldr r8, [r0, #24]\n\t"
                   "ldr r9, [r4, #4]\n\t"
                   "sub lr, lr, r3\n\t"
                   "sub r3, r3, r8\n\t"
                   "add lr, r9, lr, asr #8\n\t"
                   "add r4, r4, #8\n\t"
                   "stm r5!, {r3, lr}\n\t"
                   "strd r4, r5, [r0, #8]\n\t"
                   "subs r6, r6, #1\n\t"
                   "str r6, [r0, #16]\n\t"
                   "bne 1b\n\t"
                   "pop {r0, r4-r11, pc}");
}
#else
static int32_t half(uint32_t word, int32_t place)
{
    return (int16_t)(word >> ((uint32_t)place * 16u));
}

/* This sums the second channel separately. */
static void multiply(struct job *job)
{
    for (; job->pairs > 0; job->pairs--) {
        uint32_t first = (uint32_t)*job->biases++ - (uint32_t)job->excess;
        uint32_t second = (uint32_t)*job->biases++;

        for (int32_t word = 0; word < 2 * job->steps; word++) {
            uint32_t values = (uint32_t)job->row[word], weights = ethosgen_dsp_word(job->weights);

            for (int32_t place = 0; place < 2; place++) {
                int32_t value = half(values, place), both = half(weights, place);

                first += (uint32_t)(value * (int32_t)((uint32_t)both & UINT8_MAX));
                second += (uint32_t)(value * (both >> 8));
            }
            job->weights += 4;
        }
        *job->sums++ = (int32_t)first;
        *job->sums++ = (int32_t)second;
    }
}
#endif

int32_t ethosgen_dsp_row_words(int32_t depth)
{
    return 2 * ethosgen_dsp_steps(depth);
}

struct ethosgen_dsp_row ethosgen_dsp_row_of(void *to, const int8_t *values, int32_t depth)
{
    int32_t doubled = ethosgen_dsp_widen(to, values, depth, 1);

    return (struct ethosgen_dsp_row){to, depth, doubled / 2};
}

const int8_t *ethosgen_dsp_sums(int32_t *sums, const int32_t *biases, int32_t pairs,
                                const struct ethosgen_dsp_row *row, const int8_t *weights)
{
    struct job job = {row->values, weights, biases, sums, pairs, 0, row->excess};

    for (int32_t left = row->depth; left > 0; left -= MOST) {
        job.steps = ethosgen_dsp_steps(left < MOST ? left : MOST);
        multiply(&job);
        weights += pairs * job.steps * 2 * STEP;
        job.row += job.steps * 2;
        job.weights = weights;
        job.biases = sums;
        job.sums = sums;
        job.pairs = pairs;
        job.excess = 0;
    }
    return weights;
}
