/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Depthwise convolutions, 4 channels of one output at a time. See ethosgen_dsp.h.
 *
 * It copies only the places of the pixels under a window, so it suits few outputs. SMLAD multiplies
 * two taps of a channel.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_dsp.h"
#include "ethosgen_dsp_math.h"

enum { LANES = 4 };

typedef struct ethosgen_dsp_lanes LanesLayer;

/* Four channels of the outputs. */
struct block {
    int32_t from; /* their first channel, or their only one, in the input */
    int32_t to;   /* their first channel in the output */
    struct ethosgen_core_scale scales[LANES];
};

/* In the order in which the assembly loads its fields. */
struct run {
    const uint32_t *places; /* pairs of them; a pair of 0 is the end */
    const int8_t *weights;
    const struct block *blocks;
    int32_t count;
    int8_t *output;
    const int8_t *input;
    int32_t zero_point;
};

#if ETHOSGEN_DSP
/* Where a pixel is. */
static inline uint32_t place_of(const int8_t *pixel, const struct run *run)
{
    (void)run;
    return (uint32_t)(uintptr_t)pixel;
}

static inline uint32_t place_outside(const int8_t *blank)
{
    return (uint32_t)(uintptr_t)blank;
}

/* The next two pixels, or the end. */
#define PIXELS                                 \
    "push {r0, r4-r11, lr}\n\t"                \
    "ldr r1, [r0, #4]\n"                       \
    "1:\n\t"                                   \
    "ldr r12, [r0, #8]\n\t"                    \
    "ldr r2, [r12]\n\t"                        \
    "ldr r0, [r0]\n\t"                         \
    "mov r4, #0\n\t"                           \
    "mov r5, r4\n\t"                           \
    "mov r6, r4\n\t"                           \
    "mov r7, r4\n"                             \
    "2:\n\t"                                   \
    "ldrd r3, r8, [r0], #8\n\t"                \
    "cbz r3, 3f\n\t"

#define OUTPUT(sum, lane)                      \
    "ldm r2!, {r8-r11}\n\t"                    \
    "add " sum ", r8, " sum ", lsl #1\n\t"     \
    "smmulr " sum ", " sum ", r9\n\t"          \
    "add " sum ", " sum ", " sum ", asr #31\n\t" \
    "add " sum ", " sum ", r10\n\t"            \
    "asr " sum ", " sum ", r11\n\t"            \
    "ssat " sum ", #8, " sum "\n\t"            \
    "strb " sum ", [r3, #" lane "]\n\t"
#define OUTPUTS                                \
    "b 2b\n"                                   \
    "3:\n\t"                                   \
    "ldr r0, [sp]\n\t"                         \
    "ldr r2, [r0, #8]\n\t"                     \
    "ldr r3, [r0, #16]\n\t"                    \
    "ldr r8, [r2, #4]\n\t"                     \
    "add r2, r2, #8\n\t"                       \
    "add r3, r3, r8\n\t"                       \
    OUTPUT("r4", "0") OUTPUT("r5", "1") OUTPUT("r6", "2") OUTPUT("r7", "3") \
    "ldr r3, [r0, #12]\n\t"                    \
    "str r2, [r0, #8]\n\t"                     \
    "subs r3, r3, #1\n\t"                      \
    "str r3, [r0, #12]\n\t"                    \
    "bne 1b\n\t"                               \
    "pop {r0, r4-r11, pc}"

/*
 * In assembly, since sums, taps and addresses need all registers.
 *
 * r0: places, and the run outside the loop. r1: weights. r2: the block's place in a pixel, at last
 * scales. r3, r8: two pixels, then their odd channels. r9, r10: weights of lanes 0 and 2, 1 and 3,
 * then of 2 and 3 alone. r11: the first pixel's even channels, then weights of lanes 0 and 1. r12:
 * the block, then the second pixel's even channels, then lane 2 of both. lr: lanes 0 and 1 of both.
 * r4 to r7: sums, outputs.
 *
 * In the outputs, r3: output. r8: the doubled bias. r9: mantissa. r10: addend. r11: shift.
 */
static ETHOSGEN_DSP_NAKED void
run_lanes(struct run *run __attribute__((unused)))
{
    __asm volatile(PIXELS
                   "ldr r3, [r3, r2]\n\t"
                   "ldr r8, [r8, r2]\n\t"
                   "ldrd r9, r10, [r1], #8\n\t"
                   "sxtb16 r11, r3\n\t"
                   "sxtb16 r12, r8\n\t"
                   "sxtb16 r3, r3, ror #8\n\t"
                   "sxtb16 r8, r8, ror #8\n\t"
                   "pkhbt lr, r11, r12, lsl #16\n\t"
                   "pkhtb r12, r12, r11, asr #16\n\t"
                   "sxtb16 r11, r9\n\t"
                   "sxtb16 r9, r9, ror #8\n\t"
                   "smlad r4, lr, r11, r4\n\t"
                   "smlad r6, r12, r9, r6\n\t"
                   "pkhbt lr, r3, r8, lsl #16\n\t"
                   "pkhtb r8, r8, r3, asr #16\n\t"
                   "sxtb16 r11, r10\n\t"
                   "sxtb16 r10, r10, ror #8\n\t"
                   "smlad r5, lr, r11, r5\n\t"
                   "smlad r7, r8, r10, r7\n\t"
                   OUTPUTS);
}

/*
 * The same for 4 outputs of one channel.
 *
 * r0: places, and the run outside the loop. r1: weights. r2: the block's place in a pixel, at last
 * scales. r3, r8: two pixels' values. r9, r10: weights of outputs 0 and 2, 1 and 3, then of 2 and 3
 * alone. r11: weights of outputs 0 and 1. r12: the block. lr: both values. r4 to r7: sums, outputs.
 * The outputs are made as in run_lanes.
 */
static ETHOSGEN_DSP_NAKED void
run_copies(struct run *run __attribute__((unused)))
{
    __asm volatile(PIXELS
                   "ldrsb r3, [r3, r2]\n\t"
                   "ldrsb r8, [r8, r2]\n\t"
                   "ldrd r9, r10, [r1], #8\n\t"
                   "pkhbt lr, r3, r8, lsl #16\n\t"
                   "sxtb16 r11, r9\n\t"
                   "sxtb16 r9, r9, ror #8\n\t"
                   "smlad r4, lr, r11, r4\n\t"
                   "smlad r6, lr, r9, r6\n\t"
                   "sxtb16 r11, r10\n\t"
                   "sxtb16 r10, r10, ror #8\n\t"
                   "smlad r5, lr, r11, r5\n\t"
                   "smlad r7, lr, r10, r7\n\t"
                   OUTPUTS);
}
#else
/* A place is a pixel's index in the input plus 1; OUTSIDE is the place of the padding. */
#define OUTSIDE UINT32_MAX

static inline uint32_t place_of(const int8_t *pixel, const struct run *run)
{
    return (uint32_t)(pixel - run->input) + 1u;
}

static inline uint32_t place_outside(const int8_t *blank)
{
    (void)blank;
    return OUTSIDE;
}

static inline int32_t value_at(uint32_t place, int32_t channel, const struct run *run)
{
    return place == OUTSIDE ? run->zero_point : run->input[(int32_t)(place - 1u) + channel];
}

/* Compute blocks whose lanes are `step` input channels apart. */
static void run_all(struct run *run, int32_t step)
{
    for (; run->count > 0; run->count--) {
        const struct block *block = run->blocks++;
        int32_t sums[LANES] = {0}, pairs = 0;

        for (; run->places[2 * pairs] != 0u; pairs++) {
            for (int32_t lane = 0; lane < LANES; lane++) {
                const int8_t *weights = run->weights + 8 * pairs + 4 * (lane % 2) + lane / 2;
                int32_t channel = block->from + lane * step;

                sums[lane] += value_at(run->places[2 * pairs], channel, run) * weights[0];
                sums[lane] += value_at(run->places[2 * pairs + 1], channel, run) * weights[2];
            }
        }
        run->weights += 8 * pairs;
        for (int32_t lane = 0; lane < LANES; lane++) {
            const struct ethosgen_core_scale *scale = &block->scales[lane];

            run->output[block->to + lane] =
                (int8_t)ethosgen_dsp_requantize(scale->bias + 2 * sums[lane], scale);
        }
    }
}

static void run_lanes(struct run *run)
{
    run_all(run, 1);
}

static void run_copies(struct run *run)
{
    run_all(run, 0);
}
#endif

/* Write the places of the pixels under the window at row y, column x (which may be negative). */
static void find(uint32_t *places, const struct run *run, const int8_t *blank, int32_t y, int32_t x,
                 const LanesLayer *layer)
{
    int32_t step = layer->dilation_x * layer->channels, taps = layer->taps_x;
    int32_t end = x + taps * layer->dilation_x;

    for (int32_t row = layer->taps_y; row > 0; row--) {
        const int8_t *pixel = run->input + (y * layer->width + x) * layer->channels;

        if (y < 0 || y >= layer->height) {
            for (int32_t left = taps; left > 0; left--) {
                *places++ = place_outside(blank);
            }
        } else if (x >= 0 && end - layer->dilation_x < layer->width) {
            for (int32_t left = taps; left > 0; left--) {
                *places++ = place_of(pixel, run);
                pixel = &pixel[step];
            }
        } else {
            for (int32_t column = x; column < end; column += layer->dilation_x) {
                bool is_inside = column >= 0 && column < layer->width;

                *places++ = is_inside ? place_of(pixel, run) : place_outside(blank);
                pixel = &pixel[step];
            }
        }
        y += layer->dilation_y;
    }
    if (layer->taps_y * taps % 2 != 0) {
        *places++ = place_outside(blank);
    }
    places[0] = 0;
    places[1] = 0;
}

static inline void run_layer(int8_t *output, const int8_t *input, void *room, const int8_t *weights,
                             const int32_t *blocks, const LanesLayer *layer,
                             void (*compute)(struct run *run))
{
    uint32_t *places = room;
    int8_t *blank = (int8_t *)(places + (layer->taps_y * layer->taps_x + 1) / 2 * 2 + 2);
    struct run run = {.places = places, .input = input, .zero_point = layer->zero_point};

    (void)memset(blank, layer->zero_point, (size_t)layer->channels);
    for (int32_t row = 0; row < layer->rows; row++) {
        for (int32_t column = 0; column < layer->columns; column++) {
            find(places, &run, blank, row * layer->stride_y - layer->before_y,
                 column * layer->stride_x - layer->before_x, layer);
            run.weights = weights;
            run.blocks = (const struct block *)blocks;
            run.count = layer->blocks;
            run.output = output;
            compute(&run);
            ethosgen_dsp_bound(output, layer->outputs, layer->low, layer->high);
            output += layer->outputs;
        }
    }
}

void ethosgen_dsp_depthwise_lanes_s8(int8_t *output, const int8_t *input, void *room,
                                     const int8_t *weights, const int32_t *blocks,
                                     const LanesLayer *shape)
{
    run_layer(output, input, room, weights, blocks, shape, run_lanes);
}

void ethosgen_dsp_depthwise_copies_s8(int8_t *output, const int8_t *input, void *room,
                                      const int8_t *weights, const int32_t *blocks,
                                      const LanesLayer *shape)
{
    run_layer(output, input, room, weights, blocks, shape, run_copies);
}
