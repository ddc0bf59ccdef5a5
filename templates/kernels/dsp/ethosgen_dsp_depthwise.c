/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Depthwise convolutions, one channel of some rows of outputs at a time. See ethosgen_dsp.h.
 *
 * The input of 4 channels is copied to 4 planes of 16 bits, with padding, so that the taps of a
 * window's row are adjacent and SMLAD multiplies two.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_dsp_depthwise.h"

enum { PLANES = 4, TAPS = ETHOSGEN_DSP_TAPS };

typedef struct ethosgen_dsp_depthwise Layer;

static inline int16_t *planes_of(void *room, const Layer *layer)
{
    return (int16_t *)room + 2 * layer->taps_y * ((layer->taps_x + 1) / 2);
}

static inline int32_t least(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

/* The rows of the input under the windows of some rows of outputs. */
static inline int32_t height_of(int32_t rows, const Layer *layer)
{
    return (rows - 1) * layer->stride_y + (layer->taps_y - 1) * layer->dilation_y + 1;
}

/* Fill planes with the value of the padding. A plane's size is even, so 4 have a multiple of 8. */
static void clear(int16_t *planes, int32_t count, int32_t value)
{
    uint32_t pair = ethosgen_dsp_low_halves((uint32_t)value, (uint32_t)value);

    for (; count >= 8; count -= 8) {
        uint32_t pairs[4] = {pair, pair, pair, pair};

        (void)memcpy((uint8_t *)planes, (const uint8_t *)pairs, sizeof pairs);
        planes += 8;
    }
}

/* A pixel's 4 channels, of which `count` exist. */
static inline uint32_t channels_of(const int8_t *pixel, int32_t count)
{
    uint32_t word = 0;

    if (count >= PLANES) {
        return ethosgen_dsp_word(pixel);
    }
    for (int32_t channel = 0; channel < count; channel++) {
        word |= (uint32_t)(uint8_t)pixel[channel] << (8 * channel);
    }
    return word;
}

static inline void store_pair(int16_t *to, uint32_t pair)
{
    (void)memcpy((uint8_t *)to, (const uint8_t *)&pair, sizeof pair);
}

/* Where a row goes in each plane, and where its next pixel is. */
struct cursor {
    int16_t *to[PLANES];
    const int8_t *from;
};

/* Copy two pixels of 4 channels to 4 planes. */
static inline void spread_pair(const struct cursor *at, uint32_t a, uint32_t b)
{
    uint32_t a_even = ethosgen_dsp_even(a), a_odd = ethosgen_dsp_odd(a);
    uint32_t b_even = ethosgen_dsp_even(b), b_odd = ethosgen_dsp_odd(b);

    store_pair(at->to[0], ethosgen_dsp_low_halves(a_even, b_even));
    store_pair(at->to[1], ethosgen_dsp_low_halves(a_odd, b_odd));
    store_pair(at->to[2], ethosgen_dsp_high_halves(a_even, b_even));
    store_pair(at->to[3], ethosgen_dsp_high_halves(a_odd, b_odd));
}

static inline void spread_few(struct cursor *at, int32_t pairs, int32_t step, int32_t count)
{
    for (; pairs > 0; pairs--) {
        spread_pair(at, channels_of(at->from, count), channels_of(at->from + step, count));
        for (int32_t channel = 0; channel < PLANES; channel++) {
            at->to[channel] += 2;
        }
        at->from += 2 * step;
    }
}

#if ETHOSGEN_DSP
/* In assembly, because the compiler keeps the addresses in memory: 8 values in 17 instructions. */
static inline void spread_all(struct cursor *at, int32_t pairs, int32_t step)
{
    uint32_t a, b, even, pair, made;

    if (pairs == 0) {
        return;
    }
    /*
     * a, b: 4 bytes of two pixels, then their odd channels; b at last the fourth plane's pair.
     * even: the first pixel's even channels, then the second plane's pair. pair: the second pixel's
     * even channels, then the third plane's pair. made: the first plane's pair.
     */
    __asm volatile("1:\n\t"
                   "ldr %[a], [%[from]]\n\t"
                   "ldr %[b], [%[from], %[step]]\n\t"
                   "add %[from], %[from], %[step], lsl #1\n\t"
                   "sxtb16 %[even], %[a]\n\t"
                   "sxtb16 %[pair], %[b]\n\t"
                   "sxtb16 %[a], %[a], ror #8\n\t"
                   "sxtb16 %[b], %[b], ror #8\n\t"
                   "subs %[pairs], %[pairs], #1\n\t"
                   "pkhbt %[made], %[even], %[pair], lsl #16\n\t"
                   "pkhtb %[pair], %[pair], %[even], asr #16\n\t"
                   "str %[made], [%[first]], #4\n\t"
                   "str %[pair], [%[third]], #4\n\t"
                   "pkhbt %[even], %[a], %[b], lsl #16\n\t"
                   "pkhtb %[b], %[b], %[a], asr #16\n\t"
                   "str %[even], [%[second]], #4\n\t"
                   "str %[b], [%[fourth]], #4\n\t"
                   "bne 1b"
                   : [first] "+r"(at->to[0]), [second] "+r"(at->to[1]), [third] "+r"(at->to[2]),
                     [fourth] "+r"(at->to[3]), [from] "+r"(at->from), [pairs] "+r"(pairs),
                     [a] "=&r"(a), [b] "=&r"(b), [even] "=&r"(even), [pair] "=&r"(pair),
                     [made] "=&r"(made)
                   : [step] "r"(step)
                   : "cc", "memory");
}
#else
static inline void spread_all(struct cursor *at, int32_t pairs, int32_t step)
{
    spread_few(at, pairs, step, PLANES);
}
#endif

static inline void spread(int16_t *first, const int8_t *from, int32_t count, const Layer *layer)
{
    int32_t plane = layer->plane, step = layer->column_bytes, pairs = layer->width / 2;
    struct cursor at = {{first, first + plane, first + 2 * plane, first + 3 * plane}, from};

    if (count == PLANES) {
        spread_all(&at, pairs, step);
    } else {
        spread_few(&at, pairs, step, count);
    }
    if (layer->width % 2 != 0) {
        /* Padding follows the row. */
        spread_pair(&at, channels_of(at.from, count),
                    (uint32_t)(uint8_t)layer->zero_point * 0x01010101u);
    }
}

/* Copy a row of the input's pixels to 4 planes. Not inline: that would cost registers. */
static __attribute__((noinline)) void spread_row(int16_t *to, const int8_t *from, int32_t count,
                                                 const Layer *layer)
{
    if (count >= PLANES) {
        spread(to, from, PLANES, layer);
    } else {
        spread(to, from, count, layer);
    }
}

/* What all channels share. */
static inline void start_run(struct ethosgen_dsp_run *run, const Layer *layer)
{
    run->next = layer->stride_y * layer->plane_row * 2;
    run->down = layer->dilation_y * layer->plane_row * 2;
    run->step = layer->output_step;
    run->pair_bytes = (layer->pixels + 1) / 2 * layer->stride_x * 4;
    run->output_row = layer->output_row;
    run->is_odd = layer->pixels & 1;
}

static inline void set_weights(uint32_t to[2], uint32_t word)
{
    uint32_t even = ethosgen_dsp_twice(ethosgen_dsp_even(word));
    uint32_t odd = ethosgen_dsp_twice(ethosgen_dsp_odd(word));

    to[0] = ethosgen_dsp_low_halves(even, odd);
    to[1] = ethosgen_dsp_low_and_high(odd, even);
}

/* Compute one channel of `rows` rows of outputs of 3 x 3 windows. */
static __attribute__((noinline)) void
run_3x3_channel(struct ethosgen_dsp_run *run, int32_t stride_x, const int8_t *weights,
                const struct ethosgen_core_scale *scale)
{
    run->scale = *scale;
    set_weights(run->weights, ethosgen_dsp_word(weights));
    set_weights(run->weights + 2, ethosgen_dsp_word(weights + TAPS));
    set_weights(run->weights + 4, ethosgen_dsp_word(weights + 2 * TAPS));
    if (stride_x == 1) {
        ethosgen_dsp_run_3x3(run);
    } else {
        ethosgen_dsp_run_3x3_by_2(run);
    }
}

/* Copy the rows of 4 channels that are inside the input to planes. */
static __attribute__((noinline)) void fill(int16_t *to, const int8_t *input, int32_t top,
                                           int32_t height, int32_t count, const Layer *layer)
{
    int32_t end = least(top + height, layer->height), row_bytes = layer->row_bytes;
    int32_t plane_row = layer->plane_row;

    for (int32_t y = top < 0 ? 0 : top; y < end; y++) {
        spread_row(to + (y - top) * plane_row, input + y * row_bytes, count, layer);
    }
}

/* Compute the outputs of 4 channels of the input, from the first that is in no earlier block. */
static void run_block(int8_t *output, const int8_t *input, void *room, int32_t channel,
                      int32_t row, int32_t rows, const int8_t *weights, const int32_t *scales,
                      const Layer *layer)
{
    const struct ethosgen_core_scale *scale = (const struct ethosgen_core_scale *)scales;
    int32_t first = channel + PLANES <= layer->channels || channel < PLANES
        ? channel
        : layer->channels - PLANES;
    int32_t taps = (layer->taps_x + TAPS - 1) / TAPS * TAPS * layer->taps_y;
    int32_t made = channel * layer->copies, copies = layer->copies, plane = layer->plane;
    int32_t end = least(layer->channels, first + PLANES), is_3x3 = layer->is_3x3;
    int16_t *planes = planes_of(room, layer);
    struct ethosgen_dsp_run run;

    fill(planes + layer->before_x, input + first, row * layer->stride_y - layer->before_y,
         height_of(rows, layer), layer->channels - first, layer);
    start_run(&run, layer);
    output += row * layer->output_row + made;
    weights = &weights[made * taps];
    scale += made;
    planes = &planes[(channel - first) * plane];
    for (; channel < end; channel++) {
        for (int32_t copy = 0; copy < copies; copy++) {
            if (is_3x3 != 0) {
                run.row = planes;
                run.rows = rows;
                run.row_output = output;
                run_3x3_channel(&run, layer->stride_x, weights, scale);
            } else {
                ethosgen_dsp_run_channel(output, planes, room, rows, weights, scale, layer);
            }
            output++;
            weights = &weights[taps];
            scale++;
        }
        planes = &planes[plane];
    }
}

void ethosgen_dsp_depthwise_s8(int8_t *output, const int8_t *input, void *room,
                               const int8_t *weights, const int32_t *scales, const Layer *layer)
{
    for (int32_t row = 0; row < layer->rows; row += layer->strip) {
        int32_t rest = layer->rows - row, rows = rest < layer->strip ? rest : layer->strip;

        /* All channels have the same padding. */
        clear(planes_of(room, layer), PLANES * layer->plane, layer->zero_point);
        for (int32_t channel = 0; channel < layer->channels; channel += PLANES) {
            run_block(output, input, room, channel, row, rows, weights, scales, layer);
        }
    }
    ethosgen_dsp_bound(output, layer->rows * layer->pixels * layer->channels * layer->copies,
                       layer->low, layer->high);
}
