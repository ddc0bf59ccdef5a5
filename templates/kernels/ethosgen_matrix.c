/*
 * Rows times weights: fully connected layers and convolutions. See ethosgen_kernels.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_sums.h"

enum { LANES = 16, BLOCK = 4, SCALES = 3 * BLOCK };

#if ETHOSGEN_MVE
/* Compute a row of any length, and read no byte behind it. */
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

/* 16 products of two rows (q0, q1) with each of 4 channels. */
#define PRODUCTS(multiply)                                  \
    "vldrb.8 q0, [%[row0]], #16\n\t"                        \
    "vldrb.8 q2, [%[weights]], #16\n\t"                     \
    "vldrb.8 q1, [%[row1]], #16\n\t"                        \
    multiply " %[sum0], q0, q2\n\t"                         \
    "vldrb.8 q3, [%[weights]], #16\n\t"                     \
    multiply " %[sum4], q1, q2\n\t"                         \
    multiply " %[sum1], q0, q3\n\t"                         \
    "vldrb.8 q2, [%[weights]], #16\n\t"                     \
    multiply " %[sum5], q1, q3\n\t"                         \
    multiply " %[sum2], q0, q2\n\t"                         \
    "vldrb.8 q3, [%[weights]], #16\n\t"                     \
    multiply " %[sum6], q1, q2\n\t"                         \
    multiply " %[sum3], q0, q3\n\t"                         \
    multiply " %[sum7], q1, q3\n\t"

/* What the loop over pairs of rows keeps in memory. */
struct pairs {
    const int8_t *weights;
    int32_t more; /* vectors behind the first */
    int8_t *output;
    int32_t output_step;
    int32_t advance; /* bytes from the end of a row to the next but one */
    int32_t zero_point;
    int32_t low[BLOCK];
    int32_t high[BLOCK];
    int32_t bias[BLOCK];
    uint32_t inside; /* predicate: the channels that there are */
};

/*
 * Compute `count` pairs of rows for 4 channels. All even registers hold sums, so the loops have no
 * hardware support, and the inner one does two vectors at a time. Not inline, as multiply_short.
 */
static __attribute__((noinline)) void multiply_pairs(const int8_t *row, int32_t step,
                                                     const int32_t *scales, struct pairs *pairs,
                                                     int32_t count)
{
    int32x4_t mantissa = vldrwq_s32(scales + BLOCK), shift = vldrwq_s32(scales + 2 * BLOCK);
    const int8_t *row0 = row, *row1 = row + step, *weights;
    register int32_t sum0 __asm("r0"), sum1 __asm("r2"), sum2 __asm("r4"), sum3 __asm("r6");
    register int32_t sum4 __asm("r8"), sum5 __asm("r10"), sum6 __asm("r12"), sum7 __asm("lr");
    int32_t more;

    __asm volatile("ldr %[weights], [%[pairs], #72]\n\t"
                   "vmsr p0, %[weights]\n"
                   "1:\n\t"
                   "ldr %[weights], [%[pairs]]\n\t"
                   "ldr %[more], [%[pairs], #4]\n\t"
                   PRODUCTS("vmladav.s8")
                   "lsrs %[more], #1\n\t"
                   "bcc 2f\n\t"
                   PRODUCTS("vmladava.s8")
                   "2:\n\t"
                   "cbz %[more], 4f\n"
                   "3:\n\t"
                   PRODUCTS("vmladava.s8")
                   PRODUCTS("vmladava.s8")
                   "subs %[more], #1\n\t"
                   "bne 3b\n"
                   "4:\n\t"
                   "vmov q0[2], q0[0], %[sum0], %[sum2]\n\t"
                   "vmov q0[3], q0[1], %[sum1], %[sum3]\n\t"
                   "vmov q1[2], q1[0], %[sum4], %[sum6]\n\t"
                   "vmov q1[3], q1[1], %[sum5], %[sum7]\n\t"
                   "vldrw.32 q2, [%[pairs], #56]\n\t"
                   "vadd.i32 q0, q0, q2\n\t"
                   "ldrd %[sum0], %[sum2], [%[pairs], #8]\n\t"
                   "vadd.i32 q1, q1, q2\n\t"
                   "ldrd %[sum4], %[sum6], [%[pairs], #16]\n\t"
                   "vqrdmulh.s32 q0, q0, %q[mantissa]\n\t"
                   "vqrdmulh.s32 q1, q1, %q[mantissa]\n\t"
                   "vand q2, q0, %q[shift]\n\t"
                   "vand q3, q1, %q[shift]\n\t"
                   "vshr.s32 q2, q2, #31\n\t"
                   "vshr.s32 q3, q3, #31\n\t"
                   "vadd.i32 q0, q0, q2\n\t"
                   "vldrw.32 q2, [%[pairs], #24]\n\t"
                   "vadd.i32 q1, q1, q3\n\t"
                   "vldrw.32 q3, [%[pairs], #40]\n\t"
                   "vrshl.s32 q0, q0, %q[shift]\n\t"
                   "vrshl.s32 q1, q1, %q[shift]\n\t"
                   "vadd.i32 q0, q0, %[sum6]\n\t"
                   "vadd.i32 q1, q1, %[sum6]\n\t"
                   "vmax.s32 q0, q0, q2\n\t"
                   "vmax.s32 q1, q1, q2\n\t"
                   "vmin.s32 q0, q0, q3\n\t"
                   "vmin.s32 q1, q1, q3\n\t"
                   "vpst\n\t"
                   "vstrbt.32 q0, [%[sum0]]\n\t"
                   "add %[sum0], %[sum2]\n\t"
                   "vpst\n\t"
                   "vstrbt.32 q1, [%[sum0]]\n\t"
                   "add %[sum0], %[sum2]\n\t"
                   "str %[sum0], [%[pairs], #8]\n\t"
                   "add %[row0], %[sum4]\n\t"
                   "add %[row1], %[sum4]\n\t"
                   "subs %[count], #1\n\t"
                   "bne 1b"
                   : [row0] "+r"(row0), [row1] "+r"(row1), [weights] "=&r"(weights),
                     [more] "=&l"(more), [count] "+r"(count), [sum0] "=&r"(sum0),
                     [sum1] "=&r"(sum1), [sum2] "=&r"(sum2), [sum3] "=&r"(sum3),
                     [sum4] "=&r"(sum4), [sum5] "=&r"(sum5), [sum6] "=&r"(sum6),
                     [sum7] "=&r"(sum7)
                   : [pairs] "r"(pairs), [mantissa] "w"(mantissa), [shift] "w"(shift)
                   : "q0", "q1", "q2", "q3", "cc", "memory" ETHOSGEN_P0);
}

/*
 * Rows of one vector: the weights of 4 channels, mantissas and shifts stay in registers. Not inline,
 * since it needs almost all of them.
 */
static __attribute__((noinline)) void multiply_short(int8_t *output, const int8_t *row,
                                                     const int8_t *weights, const int32_t *scales,
                                                     const struct ethosgen_rows *rows,
                                                     const struct ethosgen_matrix *matrix,
                                                     int32_t count, uint32_t inside)
{
    int8x16_t weight0 = vldrbq_s8(weights), weight1 = vldrbq_s8(weights + LANES);
    int8x16_t weight2 = vldrbq_s8(weights + 2 * LANES), weight3 = vldrbq_s8(weights + 3 * LANES);
    int32x4_t mantissa = vldrwq_s32(scales + BLOCK), shift = vldrwq_s32(scales + 2 * BLOCK);
    int32_t sum0, sum1, sum2, sum3, zero_point = matrix->output.zero_point;
    register int32_t left __asm("lr") = count;

    __asm volatile("vmsr p0, %[inside]\n\t"
                   "dls lr, lr\n"
                   "1:\n\t"
                   "vldrb.8 q4, [%[row]]\n\t"
                   "add %[row], %[step]\n\t"
                   "vmladav.s8 %[sum0], %q[weight0], q4\n\t"
                   "vmladav.s8 %[sum1], %q[weight1], q4\n\t"
                   "vmladav.s8 %[sum2], %q[weight2], q4\n\t"
                   "vmladav.s8 %[sum3], %q[weight3], q4\n\t"
                   "vldrw.32 q5, [%[bias]]\n\t"
                   "vmov q4[2], q4[0], %[sum0], %[sum2]\n\t"
                   "vmov q4[3], q4[1], %[sum1], %[sum3]\n\t"
                   "vadd.i32 q4, q4, q5\n\t"
                   "vqrdmulh.s32 q4, q4, %q[mantissa]\n\t"
                   "vand q5, q4, %q[shift]\n\t"
                   "vshr.s32 q5, q5, #31\n\t"
                   "vadd.i32 q4, q4, q5\n\t"
                   "vrshl.s32 q4, q4, %q[shift]\n\t"
                   "vadd.i32 q4, q4, %[zero_point]\n\t"
                   "vqmovnb.s32 q4, q4\n\t"
                   "vqmovnb.s16 q4, q4\n\t"
                   "vpst\n\t"
                   "vstrbt.32 q4, [%[output]]\n\t"
                   "add %[output], %[output_step]\n\t"
                   "le lr, 1b"
                   : [row] "+r"(row), [output] "+l"(output), [sum0] "=&Te"(sum0),
                     [sum1] "=&Te"(sum1), [sum2] "=&Te"(sum2), [sum3] "=&Te"(sum3), "+r"(left)
                   : [bias] "r"(scales), [step] "r"(rows->step),
                     [output_step] "r"(rows->output_step), [zero_point] "r"(zero_point),
                     [inside] "r"(inside), [weight0] "w"(weight0), [weight1] "w"(weight1),
                     [weight2] "w"(weight2), [weight3] "w"(weight3), [mantissa] "w"(mantissa), [shift] "w"(shift)
                   : "q4", "q5", "memory" ETHOSGEN_P0);
}

/* Return the number of rows of which whole vectors can be read. */
static inline int32_t readable(const struct ethosgen_rows *rows, int32_t row_bytes)
{
    int32_t rest = rows->bytes - row_bytes;
    int32_t count = rest < 0 ? 0 : rest / rows->step + 1;

    return count < rows->count ? count : rows->count;
}

/* Compute the rows from number `row` on, which may end anywhere. */
static void multiply_rest(int32_t row, const struct ethosgen_rows *rows, const int8_t *weights,
                          const int32_t *scales, const struct ethosgen_matrix *matrix)
{
    for (; row < rows->count; row++) {
        multiply_row(rows->output + row * rows->output_step, rows->first + row * rows->step, weights,
                     scales, matrix);
    }
}

void ethosgen_rows_s8(const struct ethosgen_rows *rows, const int8_t *weights,
                      const int32_t *scales, const struct ethosgen_matrix *matrix)
{
    int32_t vectors = (int32_t)((uint32_t)(matrix->depth + LANES - 1) / LANES);
    int32_t count = rows->count > 1 ? readable(rows, vectors * LANES) & ~1 : 0;
    const int32_t *block_scales = scales;
    struct pairs pairs = {
        .weights = weights,
        .more = vectors - 1,
        .output_step = rows->output_step,
        .advance = 2 * rows->step - vectors * LANES,
        .zero_point = matrix->output.zero_point,
    };

    vstrwq_s32(pairs.low, vdupq_n_s32(matrix->output.low));
    vstrwq_s32(pairs.high, vdupq_n_s32(matrix->output.high));
    for (int32_t channel = 0; channel < matrix->channels && count > 0; channel += BLOCK) {
        pairs.inside = vctp32q((uint32_t)(matrix->channels - channel));
        pairs.output = rows->output + channel;
        vstrwq_s32(pairs.bias, vldrwq_s32(block_scales));
        multiply_pairs(rows->first, rows->step, block_scales, &pairs, count / 2);
        pairs.weights += vectors * LANES * BLOCK;
        block_scales += SCALES;
    }
    multiply_rest(count, rows, weights, scales, matrix);
}

void ethosgen_rows_short_s8(const struct ethosgen_rows *rows, const int8_t *weights,
                            const int32_t *scales, const struct ethosgen_matrix *matrix)
{
    int32_t count = readable(rows, LANES);

    for (int32_t channel = 0; channel < matrix->channels && count > 0; channel += BLOCK) {
        multiply_short(rows->output + channel, rows->first, weights + channel * LANES,
                       scales + channel / BLOCK * SCALES, rows, matrix, count,
                       vctp32q((uint32_t)(matrix->channels - channel)));
    }
    multiply_rest(count, rows, weights, scales, matrix);
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
