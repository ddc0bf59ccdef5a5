/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arm Compute Library 20.08, called with arrays of numbers: `layer` and `scales` are in the order of
 * Acl.arrays() in acl.py. All functions return 0 or an acl_status.
 *
 * The library's objects are made at the first call with a `layer`, and kept. The library takes memory
 * from the heap for them, for its own copy of weights, and for intermediate results. Tensors stay where
 * the caller has them. One call runs at a time; others wait.
 */
#ifndef ACL_H
#define ACL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum acl_status {
    ACL_OK = 0,
    ACL_REFUSED = 1, /* the library does not take such a layer */
    ACL_FAILED = 2,  /* the library threw an exception: memory is exhausted */
};

/* A window over pictures: a convolution, or a pool, which has no weights. */
struct acl_window {
    int32_t batches, input_h, input_w, input_channels;
    int32_t kernel_h, kernel_w;
    int32_t output_h, output_w, output_channels;
    int32_t stride_h, stride_w, pad_top, pad_left, pad_bottom, pad_right, dilation_h, dilation_w;
    int32_t input_zero_point, output_zero_point, activation_min, activation_max;
    int32_t is_clamped; /* activation_min and activation_max are narrower than the type */
};

struct acl_matrix {
    int32_t rows, depth, columns, input_zero_point, output_zero_point, activation_min, activation_max;
    int32_t is_clamped;
};

struct acl_elements {
    int32_t operation; /* an acl_operation */
    int32_t elements, input_zero_point, input2_zero_point, output_zero_point;
    int32_t activation_min, activation_max, is_clamped;
};

enum acl_operation {
    ACL_ADD = 0,
    ACL_SUB = 1,
    ACL_MUL = 2,
    ACL_MAXIMUM = 3,
    ACL_MINIMUM = 4,
    ACL_DIV = 5,
    ACL_SQUARED_DIFFERENCE = 6,
};

/* Weights are a matrix with a row for each value of a window: HWIO, and IO for acl_matrix_s8. */
int32_t acl_conv_s8(const int8_t *input, const int8_t *weights, const int32_t *bias, int8_t *output,
                    const int32_t *multipliers, const int32_t *shifts, const int32_t *layer);
int32_t acl_matrix_s8(const int8_t *input, const int8_t *weights, const int32_t *bias, int8_t *output,
                      const int32_t *multipliers, const int32_t *shifts, const int32_t *layer);

/* `scales`: of the input, of the output, and of the weights for each channel. */
int32_t acl_depthwise_s8(const int8_t *input, const int8_t *weights, const int32_t *bias,
                         int8_t *output, const float *scales, const int32_t *layer);

/* `bounds`: the smallest and the largest output, for float. Weights have TensorFlow Lite's order. */
int32_t acl_conv_f32(const float *input, const float *weights, const float *bias, float *output,
                     const float *bounds, const int32_t *layer);
int32_t acl_depthwise_f32(const float *input, const float *weights, const float *bias, float *output,
                          const float *bounds, const int32_t *layer);
int32_t acl_matrix_f32(const float *input, const float *weights, const float *bias, float *output,
                       const float *bounds, const int32_t *layer);

int32_t acl_max_pool_s8(const int8_t *input, int8_t *output, const int32_t *layer);
int32_t acl_max_pool_f32(const float *input, float *output, const float *bounds, const int32_t *layer);
int32_t acl_average_pool_s8(const int8_t *input, int8_t *output, const int32_t *layer);
int32_t acl_average_pool_f32(const float *input, float *output, const float *bounds,
                             const int32_t *layer);
int32_t acl_l2_pool_f32(const float *input, float *output, const float *bounds, const int32_t *layer);

/* `scales`: of both inputs and of the output. */
int32_t acl_elements_s8(const int8_t *input, const int8_t *input2, int8_t *output,
                        const float *scales, const int32_t *layer);
int32_t acl_elements_f32(const float *input, const float *input2, float *output, const float *bounds,
                         const int32_t *layer);

int32_t acl_reshape_s8(const int8_t *input, int8_t *output, const int32_t *layer);
int32_t acl_reshape_f32(const float *input, float *output, const int32_t *layer);

#ifdef __cplusplus
}
#endif

#endif /* ACL_H */
