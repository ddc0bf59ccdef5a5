/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows times weights of float32. See ethosgen_floats.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_floats_math.h"

enum { BLOCK = ETHOSGEN_BLOCK_F32, ROWS = 4 };

/*
 * The functions of each form: multiply_rows() computes 4 channels of 4 rows, multiply_row() of one;
 * steps are in floats; `left` channels remain.
 */

#if ETHOSGEN_MVE_F
struct bounds {
    float32x4_t low;
    float32x4_t high;
};

static inline struct bounds bounds_of(const float *weights)
{
    return (struct bounds){vdupq_n_f32(weights[0]), vdupq_n_f32(weights[1])};
}

/* Two products of two rows, whose sums are a and b, with the weights in q4 and q5. */
#define TWO_PRODUCTS(a, b)            \
    "vmul.f32 q6, q4, %[x]\n\t"       \
    "vmul.f32 q7, q4, %[u]\n\t"       \
    "vadd.f32 %q[" a "], %q[" a "], q6\n\t" \
    "vmul.f32 q6, q5, %[y]\n\t"       \
    "vadd.f32 %q[" b "], %q[" b "], q7\n\t" \
    "vmul.f32 q7, q5, %[v]\n\t"       \
    "vadd.f32 %q[" a "], %q[" a "], q6\n\t" \
    "vadd.f32 %q[" b "], %q[" b "], q7\n\t"

/* One product of two rows. */
#define ONE_PRODUCT(a, b)             \
    "vmul.f32 q6, q4, %[x]\n\t"       \
    "vmul.f32 q7, q4, %[u]\n\t"       \
    "vadd.f32 %q[" a "], %q[" a "], q6\n\t" \
    "vadd.f32 %q[" b "], %q[" b "], q7\n\t"

/* Compute 4 channels of 4 rows, each `step` floats after the one before. */
static inline void multiply_rows(float *output, int32_t output_step, const float *row,
                                 int32_t step, const float *block, int32_t depth,
                                 struct bounds bounds, int32_t left)
{
    const float *row1 = row + step, *row2 = row1 + step, *row3 = row2 + step;
    const float *weights = block + BLOCK;
    float32x4_t sum0, sum1, sum2, sum3, bias;
    int32_t x, y, u, v;

    /*
     * sum0 to sum3: the rows' sums. x, y: two values of row 0, then of row 2. u, v: those of row 1,
     * then of row 3. q4, q5: weights of two places. q6, q7: products. lr: pairs of places left.
     */
    __asm volatile("vmov.i32 %q[sum0], #0\n\t"
                   "vmov.i32 %q[sum1], #0\n\t"
                   "vmov.i32 %q[sum2], #0\n\t"
                   "vmov.i32 %q[sum3], #0\n\t"
                   "lsrs lr, %[depth], #1\n\t"
                   "wls lr, lr, 2f\n"
                   "1:\n\t"
                   "ldrd %[x], %[y], [%[row0]], #8\n\t"
                   "vldrw.32 q4, [%[weights]], #16\n\t"
                   "ldrd %[u], %[v], [%[row1]], #8\n\t"
                   "vldrw.32 q5, [%[weights]], #16\n\t"
                   TWO_PRODUCTS("sum0", "sum1")
                   "ldrd %[x], %[y], [%[row2]], #8\n\t"
                   "ldrd %[u], %[v], [%[row3]], #8\n\t"
                   TWO_PRODUCTS("sum2", "sum3")
                   "le lr, 1b\n"
                   "2:\n\t"
                   "lsls %[x], %[depth], #31\n\t"
                   "beq 3f\n\t"
                   "ldr %[x], [%[row0]]\n\t"
                   "vldrw.32 q4, [%[weights]]\n\t"
                   "ldr %[u], [%[row1]]\n\t"
                   ONE_PRODUCT("sum0", "sum1")
                   "ldr %[x], [%[row2]]\n\t"
                   "ldr %[u], [%[row3]]\n\t"
                   ONE_PRODUCT("sum2", "sum3")
                   "3:"
                   : [row0] "+r"(row), [row1] "+r"(row1), [row2] "+r"(row2), [row3] "+r"(row3),
                     [weights] "+r"(weights), [x] "=&r"(x), [y] "=&r"(y), [u] "=&r"(u),
                     [v] "=&r"(v), [sum0] "=&w"(sum0), [sum1] "=&w"(sum1), [sum2] "=&w"(sum2),
                     [sum3] "=&w"(sum3)
                   : [depth] "r"(depth)
                   : "q4", "q5", "q6", "q7", "lr", "cc", "memory");
    bias = vldrwq_f32(block);
    sum0 = ethosgen_limit_x4(vaddq_f32(sum0, bias), bounds.low, bounds.high);
    sum1 = ethosgen_limit_x4(vaddq_f32(sum1, bias), bounds.low, bounds.high);
    sum2 = ethosgen_limit_x4(vaddq_f32(sum2, bias), bounds.low, bounds.high);
    sum3 = ethosgen_limit_x4(vaddq_f32(sum3, bias), bounds.low, bounds.high);
    ethosgen_store(output, sum0, left);
    ethosgen_store(output + output_step, sum1, left);
    ethosgen_store(output + 2 * output_step, sum2, left);
    ethosgen_store(output + 3 * output_step, sum3, left);
}

/* Compute 4 channels of a row. */
static inline void multiply_row(float *output, const float *row, const float *block, int32_t depth,
                                struct bounds bounds, int32_t left)
{
    const float *weights = block + BLOCK;
    float32x4_t sum;

    /*
     * sum: the sums. r3 to r6: values of the row. q4 to q7: weights, then products. lr: rounds
     * left.
     */
    __asm volatile("vmov.i32 %q[sum], #0\n\t"
                   "lsrs lr, %[depth], #2\n\t"
                   "wls lr, lr, 2f\n"
                   "1:\n\t"
                   "ldmia %[row]!, {r3, r4, r5, r6}\n\t"
                   "vldrw.32 q4, [%[weights]], #16\n\t"
                   "vldrw.32 q5, [%[weights]], #16\n\t"
                   "vmul.f32 q4, q4, r3\n\t"
                   "vldrw.32 q6, [%[weights]], #16\n\t"
                   "vmul.f32 q5, q5, r4\n\t"
                   "vadd.f32 %q[sum], %q[sum], q4\n\t"
                   "vmul.f32 q6, q6, r5\n\t"
                   "vldrw.32 q7, [%[weights]], #16\n\t"
                   "vadd.f32 %q[sum], %q[sum], q5\n\t"
                   "vmul.f32 q7, q7, r6\n\t"
                   "vadd.f32 %q[sum], %q[sum], q6\n\t"
                   "vadd.f32 %q[sum], %q[sum], q7\n\t"
                   "le lr, 1b\n"
                   "2:\n\t"
                   "and lr, %[depth], #3\n\t"
                   "wls lr, lr, 4f\n"
                   "3:\n\t"
                   "ldr r3, [%[row]], #4\n\t"
                   "vldrw.32 q4, [%[weights]], #16\n\t"
                   "vmul.f32 q4, q4, r3\n\t"
                   "vadd.f32 %q[sum], %q[sum], q4\n\t"
                   "le lr, 3b\n"
                   "4:"
                   : [row] "+r"(row), [weights] "+r"(weights), [sum] "=&w"(sum)
                   : [depth] "r"(depth)
                   : "r3", "r4", "r5", "r6", "q4", "q5", "q6", "q7", "lr", "cc", "memory");
    sum = vaddq_f32(sum, vldrwq_f32(block));
    ethosgen_store(output, ethosgen_limit_x4(sum, bounds.low, bounds.high), left);
}
#else
struct bounds {
    float low;
    float high;
};

static inline struct bounds bounds_of(const float *weights)
{
    return (struct bounds){weights[0], weights[1]};
}

#if ETHOSGEN_FPU
#include "ethosgen_matrix_fpu.h"
#else
static inline void finish(float *output, const float *sums, const float *block,
                          struct bounds bounds, int32_t left)
{
    int32_t count = left < BLOCK ? left : BLOCK;

    for (int32_t i = 0; i < count; i++) {
        output[i] = ethosgen_limit(sums[i] + block[i], bounds.low, bounds.high);
    }
}

/* Compute 4 channels of a row. */
static inline void multiply_row(float *output, const float *row, const float *block, int32_t depth,
                                struct bounds bounds, int32_t left)
{
    const float *weights = block + BLOCK;
    float sums[BLOCK] = {0};

    for (int32_t i = 0; i < depth; i++) {
        sums[0] += row[i] * weights[0];
        sums[1] += row[i] * weights[1];
        sums[2] += row[i] * weights[2];
        sums[3] += row[i] * weights[3];
        weights += BLOCK;
    }
    finish(output, sums, block, bounds, left);
}

/* Compute 4 channels of 4 rows. */
static inline void multiply_rows(float *output, int32_t output_step, const float *row,
                                 int32_t step, const float *block, int32_t depth,
                                 struct bounds bounds, int32_t left)
{
    for (int32_t i = 0; i < ROWS; i++) {
        multiply_row(output + i * output_step, row + i * step, block, depth, bounds, left);
    }
}
#endif
#endif

/* Compute all channels of 4 rows. */
static void four_rows(float *output, const float *row, const float *weights,
                      const struct ethosgen_matrix_f32 *matrix)
{
    int32_t depth = matrix->depth, step = matrix->input_step, output_step = matrix->output_step;
    struct bounds bounds = bounds_of(weights);
    const float *block = weights + ETHOSGEN_BOUNDS_F32;

    for (int32_t left = matrix->channels; left > 0; left -= BLOCK) {
        multiply_rows(output, output_step, row, step, block, depth, bounds, left);
        output += BLOCK;
        block += BLOCK + BLOCK * depth;
    }
}

/* Compute all channels of a row. */
static void one_row(float *output, const float *row, const float *weights,
                    const struct ethosgen_matrix_f32 *matrix)
{
    int32_t depth = matrix->depth;
    struct bounds bounds = bounds_of(weights);
    const float *block = weights + ETHOSGEN_BOUNDS_F32;

    for (int32_t left = matrix->channels; left > 0; left -= BLOCK) {
        multiply_row(output, row, block, depth, bounds, left);
        output += BLOCK;
        block += BLOCK + BLOCK * depth;
    }
}

void ethosgen_matrix_f32(float *output, const float *input, const float *weights,
                         const struct ethosgen_matrix_f32 *matrix)
{
    int32_t rows = matrix->rows, row = 0;

    for (; row + ROWS <= rows; row += ROWS) {
        four_rows(output + row * matrix->output_step, input + row * matrix->input_step, weights,
                  matrix);
    }
    if (row < rows && rows > ROWS && rows - row > 1) {
        /* The last 4 rows, some of them a second time: cheaper than 2 or 3 alone. */
        row = rows - ROWS;
        four_rows(output + row * matrix->output_step, input + row * matrix->input_step, weights,
                  matrix);
        row = rows;
    }
    for (; row < rows; row++) {
        one_row(output + row * matrix->output_step, input + row * matrix->input_step, weights,
                matrix);
    }
}
