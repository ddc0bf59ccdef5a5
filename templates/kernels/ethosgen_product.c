/*
 * Products of two matrices that are both computed at run time. See ethosgen_kernels.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_requantize.h"

#if ETHOSGEN_MVE
enum { BLOCK = 4, EIGHT = 8 };

/* In assembly, since the compiler does not generate tail-predicated loops. */
static inline int32_t total(const int8_t *values, int32_t count)
{
    int32_t sum = 0;

    __asm volatile("dlstp.8 lr, %[count]\n"
                   "1:\n\t"
                   "vldrb.8 q0, [%[values]], #16\n\t"
                   "vaddva.s8 %[sum], q0\n\t"
                   "letp lr, 1b"
                   : [values] "+r"(values), [sum] "+Te"(sum)
                   : [count] "r"(count)
                   : "q0", "lr", "memory");
    return sum;
}

/* `start` plus the products of a row and 4 columns: 64 products in 10 instructions. */
static inline int32x4_t products(const int8_t *row, const int8_t *const *columns, int32_t depth,
                                 int32_t start)
{
    const int8_t *column0 = columns[0], *column1 = columns[1];
    const int8_t *column2 = columns[2], *column3 = columns[3];
    int32_t sum0 = start, sum1 = start, sum2 = start, sum3 = start;
    int32x4_t all;

    __asm volatile("dlstp.8 lr, %[depth]\n"
                   "1:\n\t"
                   "vldrb.8 q0, [%[row]], #16\n\t"
                   "vldrb.8 q1, [%[column0]], #16\n\t"
                   "vmladava.s8 %[sum0], q0, q1\n\t"
                   "vldrb.8 q2, [%[column1]], #16\n\t"
                   "vmladava.s8 %[sum1], q0, q2\n\t"
                   "vldrb.8 q3, [%[column2]], #16\n\t"
                   "vmladava.s8 %[sum2], q0, q3\n\t"
                   "vldrb.8 q1, [%[column3]], #16\n\t"
                   "vmladava.s8 %[sum3], q0, q1\n\t"
                   "letp lr, 1b\n\t"
                   "vmov %q[all][2], %q[all][0], %[sum0], %[sum2]\n\t"
                   "vmov %q[all][3], %q[all][1], %[sum1], %[sum3]"
                   : [all] "=w"(all), [row] "+r"(row), [column0] "+r"(column0),
                     [column1] "+r"(column1), [column2] "+r"(column2), [column3] "+r"(column3),
                     [sum0] "+Te"(sum0), [sum1] "+Te"(sum1), [sum2] "+Te"(sum2), [sum3] "+Te"(sum3)
                   : [depth] "r"(depth)
                   : "q0", "q1", "q2", "q3", "lr", "memory");
    return all;
}

void ethosgen_product_s8(int8_t *output, const int8_t *rows, const int8_t *columns, int32_t *terms,
                         const int32_t *shape)
{
    const struct ethosgen_product *product = (const struct ethosgen_product *)shape;
    int32_t depth = product->depth, zero_point = product->second_zero_point;
    int32_t constant = product->first_zero_point * zero_point * depth;
    int32x4_t mantissa = vdupq_n_s32(product->mantissa), shift = vdupq_n_s32(product->shift);
    int32x4_t low = vdupq_n_s32(product->output.low), high = vdupq_n_s32(product->output.high);

    for (int32_t row = 0; row < product->rows; row++) {
        terms[row] = zero_point == 0 ? 0 : -zero_point * total(rows + row * depth, depth);
    }
    for (int32_t column = 0; column < product->columns; column += BLOCK) {
        int32_t there = product->columns - column;
        mve_pred16_t inside = vctp32q((uint32_t)there);
        const int8_t *values = rows, *block[BLOCK];
        int8_t *to = output + column;
        int32_t bias[BLOCK];

        for (int32_t i = 0; i < BLOCK; i++) { /* behind the last column it is computed again */
            block[i] = columns + (column + (i < there ? i : 0)) * depth;
            bias[i] = constant - product->first_zero_point * total(block[i], depth);
        }
        int32x4_t biases = vldrwq_s32(bias);

        for (int32_t row = 0; row < product->rows; row++) {
            int32x4_t sums = vaddq_s32(products(values, block, depth, terms[row]), biases);
            int32x4_t scaled = vaddq_n_s32(ethosgen_requantize_x4(sums, mantissa, shift),
                                           product->output.zero_point);

            vstrbq_p_s32(to, vminq_s32(vmaxq_s32(scaled, low), high), inside);
            values += depth;
            to += product->columns;
        }
    }
}

void ethosgen_turn_s8(int8_t *to, const int8_t *from, int32_t rows, int32_t columns)
{
    uint16x8_t places = vmulq_n_u16(vidupq_n_u16(0, 1), (uint16_t)columns);

    for (int32_t column = 0; column < columns; column++) {
        const int8_t *values = from + column;

        for (int32_t left = rows; left > 0; left -= EIGHT) {
            mve_pred16_t inside = vctp16q((uint32_t)left);

            vstrbq_p_s16(to, vldrbq_gather_offset_z_s16(values, places, inside), inside);
            values += EIGHT * columns;
            to += left < EIGHT ? left : EIGHT;
        }
    }
}
#else
void ethosgen_product_s8(int8_t *output, const int8_t *rows, const int8_t *columns, int32_t *terms,
                         const int32_t *shape)
{
    const struct ethosgen_product *product = (const struct ethosgen_product *)shape;
    int32_t depth = product->depth;

    (void)terms;
    for (int32_t row = 0; row < product->rows; row++) {
        const int8_t *first = rows + row * depth;

        for (int32_t column = 0; column < product->columns; column++) {
            const int8_t *second = columns + column * depth;
            int32_t sum = 0;

            for (int32_t k = 0; k < depth; k++) {
                sum += (first[k] - product->first_zero_point) *
                       (second[k] - product->second_zero_point);
            }
            *output++ = ethosgen_clamp(ethosgen_requantize(sum, product->mantissa, product->shift),
                                       &product->output);
        }
    }
}

void ethosgen_turn_s8(int8_t *to, const int8_t *from, int32_t rows, int32_t columns)
{
    for (int32_t column = 0; column < columns; column++) {
        for (int32_t row = 0; row < rows; row++) {
            *to++ = from[row * columns + column];
        }
    }
}
#endif
