/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions to a single channel. See ethosgen_thumb.h.
 *
 * A value is multiplied only once, so a copy does not pay: windows are read in place, and the weights of
 * padding are summed separately.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_thumb_math.h"

enum { STEPS = 4 };

static inline int32_t least(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static inline int32_t add_some(int32_t sum, const int8_t *values, const int8_t *weights)
{
    sum += values[0] * weights[0];
    sum += values[1] * weights[1];
    sum += values[2] * weights[2];
    return sum + values[3] * weights[3];
}

/* Add the products of `count` values and weights; a separate function, to have all registers. */
static __attribute__((noinline)) int32_t add_products(int32_t sum, const int8_t *values,
                                                      const int8_t *weights, int32_t count)
{
    for (; count >= 4 * STEPS; count -= 4 * STEPS) {
        sum = add_some(sum, values, weights);
        sum = add_some(sum, values + STEPS, weights + STEPS);
        sum = add_some(sum, values + 2 * STEPS, weights + 2 * STEPS);
        sum = add_some(sum, values + 3 * STEPS, weights + 3 * STEPS);
        values += 4 * STEPS;
        weights += 4 * STEPS;
    }
    for (; count >= STEPS; count -= STEPS) {
        sum = add_some(sum, values, weights);
        values += STEPS;
        weights += STEPS;
    }
    for (; count > 0; count--) {
        sum += *values++ * *weights++;
    }
    return sum;
}

/* Add the products of padding and `count` weights. */
static inline int32_t add_padding(int32_t sum, int32_t zero_point, const int8_t *weights,
                                  int32_t count)
{
    int32_t total = 0;

    for (; count >= STEPS; count -= STEPS) {
        total += weights[0] + weights[1] + weights[2] + weights[3];
        weights += STEPS;
    }
    for (; count > 0; count--) {
        total += *weights++;
    }
    return sum + total * zero_point;
}

/* Add the products of the window at row y, column x (which may be negative). */
static int32_t add_window(int32_t sum, const int8_t *input, int32_t y, int32_t x,
                          const int8_t *weights, const struct ethosgen_core_window *window)
{
    int32_t channels = window->channels, zero = window->zero_point;
    int32_t bytes = window->taps_x * channels, start = x < 0 ? -x : 0;
    int32_t end = least(window->taps_x, window->width - x);
    int32_t before = start * channels, inside = (end - start) * channels;

    for (int32_t left = window->taps_y; left > 0; left--) {
        if (y < 0 || y >= window->height || inside <= 0) {
            sum = add_padding(sum, zero, weights, bytes);
        } else {
            const int8_t *from = input + (y * window->width + x + start) * channels;
            int32_t after = before + inside;

            sum = add_products(sum, from, weights + before, inside);
            if (inside < bytes) {
                sum = add_padding(sum, zero, weights, before);
                sum = add_padding(sum, zero, weights + after, bytes - after);
            }
        }
        weights = &weights[bytes];
        y += window->dilation_y;
    }
    return sum;
}

void ethosgen_thumb_single_s8(int8_t *output, const int8_t *input, const int8_t *weights,
                              const int32_t *scales, const struct ethosgen_thumb_matrix *matrix,
                              const struct ethosgen_core_window *window)
{
    const struct ethosgen_core_scale *scale = (const struct ethosgen_core_scale *)scales;

    for (int32_t row = 0; row < window->rows; row++) {
        int32_t y = row * window->stride_y - window->before_y, x = -window->before_x;
        int8_t *to = output;

        for (int32_t column = 0; column < window->columns; column++) {
            int32_t sum = add_window(scale->bias, input, y, x, weights, window);

            *to = (int8_t)ethosgen_thumb_requantize(sum, scale);
            ethosgen_thumb_bound(to, 1, matrix->low, matrix->high);
            to += matrix->stride;
            x += window->stride_x;
        }
        output += window->row_step;
    }
}
