/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ETHOSGEN_ACCELERATOR_new_accelerator_H
#define ETHOSGEN_ACCELERATOR_new_accelerator_H

#include <stdint.h>

/* Convolve an NHWC image of one batch; `bias` may be NULL. Returns 0. */
int32_t new_accelerator_conv(
    const int8_t *input, const int8_t *weights, const int32_t *bias, int8_t *output,
    const int32_t *multipliers, const int32_t *shifts,
    int32_t input_h, int32_t input_w, int32_t input_channels,
    int32_t output_h, int32_t output_w, int32_t output_channels,
    int32_t kernel_h, int32_t kernel_w, int32_t stride_h, int32_t stride_w,
    int32_t pad_top, int32_t pad_left, int32_t input_offset, int32_t output_offset,
    int32_t least, int32_t most, void *scratch);

#endif
