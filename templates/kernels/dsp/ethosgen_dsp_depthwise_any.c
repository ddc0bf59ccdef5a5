/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Depthwise convolutions with any windows, 4 outputs of a row at a time. See ethosgen_dsp.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_dsp_depthwise.h"

enum { TAPS = ETHOSGEN_DSP_TAPS };

typedef struct ethosgen_dsp_depthwise AnyLayer;

/* Write a channel's weights, doubled, as pairs of 16 bits. */
static void widen(uint32_t *to, const int8_t *weights, const AnyLayer *layer)
{
    int32_t row = (layer->taps_x + TAPS - 1) / TAPS * TAPS, pairs = (layer->taps_x + 1) / 2;

    for (int32_t y = 0; y < layer->taps_y; y++) {
        for (int32_t pair = 0; pair < pairs; pair += 2) {
            uint32_t word = ethosgen_dsp_word(weights + 2 * pair);
            uint32_t even = ethosgen_dsp_twice(ethosgen_dsp_even(word));
            uint32_t odd = ethosgen_dsp_twice(ethosgen_dsp_odd(word));

            *to++ = ethosgen_dsp_low_halves(even, odd);
            if (pair + 1 < pairs) {
                *to++ = ethosgen_dsp_high_halves(even, odd);
            }
        }
        weights = &weights[row];
    }
}

static inline uint32_t load(const int16_t *from)
{
    return ethosgen_dsp_word(from);
}

/* Compute one output. */
static void window(int8_t *output, const int16_t *from, const uint32_t *weights,
                   const struct ethosgen_core_scale *scale, const AnyLayer *layer)
{
    int32_t sum = scale->bias, down = layer->dilation_y * layer->plane_row;

    for (int32_t y = layer->taps_y; y > 0; y--) {
        for (const int16_t *x = from, *end = from + layer->taps_x; x < end; x += 2) {
            sum = ethosgen_dsp_add_products(load(x), *weights++, sum);
        }
        from = &from[down];
    }
    *output = (int8_t)ethosgen_dsp_requantize(sum, scale);
}

/* Compute 4 outputs. The compiler would keep an array of sums in memory, so each has a name. */
static void windows(int8_t *output, const int16_t *from, const uint32_t *weights,
                    const struct ethosgen_core_scale *scale, const AnyLayer *layer)
{
    int32_t step = layer->stride_x, down = layer->dilation_y * layer->plane_row;
    int32_t a = scale->bias, b = a, c = a, d = a;

    for (int32_t y = layer->taps_y; y > 0; y--) {
        const int16_t *at_a = from, *at_b = from + step, *at_c = at_b + step, *at_d = at_c + step;

        for (int32_t pairs = (layer->taps_x + 1) / 2; pairs > 0; pairs--) {
            uint32_t pair = *weights++;

            a = ethosgen_dsp_add_products(load(at_a), pair, a);
            at_a += 2;
            b = ethosgen_dsp_add_products(load(at_b), pair, b);
            at_b += 2;
            c = ethosgen_dsp_add_products(load(at_c), pair, c);
            at_c += 2;
            d = ethosgen_dsp_add_products(load(at_d), pair, d);
            at_d += 2;
        }
        from = &from[down];
    }
    step = layer->output_step;
    output[0] = (int8_t)ethosgen_dsp_requantize(a, scale);
    output[step] = (int8_t)ethosgen_dsp_requantize(b, scale);
    output[2 * step] = (int8_t)ethosgen_dsp_requantize(c, scale);
    output[3 * step] = (int8_t)ethosgen_dsp_requantize(d, scale);
}

/* The same for one output, whose taps may have gaps. */
static inline void scattered(int8_t *output, const int16_t *from, const uint32_t *weights,
                             const struct ethosgen_core_scale *scale, const AnyLayer *layer)
{
    int32_t sum = scale->bias;

    for (int32_t y = layer->taps_y; y > 0; y--) {
        const unsigned char *halves = (const unsigned char *)weights;
        const int16_t *x = from;

        for (int32_t left = layer->taps_x; left > 0; left--) {
            int16_t weight;

            (void)memcpy((uint8_t *)&weight, (const uint8_t *)halves, sizeof weight);
            halves += sizeof weight;
            sum += *x * weight;
            x += layer->dilation_x;
        }
        weights += (layer->taps_x + 1) / 2;
        from += layer->dilation_y * layer->plane_row;
    }
    *output = (int8_t)ethosgen_dsp_requantize(sum, scale);
}

static void run_row(int8_t *output, const int16_t *from, const uint32_t *weights,
                    const struct ethosgen_core_scale *scale, const AnyLayer *layer)
{
    int32_t left = layer->pixels;

    if (layer->dilation_x != 1) {
        for (; left > 0; left--) {
            scattered(output, from, weights, scale, layer);
            output += layer->output_step;
            from += layer->stride_x;
        }
        return;
    }
    for (; left >= 4; left -= 4) {
        windows(output, from, weights, scale, layer);
        output += 4 * layer->output_step;
        from += 4 * layer->stride_x;
    }
    if (left > 1 && layer->pixels >= 4) {
        /* Some outputs are computed twice: 4 cost little more than 2. */
        windows(output - (4 - left) * layer->output_step, from - (4 - left) * layer->stride_x,
                weights, scale, layer);
        return;
    }
    for (; left > 0; left--) {
        window(output, from, weights, scale, layer);
        output += layer->output_step;
        from += layer->stride_x;
    }
}

void ethosgen_dsp_run_channel(int8_t *output, const int16_t *plane, uint32_t *pairs, int32_t rows,
                              const int8_t *weights, const struct ethosgen_core_scale *scale,
                              const AnyLayer *layer)
{
    widen(pairs, weights, layer);
    for (; rows > 0; rows--) {
        run_row(output, plane, pairs, scale, layer);
        plane += layer->stride_y * layer->plane_row;
        output += layer->output_row;
    }
}
