/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inner loops of operators on int16; layers have int8 weights. See ethosgen_kernels.h.
 *
 * All zero points are 0.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#ifndef ETHOSGEN_KERNELS_S16_H
#define ETHOSGEN_KERNELS_S16_H

#include "ethosgen_kernels.h"

/*
 * Rows times weights, like ethosgen_matrix_s8: `depth` counts elements. The sums fit in 32 bits. All
 * factors are below 1/2, and results are rounded once.
 *
 * weights: for every 4 channels, for every 8 places of depth, 8 bytes of each of the 4, padded with
 * zeros. scales: for every 4 channels 4 biases, 4 mantissas of 15 bits in the upper halves of
 * words, and 4 shifts, which are negative: sum * mantissa / 2^32 * 2^shift.
 */
void ethosgen_matrix_s16(int16_t *output, const int16_t *rows, const int8_t *weights,
                         const int32_t *scales, const struct ethosgen_matrix *matrix);

/* The same for one row. */
void ethosgen_row_s16(int16_t *output, const int16_t *row, const int8_t *weights,
                      const int32_t *scales, const struct ethosgen_matrix *shape);

/*
 * The same as ethosgen_matrix_s16 with sums of 64 bits, for any factors.
 * scales: for each channel the lower and the upper half of bias * mantissa + half, a mantissa of 15
 * bits, and a right shift; half is 2^(shift - 1).
 */
void ethosgen_matrix_wide_s16(int16_t *output, const int16_t *rows, const int8_t *weights,
                              const int32_t *scales, const struct ethosgen_matrix *matrix);

/* The same for rows at any distance, whose places and steps are in bytes. */
void ethosgen_rows_s16(const struct ethosgen_rows *rows, const int8_t *weights,
                       const int32_t *scales, const struct ethosgen_matrix *matrix);
void ethosgen_rows_wide_s16(const struct ethosgen_rows *rows, const int8_t *weights,
                            const int32_t *scales, const struct ethosgen_matrix *matrix);

/* Compute all outputs of a picture, as ethosgen_convolution_s8; places and steps are in bytes. */
void ethosgen_convolution_s16(int16_t *output, const int16_t *input, int8_t *strip,
                              const int8_t *weights, const int32_t *scales,
                              const struct ethosgen_convolution *shape);
void ethosgen_convolution_in_place_s16(int16_t *output, const int16_t *input, const int8_t *weights,
                                       const int32_t *scales,
                                       const struct ethosgen_convolution *shape);
void ethosgen_convolution_wide_s16(int16_t *output, const int16_t *input, int8_t *strip,
                                   const int8_t *weights, const int32_t *scales,
                                   const struct ethosgen_convolution *shape);
void ethosgen_convolution_in_place_wide_s16(int16_t *output, const int16_t *input,
                                            const int8_t *weights, const int32_t *scales,
                                            const struct ethosgen_convolution *shape);

/* @struct ethosgen_depthwise_s16 */

/*
 * Compute all channels of a pixel, from the `rows` x `columns` taps that are inside the input: `input`
 * and `weights` point to the first. The sums with their biases fit in 32 bits.
 *
 * scales: for every 8 channels 8 biases, 8 mantissas, 8 shifts, like those of ethosgen_matrix_s16; in
 * each 8, even channels come first.
 */
void ethosgen_depthwise_pixel_s16(int16_t *output, const int16_t *input, const int8_t *weights,
                                  int32_t rows, int32_t columns, const int32_t *scales,
                                  const struct ethosgen_depthwise_s16 *layer);

/* The same for any biases and factors. scales: as in ethosgen_matrix_wide_s16. */
void ethosgen_depthwise_pixel_wide_s16(int16_t *output, const int16_t *input, const int8_t *weights,
                                       int32_t rows, int32_t columns, const int32_t *scales,
                                       const struct ethosgen_depthwise_s16 *layer);

/* Both inputs of a sum of int16 are shifted left by this many bits before they are rescaled. */
enum { ETHOSGEN_ADD_SHIFT_S16 = 15 };

/* @struct ethosgen_add_s16 */

/* output[i] = requantized(+-first[i] +-second[i]); output may be one of the inputs. */
void ethosgen_add_s16(int16_t *output, const int16_t *first, const int16_t *second, int32_t count,
                      const struct ethosgen_add_s16 *add);

/* The same for inputs of equal scales: of the second, the struct has only its sign. */
void ethosgen_add_equal_s16(int16_t *output, const int16_t *first, const int16_t *second,
                            int32_t count, const struct ethosgen_add_s16 *add);

/* @struct ethosgen_mul_s16 */

/* output[i] = requantized(first[i] * second[i]); output may be one of the inputs. */
void ethosgen_mul_s16(int16_t *output, const int16_t *first, const int16_t *second, int32_t count,
                      const struct ethosgen_mul_s16 *mul);

/* @struct ethosgen_pool_s16 */

/* Compute the maximum of `rows` x `columns` pixels, starting at `input`. */
void ethosgen_max_pool_s16(int16_t *output, const int16_t *input, int32_t rows, int32_t columns,
                           const struct ethosgen_pool_s16 *pool);

/* Compute the average of at most 361 pixels; halves are rounded away from zero. */
void ethosgen_average_pool_s16(int16_t *output, const int16_t *input, int32_t rows, int32_t columns,
                               const struct ethosgen_pool_s16 *pool);

/* @struct ethosgen_curve_s16 */

/* output[i] = curve(input[i]) in units of 2^-15. lines: as in ethosgen_lstm_s8. */
void ethosgen_curve_s16(int16_t *output, const int16_t *input, int32_t count, const int16_t *lines,
                        const struct ethosgen_curve_s16 *shape);

/*
 * An LSTM like ethosgen_lstm_s8. Each sum with its bias fits in 32 bits. The multipliers of gates have
 * mantissas and right shifts like the scales of ethosgen_matrix_s16. weights: packed as there.
 */
void ethosgen_lstm_s16(int16_t *output, const int16_t *input, int16_t *hidden, int16_t *cell,
                       const int8_t *weights, const int32_t *biases, const int16_t *lines,
                       const struct ethosgen_lstm *lstm);

/* @struct ethosgen_product_s16 */

/* output[r][c] = requantized(sum over k of rows[r][k] * columns[c][k]), with sums of 64 bits. */
void ethosgen_product_s16(int16_t *output, const int16_t *rows, const int16_t *columns,
                          const struct ethosgen_product_s16 *shape);

/* to[c][r] = from[r][c]; at most 8192 columns. */
void ethosgen_turn_s16(int16_t *to, const int16_t *from, int32_t rows, int32_t columns);

/* @struct ethosgen_softmax_s16 */

/*
 * Compute softmax. exponentials, reciprocals: curves of 513 values, exp over 10 and 1 / (1 + x) over 1,
 * between which the kernel interpolates.
 */
void ethosgen_softmax_s16(int16_t *output, const int16_t *input, const int16_t *exponentials,
                          const int16_t *reciprocals, const struct ethosgen_softmax_s16 *shape);

#endif /* ETHOSGEN_KERNELS_S16_H */
