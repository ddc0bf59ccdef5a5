/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies the part of an input that a window covers. See ethosgen_kernels.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_bytes.h"

/* Adjacent columns of the window are adjacent in memory: copy each row of it at once. */
static inline void copy_rows(int8_t *patch, const int8_t *input, int32_t y, int32_t x,
                             const struct ethosgen_window *window)
{
    int32_t row_bytes = window->width * window->channels;
    int32_t patch_bytes = window->taps_x * window->channels;
    int32_t first = x < 0 ? -x : 0;
    int32_t behind = x + window->taps_x - window->width;
    int32_t bytes = (window->taps_x - first - (behind < 0 ? 0 : behind)) * window->channels;

    if (bytes <= 0) {
        return;
    }
    int32_t at = y * row_bytes + (x + first) * window->channels;

    patch += first * window->channels;
    for (int32_t left = window->taps_y; left > 0; left--) {
        if (y >= 0 && y < window->height) {
            ethosgen_copy(patch, input + at, bytes);
        }
        y += window->dilation_y;
        at += window->dilation_y * row_bytes;
        patch = &patch[patch_bytes];
    }
}

static void copy_taps(int8_t *patch, const int8_t *input, int32_t y, int32_t x,
                      const struct ethosgen_window *window)
{
    for (int32_t tap = 0; tap < window->taps_y * window->taps_x; tap++) {
        int32_t row = y + tap / window->taps_x * window->dilation_y;
        int32_t column = x + tap % window->taps_x * window->dilation_x;

        if (row >= 0 && row < window->height && column >= 0 && column < window->width) {
            ethosgen_copy(patch, input + (row * window->width + column) * window->pixel,
                 window->channels);
        }
        patch += window->channels;
    }
}

/* Fill a patch with the zero point if the window leaves the input. */
static inline void fill_if_outside(int8_t *patch, int32_t y, int32_t x,
                                   const struct ethosgen_window *window)
{
    int32_t end_y = y + (window->taps_y - 1) * window->dilation_y + 1;
    int32_t end_x = x + (window->taps_x - 1) * window->dilation_x + 1;

    if (y < 0 || x < 0 || end_y > window->height || end_x > window->width) {
        ethosgen_fill(patch, window->zero_point, window->taps_y * window->taps_x * window->channels);
    }
}

void ethosgen_patch_s8(void *patch, const void *input, int32_t y, int32_t x,
                       const struct ethosgen_window *window)
{
    fill_if_outside(patch, y, x, window);
    if (window->dilation_x == 1) {
        copy_rows(patch, input, y, x, window);
    } else {
        copy_taps(patch, input, y, x, window);
    }
}

void ethosgen_patch_part_s8(void *patch, const void *input, int32_t y, int32_t x,
                            const struct ethosgen_window *window)
{
    fill_if_outside(patch, y, x, window);
    copy_taps(patch, input, y, x, window);
}
