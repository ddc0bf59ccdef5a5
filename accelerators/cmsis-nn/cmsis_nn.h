/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arm's CMSIS-NN, called with arrays of numbers: each function fills CMSIS-NN's structures from a layer,
 * whose numbers are in the order of CmsisNn.arrays() in cmsis_nn.py. All return 0, or the negative
 * status of CMSIS-NN (arm_cmsis_nn_status).
 */
#ifndef CMSIS_NN_H
#define CMSIS_NN_H

#include <stdint.h>

/* A window over pictures: a convolution, or a pool, which has no weights. */
struct cmsis_nn_window {
    int32_t batches, input_h, input_w, input_channels;
    int32_t kernel_h, kernel_w;
    int32_t output_h, output_w, output_channels;
    int32_t stride_h, stride_w, pad_top, pad_left, dilation_h, dilation_w;
    int32_t input_offset, output_offset, activation_min, activation_max;
    int32_t scratch_bytes;
};

struct cmsis_nn_matrix {
    int32_t rows, depth, columns, is_per_channel;
    int32_t input_offset, output_offset, activation_min, activation_max;
};

/* Products of matrices: each is rows x depth times columns x depth, the second one turned. */
struct cmsis_nn_products {
    int32_t batches, rows, depth, columns, is_turned;
    int32_t input_offset, input2_offset, output_offset, multiplier, shift;
};

struct cmsis_nn_sum {
    int32_t input_offset, input_multiplier, input_shift;
    int32_t input2_offset, input2_multiplier, input2_shift;
    int32_t left_shift, output_offset, output_multiplier, output_shift;
    int32_t activation_min, activation_max, elements;
};

int32_t cmsis_nn_conv(const int8_t *input, const int8_t *weights, const int32_t *bias, int8_t *output,
                      const int32_t *multipliers, const int32_t *shifts, void *scratch,
                      const int32_t *layer);

int32_t cmsis_nn_depthwise(const int8_t *input, const int8_t *weights, const int32_t *bias,
                           int8_t *output, const int32_t *multipliers, const int32_t *shifts,
                           void *scratch, const int32_t *layer);

/* `sums` are, by column, the bias and the sum of the weights times the input's offset: Helium adds
 * these, other processors the bias. */
int32_t cmsis_nn_matrix(const int8_t *input, const int8_t *weights, const int32_t *bias,
                        const int32_t *sums, int8_t *output, const int32_t *multipliers,
                        const int32_t *shifts, const int32_t *layer);

int32_t cmsis_nn_conv_s16(const int16_t *input, const int8_t *weights, const int64_t *bias,
                          int16_t *output, const int32_t *multipliers, const int32_t *shifts,
                          void *scratch, const int32_t *layer);

int32_t cmsis_nn_depthwise_s16(const int16_t *input, const int8_t *weights, const int64_t *bias,
                               int16_t *output, const int32_t *multipliers, const int32_t *shifts,
                               void *scratch, const int32_t *layer);

int32_t cmsis_nn_matrix_s16(const int16_t *input, const int8_t *weights, const int64_t *bias,
                            int16_t *output, int32_t multiplier, int32_t shift,
                            const int32_t *layer);

int32_t cmsis_nn_average_pool(const int8_t *input, int8_t *output, void *scratch,
                              const int32_t *layer);

int32_t cmsis_nn_max_pool(const int8_t *input, int8_t *output, const int32_t *layer);

int32_t cmsis_nn_add(const int8_t *input, const int8_t *input2, int8_t *output, const int32_t *layer);

int32_t cmsis_nn_mul(const int8_t *input, const int8_t *input2, int8_t *output, const int32_t *layer);

int32_t cmsis_nn_minimum(const int8_t *input, const int8_t *input2, int8_t *output, int32_t elements);

int32_t cmsis_nn_maximum(const int8_t *input, const int8_t *input2, int8_t *output, int32_t elements);

/* `scratch` has room for the sums or windows, and from `turned_at` of `layer` on for turned weights. */
int32_t cmsis_nn_transpose_conv(const int8_t *input, const int8_t *weights, const int32_t *bias,
                                int8_t *output, const int32_t *multipliers, const int32_t *shifts,
                                void *scratch, const int32_t *layer);

/* `scratch` has room for a sum for each column and, unless it is turned already, the second factor. */
int32_t cmsis_nn_products(const int8_t *input, const int8_t *input2, int8_t *output, void *scratch,
                          const int32_t *layer);

int32_t cmsis_nn_add_s16(const int16_t *input, const int16_t *input2, int16_t *output,
                         const int32_t *layer);

int32_t cmsis_nn_mul_s16(const int16_t *input, const int16_t *input2, int16_t *output,
                         const int32_t *layer);

int32_t cmsis_nn_average_pool_s16(const int16_t *input, int16_t *output, void *scratch,
                                  const int32_t *layer);

int32_t cmsis_nn_max_pool_s16(const int16_t *input, int16_t *output, const int32_t *layer);

int32_t cmsis_nn_softmax(const int8_t *input, int8_t *output, int32_t rows, int32_t columns,
                         int32_t multiplier, int32_t shift, int32_t least_difference);

/* `exponentials` and `reciprocals` are TensorFlow Lite's tables of int16. */
int32_t cmsis_nn_softmax_s16(const int16_t *input, int16_t *output, int32_t rows, int32_t columns,
                             int32_t multiplier, int32_t shift, const int16_t *exponentials,
                             const int16_t *reciprocals);

/* The arrays have four sizes: of the input, and what is added before and after it. */
int32_t cmsis_nn_pad(const int8_t *input, int8_t *output, int32_t value, const int32_t *sizes,
                     const int32_t *before, const int32_t *after);

/* The last of `sizes`, and of the others, are in bytes. */
int32_t cmsis_nn_pad_s16(const int16_t *input, int16_t *output, const int32_t *sizes,
                         const int32_t *before, const int32_t *after);

#endif /* CMSIS_NN_H */
