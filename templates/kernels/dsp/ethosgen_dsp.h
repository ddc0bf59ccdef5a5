/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inner loops of int8 layers and pools for processors with DSP instructions (Cortex-M4, M7, M33).
 *
 * Each has two versions with equal results: DSP instructions if the processor has them, otherwise
 * plain C. Weights are packed in reading order; see ethosgen's aot/libraries/dsp/order.py. Zero points
 * of inputs are folded into the biases, so padding must contain the zero point.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#ifndef ETHOSGEN_DSP_H
#define ETHOSGEN_DSP_H

#include "ethosgen_core.h"
#include "ethosgen_dsp_s16.h"

/* @struct ethosgen_dsp_matrix */

/*
 * output[r][c] = requantized(bias[c] + sum over k of rows[r][k] * weights[c][k]), for `count` rows.
 *
 * weights: for each pair of channels, for every 4 places of depth, 8 bytes, padded with zeros: the
 * weights of both at places 0, 2, 1 and 3. 128 is added to the weights of even channels. An odd
 * channel's sum over a part fits in 24 bits. room: 8 bytes for each place of depth, rounded up to
 * 4; a convolution needs 9.
 */
void ethosgen_dsp_matrix_s8(int8_t *output, const int8_t *rows, int32_t count, void *room,
                            const int8_t *weights, const int32_t *scales,
                            const struct ethosgen_dsp_matrix *matrix);

/* The same for a window that moves over the input: a row is the pixels under it. */
void ethosgen_dsp_convolution_s8(int8_t *output, const int8_t *input, void *room,
                                 const int8_t *weights, const int32_t *scales,
                                 const struct ethosgen_dsp_matrix *matrix,
                                 const struct ethosgen_core_window *window);

/*
 * The same two for 1, 2 and 3 channels. weights: those of each channel, padded with zeros to a multiple
 * of 4. scales: with doubled biases. room: a byte for each place of depth.
 */
#define ETHOSGEN_DSP_FEW(channels)                                                               \
    void ethosgen_dsp_few_##channels##_s8(int8_t *output, const int8_t *rows, int32_t count,     \
                                          const int8_t *weights, const int32_t *scales,          \
                                          const struct ethosgen_dsp_matrix *matrix);             \
    void ethosgen_dsp_few_windows_##channels##_s8(                                               \
        int8_t *output, const int8_t *input, void *room, const int8_t *weights,                  \
        const int32_t *scales, const struct ethosgen_dsp_matrix *matrix,                         \
        const struct ethosgen_core_window *window)

ETHOSGEN_DSP_FEW(1);
ETHOSGEN_DSP_FEW(2);
ETHOSGEN_DSP_FEW(3);

/* @struct ethosgen_dsp_depthwise */

/*
 * output[y][x][c] = requantized(bias[c] + sum over taps of input * weight).
 *
 * weights: for each channel, for each row of the window, its taps, padded with zeros to 4. room: 4
 * bytes for each pair of a row's taps, and 4 planes of 16-bit values.
 */
void ethosgen_dsp_depthwise_s8(int8_t *output, const int8_t *input, void *room,
                               const int8_t *weights, const int32_t *scales,
                               const struct ethosgen_dsp_depthwise *layer);

/* @struct ethosgen_dsp_lanes */

/*
 * output[y][x][c] = requantized(bias[c] + sum over taps of input * weight).
 *
 * weights: for each block, for every 2 taps, 8 bytes: the weights of channels 0, 2, 0, 2, 1, 3, 1, 3 for
 * the taps 0, 0, 1, 1, 0, 0, 1, 1. The last tap of an odd number is followed by zeros. blocks: the first
 * channel in the input and in the output, and 4 scales, of each. room: 4 bytes for each tap (rounded up
 * to an even number), 8, and a byte for each channel of the input.
 */
void ethosgen_dsp_depthwise_lanes_s8(int8_t *output, const int8_t *input, void *room,
                                     const int8_t *weights, const int32_t *blocks,
                                     const struct ethosgen_dsp_lanes *shape);

/* The same for blocks of one input channel. */
void ethosgen_dsp_depthwise_copies_s8(int8_t *output, const int8_t *input, void *room,
                                      const int8_t *weights, const int32_t *blocks,
                                      const struct ethosgen_dsp_lanes *shape);

/*
 * Compute the average of at most 255 pixels with at least 4 channels; halves are rounded away from
 * zero.
 */
void ethosgen_dsp_average_pool_s8(int8_t *output, const int8_t *input, int32_t rows,
                                  int32_t columns, const struct ethosgen_core_pool *pool);

/* Compute the maximum of `rows` x `columns` pixels, starting at `input`. */
void ethosgen_dsp_max_pool_s8(int8_t *output, const int8_t *input, int32_t rows, int32_t columns,
                              const struct ethosgen_core_pool *pool);

/* @struct ethosgen_dsp_product */

/*
 * Compute the products without zero points, requantized.
 *
 * room: for all steps 32 bytes; for each column of a panel 16 bytes, and 4 for all steps.
 */
void ethosgen_dsp_product_s8(int8_t *output, const int8_t *first, const int8_t *second, void *room,
                             const struct ethosgen_dsp_product *product);

/* The same for columns that are contiguous; room: 2 bytes for each place of depth, rounded up to 4. */
void ethosgen_dsp_vector_s8(int8_t *output, const int8_t *first, const int8_t *second, void *room,
                            const struct ethosgen_dsp_product *product);

#endif /* ETHOSGEN_DSP_H */
