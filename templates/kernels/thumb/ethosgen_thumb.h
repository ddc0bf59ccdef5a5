/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inner loops of int8 layers for processors without DSP instructions: Cortex-M0+ and M3.
 *
 * Weights are packed in reading order; see ethosgen's aot/libraries/thumb/order.py. Zero points of
 * inputs are folded into the biases, so padding must contain the zero point. Assembly has an equivalent
 * in C with equal results.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#ifndef ETHOSGEN_THUMB_H
#define ETHOSGEN_THUMB_H

#include "ethosgen_core.h"

/* @struct ethosgen_thumb_matrix */

/*
 * output[r][c] = requantized(bias[c] + sum over k of rows[r][k] * weights[c][k]), for `count` rows.
 *
 * weights: for each 4 channels (the last may be fewer), for each place of the depth, their weights.
 */
void ethosgen_thumb_matrix_s8(int8_t *output, const int8_t *rows, int32_t count,
                              const int8_t *weights, const int32_t *scales,
                              const struct ethosgen_thumb_matrix *matrix);

/*
 * The same for Armv6-M. 128 is added to the weights, and 128 times a channel's weights is subtracted
 * from its bias. room: a word for each place of the depth.
 */
void ethosgen_thumb_pairs_s8(int8_t *output, const int8_t *rows, int32_t count, void *room,
                             const int8_t *weights, const int32_t *scales,
                             const struct ethosgen_thumb_matrix *matrix);

/* The same for a window: a row is the pixels under it. room: the words, and twice the depth. */
void ethosgen_thumb_convolution_s8(int8_t *output, const int8_t *input, void *room,
                                   const int8_t *weights, const int32_t *scales,
                                   const struct ethosgen_thumb_matrix *matrix,
                                   const struct ethosgen_core_window *window);

/*
 * The same for one channel, on either architecture. Nothing is added to weights. The pixels under
 * a row of the window are contiguous: `pixel` equals `channels`, and `dilation_x` is 1.
 */
void ethosgen_thumb_single_s8(int8_t *output, const int8_t *input, const int8_t *weights,
                              const int32_t *scales, const struct ethosgen_thumb_matrix *matrix,
                              const struct ethosgen_core_window *window);

/* @struct ethosgen_thumb_depthwise */

/*
 * output[y][x][c] = requantized(bias[c] + sum over taps of input * weight).
 *
 * weights: for each channel its taps. room: a plane, and twice stride_x. 128 is added to the values
 * of the input, and 128 times a channel's weights is subtracted from its bias.
 */
void ethosgen_thumb_depthwise_s8(int8_t *output, const int8_t *input, int8_t *room,
                                 const int8_t *weights, const int32_t *scales,
                                 const struct ethosgen_thumb_depthwise *layer);

/* The same if `copies` is a multiple of 4. weights: for each 4 outputs, for each tap, their weights. */
void ethosgen_thumb_copies_s8(int8_t *output, const int8_t *input, int8_t *room,
                              const int8_t *weights, const int32_t *scales,
                              const struct ethosgen_thumb_depthwise *layer);

/*
 * The same as the first for 3 x 3 adjacent pixels, one output for each channel, rows and columns
 * not exchanged; for Armv7-M. `width` is the input's. Values and biases are as in a matrix. room: 4
 * times 3 pixels.
 */
void ethosgen_thumb_depthwise_3x3_s8(int8_t *output, const int8_t *input, int8_t *room,
                                     const int8_t *weights, const int32_t *scales,
                                     const struct ethosgen_thumb_depthwise *layer);

/* Compute the average of the pixels of a window; halves are rounded away from zero. */
void ethosgen_thumb_average_pool_s8(int8_t *output, const int8_t *input, int32_t rows,
                                    int32_t columns, const struct ethosgen_core_pool *pool);

/* Compute the maximum of `rows` x `columns` pixels, starting at `input`. */
void ethosgen_thumb_max_pool_s8(int8_t *output, const int8_t *input, int32_t rows, int32_t columns,
                                const struct ethosgen_core_pool *pool);

#endif /* ETHOSGEN_THUMB_H */
