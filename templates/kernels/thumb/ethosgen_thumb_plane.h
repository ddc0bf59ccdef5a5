/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plane of a depthwise convolution: a channel of the input with its padding, so that no window
 * leaves it. See ethosgen_thumb.h.
 *
 * 128 is added to the values, since Armv6-M loads unsigned bytes in fewer instructions; the biases
 * contain the difference.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#ifndef ETHOSGEN_THUMB_PLANE_H
#define ETHOSGEN_THUMB_PLANE_H

#include "ethosgen_thumb_math.h"

#include <string.h>

enum { FOUR = 4, EXCESS = 128 };

typedef struct ethosgen_thumb_depthwise Layer;
typedef struct ethosgen_core_scale Scale;

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
static inline void fill(uint8_t *plane, const int8_t *input, int32_t top, int32_t height,
                        const Layer *layer)
{
    int32_t step = layer->column_bytes;

    if (top < 0 || top + height > layer->height ||
        layer->width < layer->plane_row) {
        (void)memset(plane, layer->zero_point + EXCESS, (size_t)(height * layer->plane_row));
    }
    plane += layer->before_x;
    for (int32_t row = top; row < top + height; row++) {
        if (row >= 0 && row < layer->height) {
            const int8_t *from = input + row * layer->row_bytes;
            uint8_t *to = plane;
            int32_t left = layer->width;

            for (; left >= FOUR; left -= FOUR) {
                to[0] = raised(*from);
                from = &from[step];
                to[1] = raised(*from);
                from = &from[step];
                to[2] = raised(*from);
                from = &from[step];
                to[3] = raised(*from);
                from = &from[step];
                to += FOUR;
            }
            for (; left > 0; left--) {
                *to++ = raised(*from);
                from = &from[step];
            }
        }
        plane += layer->plane_row;
    }
}

#endif
