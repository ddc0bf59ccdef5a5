/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels for float32: lanes are output channels, so that each output's products are added in the
 * order of the network's reference kernels, and results equal theirs bit for bit.
 *
 * Each has three forms, selected at compile time: for Helium with floating point, for the floating-point
 * unit of a Cortex-M, and plain C.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#ifndef ETHOSGEN_FLOATS_H
#define ETHOSGEN_FLOATS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Weights of a matrix: the bounds of the outputs, low and high; then for every 4 channels their
 * biases, and for each product of a row 4 weights. Missing channels have zeros.
 */
enum { ETHOSGEN_BOUNDS_F32 = 2, ETHOSGEN_BLOCK_F32 = 4 };

/* @struct ethosgen_matrix_f32 */

void ethosgen_matrix_f32(float *output, const float *input, const float *weights,
                         const struct ethosgen_matrix_f32 *matrix);

/*
 * Pack a matrix as weights without bounds and biases. An element's place is its row in `depth` times
 * `row_step` plus its column times `column_step`.
 */
void ethosgen_pack_f32(float *packed, const float *matrix, int32_t depth, int32_t columns,
                       int32_t row_step, int32_t column_step);

/* @struct ethosgen_windows_f32 */

/* @struct ethosgen_convolution_f32 */

void ethosgen_convolution_f32(float *output, const float *input, float *strip, const float *weights,
                              const struct ethosgen_convolution_f32 *layer);

/* @struct ethosgen_depthwise_f32 */

/*
 * Compute all channels of an output pixel from `rows` times `columns` taps, those inside the input.
 * `biases` starts with the bounds of the outputs and ends with zeros for missing channels, up to a
 * multiple of 4. If several outputs share a channel of the input, `places` has its number for each
 * output, also up to a multiple of 4.
 */
void ethosgen_depthwise_f32(float *output, const float *input, const float *weights, int32_t rows,
                            int32_t columns, const float *biases,
                            const struct ethosgen_depthwise_f32 *shape);
void ethosgen_depthwise_copies_f32(float *output, const float *input, const float *weights,
                                   int32_t rows, int32_t columns, const float *biases,
                                   const uint32_t *places,
                                   const struct ethosgen_depthwise_f32 *shape);

/* @struct ethosgen_pool_f32 */

/* Compute all channels of an output pixel from a window inside the input; `bounds` are low, high. */
void ethosgen_max_pool_f32(float *output, const float *input, int32_t rows, int32_t columns,
                           const float *bounds, const struct ethosgen_pool_f32 *pool);
void ethosgen_average_pool_f32(float *output, const float *input, int32_t rows, int32_t columns,
                               const float *bounds, const struct ethosgen_pool_f32 *pool);

/* Compute `count` outputs, bounded by low and high; `_one`: with one second input for all. */
#define ETHOSGEN_BINARY_F32(name)                                                              \
    void ethosgen_##name##_f32(float *output, const float *first, const float *second,         \
                               int32_t count, const float *bounds)

ETHOSGEN_BINARY_F32(add);
ETHOSGEN_BINARY_F32(add_one);
ETHOSGEN_BINARY_F32(sub);
ETHOSGEN_BINARY_F32(sub_one);
ETHOSGEN_BINARY_F32(mul);
ETHOSGEN_BINARY_F32(mul_one);

/*
 * Convert `count` elements. The scale comes first, and for `quantize` its reciprocal and the least and
 * the greatest input that an output can stand for.
 */
#define ETHOSGEN_QUANTIZE_F32(bits)                                                            \
    void ethosgen_quantize_##bits##_f32(void *output, const float *input, int32_t count,       \
                                        int32_t zero_point, const float *scale)
#define ETHOSGEN_DEQUANTIZE_F32(type)                                                          \
    void ethosgen_dequantize_##type##_f32(float *output, const void *input, int32_t count,     \
                                          int32_t zero_point, const float *scale)

ETHOSGEN_QUANTIZE_F32(8);
ETHOSGEN_QUANTIZE_F32(16);
ETHOSGEN_DEQUANTIZE_F32(s8);
ETHOSGEN_DEQUANTIZE_F32(u8);
ETHOSGEN_DEQUANTIZE_F32(s16);

/*
 * Shift the state of each filter by a time step, append its feature, and write its sum over time.
 * `weights` has 4 weights for each time step of every 4 filters, zeros for missing filters.
 */
void ethosgen_svdf_f32(float *output, float *state, const float *features, const float *weights,
                       int32_t filters, int32_t memory);

/*
 * Compute all channels of a pixel between four; `down` and `across` are its distances from the top
 * left one, at most 1.
 */
void ethosgen_resize_f32(float *output, const float *top_left, const float *bottom_left,
                         const float *top_right, const float *bottom_right, float down,
                         float across, int32_t channels);

#ifdef __cplusplus
}
#endif

#endif /* ETHOSGEN_FLOATS_H */
