/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows times weights: fully connected layers and convolutions. See ethosgen_dsp.h.
 *
 * A word of weights holds two channels' weights at two places: a and b at each, as a + 128 + 256 * b. So
 * SMLAD with the word accumulates both channels at once, and SMLAD with the lower bytes only the first;
 * their difference is 256 times the second's sum, which must fit in 24 bits. Deep rows are split into
 * parts whose sums fit for any input: the generator chooses the parts.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_dsp_tile.h"

/* ISO C guarantees strings of 4095 characters; the compilers of this assembly accept more. */
#pragma GCC diagnostic ignored "-Woverlength-strings"

enum { ROWS = ETHOSGEN_DSP_ROWS, STEP = ETHOSGEN_DSP_STEP };

#if ETHOSGEN_DSP && ETHOSGEN_DUAL_ISSUE
/*
 * The sums of 4 rows for 2 places: 16 products in little more than 8 cycles, since a load that changes
 * no address runs in parallel with a product. What a place needs first is loaded in the place before.
 */
#define PLACES(third, fourth, load_next)       \
    "smlad r5, r12, r0, r5\n\t"                \
    "smlad r4, r12, r3, r4\n\t"                \
    "ldr.w r12, [r1, #" third "]\n\t"          \
    "smlad r7, lr, r0, r7\n\t"                 \
    "smlad r6, lr, r3, r6\n\t"                 \
    "ldr.w lr, [r1, #" fourth "]\n\t"          \
    "smlad r9, r12, r0, r9\n\t"                \
    "smlad r11, lr, r0, r11\n\t"               \
    load_next
#define LAST_PRODUCTS                          \
    "smlad r8, r12, r3, r8\n\t"                \
    "smlad r10, lr, r3, r10\n\t"
#define LOAD_NEXT(weights, first, second)      \
    "ldr.w r0, [r2, #" weights "]\n\t"         \
    "smlad r8, r12, r3, r8\n\t"                \
    "ldr.w r12, [r1, #" first "]\n\t"          \
    "smlad r10, lr, r3, r10\n\t"               \
    "ldr.w lr, [r1, #" second "]\n\t"          \
    "uxtb16 r3, r0\n\t"
#define ADVANCE "add.w r1, r1, #32\n\tadd.w r2, r2, #8\n\t"
#define FOUR_PLACES                            \
    PLACES("8", "12", LOAD_NEXT("4", "16", "20")) \
    PLACES("24", "28", LOAD_NEXT("8", "32", "36")) ADVANCE
#define FOUR_PLACES_BYTES "120"
#define LOAD_FIRST                             \
    "ldr.w r0, [r2]\n\t"                       \
    "ldr.w r12, [r1]\n\t"                      \
    "ldr.w lr, [r1, #4]\n\t"                   \
    "uxtb16 r3, r0\n\t"
#define ROUND                                  \
    "2:\n\t" LOAD_FIRST ".p2align 2\n"        \
    "9:\n\t" FOUR_PLACES FOUR_PLACES FOUR_PLACES \
    PLACES("8", "12", LOAD_NEXT("4", "16", "20")) \
    PLACES("24", "28", LAST_PRODUCTS) ADVANCE
#define ENTRY "9f"
#elif ETHOSGEN_DSP
/* The sums of 4 rows for 2 places: 16 products in 12 instructions of 4 bytes. */
#define PLACES                                 \
    "ldr.w r0, [r2], #4\n\t"                   \
    "ldrd r12, lr, [r1], #8\n\t"               \
    "uxtb16 r3, r0\n\t"                        \
    "smlad r4, r12, r3, r4\n\t"                \
    "smlad r5, r12, r0, r5\n\t"                \
    "smlad r6, lr, r3, r6\n\t"                 \
    "smlad r7, lr, r0, r7\n\t"                 \
    "ldrd r12, lr, [r1], #8\n\t"               \
    "smlad r8, r12, r3, r8\n\t"                \
    "smlad r9, r12, r0, r9\n\t"                \
    "smlad r10, lr, r3, r10\n\t"               \
    "smlad r11, lr, r0, r11\n\t"
#define FOUR_PLACES PLACES PLACES
#define FOUR_PLACES_BYTES "96"
#define ROUND "2:\n\t" FOUR_PLACES FOUR_PLACES FOUR_PLACES FOUR_PLACES
#define LOAD_FIRST
#define ENTRY "2f"
#endif

#if ETHOSGEN_DSP
/* A channel's outputs from 4 doubled sums; r3 has its scales. */
#define OUTPUTS(a, b, c, d, mantissa, shift)   \
    "ldrd r1, r2, [r3, #" mantissa "]\n\t"     \
    "ldr r12, [r3, #" shift "]\n\t"            \
    SCALE(a) SCALE(b) SCALE(c) ROUND_UP(a) SCALE(d) ROUND_UP(b) \
    ADD_POINT(a) ROUND_UP(c) ADD_POINT(b) ROUND_UP(d) ADD_POINT(c) SHIFT(a) ADD_POINT(d) SHIFT(b) \
    SHIFT(c) SHIFT(d) SATURATE(a) SATURATE(b) SATURATE(c) SATURATE(d)
#define OUTPUT(sum) ROUND_UP(sum) ADD_POINT(sum) SHIFT(sum) SATURATE(sum)
#define SCALE(sum) "smmulr " sum ", " sum ", r1\n\t"
#define ROUND_UP(sum) "add " sum ", " sum ", " sum ", asr #31\n\t"
#define ADD_POINT(sum) "add " sum ", " sum ", r2\n\t"
#define SHIFT(sum) "asr " sum ", " sum ", r12\n\t"
#define SATURATE(sum) "ssat " sum ", #8, " sum "\n\t"
/* Twice a row's sum of the second channel, from the sums of both and of the first. */
#define SECOND(both, first)                    \
    "sub " both ", " both ", " first "\n\t"    \
    "add " both ", r12, " both ", asr #7\n\t"
/* The same for a part, added to the earlier parts. */
#define PART(both, first, before)              \
    "sub " both ", " both ", " first "\n\t"    \
    "add " both ", " before ", " both ", asr #7\n\t"
#define FIRST(sum, excess) "rsb " sum ", " excess ", " sum ", lsl #1\n\t"

/*
 * In assembly, since the sums and the factors need all registers.
 *
 * r1: rows. r2: weights. r12, lr: words of two rows. r0: weights of both channels. r3: those of the
 * first. r4, r6, r8, r10: the rows' sums of the first channel. r5, r7, r9, r11: those of both. On
 * the stack: tile, where the loop starts, the end of the part.
 *
 * Behind the loop, r0: tile. r3: scales, at last pairs. r1, r2, r12, lr: the rows' excesses; then
 * r1: mantissa, output. r2: addend, stride. r12: shift. At the end of a part, r1: bytes of the
 * next. r3: the part's end. r12, lr: sums of the parts before.
 */
static ETHOSGEN_DSP_NAKED void
multiply_rows(struct ethosgen_dsp_tile *tile __attribute__((unused)))
{
    __asm volatile(/* The first step in the loop, whose rounds have 4. */
                   "push {r4-r11, lr}\n\t"
                   "ldr r3, [r0, #32]\n\t"
                   "rsb r3, r3, #0\n\t"
                   "and r3, r3, #3\n\t"
                   "mov r2, #" FOUR_PLACES_BYTES "\n\t"
                   "mul r3, r3, r2\n\t"
                   "adr r1, " ENTRY "\n\t"
                   "add r1, r1, r3\n\t"
                   "add r1, r1, #1\n\t"
                   "ldr r2, [r0, #4]\n\t"
                   "push {r0, r1, r2}\n"
                   "1:\n\t"
                   "ldr r1, [r0]\n\t"
                   "ldrd r2, r3, [r0, #8]\n\t"
                   "ldr r4, [r3]\n\t"
                   "mov r5, r4\n\t"
                   "mov r6, r4\n\t"
                   "mov r7, r4\n\t"
                   "mov r8, r4\n\t"
                   "mov r9, r4\n\t"
                   "mov r10, r4\n\t"
                   "mov r11, r4\n\t"
                   LOAD_FIRST
                   "ldr pc, [sp, #4]\n\t"
                   ".p2align 2\n"
                   /* Rounds until the end of a part. */
                   ROUND
                   "ldr r0, [sp, #8]\n\t"
                   "cmp r1, r0\n\t"
                   "bne 2b\n\t"
                   "ldr r0, [sp]\n\t"
                   "ldrd r3, r1, [r0, #12]\n\t"
                   "cmp r1, #0\n\t"
                   "bne 4f\n\t"
                   "ldr r12, [r3, #16]\n\t"
                   SECOND("r5", "r4") SECOND("r7", "r6") SECOND("r9", "r8") SECOND("r11", "r10") "\n"
                   "3:\n\t"
                   "str r2, [r0, #8]\n\t"
                   "ldrd r1, r2, [r0, #36]\n\t"
                   "ldrd r12, lr, [r0, #44]\n\t"
                   FIRST("r4", "r1") FIRST("r6", "r2") FIRST("r8", "r12") FIRST("r10", "lr")
                   OUTPUTS("r4", "r6", "r8", "r10", "4", "12")
                   OUTPUTS("r5", "r7", "r9", "r11", "20", "28")
                   "add r3, r3, #32\n\t"
                   "str r3, [r0, #12]\n\t"
                   "ldrd r1, r2, [r0, #20]\n\t"
                   "ldr r3, [r0, #28]\n\t"
                   "strb r5, [r1, #1]\n\t"
                   "strb r4, [r1], #2\n\t"
                   "str r1, [r0, #20]\n\t"
                   "sub r1, r1, #2\n\t"
                   "add r1, r1, r2\n\t"
                   "strb r6, [r1]\n\t"
                   "strb r7, [r1, #1]\n\t"
                   "add r1, r1, r2\n\t"
                   "strb r8, [r1]\n\t"
                   "strb r9, [r1, #1]\n\t"
                   "add r1, r1, r2\n\t"
                   "strb r10, [r1]\n\t"
                   "strb r11, [r1, #1]\n\t"
                   "subs r3, r3, #1\n\t"
                   "str r3, [r0, #28]\n\t"
                   "bne 1b\n\t"
                   "add sp, sp, #12\n\t"
                   "pop {r4-r11, pc}\n"
                   /* The end of a part: add its sums; r1 has the bytes of the next. */
                   "4:\n\t"
                   "ldr r3, [sp, #8]\n\t"
                   "ldr r12, [r0, #52]\n\t"
                   "cmp r3, r12\n\t"
                   "ldrd r12, lr, [r0, #56]\n\t"
                   PART("r5", "r4", "r12") PART("r7", "r6", "lr")
                   "beq 5f\n\t"
                   "strd r5, r7, [r0, #56]\n\t"
                   "ldrd r12, lr, [r0, #64]\n\t"
                   PART("r9", "r8", "r12") PART("r11", "r10", "lr")
                   "strd r9, r11, [r0, #64]\n\t"
                   "mov r5, r4\n\t"
                   "mov r7, r6\n\t"
                   "mov r9, r8\n\t"
                   "mov r11, r10\n\t"
                   "add r12, r3, r1\n\t"
                   "str r12, [sp, #8]\n\t"
                   "mov r1, r3\n\t"
                   "b 2b\n"
                   "5:\n\t"
                   "ldrd r12, lr, [r0, #64]\n\t"
                   PART("r9", "r8", "r12") PART("r11", "r10", "lr")
                   "ldr r3, [r0, #12]\n\t"
                   "ldr r12, [r3, #16]\n\t"
                   "add r5, r5, r12\n\t"
                   "add r7, r7, r12\n\t"
                   "add r9, r9, r12\n\t"
                   "add r11, r11, r12\n\t"
                   "mov r12, #0\n\t"
                   "strd r12, r12, [r0, #56]\n\t"
                   "strd r12, r12, [r0, #64]\n\t"
                   "ldr r12, [r0, #4]\n\t"
                   "str r12, [sp, #8]\n\t"
                   "b 3b");
}

/* The sums of a row for 8 places: 16 products in 14 instructions. */
#define WORD(row, weights)                     \
    "uxtb16 r12, " weights "\n\t"              \
    "smlad r3, " row ", r12, r3\n\t"           \
    "smlad lr, " row ", " weights ", lr\n\t"
#if ETHOSGEN_DUAL_ISSUE
/*
 * First come a word's products with the weights of both channels; a word later those with the first
 * channel's weights, while the third word after it is loaded. No instruction waits for the one before.
 */
#define LOAD(data, address, place) "ldr " data ", [" address ", #" place "]\n\t"
#define BOTH(x, w) "smlad lr, " x ", " w ", lr\n\tuxtb16 " w ", " w "\n\t"
#define FIRST_OF_BOTH(x, w) "smlad r3, " x ", " w ", r3\n\t"
#define STEP(x0, w0, x1, w1, load_x, load_w)   \
    load_x BOTH(x1, w1) FIRST_OF_BOTH(x0, w0) load_w
#define LOADING(x0, w0, x1, w1, x3, w3, place) \
    STEP(x0, w0, x1, w1, LOAD(x3, "r1", place), LOAD(w3, "r2", place))
#define FIRST_WORDS                            \
    LOAD("r8", "r2", "0") LOAD("r4", "r1", "0") LOAD("r9", "r2", "4") LOAD("r5", "r1", "4") \
    BOTH("r4", "r8") LOAD("r10", "r2", "8") LOAD("r6", "r1", "8") \
    LOADING("r4", "r8", "r5", "r9", "r7", "r11", "12")
#define LAST_WORDS(bytes)                      \
    STEP("r5", "r9", "r6", "r10", "", "add r1, r1, #" bytes "\n\t") \
    STEP("r6", "r10", "r7", "r11", "", "add r2, r2, #" bytes "\n\t") FIRST_OF_BOTH("r7", "r11")
#define EIGHT_PLACES FIRST_WORDS LAST_WORDS("16")
#define SIXTEEN_PLACES                         \
    FIRST_WORDS                                \
    LOADING("r5", "r9", "r6", "r10", "r4", "r8", "16") \
    LOADING("r6", "r10", "r7", "r11", "r5", "r9", "20") \
    LOADING("r7", "r11", "r4", "r8", "r6", "r10", "24") \
    LOADING("r4", "r8", "r5", "r9", "r7", "r11", "28") LAST_WORDS("32")
#else
#define EIGHT_PLACES                           \
    "ldm r1!, {r4-r7}\n\t"                     \
    "ldm r2!, {r8-r11}\n\t"                    \
    WORD("r4", "r8") WORD("r5", "r9") WORD("r6", "r10") WORD("r7", "r11")
#define SIXTEEN_PLACES EIGHT_PLACES EIGHT_PLACES
#endif

/*
 * r0: rounds. r1: row. r2: weights. r3: the sum of the first channel. lr: that of both. r4 to r7:
 * words of the row. r8 to r11: weights. r12: the first channel's weights, if they have a register
 * of their own.
 *
 * Behind the loop, r0: tile. r1: output, pairs. r2: mantissa, addend. r4: scales. r5: addend. r12:
 * bytes of a part, the second channel's bias, excess, shift. At the end of a part, r5: the end of
 * all. r6: the sum of the parts before.
 */
static ETHOSGEN_DSP_NAKED void
multiply_row(struct ethosgen_dsp_tile *tile __attribute__((unused)))
{
    __asm volatile("push {r0, r4-r11, lr}\n"
                   "1:\n\t"
                   "ldr r1, [r0]\n\t"
                   "ldrd r2, r12, [r0, #8]\n\t"
                   "ldr r3, [r12]\n\t"
                   "mov lr, r3\n\t"
                   "ldr r0, [r0, #32]\n\t"
                   "lsrs r0, r0, #1\n\t"
                   "bcc 2f\n\t"
                   "ldrd r4, r5, [r1], #8\n\t"
                   "ldrd r8, r9, [r2], #8\n\t"
                   WORD("r4", "r8") WORD("r5", "r9")
                   "cmp r0, #0\n\t"
                   "beq 4f\n"
                   "2:\n\t"
                   "lsrs r0, r0, #1\n\t"
                   "bcc 3f\n\t"
                   EIGHT_PLACES
                   "cmp r0, #0\n\t"
                   "beq 4f\n"
                   "3:\n\t" SIXTEEN_PLACES
                   "subs r0, r0, #1\n\t"
                   "bne 3b\n"
                   "4:\n\t"
                   "ldr r0, [sp]\n\t"
                   "ldrd r4, r12, [r0, #12]\n\t"
                   "cmp r12, #0\n\t"
                   "bne 6f\n\t"
                   "ldr r12, [r4, #16]\n\t"
                   SECOND("lr", "r3") "\n"
                   "5:\n\t"
                   "str r2, [r0, #8]\n\t"
                   "ldr r12, [r0, #36]\n\t"
                   FIRST("r3", "r12")
                   "add r4, r4, #4\n\t"
                   "ldm r4!, {r2, r5, r12}\n\t"
                   "smmulr r3, r3, r2\n\t"
                   "mov r2, r5\n\t"
                   OUTPUT("r3")
                   "add r4, r4, #4\n\t"
                   "ldm r4!, {r2, r5, r12}\n\t"
                   "smmulr lr, lr, r2\n\t"
                   "mov r2, r5\n\t"
                   OUTPUT("lr")
                   "str r4, [r0, #12]\n\t"
                   "ldr r1, [r0, #20]\n\t"
                   "strb r3, [r1], #1\n\t"
                   "strb lr, [r1], #1\n\t"
                   "str r1, [r0, #20]\n\t"
                   "ldr r1, [r0, #28]\n\t"
                   "subs r1, r1, #1\n\t"
                   "str r1, [r0, #28]\n\t"
                   "bne 1b\n\t"
                   "pop {r0, r4-r11, pc}\n"
                   /* The end of a part: add its sum; r12 has the bytes of the next. */
                   "6:\n\t"
                   "ldrd r5, r6, [r0, #52]\n\t"
                   PART("lr", "r3", "r6")
                   "cmp r1, r5\n\t"
                   "ittt ne\n\t"
                   "strne lr, [r0, #56]\n\t"
                   "movne lr, r3\n\t"
                   "lsrne r0, r12, #5\n\t"
                   "bne 3b\n\t"
                   "mov r5, #0\n\t"
                   "str r5, [r0, #56]\n\t"
                   "ldr r12, [r4, #16]\n\t"
                   "add lr, lr, r12\n\t"
                   "b 5b");
}

static inline int32_t add_pair(uint32_t pair, int32_t sum)
{
    return __smlad((int16x2_t)pair, 0x00010001, sum);
}
#else
static int32_t half(uint32_t word, int32_t place)
{
    return (int16_t)(word >> (place * 16));
}

static inline int32_t add_pair(uint32_t pair, int32_t sum)
{
    return sum + half(pair, 0) + half(pair, 1);
}

/* Multiply `count` rows, whose words are interleaved; this sums the second channel separately. */
static void multiply(struct ethosgen_dsp_tile *tile, int32_t count)
{
    int32_t words = (int32_t)(tile->end - tile->rows) / count;

    for (; tile->pairs > 0; tile->pairs--) {
        for (int32_t row = 0; row < count; row++) {
            uint32_t first = (uint32_t)tile->scales[0].bias;
            int32_t second = 0;

            for (int32_t word = 0; word < words; word++) {
                uint32_t values = (uint32_t)tile->rows[word * count + row];
                uint32_t weights = ethosgen_dsp_word(tile->weights + 4 * word);

                for (int32_t place = 0; place < 2; place++) {
                    int32_t value = half(values, place), both = half(weights, place);

                    first += (uint32_t)(value * (int32_t)((uint32_t)both & UINT8_MAX));
                    second += value * (both >> 8);
                }
            }
            int8_t *output = tile->output + row * tile->stride;

            output[0] = (int8_t)ethosgen_dsp_requantize(
                (int32_t)((2u * first) - (uint32_t)tile->excess[row]), tile->scales);
            output[1] = (int8_t)ethosgen_dsp_requantize(2 * second + tile->scales[1].bias,
                                                        tile->scales + 1);
        }
        tile->weights += 4 * words;
        tile->scales += 2;
        tile->output += 2;
    }
}

static void multiply_rows(struct ethosgen_dsp_tile *tile)
{
    multiply(tile, ROWS);
}

static void multiply_row(struct ethosgen_dsp_tile *tile)
{
    multiply(tile, 1);
}
#endif

/* Write 4 values as two pairs of 16 bits, `step` words apart, and add them to a sum. */
static inline int32_t widen_word(int32_t *to, uint32_t word, int32_t step, int32_t sum)
{
    uint32_t even = ethosgen_dsp_even(word), odd = ethosgen_dsp_odd(word);

    to[0] = (int32_t)even;
    to[step] = (int32_t)odd;
    return add_pair(odd, add_pair(even, sum));
}

/* The last `count` values of a row; others are 0. */
static inline uint32_t last_word(const int8_t *from, int32_t count, int32_t depth)
{
    uint32_t word = 0;

    if (depth >= STEP) {
        return ethosgen_dsp_word(from + count - STEP) >> (8 * (STEP - count));
    }
    for (int32_t k = 0; k < count; k++) {
        word |= (uint32_t)(uint8_t)from[k] << (8 * k);
    }
    return word;
}

static inline int32_t widen_row(int32_t *to, const int8_t *row, int32_t depth, int32_t step)
{
    int32_t sum = 0, whole = depth;

    for (; depth >= 4 * STEP; depth -= 4 * STEP) {
        for (int32_t i = 0; i < 4; i++) {
            sum = widen_word(to + 2 * i * step, ethosgen_dsp_word(row + i * STEP), step, sum);
        }
        to += 8 * step;
        row += 4 * STEP;
    }
    for (; depth > 0; depth -= STEP) {
        uint32_t word = depth >= STEP ? ethosgen_dsp_word(row) : last_word(row, depth, whole);

        sum = widen_word(to, word, step, sum);
        to += 2 * step;
        row += STEP;
    }
    return (int32_t)((uint32_t)sum * (2u * 128u));
}

int32_t ethosgen_dsp_widen(int32_t *to, const int8_t *row, int32_t depth, int32_t count)
{
    return count == 1 ? widen_row(to, row, depth, 1) : widen_row(to, row, depth, ROWS);
}

/* Multiply the pairs of channels of 4 rows, whose outputs may be anywhere. */
static void multiply_apart(struct ethosgen_dsp_tile *tile, int32_t first, int32_t channels)
{
    int8_t made[2 * ROWS];

    for (int32_t channel = first; channel < channels; channel += 2) {
        tile->output = made;
        tile->stride = 2;
        tile->pairs = 1;
        multiply_rows(tile);
        for (int32_t row = 0; row < ROWS; row++) {
            (void)memcpy(tile->outputs[row] + channel, made + 2 * row, channel + 1 < channels ? 2 : 1);
        }
    }
}

/* Multiply the only row. */
static void multiply_one(struct ethosgen_dsp_tile *tile, int32_t channels)
{
    if (tile->pairs > 0) {
        multiply_row(tile);
    }
    if (channels % 2 != 0) {
        int8_t last[2] = {0};

        tile->output = last;
        tile->pairs = 1;
        multiply_row(tile);
        tile->outputs[0][channels - 1] = last[0];
    }
}

void ethosgen_dsp_finish(const int32_t *rows, struct ethosgen_dsp_tile *tile, int32_t count,
                         const int8_t *weights, const int32_t *scales,
                         const struct ethosgen_dsp_matrix *matrix)
{
    int32_t channels = matrix->channels, words = count == 1 ? 2 : 2 * ROWS;

    tile->rows = rows;
    tile->steps = matrix->first;
    tile->part = (int32_t)sizeof *rows * words * matrix->part;
    tile->part_end = rows + words * matrix->first;
    tile->end = rows + words * ethosgen_dsp_steps(matrix->depth);
    tile->weights = weights;
    tile->scales = (const struct ethosgen_core_scale *)scales;
    tile->output = tile->outputs[0];
    tile->stride = matrix->stride;
    tile->pairs = channels / 2;
    if (count == 1) {
        multiply_one(tile, channels);
    } else if (tile->outputs[ROWS - 1] - tile->outputs[0] == (ROWS - 1) * matrix->stride) {
        if (tile->pairs > 0) {
            multiply_rows(tile);
        }
        multiply_apart(tile, channels / 2 * 2, channels);
    } else {
        multiply_apart(tile, 0, channels);
    }
    for (int32_t row = 0; row < count; row++) {
        ethosgen_dsp_bound(tile->outputs[row], channels, matrix->low, matrix->high);
    }
}

void ethosgen_dsp_matrix_s8(int8_t *output, const int8_t *rows, int32_t count, void *room,
                            const int8_t *weights, const int32_t *scales,
                            const struct ethosgen_dsp_matrix *matrix)
{
    int32_t *wide = room;
    struct ethosgen_dsp_tile tile;

    (void)memset(tile.second, 0, sizeof tile.second);
    while (count > 0) {
        int32_t some = ethosgen_dsp_rows(count);

        for (int32_t row = 0; row < some; row++) {
            tile.excess[row] = ethosgen_dsp_widen(wide + row, rows, matrix->depth, some);
            tile.outputs[row] = output;
            rows += matrix->depth;
            output += matrix->stride;
        }
        ethosgen_dsp_finish(wide, &tile, some, weights, scales, matrix);
        count -= some;
    }
}
