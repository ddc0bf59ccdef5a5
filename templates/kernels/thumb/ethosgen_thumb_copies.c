/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Depthwise convolutions with 4, 8, ... outputs for each channel of the input. See ethosgen_thumb.h.
 *
 * The loops compute 4 outputs of the same window at a time, so that each value is loaded once for
 * 4 products, however few windows a row has.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_thumb_plane.h"

/* The sums of 4 outputs; the weights of a tap are adjacent. */
static inline void sum_copies(int32_t *sums, const uint8_t *from, const int8_t *weights,
                              const Layer *layer)
{
    int32_t a = sums[0], b = sums[1], c = sums[2], d = sums[3], dilation = layer->dilation_x;
    int32_t below = layer->dilation_y * layer->plane_row;

    for (int32_t y = layer->taps_y; y > 0; y--) {
        const uint8_t *end = from + layer->taps_x * dilation;

        for (const uint8_t *at = from; at != end; at = &at[dilation]) {
            int32_t value = *at;

            a += value * weights[0];
            b += value * weights[1];
            c += value * weights[2];
            d += value * weights[3];
            weights += FOUR;
        }
        from = &from[below];
    }
    sums[0] = a;
    sums[1] = b;
    sums[2] = c;
    sums[3] = d;
}

/* Some rows of 4 outputs each. */
static void compute_rows(int8_t *output, const uint8_t *plane, int32_t rows, const int8_t *weights,
                         const Scale *scale, const Layer *layer)
{
    for (int32_t row = 0; row < rows; row++) {
        const uint8_t *from = plane + row * layer->stride_y * layer->plane_row;
        int8_t *to = output + row * layer->output_row;

        for (int32_t left = layer->pixels; left > 0; left--) {
            int32_t sums[FOUR] = {scale[0].bias, scale[1].bias, scale[2].bias, scale[3].bias};

            sum_copies(sums, from, weights, layer);
            for (int32_t i = 0; i < FOUR; i++) {
                to[i] = (int8_t)ethosgen_thumb_requantize(sums[i], scale + i);
            }
            to += layer->output_step;
            from += layer->stride_x;
        }
    }
}

void ethosgen_thumb_copies_s8(int8_t *output, const int8_t *input, int8_t *room,
                              const int8_t *weights, const int32_t *scales,
                              const Layer *layer)
{
    uint8_t *plane = (uint8_t *)room;
    int32_t taps = layer->taps_y * layer->taps_x, outputs = layer->channels * layer->copies;

    for (int32_t row = 0; row < layer->rows; row += layer->strip) {
        int32_t left = layer->rows - row, rows = left < layer->strip ? left : layer->strip;
        int32_t top = row * layer->stride_y - layer->before_y;
        const Scale *scale = (const Scale *)scales;
        const int8_t *known = weights;
        int8_t *made = output + row * layer->output_row;

        for (int32_t channel = 0; channel < layer->channels; channel++) {
            fill(plane, input + channel, top, height_of(rows, layer), layer);
            for (int32_t copy = 0; copy < layer->copies; copy += FOUR) {
                compute_rows(made, plane, rows, known, scale, layer);
                made += FOUR;
                scale += FOUR;
                known += FOUR * taps;
            }
        }
    }
    ethosgen_thumb_bound(output, layer->rows * layer->pixels * outputs, layer->low, layer->high);
}
