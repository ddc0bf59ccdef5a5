/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * int16 rows times int8 weights, with sums of 32 bits: fully connected layers and convolutions. See
 * ethosgen_kernels_s16.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include <stddef.h>

#include "ethosgen_sums_s16.h"

enum { LANES = ETHOSGEN_LANES_S16, BLOCK = ETHOSGEN_BLOCK_S16, SCALES = 3 * BLOCK };
enum { VECTOR_BYTES = 16 };

#if ETHOSGEN_MVE
/* Compute a row of any length, and read no element after it. */
static void multiply_row(int16_t *output, const int16_t *row, const int8_t *weights,
                         const int32_t *scales, const struct ethosgen_matrix *matrix)
{
    int32x4_t low = vdupq_n_s32(matrix->output.low), high = vdupq_n_s32(matrix->output.high);
    const int16_t *end = output + matrix->channels;
    int32_t depth = matrix->depth;

    for (; output < end; output += BLOCK) {
        int32x4_t values = ethosgen_sums_s16_x4(row, &weights, depth);

        values = vaddq_s32(values, vldrwq_s32(scales));
        values = ethosgen_rescale_once_x4(values, vldrwq_s32(scales + BLOCK),
                                          vldrwq_s32(scales + 2 * BLOCK));
        values = vminq_s32(vmaxq_s32(values, low), high);
        vstrhq_p_s32(output, values, vctp32q((uint32_t)(end - output)));
        scales += SCALES;
    }
}

/* Load the vector of the first row (q0) and that of the first channel (q2). */
#define FIRST_CHANNEL "vldrb.s16 q2, [%[weights]], #8\n\t"
#define FIRST_ROW "vldrh.16 q0, [%[row0]], #16\n\t"

/*
 * 8 products of two rows (q0, q1) with each of 4 channels, if q0 and q2 are loaded. Two multiplications
 * or two loads in succession would wait for each other, so `then` and `last` separate the last ones:
 * often loads for the next products.
 */
#define PRODUCTS(multiply, then, last)                      \
    multiply " %[sum0], q0, q2\n\t"                         \
    "vldrh.16 q1, [%[row1]], #16\n\t"                       \
    multiply " %[sum4], q1, q2\n\t"                         \
    "vldrb.s16 q3, [%[weights]], #8\n\t"                    \
    multiply " %[sum1], q0, q3\n\t"                         \
    "vldrb.s16 q2, [%[weights]], #8\n\t"                    \
    multiply " %[sum5], q1, q3\n\t"                         \
    multiply " %[sum2], q0, q2\n\t"                         \
    "vldrb.s16 q3, [%[weights]], #8\n\t"                    \
    multiply " %[sum6], q1, q2\n\t"                         \
    then                                                    \
    multiply " %[sum3], q0, q3\n\t"                         \
    last                                                    \
    multiply " %[sum7], q1, q3\n\t"

/* What the loop over pairs of rows keeps in memory. */
struct pairs {
    const int8_t *weights;
    int32_t more; /* vectors behind the first */
    int8_t *output;
    int32_t output_step;
    int32_t advance; /* bytes from the end of a row to the next but one */
    const int8_t *end; /* of the first row after the pairs */
    uint32_t inside; /* predicate: the channels that exist */
    int32_t bias[BLOCK];
};

_Static_assert(offsetof(struct pairs, output) == 8 && offsetof(struct pairs, bias) == 28,
               "the assembly knows these places");

/*
 * Compute pairs of rows for 4 channels. All even registers hold sums, so the loops have no hardware
 * support, and the inner one does two vectors at a time. Not inline, since it needs all registers
 * but the frame pointer.
 */
static __attribute__((noinline)) void multiply_pairs(const int8_t *row, int32_t step,
                                                     const int32_t *scales, struct pairs *pairs,
                                                     const struct ethosgen_output *to)
{
    int32x4_t mantissa = vldrwq_s32(scales + BLOCK), shift = vldrwq_s32(scales + 2 * BLOCK);
    int32x4_t low = vdupq_n_s32(to->low), high = vdupq_n_s32(to->high);
    const int8_t *row0 = row, *row1 = row + step, *weights;
    register int32_t sum0 __asm("r0"), sum1 __asm("r2"), sum2 __asm("r4"), sum3 __asm("r6");
    register int32_t sum4 __asm("r8"), sum5 __asm("r10"), sum6 __asm("r12"), sum7 __asm("lr");
    int32_t more;

    /*
     * sum0 to sum3: the first row's sums. sum4 to sum7: the second's. weights: the predicate, then
     * weights. more: rounds. q0, q1: a vector of each row, then sums and outputs. q2, q3: weights;
     * q2 at last biases.
     *
     * Behind the loop, sum0: output. sum2: its step. sum4: the rows' advance. sum6: their end.
     */
    __asm volatile("ldr %[weights], [%[pairs], #24]\n\t"
                   "vmsr p0, %[weights]\n"
                   "1:\n\t"
                   "ldrd %[weights], %[more], [%[pairs]]\n\t"
                   FIRST_CHANNEL FIRST_ROW
                   PRODUCTS("vmladav.s16", "lsrs %[more], #1\n\t", "")
                   "bcc 2f\n\t"
                   FIRST_CHANNEL FIRST_ROW
                   PRODUCTS("vmladava.s16", "", "")
                   "2:\n\t"
                   "cbz %[more], 4f\n"
                   "3:\n\t"
                   FIRST_CHANNEL FIRST_ROW
                   PRODUCTS("vmladava.s16", FIRST_CHANNEL, FIRST_ROW)
                   PRODUCTS("vmladava.s16", "subs %[more], #1\n\t", "")
                   "bne 3b\n"
                   "4:\n\t"
                   "vmov q0[2], q0[0], %[sum0], %[sum2]\n\t"
                   "vmov q0[3], q0[1], %[sum1], %[sum3]\n\t"
                   "vldrw.32 q2, [%[pairs], #28]\n\t"
                   "vmov q1[2], q1[0], %[sum4], %[sum6]\n\t"
                   "vmov q1[3], q1[1], %[sum5], %[sum7]\n\t"
                   "vadd.i32 q0, q0, q2\n\t"
                   "ldrd %[sum0], %[sum2], [%[pairs], #8]\n\t"
                   "vadd.i32 q1, q1, q2\n\t"
                   "ldrd %[sum4], %[sum6], [%[pairs], #16]\n\t"
                   "vmulh.s32 q0, q0, %q[mantissa]\n\t"
                   "vmulh.s32 q1, q1, %q[mantissa]\n\t"
                   "vrshl.s32 q0, q0, %q[shift]\n\t"
                   "vrshl.s32 q1, q1, %q[shift]\n\t"
                   "vmax.s32 q0, q0, %q[low]\n\t"
                   "vmax.s32 q1, q1, %q[low]\n\t"
                   "vmin.s32 q0, q0, %q[high]\n\t"
                   "vmin.s32 q1, q1, %q[high]\n\t"
                   "vpst\n\t"
                   "vstrht.32 q0, [%[sum0]]\n\t"
                   "add %[sum0], %[sum2]\n\t"
                   "vpst\n\t"
                   "vstrht.32 q1, [%[sum0]]\n\t"
                   "add %[sum0], %[sum2]\n\t"
                   "str %[sum0], [%[pairs], #8]\n\t"
                   "add %[row0], %[sum4]\n\t"
                   "add %[row1], %[sum4]\n\t"
                   "cmp %[row0], %[sum6]\n\t"
                   "bne 1b"
                   : [row0] "+r"(row0), [row1] "+r"(row1), [weights] "=&l"(weights),
                     [more] "=&l"(more), [sum0] "=&r"(sum0), [sum1] "=&r"(sum1), [sum2] "=&r"(sum2),
                     [sum3] "=&r"(sum3), [sum4] "=&r"(sum4), [sum5] "=&r"(sum5),
                     [sum6] "=&r"(sum6), [sum7] "=&r"(sum7)
                   : [pairs] "r"(pairs), [mantissa] "w"(mantissa), [shift] "w"(shift),
                     [low] "w"(low), [high] "w"(high)
                   : "q0", "q1", "q2", "q3", "cc", "memory" ETHOSGEN_P0);
}

/* Return the number of rows that can be read in whole vectors. */
static inline int32_t readable(const struct ethosgen_rows *rows, int32_t row_bytes)
{
    int32_t rest = rows->bytes - row_bytes;
    int32_t count = rest < 0 ? 0 : rest / rows->step + 1;

    return count < rows->count ? count : rows->count;
}

void ethosgen_rows_s16(const struct ethosgen_rows *rows, const int8_t *weights,
                       const int32_t *scales, const struct ethosgen_matrix *matrix)
{
    int32_t block_bytes = ethosgen_block_bytes_s16(matrix->depth);
    int32_t row_bytes = block_bytes / BLOCK * (int32_t)sizeof(int16_t);
    int32_t count = rows->count > 1 ? readable(rows, row_bytes) & ~1 : 0;
    const int32_t *block_scales = scales;
    struct pairs pairs = {
        .weights = weights,
        .more = row_bytes / VECTOR_BYTES - 1,
        .output_step = rows->output_step,
        .advance = 2 * rows->step - row_bytes,
        .end = rows->first + count * rows->step,
    };

    for (int32_t channel = 0; channel < matrix->channels && count > 0; channel += BLOCK) {
        pairs.inside = vctp32q((uint32_t)matrix->channels - (uint32_t)channel);
        pairs.output = rows->output + channel * (int32_t)sizeof(int16_t);
        vstrwq_s32(pairs.bias, vldrwq_s32(block_scales));
        multiply_pairs(rows->first, rows->step, block_scales, &pairs, &matrix->output);
        pairs.weights += block_bytes;
        block_scales += SCALES;
    }
    for (int32_t row = count; row < rows->count; row++) {
        multiply_row((int16_t *)(void *)(rows->output + row * rows->output_step),
                     (const int16_t *)(const void *)(rows->first + row * rows->step), weights,
                     scales, matrix);
    }
}

void ethosgen_row_s16(int16_t *output, const int16_t *row, const int8_t *weights,
                      const int32_t *scales, const struct ethosgen_matrix *shape)
{
    multiply_row(output, row, weights, scales, shape);
}
#else
void ethosgen_rows_s16(const struct ethosgen_rows *rows, const int8_t *weights,
                       const int32_t *scales, const struct ethosgen_matrix *matrix)
{
    int32_t depth = matrix->depth, block_bytes = ethosgen_block_bytes_s16(depth);

    for (int32_t row = 0; row < rows->count; row++) {
        const int16_t *values = (const int16_t *)(const void *)(rows->first + row * rows->step);
        int16_t *output = (int16_t *)(void *)(rows->output + row * rows->output_step);

        for (int32_t channel = 0; channel < matrix->channels; channel++) {
            int32_t block = channel / BLOCK, lane = channel % BLOCK;
            const int32_t *scale = scales + block * SCALES + lane;
            int32_t value = ethosgen_sum_s16(values, weights + block * block_bytes + lane * LANES,
                                             depth);

            value = ethosgen_rescale_once(value + scale[0], scale[BLOCK], scale[2 * BLOCK]);
            value = value < matrix->output.low ? matrix->output.low : value;
            output[channel] = (int16_t)(value > matrix->output.high ? matrix->output.high : value);
        }
    }
}

void ethosgen_row_s16(int16_t *output, const int16_t *row, const int8_t *weights,
                      const int32_t *scales, const struct ethosgen_matrix *matrix)
{
    ethosgen_matrix_s16(output, row, weights, scales, matrix);
}
#endif

void ethosgen_matrix_s16(int16_t *output, const int16_t *rows, const int8_t *weights,
                         const int32_t *scales, const struct ethosgen_matrix *matrix)
{
    int32_t row_bytes = matrix->depth * (int32_t)sizeof(int16_t);
    struct ethosgen_rows all = {
        .first = (const int8_t *)rows,
        .count = matrix->rows,
        .step = row_bytes,
        .bytes = matrix->rows * row_bytes,
        .output = (int8_t *)output,
        .output_step = matrix->channels * (int32_t)sizeof(int16_t),
    };

    ethosgen_rows_s16(&all, weights, scales, matrix);
}
