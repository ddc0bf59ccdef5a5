/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pixels under a window.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#ifndef ETHOSGEN_DSP_WINDOW_H
#define ETHOSGEN_DSP_WINDOW_H

#include "ethosgen_dsp_math.h"

/* A window's place: its first row and column, which may be negative. */
struct ethosgen_dsp_place {
    int32_t y;
    int32_t x;
};

static inline struct ethosgen_dsp_place
ethosgen_dsp_place_of(int32_t row, int32_t column, const struct ethosgen_core_window *window)
{
    return (struct ethosgen_dsp_place){row * window->stride_y - window->before_y,
                                       column * window->stride_x - window->before_x};
}

static inline bool ethosgen_dsp_is_inside(struct ethosgen_dsp_place at,
                                          const struct ethosgen_core_window *window)
{
    return at.y >= 0 && at.x >= 0
        && at.y + (window->taps_y - 1) * window->dilation_y < window->height
        && at.x + (window->taps_x - 1) * window->dilation_x < window->width;
}

/* Whether the rows under a window are contiguous and whole words. */
static inline bool ethosgen_dsp_has_whole_rows(const struct ethosgen_core_window *window)
{
    return window->dilation_x == 1 && window->taps_x * window->channels % 4 == 0
        && (window->pixel == window->channels || window->taps_x == 1);
}

/* Copy the pixels under a window, `depth` bytes. */
void ethosgen_dsp_gather(int8_t *patch, const int8_t *input, struct ethosgen_dsp_place at,
                         int32_t depth, const struct ethosgen_core_window *window);

#endif /* ETHOSGEN_DSP_WINDOW_H */
