/*
 * int16 rows times int8 weights: fully connected layers and convolutions. See ethosgen_kernels.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_wide.h"

enum { LANES = 8, BLOCK = 4 };

#if ETHOSGEN_MVE
/*
 * The sums of 4 channels, 32 products in 10 instructions. In assembly, since the compiler does not
 * generate tail-predicated loops.
 */
static inline void sums(const int16_t *row, const int8_t *weights, int32_t depth,
                        int32_t totals[BLOCK])
{
    int32_t sum0 = 0, sum1 = 0, sum2 = 0, sum3 = 0;

    __asm volatile("dlstp.16 lr, %[depth]\n"
                   "1:\n\t"
                   "vldrh.16 q0, [%[row]], #16\n\t"
                   "vldrb.s16 q1, [%[weights]], #8\n\t"
                   "vmladava.s16 %[sum0], q0, q1\n\t"
                   "vldrb.s16 q2, [%[weights]], #8\n\t"
                   "vmladava.s16 %[sum1], q0, q2\n\t"
                   "vldrb.s16 q3, [%[weights]], #8\n\t"
                   "vmladava.s16 %[sum2], q0, q3\n\t"
                   "vldrb.s16 q1, [%[weights]], #8\n\t"
                   "vmladava.s16 %[sum3], q0, q1\n\t"
                   "letp lr, 1b"
                   : [row] "+r"(row), [weights] "+l"(weights), [sum0] "+Te"(sum0),
                     [sum1] "+Te"(sum1), [sum2] "+Te"(sum2), [sum3] "+Te"(sum3)
                   : [depth] "r"(depth)
                   : "q0", "q1", "q2", "q3", "lr", "memory");
    totals[0] = sum0;
    totals[1] = sum1;
    totals[2] = sum2;
    totals[3] = sum3;
}
#else
static inline void sums(const int16_t *row, const int8_t *weights, int32_t depth,
                        int32_t totals[BLOCK])
{
    for (int32_t lane = 0; lane < BLOCK; lane++) {
        totals[lane] = 0;
        for (int32_t k = 0; k < depth; k++) {
            totals[lane] += row[k] * weights[(k / LANES * BLOCK + lane) * LANES + k % LANES];
        }
    }
}
#endif

void ethosgen_matrix_s16(int16_t *output, const void *rows, const int8_t *weights,
                         const int32_t *scales, const int32_t *shape)
{
    const struct ethosgen_matrix *matrix = (const struct ethosgen_matrix *)shape;
    int32_t depth = matrix->depth, low = matrix->output.low, high = matrix->output.high;
    int32_t block_bytes = (depth + LANES - 1) / LANES * LANES * BLOCK;
    const int16_t *row = rows;

    for (int32_t left = matrix->rows; left > 0; left--, row += depth) {
        const int8_t *block = weights;
        const int32_t *scale = scales;
        const int16_t *end = output + matrix->channels;

        while (output < end) {
            int32_t totals[BLOCK];

            sums(row, block, depth, totals);
            for (int32_t lane = 0; lane < BLOCK && output < end; lane++) {
                *output++ = ethosgen_wide_output(totals[lane], scale, low, high);
                scale += ETHOSGEN_WIDE_SCALES;
            }
            block += block_bytes;
        }
    }
}
