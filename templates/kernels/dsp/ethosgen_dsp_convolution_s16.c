/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * int16 convolutions: the pixels under each window times weights. See ethosgen_dsp_s16.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_dsp_tile_s16.h"

/* From this many channels on, copies in rounds are faster. */
enum { MANY = 8 };

typedef struct ethosgen_core_window Window;

/* Append a pixel of an even number of channels to words; zeros if `from` is null. */
static inline void append_pixel(struct ethosgen_dsp_writer *writer, const int16_t *from,
                                int32_t channels)
{
    for (; channels > 0; channels -= ETHOSGEN_DSP_PAIR) {
        *writer->to = from != NULL ? (int32_t)ethosgen_dsp_word(from) : 0;
        writer->to += writer->step;
        from = from ? from + ETHOSGEN_DSP_PAIR : from;
    }
}

/* Append the taps of a window's row if they are adjacent in the input; x may be negative. */
static void append_run(struct ethosgen_dsp_writer *writer, const int16_t *row, int32_t x,
                       const Window *window)
{
    int32_t channels = window->channels, taps = window->taps_x;
    int32_t first = x < 0 ? -x : 0, after = x + taps - window->width;

    first = first < taps ? first : taps;
    after = after < 0 ? 0 : after < taps - first ? after : taps - first;
    if (first > 0) {
        ethosgen_dsp_append(writer, NULL, first * channels);
    }
    ethosgen_dsp_append(writer, row + (x + first) * channels, (taps - first - after) * channels);
    if (after > 0) {
        ethosgen_dsp_append(writer, NULL, after * channels);
    }
}

/* Append the pixels under the window at row y, column x (which may be negative). */
static void gather(struct ethosgen_dsp_writer *writer, const int16_t *input, int32_t y, int32_t x,
                   const Window *window)
{
    int32_t channels = window->channels;
    bool is_dense = window->dilation_x == 1 && window->pixel == channels;

    for (int32_t tap_y = 0; tap_y < window->taps_y; tap_y++) {
        const int16_t *row = input + y * window->width * window->pixel;

        if (y < 0 || y >= window->height) {
            ethosgen_dsp_append(writer, NULL, window->taps_x * channels);
        } else if (is_dense) {
            append_run(writer, row, x, window);
        } else {
            int32_t column = x;

            for (int32_t tap_x = 0; tap_x < window->taps_x; tap_x++) {
                bool is_inside = column >= 0 && column < window->width;
                const int16_t *from = is_inside ? row + column * window->pixel : NULL;

                if (channels < MANY && channels % ETHOSGEN_DSP_PAIR == 0) {
                    append_pixel(writer, from, channels);
                } else {
                    ethosgen_dsp_append(writer, from, channels);
                }
                column += window->dilation_x;
            }
        }
        y += window->dilation_y;
    }
    ethosgen_dsp_end(writer);
}

void ethosgen_dsp_convolution_s16(int16_t *output, const int16_t *input, void *room,
                                  const int8_t *weights, const int32_t *scales,
                                  const struct ethosgen_dsp_matrix_s16 *matrix,
                                  const Window *window)
{
    int32_t left = window->rows * window->columns, used = 0;
    int32_t some = ethosgen_dsp_some(left);

    for (int32_t row = 0; row < window->rows; row++) {
        for (int32_t column = 0; column < window->columns; column++) {
            struct ethosgen_dsp_writer writer = {
                (int32_t *)room + used, some == 1 ? 1 : ETHOSGEN_DSP_TILE_ROWS, 0,
            };

            gather(&writer, input, row * window->stride_y - window->before_y,
                   column * window->stride_x - window->before_x, window);
            used++;
            if (used == some) {
                if (some == 3) {
                    ethosgen_dsp_repeat(room, ethosgen_dsp_words(matrix->depth));
                }
                ethosgen_dsp_finish_s16(output, room, some, weights, scales, matrix);
                output += some * matrix->stride;
                left -= some;
                some = ethosgen_dsp_some(left);
                used = 0;
            }
        }
    }
}
