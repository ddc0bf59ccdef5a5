/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows times weights: fully connected layers and convolutions. See ethosgen_kernels.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_sums.h"

#include <stdbool.h>
#include <stddef.h>

enum { LANES = 16, BLOCK = 4, SCALES = 3 * BLOCK };

#if ETHOSGEN_MVE
/* Compute a row of any length, and read no byte after it. */
static void multiply_row(int8_t *output, const int8_t *row, const int8_t *weights,
                         const int32_t *scales, const struct ethosgen_matrix *matrix)
{
    int32x4_t zero_point = vdupq_n_s32(matrix->output.zero_point), values;
    int32x4_t low = vdupq_n_s32(matrix->output.low), high = vdupq_n_s32(matrix->output.high);
    const int8_t *end = output + matrix->channels;
    int32_t depth = matrix->depth;

    for (;; output += BLOCK) {
        values = ethosgen_sums_x4(row, &weights, scales, depth);
        values = ethosgen_requantize_x4(values, vldrwq_s32(scales + BLOCK),
                                        vldrwq_s32(scales + 2 * BLOCK));
        values = vminq_s32(vmaxq_s32(vaddq_s32(values, zero_point), low), high);
        if (end - output <= BLOCK) {
            break;
        }
        vstrbq_s32(output, values);
        scales += SCALES;
    }
    vstrbq_p_s32(output, values, vctp32q((uint32_t)(end - output)));
}

/* What the loops over rows read and change, at the offsets that they use. */
struct job {
    const int8_t *weights;
    int32_t more; /* vectors after the first two */
    int32_t advance; /* bytes from the end of a row to the next but one */
    int32_t output_step;
    const int8_t *row0, *row1;
    int8_t *output;
    int32_t count; /* pairs of rows, or rows of one vector */
    const int32_t *scales;
    int32_t channels; /* left */
    int32_t unshifted; /* the rounding with a shift of -1 */
    int32_t block_bytes; /* of the weights of 4 channels */
};

#define PLACE(member) ((uint32_t)offsetof(struct job, member))
_Static_assert(PLACE(row0) == 16u && PLACE(output) == 24u && PLACE(scales) == 32u
                   && PLACE(block_bytes) == 44u, "the assembly has these offsets");

/*
 * Compute pairs of rows of at least two vectors, 4 channels at a time.
 *
 * r1, r3: rows. r9: weights. r0, r2, r4, r6: the first row's sums. r8, r10, r12, lr: the second's.
 * r7: output. r5: pairs. r11: vectors, steps. q0, q1: a vector of each row. q2, q3: weights.
 * q4, q5: the sums of the pair before. q6: mantissas. q7: shifts. The stack has the first 16 bytes of
 * the job, biases, roundings, the job's address.
 *
 * A MAC takes two cycles, and a load fits within it, but not another MAC. The sums of a pair are
 * requantized (1) while the next pair's first vector is multiplied. All even registers hold sums, so
 * the loops have no hardware support, and the inner one (3) does two vectors at a time. No load reads
 * beyond a row's last vector. (6) begins 4 channels, of which the predicate has those that exist.
 */
static ETHOSGEN_ASSEMBLY void multiply_pairs(struct job *job __attribute__((unused)))
{
    __asm volatile(
        "push {r3-r11, lr}\n\t"
        "vpush {d8-d15}\n\t"
        "sub sp, #56\n\t"
        "vldrw.32 q0, [r0]\n\t"
        "str r0, [sp, #48]\n\t"
        "vstrw.32 q0, [sp]\n\t"
        "6:\n\t"
        "ldr r11, [r0, #32]\n\t"
        "ldrd r4, r2, [r0, #36]\n\t"
        "vldrw.32 q0, [r11], #16\n\t"
        "vdup.32 q3, r2\n\t"
        "vldrw.32 q6, [r11], #16\n\t"
        "vctp.32 r4\n\t"
        "vldrw.32 q7, [r11], #16\n\t"
        "vmvn q2, q7\n\t"
        "vstrw.32 q0, [sp, #16]\n\t"
        "vshl.s32 q3, q3, q2\n\t"
        "movs r2, #24\n\t"
        "str r11, [r0, #32]\n\t"
        "vadd.i32 q7, q7, r2\n\t"
        "ldrd r1, r3, [r0, #16]\n\t"
        "subs r4, #4\n\t"
        "ldrd r7, r5, [r0, #24]\n\t"
        "str r4, [r0, #36]\n\t"
        "vstrw.32 q3, [sp, #32]\n\t"
        "ldr r9, [sp]\n\t"
        "adds r4, r7, #4\n\t"
        "ldr r11, [sp, #4]\n\t"
        "str r4, [r0, #24]\n\t"
        "vldrb.8 q0, [r1], #16\n\t"
        "adds r11, #1\n\t"
        "vldrb.8 q2, [r9], #16\n\t"
        "movs r0, #0\n\t"
        "movs r2, #0\n\t"
        "movs r4, #0\n\t"
        "movs r6, #0\n\t"
        "mov r8, r0\n\t"
        "mov r10, r0\n\t"
        "mov r12, r0\n\t"
        "mov lr, r0\n\t"
        "lsrs r11, #1\n\t"
        "b 2f\n\t"
        "1:\n\t"
        "vmov q4[2], q4[0], r0, r4\n\t"
        "vmov q5[2], q5[0], r8, r12\n\t"
        "vmov q4[3], q4[1], r2, r6\n\t"
        "vmov q5[3], q5[1], r10, lr\n\t"
        "vldrw.32 q3, [sp, #16]\n\t"
        "vadd.i32 q4, q4, q3\n\t"
        "vldrb.8 q0, [r1], #16\n\t"
        "vadd.i32 q5, q5, q3\n\t"
        "vldrw.32 q3, [sp, #32]\n\t"
        "vsri.32 q3, q4, #31\n\t"
        "vqrdmulh.s32 q4, q4, q6\n\t"
        "vldrb.8 q2, [r9], #16\n\t"
        "vqsub.s32 q4, q4, q3\n\t"
        "vldrw.32 q3, [sp, #32]\n\t"
        "vsri.32 q3, q5, #31\n\t"
        "vqrdmulh.s32 q5, q5, q6\n\t"
        "vqshl.s32 q4, q4, q7\n\t"
        "vldrb.8 q1, [r3], #16\n\t"
        "vqsub.s32 q5, q5, q3\n\t"
        "vmladav.s8 r0, q0, q2\n\t"
        "vqshl.s32 q5, q5, q7\n\t"
        "vmladav.s8 r8, q1, q2\n\t"
        "vshr.u32 q4, q4, #24\n\t"
        "ldr r11, [sp, #12]\n\t"
        "vldrb.8 q2, [r9], #16\n\t"
        "vmladav.s8 r2, q0, q2\n\t"
        "vpst\n\t"
        "vstrbt.32 q4, [r7]\n\t"
        "vmladav.s8 r10, q1, q2\n\t"
        "vshr.u32 q5, q5, #24\n\t"
        "add r7, r11\n\t"
        "vldrb.8 q2, [r9], #16\n\t"
        "vmladav.s8 r4, q0, q2\n\t"
        "vpst\n\t"
        "vstrbt.32 q5, [r7]\n\t"
        "vmladav.s8 r12, q1, q2\n\t"
        "add r7, r11\n\t"
        "vldrb.8 q2, [r9], #16\n\t"
        "ldr r11, [sp, #4]\n\t"
        "vmladav.s8 r6, q0, q2\n\t"
        "vldrb.8 q0, [r1], #16\n\t"
        "vmladav.s8 lr, q1, q2\n\t"
        "vldrb.8 q2, [r9], #16\n\t"
        "lsrs r11, #1\n\t"
        "2:\n\t"
        "bcs 4f\n\t"
        "subs r11, #1\n\t"
        "bcc 5f\n\t"
        "3:\n\t"
        "vmladava.s8 r0, q0, q2\n\t"
        "vldrb.8 q1, [r3], #16\n\t"
        "vmladava.s8 r8, q1, q2\n\t"
        "vldrb.8 q3, [r9], #16\n\t"
        "vmladava.s8 r2, q0, q3\n\t"
        "vldrb.8 q2, [r9], #16\n\t"
        "vmladava.s8 r10, q1, q3\n\t"
        "vmladava.s8 r4, q0, q2\n\t"
        "vldrb.8 q3, [r9], #16\n\t"
        "vmladava.s8 r12, q1, q2\n\t"
        "vldrb.8 q2, [r9], #16\n\t"
        "vmladava.s8 r6, q0, q3\n\t"
        "vldrb.8 q0, [r1], #16\n\t"
        "vmladava.s8 lr, q1, q3\n\t"
        "4:\n\t"
        "vmladava.s8 r0, q0, q2\n\t"
        "vldrb.8 q1, [r3], #16\n\t"
        "vmladava.s8 r8, q1, q2\n\t"
        "vldrb.8 q3, [r9], #16\n\t"
        "vmladava.s8 r2, q0, q3\n\t"
        "vldrb.8 q2, [r9], #16\n\t"
        "vmladava.s8 r10, q1, q3\n\t"
        "subs r11, #1\n\t"
        "vmladava.s8 r4, q0, q2\n\t"
        "vldrb.8 q3, [r9], #16\n\t"
        "vmladava.s8 r12, q1, q2\n\t"
        "vldrb.8 q2, [r9], #16\n\t"
        "vmladava.s8 r6, q0, q3\n\t"
        "vldrb.8 q0, [r1], #16\n\t"
        "vmladava.s8 lr, q1, q3\n\t"
        "bcs 3b\n\t"
        "5:\n\t"
        "vldrb.8 q1, [r3], #16\n\t"
        "vmladava.s8 r0, q0, q2\n\t"
        "vldrb.8 q3, [r9], #16\n\t"
        "vmladava.s8 r8, q1, q2\n\t"
        "vldrb.8 q2, [r9], #16\n\t"
        "vmladava.s8 r2, q0, q3\n\t"
        "ldr r11, [sp, #8]\n\t"
        "vmladava.s8 r10, q1, q3\n\t"
        "vldrb.8 q3, [r9], #16\n\t"
        "vmladava.s8 r4, q0, q2\n\t"
        "add r1, r11\n\t"
        "vmladava.s8 r12, q1, q2\n\t"
        "add r3, r11\n\t"
        "vmladava.s8 r6, q0, q3\n\t"
        "ldr r9, [sp]\n\t"
        "vmladava.s8 lr, q1, q3\n\t"
        "subs r5, #1\n\t"
        "bne 1b\n\t"
        "vmov q5[2], q5[0], r8, r12\n\t"
        "vmov q4[2], q4[0], r0, r4\n\t"
        "vmov q4[3], q4[1], r2, r6\n\t"
        "vldrw.32 q3, [sp, #16]\n\t"
        "vadd.i32 q4, q4, q3\n\t"
        "vmov q5[3], q5[1], r10, lr\n\t"
        "vadd.i32 q5, q5, q3\n\t"
        "vldrw.32 q3, [sp, #32]\n\t"
        "vsri.32 q3, q4, #31\n\t"
        "vqrdmulh.s32 q4, q4, q6\n\t"
        "ldr r11, [sp, #12]\n\t"
        "vqsub.s32 q4, q4, q3\n\t"
        "vldrw.32 q3, [sp, #32]\n\t"
        "vqshl.s32 q4, q4, q7\n\t"
        "vsri.32 q3, q5, #31\n\t"
        "vqrdmulh.s32 q5, q5, q6\n\t"
        "vshr.u32 q4, q4, #24\n\t"
        "vpst\n\t"
        "vstrbt.32 q4, [r7]\n\t"
        "vqsub.s32 q5, q5, q3\n\t"
        "add r7, r11\n\t"
        "vqshl.s32 q5, q5, q7\n\t"
        "vshr.u32 q5, q5, #24\n\t"
        "vpst\n\t"
        "vstrbt.32 q5, [r7]\n\t"
        "ldr r0, [sp, #48]\n\t"
        "ldr r9, [sp]\n\t"
        "ldr r4, [r0, #36]\n\t"
        "ldr r2, [r0, #44]\n\t"
        "add r9, r2\n\t"
        "cmp r4, #0\n\t"
        "str r9, [sp]\n\t"
        "bgt 6b\n\t"
        "add sp, #56\n\t"
        "vpop {d8-d15}\n\t"
        "pop {r3-r11, pc}");
}

/*
 * Compute rows of one vector, 4 channels at a time. A row is requantized while the next is multiplied.
 *
 * r1, r3: row, its step. r5, r7: output, its step. r8: scales. r12: the job. r0, r2, r4, r6: sums. lr:
 * rows. q0 to q3: weights. q4: a row. q5: the sums of the row before. q6: constants. q7: shifts. The
 * stack has the roundings.
 */
static ETHOSGEN_ASSEMBLY void multiply_short(struct job *job __attribute__((unused)))
{
    __asm volatile(
        "push {r4-r8, lr}\n\t"
        "vpush {d8-d15}\n\t"
        "sub sp, #16\n\t"
        "mov r12, r0\n\t"
        "ldr r8, [r12, #32]\n\t"
        "ldr r7, [r12, #12]\n\t"
        "6:\n\t"
        "ldrd r4, r2, [r12, #36]\n\t"
        "vldrw.32 q7, [r8, #32]\n\t"
        "vdup.32 q6, r2\n\t"
        "ldr r6, [r12]\n\t"
        "vmvn q5, q7\n\t"
        "vctp.32 r4\n\t"
        "vshl.s32 q6, q6, q5\n\t"
        "movs r2, #24\n\t"
        "vldrb.8 q0, [r6], #16\n\t"
        "vadd.i32 q7, q7, r2\n\t"
        "vldrb.8 q1, [r6], #16\n\t"
        "subs r4, #4\n\t"
        "vldrb.8 q2, [r6], #16\n\t"
        "str r4, [r12, #36]\n\t"
        "vldrb.8 q3, [r6], #16\n\t"
        "ldrd r1, r3, [r12, #16]\n\t"
        "str r6, [r12]\n\t"
        "ldrd r5, lr, [r12, #24]\n\t"
        "vstrw.32 q6, [sp]\n\t"
        "adds r4, r5, #4\n\t"
        "vldrb.8 q4, [r1]\n\t"
        "subs r3, r3, r1\n\t"
        "str r4, [r12, #24]\n\t"
        "subs lr, #1\n\t"
        "add r1, r3\n\t"
        "vmladav.s8 r0, q0, q4\n\t"
        "vmladav.s8 r2, q1, q4\n\t"
        "vmladav.s8 r4, q2, q4\n\t"
        "vmladav.s8 r6, q3, q4\n\t"
        "wls lr, lr, 2f\n\t"
        "1:\n\t"
        "vmov q5[2], q5[0], r0, r4\n\t"
        "vmov q5[3], q5[1], r2, r6\n\t"
        "vldrw.32 q6, [r8]\n\t"
        "vadd.i32 q5, q5, q6\n\t"
        "vldrw.32 q6, [r8, #16]\n\t"
        "vqrdmulh.s32 q5, q5, q6\n\t"
        "vldrw.32 q6, [sp]\n\t"
        "vsri.32 q6, q5, #31\n\t"
        "vldrb.8 q4, [r1]\n\t"
        "vqsub.s32 q5, q5, q6\n\t"
        "vmladav.s8 r4, q2, q4\n\t"
        "vqshl.s32 q5, q5, q7\n\t"
        "vmladav.s8 r2, q1, q4\n\t"
        "vshr.u32 q5, q5, #24\n\t"
        "vpst\n\t"
        "vstrbt.32 q5, [r5]\n\t"
        "add r5, r7\n\t"
        "vmladav.s8 r0, q0, q4\n\t"
        "add r1, r3\n\t"
        "vmladav.s8 r6, q3, q4\n\t"
        "le lr, 1b\n\t"
        "2:\n\t"
        "vmov q5[2], q5[0], r0, r4\n\t"
        "vmov q5[3], q5[1], r2, r6\n\t"
        "vldrw.32 q6, [r8]\n\t"
        "vadd.i32 q5, q5, q6\n\t"
        "vldrw.32 q6, [r8, #16]\n\t"
        "vqrdmulh.s32 q5, q5, q6\n\t"
        "vldrw.32 q6, [sp]\n\t"
        "vsri.32 q6, q5, #31\n\t"
        "vqsub.s32 q5, q5, q6\n\t"
        "vqshl.s32 q5, q5, q7\n\t"
        "vshr.u32 q5, q5, #24\n\t"
        "vpst\n\t"
        "vstrbt.32 q5, [r5]\n\t"
        "ldr r4, [r12, #36]\n\t"
        "add r8, #48\n\t"
        "cmp r4, #0\n\t"
        "bgt 6b\n\t"
        "add sp, #16\n\t"
        "vpop {d8-d15}\n\t"
        "pop {r4-r8, pc}");
}

/* Return the number of rows that can be read in whole vectors. */
static __attribute__((noinline)) int32_t readable(const struct ethosgen_rows *rows, int32_t row_bytes)
{
    int32_t rest = rows->bytes - row_bytes;
    int32_t count = rest < 0 ? 0 : rest / rows->step + 1;

    return count < rows->count ? count : rows->count;
}

/* Compute some of the rows, which may end anywhere, with shifts of any size. */
static ETHOSGEN_RARE void multiply_each(int32_t row, int32_t end, const struct ethosgen_rows *rows,
                                        const int8_t *weights, const int32_t *scales,
                                        const struct ethosgen_matrix *matrix)
{
    for (; row < end; row++) {
        multiply_row(rows->output + row * rows->output_step, rows->first + row * rows->step, weights,
                     scales, matrix);
    }
}

/* Limit rows of outputs to the bounds of the layer; adjacent rows are one. */
static ETHOSGEN_RARE void limit(int32_t count, const struct ethosgen_rows *rows,
                  const struct ethosgen_matrix *matrix)
{
    int8x16_t low = vdupq_n_s8((int8_t)matrix->output.low);
    int8x16_t high = vdupq_n_s8((int8_t)matrix->output.high);
    bool is_one = rows->output_step == matrix->channels;
    int32_t bytes = is_one ? matrix->channels * count : matrix->channels;
    int8_t *row = rows->output;

    for (int32_t left = is_one ? 1 : count; left > 0; left--, row += rows->output_step) {
        ethosgen_bound(row, bytes, low, high);
    }
}

/* Compute `count` times `at_once` rows with `multiply`, and the others one by one. */
static ETHOSGEN_RARE void multiply_rows(int32_t count, int32_t at_once, void (*multiply)(struct job *job),
                                        const struct ethosgen_rows *rows, const int8_t *weights,
                                        const int32_t *scales,
                                        const struct ethosgen_matrix *matrix)
{
    int32_t vectors = (int32_t)((uint32_t)(matrix->depth + LANES - 1) / LANES);
    struct job job = {
        .weights = weights,
        .more = vectors - 2,
        .advance = 2 * rows->step - vectors * LANES,
        .output_step = rows->output_step,
        .row0 = rows->first,
        .row1 = rows->first + rows->step,
        .output = rows->output,
        .count = matrix->has_common_shifts ? count : 0,
        .scales = scales,
        .channels = matrix->channels,
        .unshifted = -2 * matrix->output.zero_point - 1,
        .block_bytes = vectors * LANES * BLOCK,
    };

    count = job.count * at_once;
    if (count > 0) {
        multiply(&job);
        if (matrix->output.low > INT8_MIN || matrix->output.high < INT8_MAX) {
            limit(count, rows, matrix);
        }
    }
    multiply_each(count, rows->count, rows, weights, scales, matrix);
}

/* multiply_each, or the function below, computes rows of one vector. */
void ethosgen_rows_s8(const struct ethosgen_rows *rows, const int8_t *weights,
                      const int32_t *scales, const struct ethosgen_matrix *matrix)
{
    int32_t row_bytes = (matrix->depth + LANES - 1) & -LANES;
    int32_t count = row_bytes > LANES ? readable(rows, row_bytes) : 0;

    multiply_rows(count >> 1, 2, multiply_pairs, rows, weights, scales, matrix);
}

void ethosgen_rows_short_s8(const struct ethosgen_rows *rows, const int8_t *weights,
                            const int32_t *scales, const struct ethosgen_matrix *matrix)
{
    multiply_rows(readable(rows, LANES), 1, multiply_short, rows, weights, scales, matrix);
}

void ethosgen_row_s8(int8_t *output, const int8_t *row, const int8_t *weights,
                     const int32_t *scales, const struct ethosgen_matrix *shape)
{
    multiply_row(output, row, weights, scales, shape);
}
#else
void ethosgen_rows_s8(const struct ethosgen_rows *rows, const int8_t *weights,
                      const int32_t *scales, const struct ethosgen_matrix *matrix)
{
    int32_t depth = matrix->depth;
    int32_t block_bytes = (depth + LANES - 1) / LANES * LANES * BLOCK;

    for (int32_t row = 0; row < rows->count; row++) {
        const int8_t *values = rows->first + row * rows->step;
        int8_t *output = rows->output + row * rows->output_step;

        for (int32_t channel = 0; channel < matrix->channels; channel++) {
            int32_t lane = channel % BLOCK;
            const int8_t *vector = weights + channel / BLOCK * block_bytes + lane * LANES;
            const int32_t *scale = scales + channel / BLOCK * SCALES + lane;
            int32_t sum = scale[0];

            for (int32_t k = 0; k < depth; k++) {
                sum += values[k] * vector[k / LANES * LANES * BLOCK + k % LANES];
            }
            output[channel] = ethosgen_clamp(
                ethosgen_requantize(sum, scale[BLOCK], scale[2 * BLOCK]), &matrix->output);
        }
    }
}

void ethosgen_rows_short_s8(const struct ethosgen_rows *rows, const int8_t *weights,
                            const int32_t *scales, const struct ethosgen_matrix *matrix)
{
    ethosgen_rows_s8(rows, weights, scales, matrix);
}

void ethosgen_row_s8(int8_t *output, const int8_t *row, const int8_t *weights,
                     const int32_t *scales, const struct ethosgen_matrix *matrix)
{
    ethosgen_matrix_s8(output, row, weights, scales, matrix);
}
#endif

/* Return the rows of a matrix, which are adjacent. */
static inline struct ethosgen_rows rows_of(int8_t *output, const int8_t *rows,
                                           const struct ethosgen_matrix *matrix)
{
    return (struct ethosgen_rows){
        .first = rows,
        .count = matrix->rows,
        .step = matrix->depth,
        .bytes = matrix->rows * matrix->depth,
        .output = output,
        .output_step = matrix->channels,
    };
}

void ethosgen_matrix_s8(int8_t *output, const int8_t *rows, const int8_t *weights,
                        const int32_t *scales, const struct ethosgen_matrix *matrix)
{
    struct ethosgen_rows all = rows_of(output, rows, matrix);

    ethosgen_rows_s8(&all, weights, scales, matrix);
}

void ethosgen_matrix_short_s8(int8_t *output, const int8_t *rows, const int8_t *weights,
                              const int32_t *scales, const struct ethosgen_matrix *matrix)
{
    struct ethosgen_rows all = rows_of(output, rows, matrix);

    ethosgen_rows_short_s8(&all, weights, scales, matrix);
}
