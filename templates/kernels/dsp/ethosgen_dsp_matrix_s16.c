/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * int16 rows times int8 weights: fully connected layers and convolutions. See ethosgen_dsp_s16.h.
 *
 * A word holds the weights of two channels at two places: SXTB16 extracts each channel's pair, and SMLAD
 * multiplies it by a row's pair. Sums of 32 bits are exact; deep rows are split into parts whose sums
 * fit for any input: the generator chooses the parts.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_dsp_tile_s16.h"

enum { ROWS = ETHOSGEN_DSP_TILE_ROWS, CHANNELS = 2, SUMS = ROWS * CHANNELS, WORD_BYTES = 4 };

typedef struct ethosgen_dsp_scale_s16 ScaleS16;

/* Some pairs of channels of 4 rows, or of one, in the order in which the assembly loads its fields. */
struct tile {
    const int32_t *rows;
    const int32_t *end; /* of the rows */
    const int8_t *weights;
    const ScaleS16 *scales;
    int16_t *output;
    int32_t stride;     /* bytes between the outputs of a row and those of the next */
    int32_t last;       /* the same between the third and the fourth */
    int32_t pairs;      /* of channels; 0 for the sums of one */
    int32_t sums[SUMS]; /* row by row */
};

/* An output of a channel whose products are scaled. */
static int16_t narrow(int64_t total, int32_t shift)
{
    /* As in TensorFlow Lite Micro, the bits above 32 are dropped. */
    int32_t value = (int32_t)(uint32_t)(uint64_t)(total >> (32 + shift));

    value = value < INT16_MIN ? INT16_MIN : value;
    return (int16_t)(value > INT16_MAX ? INT16_MAX : value);
}

#if ETHOSGEN_DSP
/* The sums of 4 rows for 2 places: 16 products in 13 instructions of 4 bytes. */
#define PLACES                                 \
    "ldr.w r0, [r2], #4\n\t"                   \
    "ldrd r12, lr, [r1], #8\n\t"               \
    "sxtb16 r3, r0\n\t"                        \
    "sxtb16 r0, r0, ror #8\n\t"                \
    "smlad r4, r12, r3, r4\n\t"                \
    "smlad r5, r12, r0, r5\n\t"                \
    "smlad r6, lr, r3, r6\n\t"                 \
    "smlad r7, lr, r0, r7\n\t"                 \
    "ldrd r12, lr, [r1], #8\n\t"               \
    "smlad r8, r12, r3, r8\n\t"                \
    "smlad r9, r12, r0, r9\n\t"                \
    "smlad r10, lr, r3, r10\n\t"               \
    "smlad r11, lr, r0, r11\n\t"
#define EIGHT_PLACES PLACES PLACES PLACES PLACES
/* An output from a sum: r12 has the mantissa, lr the shift. */
#define OUTPUT(sum, addend)                    \
    "ldrd r1, r2, [r3, #" addend "]\n\t"       \
    "smlal r1, r2, " sum ", r12\n\t"           \
    "asr " sum ", r2, lr\n\t"                  \
    "ssat " sum ", #16, " sum "\n\t"

/*
 * In assembly, since the sums and the factors need all registers.
 *
 * r1: rows. r2: weights. r12, lr: words of two rows. r3, r0: weights of the first and the second
 * channel. r4, r6, r8, r10: the rows' sums of the first channel. r5, r7, r9, r11: those of the
 * second. On the stack: tile, where the loop starts, the rows' end.
 *
 * Behind the loop, r0: tile. r3: scales. r12: mantissa. lr: shift. r1, r2: a sum of 64 bits; then
 * r1: output. r2: stride. r3: pairs. r12: the next output.
 */
static ETHOSGEN_DSP_NAKED void
multiply_rows(struct tile *tile __attribute__((unused)))
{
    __asm volatile(/* The first word in the loop, whose rounds have 8 of 52 bytes of code. */
                   "push {r4-r11, lr}\n\t"
                   "ldrd r1, r2, [r0]\n\t"
                   "sub r3, r1, r2\n\t"
                   "and r3, r3, #112\n\t"
                   "mov r12, #13\n\t"
                   "mul r3, r3, r12\n\t"
                   "adr r1, 2f\n\t"
                   "add r1, r1, r3, lsr #2\n\t"
                   "add r1, r1, #1\n\t"
                   "push {r0, r1, r2}\n"
                   "1:\n\t"
                   "ldr r1, [r0]\n\t"
                   "ldr r2, [r0, #8]\n\t"
                   "mov r4, #0\n\t"
                   "mov r5, #0\n\t"
                   "mov r6, #0\n\t"
                   "mov r7, #0\n\t"
                   "mov r8, #0\n\t"
                   "mov r9, #0\n\t"
                   "mov r10, #0\n\t"
                   "mov r11, #0\n\t"
                   "ldr pc, [sp, #4]\n\t"
                   ".p2align 2\n"
                   "2:\n\t" EIGHT_PLACES EIGHT_PLACES
                   "ldr r0, [sp, #8]\n\t"
                   "cmp r1, r0\n\t"
                   "bne 2b\n\t"
                   "ldr r0, [sp]\n\t"
                   "str r2, [r0, #8]\n\t"
                   "ldr r1, [r0, #28]\n\t"
                   "cmp r1, #0\n\t"
                   "beq 3f\n\t"
                   "ldr r3, [r0, #12]\n\t"
                   "ldrd r12, lr, [r3, #8]\n\t"
                   OUTPUT("r4", "0") OUTPUT("r6", "0") OUTPUT("r8", "0") OUTPUT("r10", "0")
                   "ldrd r12, lr, [r3, #24]\n\t"
                   OUTPUT("r5", "16") OUTPUT("r7", "16") OUTPUT("r9", "16") OUTPUT("r11", "16")
                   "add r3, r3, #32\n\t"
                   "ldrd r1, r2, [r0, #16]\n\t"
                   "add r12, r1, #4\n\t"
                   "strd r3, r12, [r0, #12]\n\t"
                   "strh r5, [r1, #2]\n\t"
                   "strh r4, [r1]\n\t"
                   "add r1, r1, r2\n\t"
                   "strh r7, [r1, #2]\n\t"
                   "strh r6, [r1]\n\t"
                   "add r1, r1, r2\n\t"
                   "ldrd r2, r3, [r0, #24]\n\t"
                   "strh r9, [r1, #2]\n\t"
                   "strh r8, [r1]\n\t"
                   "add r1, r1, r2\n\t"
                   "strh r11, [r1, #2]\n\t"
                   "strh r10, [r1]\n\t"
                   "subs r3, r3, #1\n\t"
                   "str r3, [r0, #28]\n\t"
                   "bne 1b\n\t"
                   "add sp, sp, #12\n\t"
                   "pop {r4-r11, pc}\n"
                   "3:\n\t"
                   "add r0, r0, #32\n\t"
                   "stm r0, {r4-r11}\n\t"
                   "add sp, sp, #12\n\t"
                   "pop {r4-r11, pc}");
}

/* The sums of a row for 2 places, whose weights are changed. */
#define WORD(row, weights)                     \
    "sxtb16 r12, " weights "\n\t"              \
    "sxtb16 " weights ", " weights ", ror #8\n\t" \
    "smlad r3, " row ", r12, r3\n\t"           \
    "smlad lr, " row ", " weights ", lr\n\t"
/* An output of a channel with a negative shift. */
#define LIFT(sum)                              \
    "add r8, r9, #32\n\t"                      \
    "rsb r9, r9, #0\n\t"                       \
    "lsr r1, r1, r8\n\t"                       \
    "lsl r2, r2, r9\n\t"                       \
    "orr " sum ", r1, r2\n\t"
/* 16 products in 18 instructions. */
#define FOUR_WORDS                             \
    "ldm r1!, {r4-r7}\n\t"                     \
    "ldm r2!, {r8-r11}\n\t"                    \
    WORD("r4", "r8") WORD("r5", "r9") WORD("r6", "r10") WORD("r7", "r11")

/*
 * r0: rounds. r1: row. r2: weights. r3, lr: sums of both channels. r4 to r7: words of the row. r8
 * to r11: weights, then those of the second channel. r12: those of the first.
 *
 * Behind the loop, r0: tile. r1, r2: a sum of 64 bits. r3, lr: outputs. r4: scales. r5: output. r8:
 * mantissa. r9: shift. r10: pairs.
 */
static ETHOSGEN_DSP_NAKED void
multiply_row(struct tile *tile __attribute__((unused)))
{
    __asm volatile("push {r0, r4-r11, lr}\n"
                   "1:\n\t"
                   "ldrd r1, r2, [r0]\n\t"
                   "mov r3, #0\n\t"
                   "mov lr, #0\n\t"
                   "sub r12, r2, r1\n\t"
                   "ldr r2, [r0, #8]\n\t"
                   "lsrs r0, r12, #3\n\t"
                   "bcc 2f\n\t"
                   "ldr r4, [r1], #4\n\t"
                   "ldr r8, [r2], #4\n\t"
                   WORD("r4", "r8") "\n"
                   "2:\n\t"
                   "lsrs r0, r0, #1\n\t"
                   "bcc 3f\n\t"
                   "ldrd r4, r5, [r1], #8\n\t"
                   "ldrd r8, r9, [r2], #8\n\t"
                   WORD("r4", "r8") WORD("r5", "r9") "\n"
                   "3:\n\t"
                   "lsrs r0, r0, #1\n\t"
                   "bcc 4f\n\t"
                   FOUR_WORDS "\n"
                   "4:\n\t"
                   "cmp r0, #0\n\t"
                   "beq 6f\n"
                   "5:\n\t" FOUR_WORDS FOUR_WORDS
                   "subs r0, r0, #1\n\t"
                   "bne 5b\n"
                   "6:\n\t"
                   "ldr r0, [sp]\n\t"
                   "str r2, [r0, #8]\n\t"
                   "ldr r10, [r0, #28]\n\t"
                   "cmp r10, #0\n\t"
                   "beq 7f\n\t"
                   "ldrd r4, r5, [r0, #12]\n\t"
                   "ldm r4!, {r1, r2, r8, r9}\n\t"
                   "smlal r1, r2, r3, r8\n\t"
                   "cmp r9, #0\n\t"
                   "bmi 8f\n\t"
                   "asr r3, r2, r9\n"
                   "9:\n\t"
                   "ssat r3, #16, r3\n\t"
                   "ldm r4!, {r1, r2, r8, r9}\n\t"
                   "smlal r1, r2, lr, r8\n\t"
                   "cmp r9, #0\n\t"
                   "bmi 10f\n\t"
                   "asr lr, r2, r9\n"
                   "11:\n\t"
                   "ssat lr, #16, lr\n\t"
                   "strh r3, [r5], #2\n\t"
                   "strh lr, [r5], #2\n\t"
                   "strd r4, r5, [r0, #12]\n\t"
                   "subs r10, r10, #1\n\t"
                   "str r10, [r0, #28]\n\t"
                   "bne 1b\n\t"
                   "pop {r0, r4-r11, pc}\n"
                   "7:\n\t"
                   "str r3, [r0, #32]\n\t"
                   "str lr, [r0, #36]\n\t"
                   "pop {r0, r4-r11, pc}\n"
                   "8:\n\t" LIFT("r3") "b 9b\n"
                   "10:\n\t" LIFT("lr") "b 11b");
}
#else
static int16_t output_of(int32_t sum, const ScaleS16 *scale)
{
    int64_t addend = (int64_t)(((uint64_t)(uint32_t)scale->high << 32) | scale->low);

    return narrow((int64_t)sum * scale->mantissa + addend, scale->shift);
}

static void multiply(struct tile *tile, int32_t count)
{
    int32_t words = (int32_t)(tile->end - tile->rows) / count;

    do {
        int16_t *output = tile->output;

        for (int32_t row = 0; row < count; row++) {
            int32_t *sums = tile->sums + CHANNELS * row;

            (void)memset(sums, 0, CHANNELS * sizeof *sums);
            for (int32_t word = 0; word < words; word++) {
                int16_t values[ETHOSGEN_DSP_PAIR];
                const int8_t *weights = tile->weights + WORD_BYTES * word;

                (void)memcpy((uint8_t *)values, (const uint8_t *)(tile->rows + word * count + row),
                             sizeof values);
                sums[0] += values[0] * weights[0] + values[1] * weights[2];
                sums[1] += values[0] * weights[1] + values[1] * weights[3];
            }
            if (tile->pairs > 0) {
                output[0] = output_of(sums[0], tile->scales);
                output[1] = output_of(sums[1], tile->scales + 1);
            }
            output += (row == 2 ? tile->last : tile->stride) / (int32_t)sizeof *output;
        }
        tile->weights += WORD_BYTES * words;
        if (tile->pairs == 0) {
            return;
        }
        tile->scales += CHANNELS;
        tile->output += CHANNELS;
        tile->pairs--;
    } while (tile->pairs > 0);
}

static void multiply_rows(struct tile *tile)
{
    multiply(tile, ROWS);
}

static void multiply_row(struct tile *tile)
{
    multiply(tile, 1);
}
#endif

static inline void store_half(int32_t *to, int32_t place, int16_t value)
{
    (void)memcpy((int16_t *)to + place, &value, sizeof value);
}

static inline void copy_word(int32_t *to, const int16_t *from)
{
    (void)memcpy((uint8_t *)to, (const uint8_t *)from, sizeof *to);
}

void ethosgen_dsp_append(struct ethosgen_dsp_writer *writer, const int16_t *from, int32_t count)
{
    int32_t *to = writer->to, step = writer->step;

    if (writer->is_half && count > 0) {
        store_half(to, 1, from ? *from++ : 0);
        to += step;
        count--;
        writer->is_half = 0;
    }
    if (from != NULL) {
        for (; count >= 8; count -= 8) {
            copy_word(to, from);
            copy_word(to + step, from + 2);
            copy_word(to + 2 * step, from + 4);
            copy_word(to + 3 * step, from + 6);
            from += 8;
            to += 4 * step;
        }
        for (; count >= 2; count -= 2) {
            copy_word(to, from);
            from += 2;
            to += step;
        }
    }
    for (; count >= 2; count -= 2) {
        *to = 0;
        to += step;
    }
    if (count > 0) {
        store_half(to, 0, from ? *from : 0);
        writer->is_half = 1;
    }
    writer->to = to;
}

void ethosgen_dsp_repeat(int32_t *rows, int32_t words)
{
    for (; words > 0; words--) {
        rows[3] = rows[2];
        rows += ROWS;
    }
}

/* Compute a pair of channels of `count` rows (1, 3 or 4), part by part. */
static void multiply_parts(struct tile *tile, int32_t count, int32_t part)
{
    const int32_t *rows = tile->rows, *end = tile->end;
    const ScaleS16 *scales = tile->scales;
    int32_t lanes = count == 1 ? 1 : ROWS;
    int16_t *output = tile->output;
    int64_t totals[SUMS];

    for (int32_t i = 0; i < lanes * CHANNELS; i++) {
        const ScaleS16 *scale = scales + i % CHANNELS;

        totals[i] = (int64_t)(((uint64_t)(uint32_t)scale->high << 32) | scale->low);
    }
    tile->pairs = 0;
    while (tile->rows < end) {
        tile->end = end - tile->rows > part * lanes ? tile->rows + part * lanes : end;
        if (count == 1) {
            multiply_row(tile);
        } else {
            multiply_rows(tile);
        }
        for (int32_t i = 0; i < lanes * CHANNELS; i++) {
            totals[i] += (int64_t)tile->sums[i] * scales[i % CHANNELS].mantissa;
        }
        tile->rows = tile->end;
    }
    for (int32_t row = 0; row < count; row++) {
        output[0] = narrow(totals[CHANNELS * row], scales[0].shift);
        output[1] = narrow(totals[CHANNELS * row + 1], scales[1].shift);
        output += tile->stride / (int32_t)sizeof *output;
    }
    tile->rows = rows;
    tile->scales += CHANNELS;
    tile->output += CHANNELS;
}

/* Compute pairs of channels of `count` rows. */
static void multiply_pairs(struct tile *tile, int32_t count, int32_t part, int32_t pairs)
{
    if (part > 0) {
        for (; pairs > 0; pairs--) {
            multiply_parts(tile, count, part);
        }
    } else if (pairs > 0) {
        tile->pairs = pairs;
        if (count == 1) {
            multiply_row(tile);
        } else {
            multiply_rows(tile);
        }
    } else {
        /* the only channel is not a pair */
    }
}

void ethosgen_dsp_finish_s16(int16_t *output, const int32_t *rows, int32_t count,
                             const int8_t *weights, const int32_t *scales,
                             const struct ethosgen_dsp_matrix_s16 *matrix)
{
    enum { BYTES = sizeof *output };
    int32_t channels = matrix->channels, words = ethosgen_dsp_words(matrix->depth);
    /* The assembly for a row handles negative shifts. */
    int32_t part = count == 1 && matrix->part == words ? 0 : matrix->part;
    int32_t stride = BYTES * matrix->stride;
    struct tile tile;

    tile.rows = rows;
    tile.end = rows + words * (count == 1 ? 1 : ROWS);
    tile.weights = weights;
    tile.scales = (const ScaleS16 *)scales;
    tile.output = output;
    tile.stride = stride;
    tile.last = count == 3 ? 0 : stride;
    multiply_pairs(&tile, count, part, channels / CHANNELS);
    if (channels % CHANNELS != 0) {
        int16_t last[SUMS];

        tile.output = last;
        tile.stride = tile.last = BYTES * CHANNELS;
        multiply_pairs(&tile, count, part, 1);
        for (int32_t row = 0; row < count; row++) {
            output[row * matrix->stride + channels - 1] = last[CHANNELS * row];
        }
    }
    for (int32_t row = 0; row < count; row++) {
        ethosgen_dsp_bound_s16(output + row * matrix->stride, channels, matrix->low,
                               matrix->high);
    }
}

void ethosgen_dsp_matrix_s16(int16_t *output, const int16_t *rows, int32_t count, void *room,
                             const int8_t *weights, const int32_t *scales,
                             const struct ethosgen_dsp_matrix_s16 *matrix)
{
    int32_t depth = matrix->depth;

    while (count > 0) {
        /* For a single channel, interleaving rows costs more than it saves. */
        int32_t some = matrix->channels == 1 ? 1 : ethosgen_dsp_some(count);
        bool is_ready = some == 1 && depth % ETHOSGEN_DSP_PAIR == 0
            && (uintptr_t)rows % sizeof(int32_t) == 0u;

        for (int32_t row = 0; row < some && !is_ready; row++) {
            struct ethosgen_dsp_writer writer = {
                (int32_t *)room + row, some == 1 ? 1 : ROWS, 0,
            };

            ethosgen_dsp_append(&writer, rows + row * depth, depth);
            ethosgen_dsp_end(&writer);
        }
        if (some == 3) {
            ethosgen_dsp_repeat(room, ethosgen_dsp_words(depth));
        }
        ethosgen_dsp_finish_s16(output, is_ready ? (const void *)rows : room, some, weights,
                                scales, matrix);
        rows = &rows[some * depth];
        output += some * matrix->stride;
        count -= some;
    }
}
