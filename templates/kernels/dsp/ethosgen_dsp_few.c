/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows times the weights of 1 to 3 channels. See ethosgen_dsp.h.
 *
 * For so few channels it does not pay to widen rows: values and weights are extended when they are
 * multiplied.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_dsp_tile.h"
#include "ethosgen_dsp_window.h"

enum { STEP = ETHOSGEN_DSP_STEP };
enum { MOST_PAIRED = 2 }; /* channels of two rows whose sums fit into registers */

static inline int32_t add_products(uint32_t a, uint32_t b, int32_t sum)
{
#if ETHOSGEN_DSP
    return __smlad((int16x2_t)a, (int16x2_t)b, sum);
#else
    sum += (int32_t)(int16_t)a * (int16_t)b;
    return sum + (int32_t)(int16_t)(a >> 16) * (int16_t)(b >> 16);
#endif
}

/* Add 4 products. */
static inline int32_t add_word(uint32_t even, uint32_t odd, const int8_t *weights, int32_t sum)
{
    uint32_t word = ethosgen_dsp_word(weights);

    sum = add_products(even, ethosgen_dsp_even(word), sum);
    return add_products(odd, ethosgen_dsp_odd(word), sum);
}

/* The sums of 3 channels; missing ones are not computed. */
struct sums {
    int32_t a;
    int32_t b;
    int32_t c;
};

static inline __attribute__((always_inline)) struct sums
add_values(struct sums sums, uint32_t word, const int8_t *weights, int32_t next, int32_t channels)
{
    uint32_t even = ethosgen_dsp_even(word), odd = ethosgen_dsp_odd(word);

    sums.a = add_word(even, odd, weights, sums.a);
    if (channels > 1) {
        sums.b = add_word(even, odd, weights + next, sums.b);
    }
    if (channels > 2) {
        sums.c = add_word(even, odd, weights + 2 * next, sums.c);
    }
    return sums;
}

/* Add the products of `words` words; the weights of channels are `next` bytes apart. */
static inline __attribute__((always_inline)) struct sums
add_row(struct sums sums, const int8_t *row, const int8_t *weights, int32_t words, int32_t next,
        int32_t channels)
{
    const int8_t *end = row + words / 2 * 2 * STEP;

    while (row != end) {
        sums = add_values(sums, ethosgen_dsp_word(row), weights, next, channels);
        sums = add_values(sums, ethosgen_dsp_word(row + STEP), weights + STEP, next, channels);
        row += 2 * STEP;
        weights += 2 * STEP;
    }
    if (words % 2 != 0) {
        sums = add_values(sums, ethosgen_dsp_word(row), weights, next, channels);
    }
    return sums;
}

/* The last `count` values of a row of `depth`; others are 0. */
static inline uint32_t last_word(const int8_t *from, int32_t count, int32_t depth)
{
    uint32_t word = 0;

    if (depth >= STEP) {
        return ethosgen_dsp_word(from + count - STEP) >> (8 * (STEP - count));
    }
    for (int32_t k = 0; k < count; k++) {
        word |= (uint32_t)(uint8_t)from[k] << (8 * k);
    }
    return word;
}

/* Add the products of a row of any depth. */
static inline __attribute__((always_inline)) struct sums
add_whole(const int8_t *row, const int8_t *weights, int32_t depth, int32_t channels)
{
    int32_t next = ethosgen_dsp_steps(depth) * STEP, rest = depth % STEP, done = depth - rest;
    struct sums sums = add_row((struct sums){0}, row, weights, depth / STEP, next, channels);

    if (rest > 0) {
        uint32_t word = last_word(row + done, rest, depth);

        sums = add_values(sums, word, weights + done, next, channels);
    }
    return sums;
}

static inline __attribute__((always_inline)) void
finish(int8_t *output, struct sums sums, const struct ethosgen_core_scale *scales,
       const struct ethosgen_dsp_matrix *matrix, int32_t channels)
{
    output[0] = (int8_t)ethosgen_dsp_requantize(scales[0].bias + 2 * sums.a, scales);
    if (channels > 1) {
        output[1] = (int8_t)ethosgen_dsp_requantize(scales[1].bias + 2 * sums.b, scales + 1);
    }
    if (channels > 2) {
        output[2] = (int8_t)ethosgen_dsp_requantize(scales[2].bias + 2 * sums.c, scales + 2);
    }
    ethosgen_dsp_bound(output, channels, matrix->low, matrix->high);
}

/* Add the products of words of two rows with the weights of a channel. */
static inline void add_both(int32_t *first, int32_t *second, uint32_t word, uint32_t next_word,
                            const int8_t *weights)
{
    uint32_t by = ethosgen_dsp_word(weights);
    uint32_t even = ethosgen_dsp_even(by), odd = ethosgen_dsp_odd(by);

    *first = add_products(ethosgen_dsp_even(word), even, *first);
    *first = add_products(ethosgen_dsp_odd(word), odd, *first);
    *second = add_products(ethosgen_dsp_even(next_word), even, *second);
    *second = add_products(ethosgen_dsp_odd(next_word), odd, *second);
}

/* The same as add_whole for two adjacent rows and up to 2 channels: weights are extended once. */
static inline __attribute__((always_inline)) void
add_pair(struct sums sums[2], const int8_t *row, const int8_t *weights, int32_t depth,
         int32_t channels)
{
    int32_t next = ethosgen_dsp_steps(depth) * STEP, rest = depth % STEP;
    const int8_t *end = row + depth - rest;
    struct sums first = {0}, second = {0};

    for (; row != end; row += STEP) {
        uint32_t word = ethosgen_dsp_word(row), next_word = ethosgen_dsp_word(row + depth);

        add_both(&first.a, &second.a, word, next_word, weights);
        if (channels > 1) {
            add_both(&first.b, &second.b, word, next_word, weights + next);
        }
        weights += STEP;
    }
    if (rest > 0) {
        first = add_values(first, last_word(row, rest, depth), weights, next, channels);
        second = add_values(second, last_word(row + depth, rest, depth), weights, next, channels);
    }
    sums[0] = first;
    sums[1] = second;
}

static inline __attribute__((always_inline)) void
multiply(int8_t *output, const int8_t *rows, int32_t count, const int8_t *weights,
         const struct ethosgen_core_scale *scales, const struct ethosgen_dsp_matrix *matrix,
         int32_t channels)
{
    for (; channels <= MOST_PAIRED && count > 1; count -= 2) {
        struct sums sums[2];

        add_pair(sums, rows, weights, matrix->depth, channels);
        finish(output, sums[0], scales, matrix, channels);
        finish(output + matrix->stride, sums[1], scales, matrix, channels);
        output += 2 * matrix->stride;
        rows += 2 * matrix->depth;
    }
    for (; count > 0; count--) {
        finish(output, add_whole(rows, weights, matrix->depth, channels), scales, matrix, channels);
        output += matrix->stride;
        rows += matrix->depth;
    }
}

/* Add the products of a window inside the input, whose rows are whole words. */
static inline __attribute__((always_inline)) struct sums
add_window(const int8_t *from, const int8_t *weights, const struct ethosgen_core_window *window,
           int32_t depth, int32_t channels)
{
    int32_t bytes = window->taps_x * window->channels;
    struct sums sums = {0};

    for (int32_t left = window->taps_y; left > 0; left--) {
        sums = add_row(sums, from, weights, bytes / STEP, depth, channels);
        from += window->dilation_y * window->width * window->pixel;
        weights = &weights[bytes];
    }
    return sums;
}

/* Add the products of words of padding. */
static inline __attribute__((always_inline)) struct sums
add_padding(struct sums sums, int32_t zero_point, const int8_t *weights, int32_t words,
            int32_t next, int32_t channels)
{
    uint32_t padding = (uint8_t)zero_point * 0x01010101u;

    for (; words > 0; words--) {
        sums = add_values(sums, padding, weights, next, channels);
        weights += STEP;
    }
    return sums;
}

/* The same as add_window for any window, if each pixel is whole words. */
static inline __attribute__((always_inline)) struct sums
add_clipped(const int8_t *input, struct ethosgen_dsp_place at, const int8_t *weights,
            const struct ethosgen_core_window *window, int32_t depth, int32_t channels)
{
    int32_t words = window->channels / STEP, taps = window->taps_x, zero = window->zero_point;
    int32_t start = at.x < 0 ? -at.x : 0, room = window->width - at.x, y = at.y;
    struct sums sums = {0};

    for (int32_t left = window->taps_y; left > 0; left--) {
        bool is_inside = y >= 0 && y < window->height && start < taps && start < room;
        int32_t first = is_inside ? start : taps, last = is_inside && room < taps ? room : taps;

        sums = add_padding(sums, zero, weights, first * words, depth, channels);
        weights += first * words * STEP;
        if (is_inside) {
            const int8_t *from = input + (y * window->width + at.x + first) * window->pixel;

            sums = add_row(sums, from, weights, (last - first) * words, depth, channels);
            weights += (last - first) * words * STEP;
        }
        sums = add_padding(sums, zero, weights, (taps - last) * words, depth, channels);
        weights += (taps - last) * words * STEP;
        y += window->dilation_y;
    }
    return sums;
}

static inline __attribute__((always_inline)) void
convolve(int8_t *output, const int8_t *input, int8_t *patch, const int8_t *weights,
         const struct ethosgen_core_scale *scales, const struct ethosgen_dsp_matrix *matrix,
         const struct ethosgen_core_window *window, int32_t channels)
{
    bool is_whole = ethosgen_dsp_has_whole_rows(window);
    bool is_clipped = is_whole && window->channels % STEP == 0;
    int32_t depth = matrix->depth;

    for (int32_t row = 0; row < window->rows; row++) {
        int8_t *to = output + row * window->row_step;

        for (int32_t column = 0; column < window->columns; column++) {
            struct ethosgen_dsp_place at = ethosgen_dsp_place_of(row, column, window);
            struct sums sums;

            if (is_whole && ethosgen_dsp_is_inside(at, window)) {
                const int8_t *from = input + (at.y * window->width + at.x) * window->pixel;

                sums = add_window(from, weights, window, depth, channels);
            } else if (is_clipped) {
                sums = add_clipped(input, at, weights, window, depth, channels);
            } else {
                ethosgen_dsp_gather(patch, input, at, depth, window);
                sums = add_whole(patch, weights, depth, channels);
            }
            finish(to, sums, scales, matrix, channels);
            to += matrix->stride;
        }
    }
}

/* A function for each number of channels; a firmware contains those that its layers call. */
#define FEW(channels)                                                                            \
    void ethosgen_dsp_few_##channels##_s8(int8_t *output, const int8_t *rows, int32_t count,     \
                                          const int8_t *weights, const int32_t *scales,          \
                                          const struct ethosgen_dsp_matrix *matrix)              \
    {                                                                                            \
        multiply(output, rows, count, weights, (const struct ethosgen_core_scale *)scales,        \
                 matrix, channels);                                                              \
    }                                                                                            \
    void ethosgen_dsp_few_windows_##channels##_s8(                                               \
        int8_t *output, const int8_t *input, void *room, const int8_t *weights,                  \
        const int32_t *scales, const struct ethosgen_dsp_matrix *matrix,                         \
        const struct ethosgen_core_window *window)                                               \
    {                                                                                            \
        convolve(output, input, room, weights, (const struct ethosgen_core_scale *)scales,        \
                 matrix, window, channels);                                                      \
    }

FEW(1)
FEW(2)
FEW(3)
