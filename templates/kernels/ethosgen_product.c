/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of two matrices that are both computed at run time. See ethosgen_kernels.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_requantize.h"

#if ETHOSGEN_MVE
enum { LANES = 16, BLOCK = 4, EIGHT = 8 };

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

/* 4 columns, and the fields of a product that the loop over the rows needs, as the assembly reads them. */
struct block {
    const int8_t *columns[BLOCK];
    int32_t bias[BLOCK];
    int32_t depth;
    int32_t advance; /* bytes from the last vector of a row to the next row */
    int32_t output_step;
    int32_t zero_point;
    const int32_t *end; /* of the rows' terms */
    uint32_t inside; /* predicate: the columns that exist */
};

/*
 * Multiply all rows by 4 columns: 64 products in 10 instructions. Not inline, since it needs all
 * registers but the frame pointer.
 */
static __attribute__((noinline)) void multiply_rows(int8_t *output, const int8_t *row,
                                                    const int32_t *terms,
                                                    const struct block *block, int32x4_t mantissa,
                                                    int32x4_t shift)
{
    const int8_t *column0, *column1, *column2, *column3;
    int32_t sum0, sum1, sum2, sum3;

    /*
     * column0 to column3: columns. sum0 to sum3: sums. q0: a vector of the row, then sums and
     * outputs. q1 to q3: vectors of columns; q1 at last signs. lr: elements left.
     *
     * Before the loop, sum0: the predicate. column0: the depth. Behind it, sum0: the row's term,
     * then the zero point. sum1: the row's advance. sum2: the output's step. column0: the terms'
     * end.
     */
    __asm volatile("ldr %[sum0], [%[block], #52]\n\t"
                   "vmsr p0, %[sum0]\n"
                   "1:\n\t"
                   "ldr %[column0], [%[block], #32]\n\t"
                   "ldrd %[sum0], %[sum1], [%[block], #16]\n\t"
                   "ldrd %[sum2], %[sum3], [%[block], #24]\n\t"
                   "dlstp.8 lr, %[column0]\n\t"
                   "ldrd %[column0], %[column1], [%[block]]\n\t"
                   "ldrd %[column2], %[column3], [%[block], #8]\n"
                   "2:\n\t"
                   "vldrb.8 q0, [%[row]], #16\n\t"
                   "vldrb.8 q1, [%[column0]], #16\n\t"
                   "vmladava.s8 %[sum0], q0, q1\n\t"
                   "vldrb.8 q2, [%[column1]], #16\n\t"
                   "vmladava.s8 %[sum1], q0, q2\n\t"
                   "vldrb.8 q3, [%[column2]], #16\n\t"
                   "vmladava.s8 %[sum2], q0, q3\n\t"
                   "vldrb.8 q1, [%[column3]], #16\n\t"
                   "vmladava.s8 %[sum3], q0, q1\n\t"
                   "letp lr, 2b\n\t"
                   "vmov q0[2], q0[0], %[sum0], %[sum2]\n\t"
                   "vmov q0[3], q0[1], %[sum1], %[sum3]\n\t"
                   "ldr %[sum0], [%[terms]], #4\n\t"
                   "vadd.i32 q0, q0, %[sum0]\n\t"
                   "ldrd %[sum1], %[sum2], [%[block], #36]\n\t"
                   "vqrdmulh.s32 q0, q0, %q[mantissa]\n\t"
                   "ldrd %[sum0], %[column0], [%[block], #44]\n\t"
                   "vand q1, q0, %q[shift]\n\t"
                   "vshr.s32 q1, q1, #31\n\t"
                   "vadd.i32 q0, q0, q1\n\t"
                   "add %[row], %[sum1]\n\t"
                   "vrshl.s32 q0, q0, %q[shift]\n\t"
                   "vadd.i32 q0, q0, %[sum0]\n\t"
                   "vqmovnb.s32 q0, q0\n\t"
                   "vqmovnb.s16 q0, q0\n\t"
                   "vpst\n\t"
                   "vstrbt.32 q0, [%[output]]\n\t"
                   "add %[output], %[sum2]\n\t"
                   "cmp %[terms], %[column0]\n\t"
                   "bne 1b"
                   : [output] "+r"(output), [row] "+r"(row), [terms] "+r"(terms),
                     [column0] "=&r"(column0), [column1] "=&r"(column1),
                     [column2] "=&r"(column2), [column3] "=&r"(column3), [sum0] "=&Te"(sum0),
                     [sum1] "=&Te"(sum1), [sum2] "=&Te"(sum2), [sum3] "=&Te"(sum3)
                   : [block] "r"(block), [mantissa] "w"(mantissa), [shift] "w"(shift)
                   : "q0", "q1", "q2", "q3", "lr", "cc", "memory" ETHOSGEN_P0);
}

/* Copy bytes at equal distances, 8 at a time: `step` is from the first to the ninth. */
static inline void gather(int8_t *to, const int8_t *from, uint16x8_t places, int32_t step,
                          int32_t count)
{
    /* q0: 8 bytes. lr: bytes left. */
    __asm volatile("dlstp.16 lr, %[count]\n"
                   "1:\n\t"
                   "vldrb.s16 q0, [%[from], %q[places]]\n\t"
                   "vstrb.16 q0, [%[to]], #8\n\t"
                   "add %[from], %[step]\n\t"
                   "letp lr, 1b"
                   : [to] "+l"(to), [from] "+r"(from)
                   : [places] "w"(places), [step] "r"(step), [count] "r"(count)
                   : "q0", "lr", "memory");
}

/* Return the places of 8 bytes that are `step` apart. */
static inline uint16x8_t places_of(int32_t step)
{
    return vmulq_n_u16(vidupq_n_u16(0, 1), (uint16_t)step);
}

void ethosgen_product_s8(int8_t *output, const int8_t *rows, const int8_t *second, int32_t *terms,
                         int8_t *turned, const struct ethosgen_product *product)
{
    int32_t depth = product->depth, zero_point = product->second_zero_point;
    int32_t constant = product->first_zero_point * zero_point * depth;
    struct block block = {
        .depth = depth,
        .advance = depth - (depth + LANES - 1) / LANES * LANES,
        .output_step = product->columns,
        .zero_point = product->output.zero_point,
        .end = terms + product->rows,
    };

    for (int32_t row = 0; row < product->rows; row++) {
        terms[row] = zero_point == 0 ? 0 : -zero_point * total(rows + row * depth, depth);
    }
    for (int32_t column = 0; column < product->columns; column += BLOCK) {
        int32_t there = product->columns - column;

        for (int32_t i = 0; i < BLOCK; i++) { /* after the last column it is computed again */
            const int8_t *values = second + (column + (i < there ? i : 0)) * product->column_step;

            if (product->step != 1) {
                gather(turned + i * depth, values, places_of(product->step), EIGHT * product->step,
                       depth);
                values = turned + i * depth;
            }
            block.columns[i] = values;
            block.bias[i] = constant - product->first_zero_point * total(values, depth);
        }
        block.inside = vctp32q((uint32_t)there);
        multiply_rows(output + column, rows, terms, &block, vdupq_n_s32(product->mantissa),
                      vdupq_n_s32(product->shift));
    }
}

void ethosgen_turn_s8(int8_t *to, const int8_t *from, int32_t rows, int32_t columns)
{
    for (int32_t column = 0; column < columns; column++) {
        gather(to, from + column, places_of(columns), EIGHT * columns, rows);
        to = &to[rows];
    }
}
#else
enum { BLOCK = 4 };

/*
 * The sums of a row and 1 or 4 columns; the row's total subtracts the products with the columns' zero
 * point.
 */
static inline __attribute__((always_inline)) void
sum_columns(int32_t *sums, const int8_t *row, const int8_t *values, int32_t count,
            const struct ethosgen_product *product)
{
    int32_t a = 0, b = 0, c = 0, d = 0, total = 0, column = product->column_step;
    int32_t zero_point = product->first_zero_point, step = product->step;

    for (const int8_t *end = row + product->depth; row < end; row++) {
        int32_t value = *row - zero_point;

        total += value;
        a += value * values[0];
        if (count == BLOCK) {
            b += value * values[column];
            c += value * values[2 * column];
            d += value * values[3 * column];
        }
        values = &values[step];
    }
    total *= product->second_zero_point;
    sums[0] = a - total;
    if (count == BLOCK) {
        sums[1] = b - total;
        sums[2] = c - total;
        sums[3] = d - total;
    }
}

void ethosgen_product_s8(int8_t *output, const int8_t *rows, const int8_t *second, int32_t *terms,
                         int8_t *turned, const struct ethosgen_product *product)
{
    (void)terms;
    (void)turned;
    for (int32_t row = 0; row < product->rows; row++) {
        const int8_t *values = second;

        for (int32_t left = product->columns; left > 0;) {
            int32_t sums[BLOCK], some = left < BLOCK ? 1 : BLOCK;

            if (some == BLOCK) {
                sum_columns(sums, rows, values, BLOCK, product);
            } else {
                sum_columns(sums, rows, values, 1, product);
            }
            for (int32_t i = 0; i < some; i++) {
                *output++ = ethosgen_clamp(
                    ethosgen_requantize(sums[i], product->mantissa, product->shift),
                    &product->output);
            }
            values += some * product->column_step;
            left -= some;
        }
        rows += product->depth;
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
