/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inner loops of operators on the CPU: int8, and int16 with int8 weights; 32-bit sums.
 *
 * Each has two versions with equal results: Helium (MVE) if the processor has it, otherwise plain C.
 * Weights and scales are packed in reading order; see ethosgen's aot/libraries/helium/order.py. Zero
 * points of inputs are folded into the biases, so padding must contain the zero point.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#ifndef ETHOSGEN_KERNELS_H
#define ETHOSGEN_KERNELS_H

#include <stdint.h>

/* @struct ethosgen_output */

/* @struct ethosgen_matrix */

/*
 * output[r][c] = requantized(bias[c] + sum over k of rows[r][k] * weights[c][k]).
 *
 * weights: for every 4 channels, for every 16 places of depth, 16 bytes of each of the 4, padded
 * with zeros. scales: for every 4 channels 4 biases, 4 mantissas, 4 shifts (0 or negative).
 */
void ethosgen_matrix_s8(int8_t *output, const int8_t *rows, const int8_t *weights,
                        const int32_t *scales, const struct ethosgen_matrix *matrix);

/* The same for rows of at most 16 bytes. */
void ethosgen_matrix_short_s8(int8_t *output, const int8_t *rows, const int8_t *weights,
                              const int32_t *scales, const struct ethosgen_matrix *matrix);

/* The same for one row. */
void ethosgen_row_s8(int8_t *output, const int8_t *row, const int8_t *weights,
                     const int32_t *scales, const struct ethosgen_matrix *shape);

/*
 * The same for one row and one multiplier, 8 channels at a time: their number is a multiple of 8,
 * `depth` is a multiple of 16 or less than 16, and the shift is negative.
 *
 * weights: for every 8 channels, for every 16 places of depth, 16 bytes of each of the 8, padded
 * with zeros. scales: mantissa, shift, biases. The kernel also reads 16 bytes after the weights and 8
 * words after the biases.
 */
void ethosgen_row_eight_s8(int8_t *output, const int8_t *row, const int8_t *weights,
                           const int32_t *scales, const struct ethosgen_matrix *shape);

/* Rows of bytes, which may overlap, and the place of their outputs. */
struct ethosgen_rows {
    const int8_t *first;
    int32_t count;
    int32_t step;  /* bytes from a row to the next */
    int32_t bytes; /* that may be read */
    int8_t *output;
    int32_t output_step;
};

/* The same as ethosgen_matrix_s8 and its short form for rows at any distance; `rows` is unused. */
void ethosgen_rows_s8(const struct ethosgen_rows *rows, const int8_t *weights,
                      const int32_t *scales, const struct ethosgen_matrix *matrix);
void ethosgen_rows_short_s8(const struct ethosgen_rows *rows, const int8_t *weights,
                            const int32_t *scales, const struct ethosgen_matrix *matrix);

/*
 * The same as ethosgen_matrix_s8 and its short form, `part` rows at a time: it reads all of these
 * until their outputs are complete, and none again, so outputs may follow behind them in memory. If
 * `part` is negative, it begins with the last rows.
 */
void ethosgen_matrix_parts_s8(int8_t *output, const int8_t *rows, const int8_t *weights,
                              const int32_t *scales, const struct ethosgen_matrix *matrix,
                              int32_t part);
void ethosgen_matrix_parts_short_s8(int8_t *output, const int8_t *rows, const int8_t *weights,
                                    const int32_t *scales, const struct ethosgen_matrix *matrix,
                                    int32_t part);

/* Return a copy for this many of the rows. */
static inline const struct ethosgen_matrix *
ethosgen_matrix_band(void *copy, const struct ethosgen_matrix *matrix, int32_t rows)
{
    struct ethosgen_matrix *band = (struct ethosgen_matrix *)copy;

    *band = *matrix;
    band->rows = rows;
    return band;
}

/* @struct ethosgen_axis */

/* @struct ethosgen_convolution */

/* Return a copy for this many outputs across the strip, and this much padding before the input. */
static inline const struct ethosgen_convolution *
ethosgen_convolution_band(void *copy, const struct ethosgen_convolution *layer, int32_t padding,
                          int32_t outputs)
{
    struct ethosgen_convolution *band = (struct ethosgen_convolution *)copy;

    *band = *layer;
    band->across.padding = padding;
    band->across.outputs = outputs;
    return band;
}

/* Compute all outputs of a picture. weights: as in ethosgen_matrix_s8, taps in a strip's order. */
void ethosgen_convolution_s8(int8_t *output, const int8_t *input, int8_t *strip,
                             const int8_t *weights, const int32_t *scales,
                             const struct ethosgen_convolution *shape);
void ethosgen_convolution_in_place_s8(int8_t *output, const int8_t *input, const int8_t *weights,
                                      const int32_t *scales,
                                      const struct ethosgen_convolution *shape);

/* The same for windows of at most 16 bytes. */
void ethosgen_convolution_short_s8(int8_t *output, const int8_t *input, int8_t *strip,
                                   const int8_t *weights, const int32_t *scales,
                                   const struct ethosgen_convolution *shape);
void ethosgen_convolution_in_place_short_s8(int8_t *output, const int8_t *input,
                                            const int8_t *weights, const int32_t *scales,
                                            const struct ethosgen_convolution *shape);

/* @struct ethosgen_two */

/*
 * Compute all outputs of a picture. weights: for every row of a window, for every 16 of its bytes, 16
 * bytes of each of 2 channels, padded with zeros. scales: 4 biases, 4 mantissas, 4 shifts: those of the
 * 2 channels twice.
 */
void ethosgen_convolution_two_s8(int8_t *output, const int8_t *input, const int8_t *weights,
                                 const int32_t *scales, const struct ethosgen_two *layer);

/* @struct ethosgen_product */

/*
 * output[r][c] = requantized(sum over k of rows[r][k] * column c[k]), with the zero points subtracted
 * from both. terms: room for a number per row. turned: room for 4 columns unless `step` is 1.
 */
void ethosgen_product_s8(int8_t *output, const int8_t *rows, const int8_t *second, int32_t *terms,
                         int8_t *turned, const struct ethosgen_product *product);

/* to[c][r] = from[r][c]; at most 8192 columns. */
void ethosgen_turn_s8(int8_t *to, const int8_t *from, int32_t rows, int32_t columns);

/* @struct ethosgen_window */

/* Copy the input under the window at row y, column x (which may be negative) into one vector. */
void ethosgen_patch_s8(void *patch, const void *input, int32_t y, int32_t x,
                       const struct ethosgen_window *window);

/* The same, if only some bytes of each pixel are copied, starting at `input`. */
void ethosgen_patch_part_s8(void *patch, const void *input, int32_t y, int32_t x,
                            const struct ethosgen_window *window);

/* @struct ethosgen_depthwise */

/*
 * output[y][x][c] = requantized(bias[c] + sum over taps of input * weight), for a picture.
 *
 * lines: room for a block of lines. weights: for every 4 channels, for every 16 taps in a line's order, 16
 * bytes of each of the 4, padded with zeros. scales: as in ethosgen_matrix_s8. The last 4 channels are
 * together, so some may be stored twice; if there are fewer than 4 channels, zeros follow.
 *
 * Each function is named for what it assumes: windows of at most 16 bytes that are 1, 2, 4 or 8 bytes
 * apart (by_1 to by_8), or at any distance (short); windows of 17 to 32 bytes (two), or of more, all with at
 * least 4 channels; or any. All but the last assume shifts from -22 to -2. The outputs have no bounds: see
 * ethosgen_limit_s8.
 */
#define ETHOSGEN_DEPTHWISE(name)                                                               \
    void ethosgen_depthwise_##name##_s8(int8_t *output, const int8_t *input, int8_t *lines,    \
                                        const int8_t *weights, const int32_t *scales,          \
                                        const struct ethosgen_depthwise *layer)
ETHOSGEN_DEPTHWISE(by_1);
ETHOSGEN_DEPTHWISE(by_2);
ETHOSGEN_DEPTHWISE(by_4);
ETHOSGEN_DEPTHWISE(by_8);
ETHOSGEN_DEPTHWISE(short);
ETHOSGEN_DEPTHWISE(two);
ETHOSGEN_DEPTHWISE(more);
ETHOSGEN_DEPTHWISE(any);

/* The same for layers with several outputs for each channel of the input. */
ETHOSGEN_DEPTHWISE(by_1_copies);
ETHOSGEN_DEPTHWISE(by_2_copies);
ETHOSGEN_DEPTHWISE(by_4_copies);
ETHOSGEN_DEPTHWISE(by_8_copies);
ETHOSGEN_DEPTHWISE(short_copies);
ETHOSGEN_DEPTHWISE(two_copies);
ETHOSGEN_DEPTHWISE(more_copies);
ETHOSGEN_DEPTHWISE(any_copies);

/* The same for multiples of 4 outputs for each channel of the input: 4 of them have one line. */
ETHOSGEN_DEPTHWISE(by_1_shared);
ETHOSGEN_DEPTHWISE(by_2_shared);
ETHOSGEN_DEPTHWISE(by_4_shared);
ETHOSGEN_DEPTHWISE(by_8_shared);
ETHOSGEN_DEPTHWISE(short_shared);
ETHOSGEN_DEPTHWISE(two_shared);
ETHOSGEN_DEPTHWISE(more_shared);
ETHOSGEN_DEPTHWISE(any_shared);

/* The same for layers with one output for each channel, and lines of 6, 8, ... rows. `lines` is even. */
ETHOSGEN_DEPTHWISE(two_pairs);
ETHOSGEN_DEPTHWISE(more_pairs);

/*
 * The same for layers with one output for each channel, and lines of 4 rows, or of a row of which 4 pixels
 * count as 4 rows. `lines` is aligned to 4.
 */
ETHOSGEN_DEPTHWISE(words_by_1);
ETHOSGEN_DEPTHWISE(words_by_2);
ETHOSGEN_DEPTHWISE(words_by_4);
ETHOSGEN_DEPTHWISE(words_by_8);
ETHOSGEN_DEPTHWISE(words_short);
ETHOSGEN_DEPTHWISE(words_two);
ETHOSGEN_DEPTHWISE(words_more);
ETHOSGEN_DEPTHWISE(words_any);

/*
 * The same without lines: windows are one row inside the input. weights: for every 8 channels, for every
 * tap, those of the 8, padded with zeros. scales: of these 8 first the even channels, then the odd ones.
 */
void ethosgen_depthwise_in_place_s8(int8_t *output, const int8_t *input, const int8_t *weights,
                                    const int32_t *scales, const struct ethosgen_depthwise *layer);

/* Limit outputs to bounds, where the kernels only saturate. */
void ethosgen_limit_s8(int8_t *output, int32_t bytes, int32_t low, int32_t high);

/* @struct ethosgen_pad */

/* Copy rows into an output, and fill the space around them. */
void ethosgen_pad_s8(void *output, const void *input, const struct ethosgen_pad *pad);

/* @struct ethosgen_transpose */

/* output[c][r] = input[r][c], for elements of some bits; steps are at most 9362 bytes below 32. */
void ethosgen_transpose_8(void *output, const void *input, const struct ethosgen_transpose *block);
void ethosgen_transpose_16(void *output, const void *input, const struct ethosgen_transpose *block);
void ethosgen_transpose_32(void *output, const void *input, const struct ethosgen_transpose *block);
/* Copy each row of the input to its place in the output; its columns are bytes. */
void ethosgen_transpose_rows(void *output, const void *input, const struct ethosgen_transpose *block);

/* @struct ethosgen_pool */

/* Compute the maximum of `rows` x `columns` pixels, starting at `input`. */
void ethosgen_max_pool_s8(int8_t *output, const int8_t *input, int32_t rows, int32_t columns,
                          const struct ethosgen_pool *pool);

/* Compute the average of at most 256 pixels; halves are rounded away from zero. */
void ethosgen_average_pool_s8(int8_t *output, const int8_t *input, int32_t rows, int32_t columns,
                              const struct ethosgen_pool *pool);

/* Compute the averages of `count` pixels of `channels` bytes; halves are rounded away from zero. */
void ethosgen_mean_s8(int8_t *output, const int8_t *pixels, int32_t count, int32_t channels,
                      int32_t low, int32_t high);

/*
 * Compute softmax of rows of `depth` bytes. exponentials: 256 values of 31 bits, exp(-d) for each
 * distance d from a row's largest element.
 */
void ethosgen_softmax_s8(int8_t *output, const int8_t *input, int32_t rows, int32_t depth,
                         const int32_t *exponentials);

/* Both inputs of a sum are shifted left by this many bits, and so times this factor, before they are
 * rescaled. */
enum { ETHOSGEN_ADD_SHIFT = 20, ETHOSGEN_ADD_ONE = 0x100000 };

/* @struct ethosgen_scaled */

/* @struct ethosgen_add */

/*
 * output[i] = requantized(sign * first[i] + sign * second[i]); output may be one of the inputs.
 *
 * The first has the larger scale, so its mantissa is 2^30 and its shift 0: half, which needs no
 * rounding. The first function is for a second_sign of 1, the second for -1.
 */
void ethosgen_add_s8(int8_t *output, const int8_t *first, const int8_t *second, int32_t count,
                     const struct ethosgen_add *add);
void ethosgen_sub_s8(int8_t *output, const int8_t *first, const int8_t *second, int32_t count,
                     const struct ethosgen_add *add);

/* The same for any scales and signs, with one element of `second` for all. */
void ethosgen_add_one_s8(int8_t *output, const int8_t *first, const int8_t *second, int32_t count,
                         const struct ethosgen_add *add);

/* @struct ethosgen_mul */

/* output[i] = requantized(first[i] * second[i]); output may be one of the inputs. */
void ethosgen_mul_s8(int8_t *output, const int8_t *first, const int8_t *second, int32_t count,
                     const struct ethosgen_mul *mul);

/* The same with one element of `second` for all. */
void ethosgen_mul_one_s8(int8_t *output, const int8_t *first, const int8_t *second, int32_t count,
                         const struct ethosgen_mul *mul);

/*
 * output[i] = table[input[i]], for signed and unsigned bytes: the index is the byte's bit pattern.
 * The output may be the input.
 */
void ethosgen_table_8(void *output, const void *input, const void *table, int32_t count);

/* @struct ethosgen_multiplier */

/* @struct ethosgen_svdf */

/*
 * Compute all units of one row of features, and move the state on by a time step.
 *
 * weights: as in ethosgen_matrix_s8, with filters as channels. biases: for every 4 filters the initial
 * sums. time: `memory` weights of each filter. units: the units' biases, padded to 4.
 */
void ethosgen_svdf_s8(int8_t *output, const int8_t *input, int16_t *state, const int8_t *weights,
                      const int32_t *biases, const int16_t *time, const int32_t *units,
                      const struct ethosgen_svdf *svdf);

/* @struct ethosgen_lstm */

/*
 * Compute all time steps of one batch, and leave both states as they are after the last one.
 *
 * weights: for every 4 units, for each gate those of the input and those of the hidden state, as in
 * ethosgen_matrix_s8. biases: the initial sums in the same order, 4 each time. lines: the curve
 * 32768 * (2 * sigmoid(x / 24) - 1) from each of 256 whole numbers to the next, as 256 heights at 0
 * and 256 slopes.
 */
void ethosgen_lstm_s8(int8_t *output, const int8_t *input, int8_t *hidden, int16_t *cell,
                      const int8_t *weights, const int32_t *biases, const int16_t *lines,
                      const struct ethosgen_lstm *lstm);

/* output[i] = input[i] * window[i] >> shift, saturated; shift is from 0 to 31. */
void ethosgen_window_s16(int16_t *output, const int16_t *input, const int16_t *window,
                         int32_t count, int32_t shift);

/* Shift left by as many bits as the largest amplitude allows, and return that number. */
void ethosgen_auto_scale_s16(int16_t *output, int32_t *bits, const int16_t *input, int32_t count);

/*
 * The first stage of a Fourier transform of `count` complex numbers, a power of 4 above 4: sums of 4
 * numbers that are count / 4 apart, in digit-reversed order. The input ends after `length` int16; zeros
 * follow.
 */
void ethosgen_fft_first_s16(int16_t *output, const int16_t *input, int32_t length, int32_t count,
                            int32_t inverse);

/*
 * A later stage, in place: `groups` times `span` sums of 4 complex numbers that are `span` apart.
 * span is a multiple of 4. twiddles: `span` factors each for the second, third and fourth number.
 */
void ethosgen_fft_stage_s16(int16_t *data, const int16_t *twiddles, int32_t span, int32_t groups,
                            int32_t inverse);

/*
 * Convert the spectrum of `count` complex numbers to that of 2 * count real numbers, in place, except
 * bins 0 and `count`; and back, into the output. factors: one for each bin from 1 to count / 2.
 */
void ethosgen_fft_split_s16(int16_t *bins, const int16_t *factors, int32_t count);
void ethosgen_fft_join_s16(int16_t *output, const int16_t *bins, const int16_t *factors,
                           int32_t count);

#include "ethosgen_kernels_s16.h"

#endif /* ETHOSGEN_KERNELS_H */
