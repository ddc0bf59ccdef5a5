/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * int16 rows times int8 weights, with sums of 64 bits: layers of many products, or with large biases
 * or factors. See ethosgen_kernels_s16.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_sums_s16.h"
#include "ethosgen_wide.h"

enum { LANES = ETHOSGEN_LANES_S16, BLOCK = ETHOSGEN_BLOCK_S16 };

#if ETHOSGEN_MVE
/* Compute the sums of 4 channels, and move `weights` past them: see ethosgen_sums_s16_x4. */
static inline void sum_block(int64_t totals[BLOCK], const int16_t *row, const int8_t *weights,
                             int32_t depth)
{
    int64_t sum0 = 0, sum1 = 0, sum2 = 0, sum3 = 0;

    /* q0: a vector of the row. q1 to q3: weights. lr: elements left. */
    __asm volatile("dlstp.16 lr, %[depth]\n"
                   "1:\n\t"
                   "vldrh.16 q0, [%[row]], #16\n\t"
                   "vldrb.s16 q1, [%[weights]], #8\n\t"
                   "vmlaldava.s16 %Q[sum0], %R[sum0], q0, q1\n\t"
                   "vldrb.s16 q2, [%[weights]], #8\n\t"
                   "vmlaldava.s16 %Q[sum1], %R[sum1], q0, q2\n\t"
                   "vldrb.s16 q3, [%[weights]], #8\n\t"
                   "vmlaldava.s16 %Q[sum2], %R[sum2], q0, q3\n\t"
                   "vldrb.s16 q1, [%[weights]], #8\n\t"
                   "vmlaldava.s16 %Q[sum3], %R[sum3], q0, q1\n\t"
                   "letp lr, 1b"
                   : [row] "+r"(row), [weights] "+l"(weights), [sum0] "+r"(sum0),
                     [sum1] "+r"(sum1), [sum2] "+r"(sum2), [sum3] "+r"(sum3)
                   : [depth] "r"(depth)
                   : "q0", "q1", "q2", "q3", "lr", "memory");
    totals[0] = sum0;
    totals[1] = sum1;
    totals[2] = sum2;
    totals[3] = sum3;
}
#else
static inline void sum_block(int64_t totals[BLOCK], const int16_t *row, const int8_t *weights,
                             int32_t depth)
{
    for (int32_t lane = 0; lane < BLOCK; lane++) {
        totals[lane] = 0;
        for (int32_t k = 0; k < depth; k++) {
            totals[lane] += row[k] * weights[k / LANES * LANES * BLOCK + lane * LANES + k % LANES];
        }
    }
}
#endif

/* Compute up to 4 channels of a row. */
static inline void multiply_block(int16_t *output, const int16_t *row, const int8_t *weights,
                                  const int32_t *scales, int32_t channels,
                                  const struct ethosgen_matrix *matrix)
{
    int64_t totals[BLOCK];

    sum_block(totals, row, weights, matrix->depth);
    for (int32_t lane = 0; lane < channels; lane++) {
        output[lane] = ethosgen_wide_output(totals[lane], scales, matrix->output.low,
                                            matrix->output.high);
        scales += ETHOSGEN_WIDE_SCALES;
    }
}

void ethosgen_rows_wide_s16(const struct ethosgen_rows *rows, const int8_t *weights,
                            const int32_t *scales, const struct ethosgen_matrix *matrix)
{
    int32_t block_bytes = ethosgen_block_bytes_s16(matrix->depth);

    for (int32_t row = 0; row < rows->count; row++) {
        const int16_t *values = (const int16_t *)(const void *)(rows->first + row * rows->step);
        int16_t *output = (int16_t *)(void *)(rows->output + row * rows->output_step);
        const int8_t *block = weights;
        const int32_t *scale = scales;

        for (int32_t left = matrix->channels; left > 0; left -= BLOCK) {
            multiply_block(output, values, block, scale, left < BLOCK ? left : BLOCK, matrix);
            output += BLOCK;
            block = &block[block_bytes];
            scale = &scale[BLOCK * ETHOSGEN_WIDE_SCALES];
        }
    }
}

void ethosgen_matrix_wide_s16(int16_t *output, const int16_t *rows, const int8_t *weights,
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

    ethosgen_rows_wide_s16(&all, weights, scales, matrix);
}
