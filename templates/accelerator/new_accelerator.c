/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
#include "new_accelerator.h"

/* Return 2ab / 2^32, rounded to nearest, ties up: SaturatingRoundingDoublingHighMul. */
static int32_t high_product(int32_t a, int32_t b)
{
    return (int32_t)(((int64_t)a * b + (1LL << 30)) >> 31);
}

/* Return x * multiplier * 2^(shift - 31), rounded twice as TensorFlow Lite Micro does. */
static int32_t rescale(int32_t x, int32_t multiplier, int32_t shift)
{
    int32_t left = shift > 0 ? shift : 0, right = shift > 0 ? 0 : -shift;
    int32_t value = high_product((int32_t)((uint32_t)x << left), multiplier);
    int32_t mask = (int32_t)((1u << right) - 1u), rest = value & mask;
    return (value >> right) + (rest > (mask >> 1) + (value < 0));
}

/* Add the products of one pixel and one place of the kernel to the sums of all channels. */
static void add_products(int32_t *sums, const int8_t *pixel, const int8_t *weights,
    int32_t input_channels, int32_t output_channels, int32_t input_offset)
{
    for (int32_t i = 0; i < input_channels; i++) {
        int32_t value = pixel[i] + input_offset;
        for (int32_t o = 0; o < output_channels; o++) {
            sums[o] += value * weights[i * output_channels + o];
        }
    }
}

int32_t new_accelerator_conv(
    const int8_t *input, const int8_t *weights, const int32_t *bias, int8_t *output,
    const int32_t *multipliers, const int32_t *shifts,
    int32_t input_h, int32_t input_w, int32_t input_channels,
    int32_t output_h, int32_t output_w, int32_t output_channels,
    int32_t kernel_h, int32_t kernel_w, int32_t stride_h, int32_t stride_w,
    int32_t pad_top, int32_t pad_left, int32_t input_offset, int32_t output_offset,
    int32_t least, int32_t most, void *scratch)
{
    int32_t *sums = scratch;
    for (int32_t place = 0; place < output_h * output_w; place++) {
        int32_t top = place / output_w * stride_h - pad_top;
        int32_t left = place % output_w * stride_w - pad_left;
        for (int32_t o = 0; o < output_channels; o++) {
            sums[o] = bias ? bias[o] : 0;
        }
        for (int32_t at = 0; at < kernel_h * kernel_w; at++) {
            int32_t y = top + at / kernel_w, x = left + at % kernel_w;
            if (y >= 0 && y < input_h && x >= 0 && x < input_w) {
                add_products(sums, &input[(y * input_w + x) * input_channels],
                    &weights[at * input_channels * output_channels], input_channels,
                    output_channels, input_offset);
            }
        }
        for (int32_t o = 0; o < output_channels; o++) {
            int32_t value = rescale(sums[o], multipliers[o], shifts[o]) + output_offset;
            value = value < least ? least : value > most ? most : value;
            output[place * output_channels + o] = (int8_t)value;
        }
    }
    return 0;
}
