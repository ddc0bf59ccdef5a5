/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inner loops of int16 operators for processors with DSP instructions (Cortex-M4, M7, M33).
 *
 * Each has two versions with equal results: DSP instructions if the processor has them, otherwise
 * plain C. Weights and scales are in reading order; see ethosgen's aot/libraries/dsp/order_s16.py.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#ifndef ETHOSGEN_DSP_S16_H
#define ETHOSGEN_DSP_S16_H

#include "ethosgen_core.h"

/* A channel's sum to an output: (sum * mantissa + addend) / 2^(32 + shift), rounded down. */
struct ethosgen_dsp_scale_s16 {
    uint32_t low; /* of the addend: the bias, scaled, and a half */
    int32_t high;
    int32_t mantissa;
    int32_t shift; /* at least -8 */
};

/* @struct ethosgen_dsp_matrix_s16 */

/*
 * output[r][c] = scaled(sum over k of rows[r][k] * weights[c][k]), for `count` rows.
 *
 * weights: for each pair of channels, for every 2 places of depth, 4 bytes, padded with zeros: the
 * weights of both at the first place, and at the second. room: 8 bytes for each place of depth, rounded
 * up to 2.
 */
void ethosgen_dsp_matrix_s16(int16_t *output, const int16_t *rows, int32_t count, void *room,
                             const int8_t *weights, const int32_t *scales,
                             const struct ethosgen_dsp_matrix_s16 *matrix);

/* The same for a window that moves over the input: a row is the pixels under it. */
void ethosgen_dsp_convolution_s16(int16_t *output, const int16_t *input, void *room,
                                  const int8_t *weights, const int32_t *scales,
                                  const struct ethosgen_dsp_matrix_s16 *matrix,
                                  const struct ethosgen_core_window *window);

/* @struct ethosgen_dsp_depthwise_s16 */

/*
 * Compute all channels of a pixel from the `rows` x `columns` taps of its window that are inside the
 * input. Sums have at most 32 bits; no shift is negative.
 */
void ethosgen_dsp_depthwise_s16(int16_t *output, const int16_t *input, const int8_t *weights,
                                int32_t rows, int32_t columns, const int32_t *scales,
                                const struct ethosgen_dsp_depthwise_s16 *layer);

/* @struct ethosgen_dsp_pool_s16 */

/* Compute the average of at most 2^16 - 2 pixels; halves are rounded away from zero. */
void ethosgen_dsp_average_pool_s16(int16_t *output, const int16_t *input, int32_t rows,
                                   int32_t columns, const struct ethosgen_dsp_pool_s16 *shape);

/* Compute the maximum of `rows` x `columns` pixels, starting at `input`. */
void ethosgen_dsp_max_pool_s16(int16_t *output, const int16_t *input, int32_t rows, int32_t columns,
                               const struct ethosgen_dsp_pool_s16 *shape);

/* @struct ethosgen_dsp_lstm_s16 */

/*
 * Compute all time steps of one batch of an LSTM, and leave both states as they are after the last.
 *
 * weights, scales: those of a matrix for the input, then one for the hidden state, both with the units
 * of the gates input, forget, cell and output as channels. lines: those of ethosgen_dsp_lstm_s8. room:
 * 16 bytes for each unit, and 4 for each pair of features or of units, whichever are more.
 */
void ethosgen_dsp_lstm_s16(int16_t *output, const int16_t *input, int16_t *hidden, int16_t *cell,
                           void *room, const int8_t *weights, const int32_t *scales,
                           const int16_t *lines, const struct ethosgen_dsp_lstm_s16 *lstm);

/* @struct ethosgen_dsp_product_s16 */

/* Multiply two matrices; rows of the first are contiguous. room: 8 bytes for each pair of depth. */
void ethosgen_dsp_product_s16(int16_t *output, const int16_t *first, const int16_t *second,
                              void *room, const struct ethosgen_dsp_product_s16 *product);

/* @struct ethosgen_dsp_curve_s16 */

/* Compute a curve from 512 lines; each has a height at 0 and a slope, and 0 is the start of line 256. */
void ethosgen_dsp_curve_s16(int16_t *output, const int16_t *input, int32_t count,
                            const int32_t *heights, const int16_t *slopes,
                            const struct ethosgen_dsp_curve_s16 *shape);

/* @struct ethosgen_dsp_softmax_s16 */

/*
 * Compute the softmax of `count` rows. Both tables have 513
 * values: exp(x) of x from -10 to 0, and 1 / (1 + x) of x from 0 to 1.
 */
void ethosgen_dsp_softmax_s16(int16_t *output, const int16_t *input, int32_t count,
                              const int16_t *exponents, const int16_t *reciprocals,
                              const struct ethosgen_dsp_softmax_s16 *softmax);

#endif /* ETHOSGEN_DSP_S16_H */
