/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions: the pixels under each window times weights. See ethosgen_dsp.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_dsp_tile.h"
#include "ethosgen_dsp_window.h"

static void copy(int8_t *to, const int8_t *from, int32_t bytes)
{
    for (; bytes >= 4; bytes -= 4) {
        uint32_t word = ethosgen_dsp_word(from);

        (void)memcpy((uint8_t *)to, (const uint8_t *)&word, sizeof word);
        to += 4;
        from += 4;
    }
    for (; bytes > 0; bytes--) {
        *to++ = *from++;
    }
}

static inline int32_t least(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

/* Copy the pixels under a window whose rows are contiguous, all of them inside. */
static void gather_rows(int8_t *patch, const int8_t *input, struct ethosgen_dsp_place at,
                        const struct ethosgen_core_window *window)
{
    int32_t row_bytes = window->width * window->pixel, bytes = window->taps_x * window->channels;
    const int8_t *from = input + at.y * row_bytes + at.x * window->pixel;

    for (int32_t left = window->taps_y; left > 0; left--) {
        copy(patch, from, bytes);
        patch = &patch[bytes];
        from += window->dilation_y * row_bytes;
    }
}

void ethosgen_dsp_gather(int8_t *patch, const int8_t *input, struct ethosgen_dsp_place at,
                         int32_t depth, const struct ethosgen_core_window *window)
{
    int32_t channels = window->channels, row_bytes = window->width * window->pixel;
    bool is_dense = window->dilation_x == 1 && window->pixel == channels;
    int32_t end_y = at.y + (window->taps_y - 1) * window->dilation_y + 1;
    int32_t end_x = at.x + (window->taps_x - 1) * window->dilation_x + 1;
    int32_t first = at.x < 0 ? -at.x : 0, last = least(window->taps_x, window->width - at.x);

    if (!ethosgen_dsp_is_inside(at, window)) {
        (void)memset(patch, window->zero_point, (size_t)depth);
    } else if (is_dense) {
        gather_rows(patch, input, at, window);
        return;
    } else {
        /* taps with gaps, one by one */
    }
    for (int32_t row = at.y; row < end_y; row += window->dilation_y) {
        const int8_t *from = input + row * row_bytes;

        if (row < 0 || row >= window->height) {
            patch += window->taps_x * channels;
        } else if (is_dense) {
            if (first < last) {
                copy(patch + first * channels, from + (at.x + first) * channels,
                     (last - first) * channels);
            }
            patch += window->taps_x * channels;
        } else {
            for (int32_t column = at.x; column < end_x; column += window->dilation_x) {
                if (column >= 0 && column < window->width) {
                    copy(patch, from + column * window->pixel, channels);
                }
                patch = &patch[channels];
            }
        }
    }
}

/* Widen the rows under a window in place; their bytes are whole words; see ethosgen_dsp_widen. */
static int32_t widen_in_place(int32_t *to, const int8_t *input, struct ethosgen_dsp_place at, int32_t count,
                              const struct ethosgen_core_window *window)
{
    int32_t row_bytes = window->width * window->pixel, bytes = window->taps_x * window->channels;
    const int8_t *from = input + at.y * row_bytes + at.x * window->pixel;
    uint32_t excess = 0;

    for (int32_t left = window->taps_y; left > 0; left--) {
        excess += (uint32_t)ethosgen_dsp_widen(to, from, bytes, count);
        to += ethosgen_dsp_steps(bytes) * 2 * count;
        from += window->dilation_y * row_bytes;
    }
    return (int32_t)excess;
}

void ethosgen_dsp_convolution_s8(int8_t *output, const int8_t *input, void *room,
                                 const int8_t *weights, const int32_t *scales,
                                 const struct ethosgen_dsp_matrix *matrix,
                                 const struct ethosgen_core_window *window)
{
    int32_t depth = matrix->depth, left = window->rows * window->columns, used = 0, some = 0;
    bool is_whole = ethosgen_dsp_has_whole_rows(window);
    int32_t *wide = room;
    int8_t *patch = (int8_t *)(wide + 2 * ETHOSGEN_DSP_ROWS * ethosgen_dsp_steps(depth));
    struct ethosgen_dsp_tile tile;

    (void)memset(tile.second, 0, sizeof tile.second);
    for (int32_t row = 0; row < window->rows; row++) {
        int8_t *place = output + row * window->row_step;

        for (int32_t column = 0; column < window->columns; column++) {
            struct ethosgen_dsp_place at = ethosgen_dsp_place_of(row, column, window);

            some = used == 0 ? ethosgen_dsp_rows(left) : some;
            if (is_whole && ethosgen_dsp_is_inside(at, window)) {
                tile.excess[used] = widen_in_place(wide + used, input, at, some, window);
            } else {
                ethosgen_dsp_gather(patch, input, at, depth, window);
                tile.excess[used] = ethosgen_dsp_widen(wide + used, patch, depth, some);
            }
            tile.outputs[used++] = place;
            place += matrix->stride;
            left--;
            if (used == some) {
                ethosgen_dsp_finish(wide, &tile, some, weights, scales, matrix);
                used = 0;
            }
        }
    }
}
