/*
 * Rows times weights: fully connected layers and convolutions. See ethosgen_kernels.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_requantize.h"

enum { LANES = 16, BLOCK = 4, SCALES = 3 * BLOCK };

#if ETHOSGEN_MVE
/*
 * The sums of 4 channels: one vector of the row and four of weights, 64 products in 10 instructions.
 * In assembly, since the compiler generates neither tail-predicated loops nor moves of two lanes.
 */
static inline int32x4_t sums(const int8_t *row, const int8_t *weights, const int32_t *bias,
                             int32_t depth)
{
    int32_t sum0 = bias[0], sum1 = bias[1], sum2 = bias[2], sum3 = bias[3];
    int32x4_t all;

    __asm volatile("dlstp.8 lr, %[depth]\n"
                   "1:\n\t"
                   "vldrb.8 q0, [%[row]], #16\n\t"
                   "vldrb.8 q1, [%[weights]], #16\n\t"
                   "vmladava.s8 %[sum0], q0, q1\n\t"
                   "vldrb.8 q2, [%[weights]], #16\n\t"
                   "vmladava.s8 %[sum1], q0, q2\n\t"
                   "vldrb.8 q3, [%[weights]], #16\n\t"
                   "vmladava.s8 %[sum2], q0, q3\n\t"
                   "vldrb.8 q1, [%[weights]], #16\n\t"
                   "vmladava.s8 %[sum3], q0, q1\n\t"
                   "letp lr, 1b\n\t"
                   "vmov %q[all][2], %q[all][0], %[sum0], %[sum2]\n\t"
                   "vmov %q[all][3], %q[all][1], %[sum1], %[sum3]"
                   : [all] "=w"(all), [row] "+r"(row), [weights] "+r"(weights), [sum0] "+Te"(sum0),
                     [sum1] "+Te"(sum1), [sum2] "+Te"(sum2), [sum3] "+Te"(sum3)
                   : [depth] "r"(depth)
                   : "q0", "q1", "q2", "q3", "lr", "memory");
    return all;
}

static inline int32x4_t block(const int8_t *row, const int8_t *weights, const int32_t *scales,
                              int32_t depth, int32x4_t zero_point, int32x4_t low, int32x4_t high)
{
    int32x4_t values = ethosgen_requantize_x4(sums(row, weights, scales, depth),
                                              vldrwq_s32(scales + BLOCK),
                                              vldrwq_s32(scales + 2 * BLOCK));

    return vminq_s32(vmaxq_s32(vaddq_s32(values, zero_point), low), high);
}

static void multiply_row(int8_t *output, const int8_t *row, const int8_t *weights,
                         const int32_t *scales, const struct ethosgen_matrix *matrix)
{
    int32_t depth = matrix->depth, block_bytes = (depth + LANES - 1) / LANES * LANES * BLOCK;
    int32x4_t zero_point = vdupq_n_s32(matrix->output.zero_point);
    int32x4_t low = vdupq_n_s32(matrix->output.low), high = vdupq_n_s32(matrix->output.high);
    int32_t rest = matrix->channels % BLOCK;

    for (const int8_t *end = output + matrix->channels - rest; output < end; output += BLOCK) {
        vstrbq_s32(output, block(row, weights, scales, depth, zero_point, low, high));
        weights += block_bytes;
        scales += SCALES;
    }
    if (rest != 0) {
        vstrbq_p_s32(output, block(row, weights, scales, depth, zero_point, low, high),
                     vctp32q((uint32_t)rest));
    }
}

void ethosgen_matrix_s8(int8_t *output, const int8_t *rows, const int8_t *weights,
                        const int32_t *scales, const int32_t *shape)
{
    const struct ethosgen_matrix *matrix = (const struct ethosgen_matrix *)shape;

    for (int32_t left = matrix->rows; left > 0; left--) {
        multiply_row(output, rows, weights, scales, matrix);
        output += matrix->channels;
        rows += matrix->depth;
    }
}
#else
void ethosgen_matrix_s8(int8_t *output, const int8_t *rows, const int8_t *weights,
                        const int32_t *scales, const int32_t *shape)
{
    const struct ethosgen_matrix *matrix = (const struct ethosgen_matrix *)shape;
    int32_t depth = matrix->depth;
    int32_t block_bytes = (depth + LANES - 1) / LANES * LANES * BLOCK;

    for (int32_t row = 0; row < matrix->rows; row++, rows += depth) {
        for (int32_t channel = 0; channel < matrix->channels; channel++) {
            int32_t lane = channel % BLOCK;
            const int8_t *vector = weights + channel / BLOCK * block_bytes + lane * LANES;
            const int32_t *scale = scales + channel / BLOCK * SCALES + lane;
            int32_t sum = scale[0];

            for (int32_t k = 0; k < depth; k++) {
                sum += rows[k] * vector[k / LANES * LANES * BLOCK + k % LANES];
            }
            *output++ = ethosgen_clamp(
                ethosgen_requantize(sum, scale[BLOCK], scale[2 * BLOCK]), &matrix->output);
        }
    }
}
#endif
