/*
 * int16 rows times int8 weights, with sums of 64 bits: layers of many products, or with large biases
 * or factors. See ethosgen_kernels_s16.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_sums_s16.h"
#include "ethosgen_wide.h"

enum { LANES = ETHOSGEN_LANES_S16, BLOCK = ETHOSGEN_BLOCK_S16 };

/* The most products whose sum always fits in 32 bits, a multiple of 8: 504 * 2^7 * 2^15 < 2^31. */
enum { PART = 504 };

/* Compute up to 4 channels of a row. */
static inline void multiply_block(int16_t *output, const int16_t *row, const int8_t *weights,
                                  const int32_t *scales, int32_t channels,
                                  const struct ethosgen_matrix *matrix)
{
    int64_t totals[BLOCK] = {0};

    for (int32_t left = matrix->depth; left > 0; left -= PART, row += PART) {
        int32_t depth = left < PART ? left : PART;
        int32_t sums[BLOCK];

#if ETHOSGEN_MVE
        vstrwq_s32(sums, ethosgen_sums_s16_x4(row, &weights, depth));
#else
        for (int32_t lane = 0; lane < BLOCK; lane++) {
            sums[lane] = ethosgen_sum_s16(row, weights + lane * LANES, depth);
        }
        weights += ethosgen_block_bytes_s16(depth);
#endif
        for (int32_t lane = 0; lane < BLOCK; lane++) {
            totals[lane] += sums[lane];
        }
    }
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
            block += block_bytes;
            scale += BLOCK * ETHOSGEN_WIDE_SCALES;
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
