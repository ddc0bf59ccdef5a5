/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions: the pixels under each window times weights. See ethosgen_thumb.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_thumb_tile.h"

#include <stdbool.h>
#include <string.h>

#if ETHOSGEN_THUMB2
enum { WORD = 4 };
#else
enum { WORD = 1 }; /* Armv6-M reads only aligned words */
#endif

static inline void copy(int8_t *to, const int8_t *from, int32_t bytes)
{
    for (; bytes >= 4 * WORD; bytes -= 4 * WORD) {
        for (int32_t i = 0; i < 4 * WORD; i += WORD) {
            (void)memcpy(to + i, from + i, WORD);
        }
        to += 4 * WORD;
        from += 4 * WORD;
    }
    for (; bytes > 0; bytes--) {
        *to++ = *from++;
    }
}

static inline int32_t least(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

/* Copy the pixels under the window at row y, column x (which may be negative). */
static void gather(int8_t *patch, const int8_t *input, int32_t y, int32_t x, int32_t depth,
                   const struct ethosgen_core_window *window)
{
    int32_t channels = window->channels, row_bytes = window->width * window->pixel;
    bool is_dense = window->dilation_x == 1 && window->pixel == channels;
    int32_t end_y = y + (window->taps_y - 1) * window->dilation_y + 1;
    int32_t end_x = x + (window->taps_x - 1) * window->dilation_x + 1;
    int32_t first = x < 0 ? -x : 0, last = least(window->taps_x, window->width - x);

    if (y < 0 || x < 0 || end_y > window->height || end_x > window->width) {
        (void)memset(patch, window->zero_point, (size_t)depth);
    }
    for (int32_t row = y; row < end_y; row += window->dilation_y) {
        const int8_t *from = input + row * row_bytes;

        if (row < 0 || row >= window->height) {
            patch += window->taps_x * channels;
        } else if (is_dense) {
            if (first < last) {
                copy(patch + first * channels, from + (x + first) * channels,
                     (last - first) * channels);
            }
            patch += window->taps_x * channels;
        } else {
            for (int32_t column = x; column < end_x; column += window->dilation_x) {
                if (column >= 0 && column < window->width) {
                    copy(patch, from + column * window->pixel, channels);
                }
                patch = &patch[channels];
            }
        }
    }
}

void ethosgen_thumb_convolution_s8(int8_t *output, const int8_t *input, void *room,
                                   const int8_t *weights, const int32_t *scales,
                                   const struct ethosgen_thumb_matrix *matrix,
                                   const struct ethosgen_core_window *window)
{
    int32_t depth = matrix->depth, used = 0, *words = room;
    int8_t *patches = (int8_t *)(words + matrix->words), *outputs[ETHOSGEN_THUMB_ROWS];

    for (int32_t row = 0; row < window->rows; row++) {
        for (int32_t column = 0; column < window->columns; column++) {
            gather(patches + used * depth, input, row * window->stride_y - window->before_y,
                   column * window->stride_x - window->before_x, depth, window);
            outputs[used++] = output + column * matrix->stride;
            if (used == ETHOSGEN_THUMB_ROWS) {
                ethosgen_thumb_multiply(outputs, patches, used, words, weights, scales, matrix);
                used = 0;
            }
        }
        output += window->row_step;
    }
    if (used > 0) {
        outputs[1] = outputs[0];
        ethosgen_thumb_multiply(outputs, patches, used, words, weights, scales, matrix);
    }
}
