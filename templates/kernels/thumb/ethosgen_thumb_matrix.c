/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows times weights on Armv7-M: fully connected layers and convolutions. See ethosgen_thumb.h.
 *
 * The sums of 2 rows and 4 channels stay in registers: each value is loaded once for 4 or 2 products.
 * The sums of a single row and 8 channels do, too.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_thumb_tile.h"

#include <string.h>

enum { ROWS = ETHOSGEN_THUMB_ROWS, CHANNELS = ETHOSGEN_THUMB_CHANNELS, WIDE = 2 * CHANNELS };

/* Some channels of a row or two, in the order in which the assembly loads its fields. */
struct tile {
    const struct ethosgen_core_scale *scales;
    const int8_t *end;            /* of the first row */
    int32_t sums[ROWS * CHANNELS]; /* first those of the first row */
    int32_t skipped;              /* steps that the first round leaves out */
};

/* The same for twice as many channels of a single row; the sums start with biases. */
struct wide {
    const int8_t *end;
    int32_t skipped;
    int32_t sums[WIDE];
};

#if ETHOSGEN_THUMB2
#define STEPS 4
/* A place of the depth, for 1 to 4 channels of a row or two: r0 and r1 are rows, r2 weights. */
#define ROW_1 "ldrsb r3, [r0], #1\n\t"
#define ROW_2 ROW_1 "ldrsb r12, [r1], #1\n\t"
#define CHANNEL_1(sum) "ldrsb lr, [r2], #1\n\tmla " sum ", r3, lr, " sum "\n\t"
#define CHANNEL_W(sum) "ldrsb lr, [r1], #1\n\tmla " sum ", r3, lr, " sum "\n\t"
#define CHANNEL_2(sum, other) CHANNEL_1(sum) "mla " other ", r12, lr, " other "\n\t"
#define PLACE_11 ROW_1 CHANNEL_1("r4")
#define PLACE_12 PLACE_11 CHANNEL_1("r5")
#define PLACE_13 PLACE_12 CHANNEL_1("r6")
#define PLACE_14 PLACE_13 CHANNEL_1("r7")
#define PLACE_18                                                                  \
    PLACE_14 CHANNEL_W("r8") CHANNEL_W("r9") CHANNEL_W("r10") CHANNEL_W("r11")
#define PLACE_21 ROW_2 CHANNEL_2("r4", "r8")
#define PLACE_22 PLACE_21 CHANNEL_2("r5", "r9")
#define PLACE_23 PLACE_22 CHANNEL_2("r6", "r10")
#define PLACE_24 PLACE_23 CHANNEL_2("r7", "r11")

/*
 * Sum the products of rows r0 and r1 and weights r2 with the tile r3; return the weights' end.
 * In assembly, since 8 sums and their factors need all registers. `bytes` is the code size of a place.
 *
 * r3, r12: a value of each row. lr: a weight. r4 to r7: sums of the first row. r8 to r11: those of
 * the second. r0, r1: rows. r2: weights. On the stack: the first row's end, the tile. Before the
 * loop, r3: tile. r10: scales. r12: where the loop starts.
 */
#define SUMS(name, place, bytes)                                                                   \
    static ETHOSGEN_THUMB_NAKED const int8_t *name(                                                \
        const int8_t *row __attribute__((unused)), const int8_t *other __attribute__((unused)),    \
        const int8_t *weights __attribute__((unused)), struct tile *tile __attribute__((unused)))  \
    {                                                                                              \
        __asm volatile("push {r3-r11, lr}\n\t"                                                     \
                       "ldrd r10, r11, [r3]\n\t"                                                   \
                       "push {r11}\n\t"                                                            \
                       "ldr r4, [r10]\n\t"                                                         \
                       "ldr r5, [r10, #16]\n\t"                                                    \
                       "ldr r6, [r10, #32]\n\t"                                                    \
                       "ldr r7, [r10, #48]\n\t"                                                    \
                       "mov r8, r4\n\t"                                                            \
                       "mov r9, r5\n\t"                                                            \
                       "mov r10, r6\n\t"                                                           \
                       "mov r11, r7\n\t"                                                           \
                       "ldr r12, [r3, #40]\n\t"                                                    \
                       "mov lr, #" bytes "\n\t"                                                    \
                       "mul r12, r12, lr\n\t"                                                      \
                       "adr r3, 1f\n\t"                                                            \
                       "add r12, r12, r3\n\t"                                                      \
                       "add r12, r12, #1\n\t"                                                      \
                       "bx r12\n\t"                                                                \
                       ".p2align 2\n"                                                              \
                       "1:\n\t" place place place place                                            \
                       "ldr r3, [sp]\n\t"                                                          \
                       "cmp r0, r3\n\t"                                                            \
                       "bne 1b\n\t"                                                                \
                       "pop {r0, r3}\n\t"                                                          \
                       "mov r0, r2\n\t"                                                            \
                       "add r3, r3, #8\n\t"                                                        \
                       "stm r3, {r4-r11}\n\t"                                                      \
                       "pop {r4-r11, pc}");                                                        \
    }

/*
 * Sum the products of row r0 and weights, of which r2 has 4 channels and r1 the next, with r3.
 *
 * r0, r12: row, its end. r2, r1: weights of the first 4 channels and of the next. r3: a value. lr:
 * a weight. r4 to r11: sums. Before the loop, lr: where it starts. On the stack: `wide`.
 */
static ETHOSGEN_THUMB_NAKED const int8_t *
sum_wide(const int8_t *row __attribute__((unused)), const int8_t *next __attribute__((unused)),
         const int8_t *weights __attribute__((unused)), struct wide *wide __attribute__((unused)))
{
    __asm volatile("push {r3-r11, lr}\n\t"
                   "ldrd r12, lr, [r3], #8\n\t"
                   "ldm r3, {r4-r11}\n\t"
                   "mov r3, #68\n\t" /* a place's code */
                   "mul lr, lr, r3\n\t"
                   "adr r3, 1f\n\t"
                   "add lr, lr, r3\n\t"
                   "add lr, lr, #1\n\t"
                   "bx lr\n\t"
                   ".p2align 2\n"
                   "1:\n\t" PLACE_18 PLACE_18 PLACE_18 PLACE_18
                   "cmp r0, r12\n\t"
                   "bne 1b\n\t"
                   "mov r0, r1\n\t"
                   "pop {r3}\n\t"
                   "add r3, r3, #8\n\t"
                   "stm r3, {r4-r11}\n\t"
                   "pop {r4-r11, pc}");
}

SUMS(sum_1_by_1, PLACE_11, "12")
SUMS(sum_1_by_2, PLACE_12, "20")
SUMS(sum_1_by_3, PLACE_13, "28")
SUMS(sum_1_by_4, PLACE_14, "36")
SUMS(sum_2_by_1, PLACE_21, "20")
SUMS(sum_2_by_2, PLACE_22, "32")
SUMS(sum_2_by_3, PLACE_23, "44")
SUMS(sum_2_by_4, PLACE_24, "56")

static const int8_t *sum_row(const int8_t *row, const int8_t *weights, int32_t channels,
                             struct tile *tile)
{
    switch (channels) {
    case 1:
        return sum_1_by_1(row, row, weights, tile);
    case 2:
        return sum_1_by_2(row, row, weights, tile);
    case 3:
        return sum_1_by_3(row, row, weights, tile);
    default:
        return sum_1_by_4(row, row, weights, tile);
    }
}

static const int8_t *sum_rows(const int8_t *row, const int8_t *other, const int8_t *weights,
                              int32_t channels, struct tile *tile)
{
    switch (channels) {
    case 1:
        return sum_2_by_1(row, other, weights, tile);
    case 2:
        return sum_2_by_2(row, other, weights, tile);
    case 3:
        return sum_2_by_3(row, other, weights, tile);
    default:
        return sum_2_by_4(row, other, weights, tile);
    }
}
#else
#define STEPS 1

static const int8_t *sum_wide(const int8_t *row, const int8_t *next, const int8_t *weights,
                              struct wide *wide)
{
    while (row < wide->end) {
        int32_t value = *row++;

        for (int32_t channel = 0; channel < CHANNELS; channel++) {
            wide->sums[channel] += value * *weights++;
            wide->sums[CHANNELS + channel] += value * *next++;
        }
    }
    return next;
}

static const int8_t *sum_row(const int8_t *row, const int8_t *weights, int32_t channels,
                             struct tile *tile)
{
    for (int32_t channel = 0; channel < channels; channel++) {
        tile->sums[channel] = tile->scales[channel].bias;
    }
    while (row < tile->end) {
        int32_t value = *row++;

        for (int32_t channel = 0; channel < channels; channel++) {
            tile->sums[channel] += value * *weights++;
        }
    }
    return weights;
}

static const int8_t *sum_rows(const int8_t *row, const int8_t *other, const int8_t *weights,
                              int32_t channels, struct tile *tile)
{
    for (int32_t channel = 0; channel < channels; channel++) {
        tile->sums[channel] = tile->scales[channel].bias;
        tile->sums[CHANNELS + channel] = tile->scales[channel].bias;
    }
    while (row < tile->end) {
        int32_t value = *row++, below = *other++;

        for (int32_t channel = 0; channel < channels; channel++) {
            int32_t weight = *weights++;

            tile->sums[channel] += value * weight;
            tile->sums[CHANNELS + channel] += below * weight;
        }
    }
    return weights;
}
#endif

int32_t ethosgen_thumb_row_words(int32_t depth)
{
    return (depth + (int32_t)sizeof(int32_t) - 1) / (int32_t)sizeof(int32_t);
}

int32_t ethosgen_thumb_row(int32_t *to, const int8_t *values, int32_t depth)
{
    (void)memcpy((uint8_t *)to, (const uint8_t *)values, (size_t)depth);
    return 0;
}

/* Sum the products of a row and up to 4 channels. */
static const int8_t *sum_some(int32_t *sums, const int32_t *biases, int32_t channels,
                              const int8_t *row, int32_t depth, const int8_t *weights)
{
    struct ethosgen_core_scale scales[CHANNELS] = {{0}};
    struct tile tile = {.scales = scales, .end = row + depth, .skipped = -depth & (STEPS - 1)};

    for (int32_t channel = 0; channel < channels; channel++) {
        scales[channel].bias = biases[channel];
    }
    weights = sum_row(row, weights, channels, &tile);
    (void)memcpy(sums, tile.sums, (size_t)channels * sizeof *sums);
    return weights;
}

const int8_t *ethosgen_thumb_sums(int32_t *sums, const int32_t *biases, int32_t channels,
                                  const int32_t *row, int32_t depth, const int8_t *weights)
{
    const int8_t *values = (const int8_t *)row;
    struct wide wide = {.end = values + depth, .skipped = -depth & (STEPS - 1)};

    for (; channels >= WIDE; channels -= WIDE) {
        (void)memcpy(wide.sums, biases, sizeof wide.sums);
        weights = sum_wide(values, weights + CHANNELS * depth, weights, &wide);
        (void)memcpy(sums, wide.sums, sizeof wide.sums);
        biases += WIDE;
        sums += WIDE;
    }
    for (; channels > 0; channels -= CHANNELS) {
        weights = sum_some(sums, biases, channels < CHANNELS ? channels : CHANNELS, values, depth,
                           weights);
        biases += CHANNELS;
        sums += CHANNELS;
    }
    return weights;
}

/* Compute all channels of a row in whole blocks of 8; return the weights of the others. */
static const int8_t *multiply_wide(int8_t *output, const int8_t *row, const int8_t *weights,
                                   const struct ethosgen_core_scale *scales,
                                   const struct ethosgen_thumb_matrix *matrix)
{
    int32_t depth = matrix->depth;
    struct wide wide = {.end = row + depth, .skipped = -depth & (STEPS - 1)};

    for (int32_t left = matrix->channels; left >= WIDE; left -= WIDE) {
        for (int32_t channel = 0; channel < WIDE; channel++) {
            wide.sums[channel] = scales[channel].bias;
        }
        weights = sum_wide(row, weights + CHANNELS * depth, weights, &wide);
        for (int32_t channel = 0; channel < WIDE; channel++) {
            *output++ = (int8_t)ethosgen_thumb_requantize(wide.sums[channel], scales++);
        }
    }
    return weights;
}

void ethosgen_thumb_multiply(int8_t *const outputs[ETHOSGEN_THUMB_ROWS], const int8_t *rows,
                             int32_t count, int32_t *words, const int8_t *weights,
                             const int32_t *scales, const struct ethosgen_thumb_matrix *matrix)
{
    int32_t depth = matrix->depth, left = matrix->channels;
    int8_t *first = outputs[0], *second = outputs[1];
    struct tile tile;

    (void)words;
    tile.scales = (const struct ethosgen_core_scale *)scales;
    tile.end = rows + depth;
    tile.skipped = -depth & (STEPS - 1);
    if (count < ROWS) {
        int32_t whole = left - left % WIDE;

        weights = multiply_wide(first, rows, weights, tile.scales, matrix);
        first = &first[whole];
        tile.scales += whole;
        left -= whole;
    }
    for (; left > 0; left -= CHANNELS) {
        int32_t some = left < CHANNELS ? left : CHANNELS;

        if (count == ROWS) {
            weights = sum_rows(rows, rows + depth, weights, some, &tile);
        } else {
            weights = sum_row(rows, weights, some, &tile);
        }
        for (int32_t channel = 0; channel < some; channel++) {
            *first++ = (int8_t)ethosgen_thumb_requantize(tile.sums[channel], tile.scales);
            if (count == ROWS) {
                *second++ = (int8_t)ethosgen_thumb_requantize(tile.sums[CHANNELS + channel],
                                                              tile.scales);
            }
            tile.scales++;
        }
    }
    for (int32_t row = 0; row < count; row++) {
        ethosgen_thumb_bound(outputs[row], matrix->channels, matrix->low, matrix->high);
    }
}

void ethosgen_thumb_matrix_s8(int8_t *output, const int8_t *rows, int32_t count,
                              const int8_t *weights, const int32_t *scales,
                              const struct ethosgen_thumb_matrix *matrix)
{
    for (; count > 0; count -= ROWS) {
        int8_t *const outputs[ROWS] = {output, output + matrix->stride};

        ethosgen_thumb_multiply(outputs, rows, count < ROWS ? count : ROWS, 0, weights, scales,
                                matrix);
        rows += ROWS * matrix->depth;
        output += ROWS * matrix->stride;
    }
}
