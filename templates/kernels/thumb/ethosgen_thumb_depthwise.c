/*
 * Depthwise convolutions, one channel of some rows of outputs at a time. See ethosgen_thumb.h.
 *
 * The input of a channel is copied to a plane with its padding, so that no window leaves it. 128 is
 * added to its values, since Armv6-M loads unsigned bytes in fewer instructions; the biases contain
 * the difference.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_thumb_math.h"

#include <string.h>

#define INLINE static inline __attribute__((always_inline))

enum { FOUR = 4, EXCESS = 128 };

typedef struct ethosgen_thumb_depthwise Layer;
typedef struct ethosgen_thumb_scale Scale;

/* The rows of the input under the windows of some rows of outputs. */
static inline int32_t height_of(int32_t rows, const Layer *layer)
{
    return (rows - 1) * layer->stride_y + (layer->taps_y - 1) * layer->dilation_y + 1;
}

static inline uint8_t raised(int8_t value)
{
    return (uint8_t)((uint8_t)value ^ EXCESS);
}

/* Copy a channel's rows from row `top`, which may be above the input. */
static void fill(uint8_t *plane, const int8_t *input, int32_t top, int32_t height,
                 const Layer *layer)
{
    int32_t step = layer->column_bytes;

    if (top < 0 || top + height > layer->height ||
        layer->width < layer->plane_row) {
        memset(plane, layer->zero_point + EXCESS, (size_t)(height * layer->plane_row));
    }
    plane += layer->before_x;
    for (int32_t row = top; row < top + height; row++) {
        if (row >= 0 && row < layer->height) {
            const int8_t *from = input + row * layer->row_bytes;
            uint8_t *to = plane;
            int32_t left = layer->width;

            for (; left >= FOUR; left -= FOUR) {
                to[0] = raised(*from);
                from += step;
                to[1] = raised(*from);
                from += step;
                to[2] = raised(*from);
                from += step;
                to[3] = raised(*from);
                from += step;
                to += FOUR;
            }
            for (; left > 0; left--) {
                *to++ = raised(*from);
                from += step;
            }
        }
        plane += layer->plane_row;
    }
}

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

            a += at[0] * weight;
            b += at[step] * weight;
            c += at[2 * step] * weight;
            d += at[3 * step] * weight;
            at += dilation;
        }
        from += below;
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

        a += from[0] * first;
        a += from[1] * second;
        value = from[2];
        a += value * third;
        if (step == 1) {
            b += from[1] * first;
            b += value * second;
            c += value * first;
            value = from[3];
            b += value * third;
            c += value * second;
            d += value * first;
            value = from[4];
            c += value * third;
            d += value * second;
            d += from[5] * third;
        } else {
            b += value * first;
            b += from[3] * second;
            value = from[4];
            b += value * third;
            c += value * first;
            c += from[5] * second;
            value = from[6];
            c += value * third;
            d += value * first;
            d += from[7] * second;
            d += from[8] * third;
        }
        weights += 3;
        from += below;
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
            sum += *at * *weights++;
            at += dilation;
        }
        from += below;
    }
    return sum;
}

/* A row of outputs; `step` is the columns between windows, if that is known. */
INLINE void compute_row(int8_t *output, const uint8_t *from, const int8_t *weights,
                        const Scale *scale, const Layer *layer, int32_t step, int32_t taps)
{
    int32_t left = layer->pixels, apart = layer->output_step;

    /* From 2 outputs on, 4 sums cost less than one by one; those behind the row mean nothing. */
    for (; left > 1; left -= FOUR) {
        int32_t sums[FOUR] = {scale->bias}, count = left < FOUR ? left : FOUR;

        if (taps == 3) {
            sum_four_of_3(sums, from, weights, layer, step);
        } else {
            sum_four(sums, from, weights, layer, step);
        }
        for (int32_t i = 0; i < count; i++) {
            *output = (int8_t)ethosgen_thumb_requantize(sums[i], scale);
            output += apart;
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
    int32_t is_3 = layer->taps_x == 3 && layer->dilation_x == 1;

    for (; rows > 0; rows--) {
        if (is_3 && step == 1) {
            compute_row(output, plane, weights, scale, layer, 1, 3);
        } else if (is_3 && step == 2) {
            compute_row(output, plane, weights, scale, layer, 2, 3);
        } else if (step == 1) {
            compute_row(output, plane, weights, scale, layer, 1, 0);
        } else {
            compute_row(output, plane, weights, scale, layer, step, 0);
        }
        output += layer->output_row;
        plane += below;
    }
}

void ethosgen_thumb_depthwise_s8(int8_t *output, const int8_t *input, int8_t *room,
                                 const int8_t *weights, const int32_t *scales,
                                 const int32_t *shape)
{
    const Layer *layer = (const Layer *)shape;
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
