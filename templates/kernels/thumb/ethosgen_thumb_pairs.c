/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows times weights on Armv6-M: fully connected layers and convolutions. See ethosgen_thumb.h.
 *
 * The halves of a word hold the values of two rows at a place of the depth. Values and weights are
 * raised by 128, so they and their products have no sign: the product of the word and a weight
 * contains both rows' products, 16 bits each. The sum of the upper halves is the second row's. The
 * sum of the products less 65536 times that is the first row's.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_thumb_tile.h"

enum { ROWS = ETHOSGEN_THUMB_ROWS, CHANNELS = ETHOSGEN_THUMB_CHANNELS };

#define RAISED 0x00800080u /* adds 128 to the bytes of both rows */

/* Two sums of a channel: of the products, and of their upper halves. */
struct sums {
    uint32_t whole;
    uint32_t upper;
};

/* Some channels of a row or two, in the order in which the assembly loads its fields. */
struct tile {
    int32_t rounds;
    int32_t skipped; /* steps that the first round leaves out */
    struct sums sums[CHANNELS];
};

#if defined(__thumb__) && !defined(ETHOSGEN_PLAIN_C)
#define STEPS 4
/* A channel of a place of the depth: r3 has the values, r1 the address of the weights. */
#define CHANNEL_1(weight, sum, add) \
    "ldrb r4, [r1, #" weight "]\n\tmuls r4, r3\n\t" add " " sum ", " sum ", r4\n\t"
#define CHANNEL_2(weight, sum, upper, add) \
    CHANNEL_1(weight, sum, add) "lsrs r5, r4, #16\n\t" add " " upper ", " upper ", r5\n\t"
#define VALUES "ldm r0!, {r3}\n\t"
#define PLACE_11(a) VALUES CHANNEL_1(a, "r6", "adds")
#define PLACE_12(a, b) PLACE_11(a) CHANNEL_1(b, "r8", "add")
#define PLACE_13(a, b, c) PLACE_12(a, b) CHANNEL_1(c, "r10", "add")
#define PLACE_14(a, b, c, d) PLACE_13(a, b, c) CHANNEL_1(d, "r12", "add")
#define PLACE_21(a) VALUES CHANNEL_2(a, "r6", "r7", "adds")
#define PLACE_22(a, b) PLACE_21(a) CHANNEL_2(b, "r8", "r9", "add")
#define PLACE_23(a, b, c) PLACE_22(a, b) CHANNEL_2(c, "r10", "r11", "add")
#define PLACE_24(a, b, c, d) PLACE_23(a, b, c) CHANNEL_2(d, "r12", "lr", "add")
#define PLACES_1(place) place("0") place("1") place("2") place("3")
#define PLACES_2(place) place("0", "1") place("2", "3") place("4", "5") place("6", "7")
#define PLACES_3(place) \
    place("0", "1", "2") place("3", "4", "5") place("6", "7", "8") place("9", "10", "11")
#define PLACES_4(place)                                   \
    place("0", "1", "2", "3") place("4", "5", "6", "7")   \
    place("8", "9", "10", "11") place("12", "13", "14", "15")

/*
 * Sum the products of words r0 and weights r1 with the tile r2; return the weights' end.
 * In assembly, since 8 sums need all registers. `bytes` is the code size of a place.
 *
 * r0: words. r1: weights. r2: rounds left, and the tile behind the loop. r3: a value of each row,
 * as a word. r4: a weight, then its products. r5: their upper half. r6, r8, r10, r12: sums of the
 * channels. r7, r9, r11, lr: sums of the upper halves. On the stack: the tile. Before the loop, r3:
 * where it starts.
 */
#define SUMS(name, places, channels, round, bytes)                                                 \
    static ETHOSGEN_THUMB_NAKED const int8_t *name(                                                \
        const int32_t *words __attribute__((unused)),                                              \
        const int8_t *weights __attribute__((unused)), struct tile *tile __attribute__((unused)))  \
    {                                                                                              \
        __asm volatile(".syntax unified\n\t"                                                       \
                       "push {r4-r7, lr}\n\t"                                                      \
                       "mov r4, r8\n\t"                                                            \
                       "mov r5, r9\n\t"                                                            \
                       "mov r6, r10\n\t"                                                           \
                       "mov r7, r11\n\t"                                                           \
                       "push {r2, r4-r7}\n\t"                                                      \
                       "ldr r3, [r2, #4]\n\t"                                                      \
                       "ldr r2, [r2]\n\t"                                                          \
                       "movs r4, #" channels "\n\t"                                                \
                       "muls r4, r3\n\t"                                                           \
                       "subs r1, r1, r4\n\t"                                                       \
                       "movs r4, #" bytes "\n\t"                                                   \
                       "muls r3, r4\n\t"                                                           \
                       "adr r4, 1f\n\t"                                                            \
                       "adds r3, r3, r4\n\t"                                                       \
                       "adds r3, r3, #1\n\t"                                                       \
                       "movs r6, #0\n\t"                                                           \
                       "movs r7, #0\n\t"                                                           \
                       "mov r8, r6\n\t"                                                            \
                       "mov r9, r6\n\t"                                                            \
                       "mov r10, r6\n\t"                                                           \
                       "mov r11, r6\n\t"                                                           \
                       "mov r12, r6\n\t"                                                           \
                       "mov lr, r6\n\t"                                                            \
                       "bx r3\n\t"                                                                 \
                       ".p2align 2\n"                                                              \
                       "1:\n\t" places                                                             \
                       "adds r1, r1, #" round "\n\t"                                               \
                       "subs r2, r2, #1\n\t"                                                       \
                       "bne 1b\n\t"                                                                \
                       "mov r0, r1\n\t"                                                            \
                       "pop {r2}\n\t"                                                              \
                       "adds r2, r2, #8\n\t"                                                       \
                       "stm r2!, {r6, r7}\n\t"                                                     \
                       "mov r4, r8\n\t"                                                            \
                       "mov r5, r9\n\t"                                                            \
                       "mov r6, r10\n\t"                                                           \
                       "mov r7, r11\n\t"                                                           \
                       "stm r2!, {r4-r7}\n\t"                                                      \
                       "mov r4, r12\n\t"                                                           \
                       "mov r5, lr\n\t"                                                            \
                       "stm r2!, {r4, r5}\n\t"                                                     \
                       "pop {r4-r7}\n\t"                                                           \
                       "mov r8, r4\n\t"                                                            \
                       "mov r9, r5\n\t"                                                            \
                       "mov r10, r6\n\t"                                                           \
                       "mov r11, r7\n\t"                                                           \
                       "pop {r4-r7, pc}");                                                         \
    }

SUMS(sum_1_by_1, PLACES_1(PLACE_11), "1", "4", "8")
SUMS(sum_1_by_2, PLACES_2(PLACE_12), "2", "8", "14")
SUMS(sum_1_by_3, PLACES_3(PLACE_13), "3", "12", "20")
SUMS(sum_1_by_4, PLACES_4(PLACE_14), "4", "16", "26")
SUMS(sum_2_by_1, PLACES_1(PLACE_21), "1", "4", "12")
SUMS(sum_2_by_2, PLACES_2(PLACE_22), "2", "8", "22")
SUMS(sum_2_by_3, PLACES_3(PLACE_23), "3", "12", "32")
SUMS(sum_2_by_4, PLACES_4(PLACE_24), "4", "16", "42")

static const int8_t *sum(const int32_t *words, int32_t count, const int8_t *weights,
                         int32_t channels, struct tile *tile)
{
    switch (channels + (count == ROWS ? CHANNELS : 0)) {
    case 1:
        return sum_1_by_1(words, weights, tile);
    case 2:
        return sum_1_by_2(words, weights, tile);
    case 3:
        return sum_1_by_3(words, weights, tile);
    case 4:
        return sum_1_by_4(words, weights, tile);
    case 5:
        return sum_2_by_1(words, weights, tile);
    case 6:
        return sum_2_by_2(words, weights, tile);
    case 7:
        return sum_2_by_3(words, weights, tile);
    default:
        return sum_2_by_4(words, weights, tile);
    }
}
#else
#define STEPS 1

static const int8_t *sum(const int32_t *words, int32_t count, const int8_t *weights,
                         int32_t channels, struct tile *tile)
{
    (void)count;
    for (int32_t channel = 0; channel < channels; channel++) {
        tile->sums[channel] = (struct sums){0, 0};
    }
    for (int32_t place = 0; place < tile->rounds; place++) {
        for (int32_t channel = 0; channel < channels; channel++) {
            uint32_t products = (uint32_t)words[place] * (uint8_t)*weights++;

            tile->sums[channel].whole += products;
            tile->sums[channel].upper += products >> 16;
        }
    }
    return weights;
}
#endif

/* Write the words of one or two rows; add 128 times the sums of their raised values to `excess`. */
static void pair(int32_t *words, const int8_t *row, int32_t depth, int32_t count, int32_t *excess)
{
    uint32_t whole = 0, upper = 0;

    if (count == ROWS) {
        const int8_t *other = row + depth;

        for (const int8_t *end = other; row < end; row++) {
            uint32_t word = ((uint32_t)(uint8_t)*other++ << 16 | (uint8_t)*row) ^ RAISED;

            *words++ = (int32_t)word;
            whole += word;
            upper += word >> 16;
        }
    } else {
        for (const int8_t *end = row + depth; row < end; row++) {
            uint32_t word = (uint8_t)*row ^ (RAISED & UINT8_MAX);

            *words++ = (int32_t)word;
            whole += word;
        }
    }
    excess[0] = (int32_t)(128u * (whole - (upper << 16)));
    excess[1] = (int32_t)(128u * upper);
}

int32_t ethosgen_thumb_row_words(int32_t depth)
{
    return depth;
}

int32_t ethosgen_thumb_row(int32_t *to, const int8_t *values, int32_t depth)
{
    int32_t excess[ROWS];

    pair(to, values, depth, 1, excess);
    return excess[0];
}

const int8_t *ethosgen_thumb_sums(int32_t *sums, const int32_t *biases, int32_t channels,
                                  const int32_t *row, int32_t depth, const int8_t *weights)
{
    struct tile tile = {
        .rounds = (depth + STEPS - 1) / STEPS, .skipped = -depth & (STEPS - 1)};

    for (; channels > 0; channels -= CHANNELS) {
        int32_t some = channels < CHANNELS ? channels : CHANNELS;

        weights = sum(row, 1, weights, some, &tile);
        for (int32_t channel = 0; channel < some; channel++) {
            *sums++ = (int32_t)((uint32_t)*biases++ + tile.sums[channel].whole);
        }
    }
    return weights;
}

void ethosgen_thumb_multiply(int8_t *const outputs[ETHOSGEN_THUMB_ROWS], const int8_t *rows,
                             int32_t count, int32_t *words, const int8_t *weights,
                             const int32_t *scales, const struct ethosgen_thumb_matrix *matrix)
{
    const struct ethosgen_core_scale *scale = (const struct ethosgen_core_scale *)scales;
    int32_t excess[ROWS];
    int8_t *first = outputs[0], *second = outputs[1];
    struct tile tile;

    pair(words, rows, matrix->depth, count, excess);
    tile.rounds = (matrix->depth + STEPS - 1) / STEPS;
    tile.skipped = -matrix->depth & (STEPS - 1);
    for (int32_t left = matrix->channels; left > 0; left -= CHANNELS) {
        int32_t some = left < CHANNELS ? left : CHANNELS;

        weights = sum(words, count, weights, some, &tile);
        for (int32_t channel = 0; channel < some; channel++) {
            uint32_t whole = tile.sums[channel].whole, upper = tile.sums[channel].upper;

            if (count == ROWS) {
                *second++ = (int8_t)ethosgen_thumb_requantize(
                    (int32_t)(upper - (uint32_t)excess[1]) + scale->bias, scale);
                whole -= upper << 16;
            }
            *first++ = (int8_t)ethosgen_thumb_requantize(
                (int32_t)(whole - (uint32_t)excess[0]) + scale->bias, scale);
            scale++;
        }
    }
    for (int32_t row = 0; row < count; row++) {
        ethosgen_thumb_bound(outputs[row], matrix->channels, matrix->low, matrix->high);
    }
}

void ethosgen_thumb_pairs_s8(int8_t *output, const int8_t *rows, int32_t count, void *room,
                             const int8_t *weights, const int32_t *scales,
                             const struct ethosgen_thumb_matrix *matrix)
{
    for (; count > 0; count -= ROWS) {
        int8_t *const outputs[ROWS] = {output, output + matrix->stride};

        ethosgen_thumb_multiply(outputs, rows, count < ROWS ? count : ROWS, room, weights, scales,
                                matrix);
        rows += ROWS * matrix->depth;
        output += ROWS * matrix->stride;
    }
}
