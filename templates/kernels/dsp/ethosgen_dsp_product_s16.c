/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BATCH_MATMUL of int16: 2 rows times 2 columns at a time, in sums of 64 bits. See ethosgen_dsp_s16.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_dsp.h"
#include "ethosgen_dsp_math.h"

enum { SIDE = 2 };

typedef struct ethosgen_dsp_product_s16 ProductS16;

/* Two rows and two columns, in the order in which the assembly loads its fields. */
struct square {
    const int16_t *rows[SIDE];
    const int16_t *columns;   /* two places of both, word by word */
    const int16_t *end;       /* of the columns, without a last odd place */
    int64_t sums[SIDE][SIDE]; /* row by row */
};

#if ETHOSGEN_DSP
/* 2 places: 8 products in 7 instructions of 4 bytes. */
#define PLACES                                 \
    "ldrd r12, lr, [r3], #8\n\t"               \
    "ldr.w r0, [r1], #4\n\t"                   \
    "smlald r4, r5, r0, r12\n\t"               \
    "smlald r6, r7, r0, lr\n\t"                \
    "ldr.w r0, [r2], #4\n\t"                   \
    "smlald r8, r9, r0, r12\n\t"               \
    "smlald r10, r11, r0, lr\n\t"

/*
 * In assembly, since the sums and the factors need all registers. There is at least one word.
 *
 * r1, r2: rows. r3: columns. r0: a word of a row. r12, lr: a word of each column. r4, r5, r6, r7:
 * the first row's sums, of 64 bits. r8, r9, r10, r11: the second's. On the stack: the columns' end.
 *
 * Before the loop, r12: where it starts. Behind it, r0: the square, its sums.
 */
static ETHOSGEN_DSP_NAKED void
multiply(struct square *square __attribute__((unused)))
{
    __asm volatile("push {r0, r4-r11, lr}\n\t"
                   "ldm r0, {r1-r4}\n\t"
                   "push {r4, r5}\n\t"
                   /* The first step in the loop, whose rounds have 4 of 28 bytes of code. */
                   "sub r0, r3, r4\n\t"
                   "and r0, r0, #24\n\t"
                   "rsb r0, r0, r0, lsl #3\n\t"
                   "adr r12, 1f\n\t"
                   "add r12, r12, r0, lsr #1\n\t"
                   "add r12, r12, #1\n\t"
                   "mov r4, #0\n\t"
                   "mov r5, #0\n\t"
                   "mov r6, #0\n\t"
                   "mov r7, #0\n\t"
                   "mov r8, #0\n\t"
                   "mov r9, #0\n\t"
                   "mov r10, #0\n\t"
                   "mov r11, #0\n\t"
                   "bx r12\n\t"
                   ".p2align 2\n"
                   "1:\n\t" PLACES PLACES PLACES PLACES
                   "ldr r0, [sp]\n\t"
                   "cmp r3, r0\n\t"
                   "bne 1b\n\t"
                   "ldr r0, [sp, #8]\n\t"
                   "add r0, r0, #16\n\t"
                   "stm r0, {r4-r11}\n\t"
                   "add sp, sp, #8\n\t"
                   "pop {r0, r4-r11, pc}");
}

static inline int64_t add_places(int64_t sum, uint32_t a, uint32_t b)
{
    return __smlald((int16x2_t)a, (int16x2_t)b, sum);
}
#else
static inline int64_t add_places(int64_t sum, uint32_t a, uint32_t b)
{
    return sum + (int64_t)((int16_t)a * (int16_t)b)
        + (int64_t)((int16_t)(a >> 16) * (int16_t)(b >> 16));
}

static void multiply(struct square *square)
{
    (void)memset(square->sums, 0, sizeof square->sums);
    for (const int16_t *columns = square->columns; columns < square->end; columns += SIDE * SIDE) {
        int32_t place = (int32_t)(columns - square->columns) / SIDE;

        for (int32_t row = 0; row < SIDE; row++) {
            uint32_t word = ethosgen_dsp_word(square->rows[row] + place);

            for (int32_t column = 0; column < SIDE; column++) {
                int64_t *sum = &square->sums[row][column];

                *sum = add_places(*sum, word, ethosgen_dsp_word(columns + SIDE * column));
            }
        }
    }
}
#endif

static inline int16_t output_of(int64_t sum, const ProductS16 *product)
{
    int64_t addend = (int64_t)(((uint64_t)(uint32_t)product->high << 32) | product->low);
    int64_t scaled = sum * product->mantissa + addend;

    return (int16_t)ethosgen_dsp_saturate_16((int32_t)(scaled >> 32) >> product->shift);
}

/* A row times a column whose places are adjacent. */
static int64_t dot(const int16_t *row, const int16_t *column, int32_t depth)
{
    int64_t sum = 0;

    for (; depth >= 8; depth -= 8) {
        sum = add_places(sum, ethosgen_dsp_word(row), ethosgen_dsp_word(column));
        sum = add_places(sum, ethosgen_dsp_word(row + 2), ethosgen_dsp_word(column + 2));
        sum = add_places(sum, ethosgen_dsp_word(row + 4), ethosgen_dsp_word(column + 4));
        sum = add_places(sum, ethosgen_dsp_word(row + 6), ethosgen_dsp_word(column + 6));
        row += 8;
        column += 8;
    }
    for (; depth > 0; depth--) {
        sum += *row++ * *column++;
    }
    return sum;
}

static inline void store_pair(int16_t *to, int16_t first, int16_t second)
{
    to[0] = first;
    to[1] = second;
}

/* Write two columns as words of two places of one, then of the other; an odd last place has a zero. */
static void pack(int16_t *to, const int16_t *first, const int16_t *second, int32_t step,
                 int32_t depth)
{
    for (; depth >= 2; depth -= 2) {
        store_pair(to, first[0], first[step]);
        store_pair(to + 2, second[0], second[step]);
        to += 4;
        first = &first[2 * step];
        second = &second[2 * step];
    }
    if (depth > 0) {
        store_pair(to, *first, 0);
        store_pair(to + 2, *second, 0);
    }
}

/* Multiply up to two rows by up to two columns. */
static inline void multiply_square(int16_t *output, const int16_t *rows, int32_t height,
                                   int32_t width, struct square *square, const ProductS16 *product)
{
    int32_t depth = product->depth, columns = product->columns;

    square->rows[0] = rows;
    square->rows[1] = height > 1 ? rows + depth : rows;
    if (square->columns < square->end) {
        multiply(square);
    } else {
        (void)memset(square->sums, 0, sizeof square->sums);
    }
    for (int32_t row = 0; row < height; row++) {
        int64_t *sums = square->sums[row];

        if (depth % SIDE != 0) {
            int16_t last = square->rows[row][depth - 1];

            sums[0] += last * square->end[0];
            sums[1] += last * square->end[SIDE];
        }
        output[0] = output_of(sums[0], product);
        if (width > 1) {
            output[1] = output_of(sums[1], product);
        }
        output = &output[columns];
    }
}

void ethosgen_dsp_product_s16(int16_t *output, const int16_t *first, const int16_t *second,
                              void *room, const ProductS16 *product)
{
    int32_t rows = product->rows, depth = product->depth, columns = product->columns;
    int16_t *packed = room;
    struct square square = {.columns = packed, .end = packed + depth / SIDE * (SIDE * SIDE)};

    if (rows == 1 && product->place_step == 1) {
        for (int32_t column = 0; column < columns; column++) {
            *output++ = output_of(dot(first, second, depth), product);
            second = &second[depth];
        }
        return;
    }
    for (int32_t column = 0; column < columns; column += SIDE) {
        int32_t width = columns - column < SIDE ? columns - column : SIDE;
        const int16_t *left = second + column * product->column_step;

        pack(packed, left, width > 1 ? left + product->column_step : left, product->place_step,
             depth);
        for (int32_t row = 0; row < rows; row += SIDE) {
            int32_t height = rows - row < SIDE ? rows - row : SIDE;

            multiply_square(output + row * columns + column, first + row * depth, height, width,
                            &square, product);
        }
    }
}
