/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Depthwise convolutions, one channel of some rows of outputs at a time. See ethosgen_thumb.h.
 *
 * The loops compute 4 outputs of a row at a time.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_thumb_plane.h"

#define INLINE static inline __attribute__((always_inline))

/* The sums of 4 outputs; windows are `step` columns apart. */
INLINE void sum_four(int32_t *sums, const uint8_t *from, const int8_t *weights, const Layer *layer,
                     int32_t step)
{
    int32_t a = sums[0], b = a, c = a, d = a, dilation = layer->dilation_x;
    int32_t below = layer->dilation_y * layer->plane_row;

    for (int32_t y = layer->taps_y; y > 0; y--) {
        const uint8_t *at = from;

        for (int32_t x = layer->taps_x; x > 0; x--) {
            int32_t weight = *weights++;

            a += (int32_t)at[0] * weight;
            b += (int32_t)at[step] * weight;
            c += (int32_t)at[2 * step] * weight;
            d += (int32_t)at[3 * step] * weight;
            at = &at[dilation];
        }
        from = &from[below];
    }
    sums[0] = a;
    sums[1] = b;
    sums[2] = c;
    sums[3] = d;
}

/* The same for 3 adjacent taps in each row, which windows 1 or 2 columns apart share. */
INLINE void sum_four_of_3(int32_t *sums, const uint8_t *from, const int8_t *weights,
                          const Layer *layer, int32_t step)
{
    int32_t a = sums[0], b = a, c = a, d = a;
    int32_t below = layer->dilation_y * layer->plane_row;

    for (int32_t y = layer->taps_y; y > 0; y--) {
        int32_t first = weights[0], second = weights[1], third = weights[2], value;

        a += (int32_t)from[0] * first;
        a += (int32_t)from[1] * second;
        value = from[2];
        a += value * third;
        if (step == 1) {
            b += (int32_t)from[1] * first;
            b += value * second;
            c += value * first;
            value = from[3];
            b += value * third;
            c += value * second;
            d += value * first;
            value = from[4];
            c += value * third;
            d += value * second;
            d += (int32_t)from[5] * third;
        } else {
            b += value * first;
            b += (int32_t)from[3] * second;
            value = from[4];
            b += value * third;
            c += value * first;
            c += (int32_t)from[5] * second;
            value = from[6];
            c += value * third;
            d += value * first;
            d += (int32_t)from[7] * second;
            d += (int32_t)from[8] * third;
        }
        weights += 3;
        from = &from[below];
    }
    sums[0] = a;
    sums[1] = b;
    sums[2] = c;
    sums[3] = d;
}

static int32_t sum_one(int32_t sum, const uint8_t *from, const int8_t *weights, const Layer *layer)
{
    int32_t dilation = layer->dilation_x, below = layer->dilation_y * layer->plane_row;

    for (int32_t y = layer->taps_y; y > 0; y--) {
        const uint8_t *at = from;

        for (int32_t x = layer->taps_x; x > 0; x--) {
            sum += (int32_t)*at * *weights++;
            at = &at[dilation];
        }
        from = &from[below];
    }
    return sum;
}

/* A row of outputs; `step` is the distance of windows in columns, where it is known. */
INLINE void compute_row(int8_t *output, const uint8_t *from, const int8_t *weights,
                        const Scale *scale, const Layer *layer, int32_t step, int32_t taps)
{
    int32_t left = layer->pixels, apart = layer->output_step;

    /* From 2 outputs on, 4 sums cost less than single ones; those beyond the row are ignored. */
    for (; left > 1; left -= FOUR) {
        int32_t sums[FOUR] = {scale->bias}, count = left < FOUR ? left : FOUR;

        if (taps == 3) {
            sum_four_of_3(sums, from, weights, layer, step);
        } else {
            sum_four(sums, from, weights, layer, step);
        }
        for (int32_t i = 0; i < count; i++) {
            *output = (int8_t)ethosgen_thumb_requantize(sums[i], scale);
            output = &output[apart];
        }
        from += FOUR * step;
    }
    if (left == 1) {
        int32_t sum = sum_one(scale->bias, from, weights, layer);

        *output = (int8_t)ethosgen_thumb_requantize(sum, scale);
    }
}

static void compute_channel(int8_t *output, const uint8_t *plane, int32_t rows,
                            const int8_t *weights, const Scale *scale, const Layer *layer)
{
    int32_t step = layer->stride_x, below = layer->stride_y * layer->plane_row;
    int32_t is_3 = (layer->taps_x == 3 && layer->dilation_x == 1) ? 1 : 0;

    for (; rows > 0; rows--) {
        if (is_3 != 0 && step == 1) {
            compute_row(output, plane, weights, scale, layer, 1, 3);
        } else if (is_3 != 0 && step == 2) {
            compute_row(output, plane, weights, scale, layer, 2, 3);
        } else if (step == 1) {
            compute_row(output, plane, weights, scale, layer, 1, 0);
        } else {
            compute_row(output, plane, weights, scale, layer, step, 0);
        }
        output += layer->output_row;
        plane = &plane[below];
    }
}

void ethosgen_thumb_depthwise_s8(int8_t *output, const int8_t *input, int8_t *room,
                                 const int8_t *weights, const int32_t *scales,
                                 const Layer *layer)
{
    const Scale *scale = (const Scale *)scales;
    uint8_t *plane = (uint8_t *)room;
    int32_t taps = layer->taps_y * layer->taps_x;
    int32_t elements = layer->rows * layer->pixels * layer->channels * layer->copies;
    int8_t *all = output;

    for (int32_t channel = 0; channel < layer->channels; channel++) {
        int8_t *made = output;

        for (int32_t row = 0; row < layer->rows; row += layer->strip) {
            int32_t left = layer->rows - row;
            int32_t rows = left < layer->strip ? left : layer->strip;

            fill(plane, input, row * layer->stride_y - layer->before_y, height_of(rows, layer),
                 layer);
            for (int32_t copy = 0; copy < layer->copies; copy++) {
                compute_channel(made + copy, plane, rows, weights + copy * taps, scale + copy,
                                layer);
            }
            made += rows * layer->output_row;
        }
        input++;
        output += layer->copies;
        weights += layer->copies * taps;
        scale += layer->copies;
    }
    ethosgen_thumb_bound(all, elements, layer->low, layer->high);
}
