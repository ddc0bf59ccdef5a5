"""A folder with a convolution in plain C: chains, packed weights, arrays, padding and scratch."""

from pathlib import Path

from tests.support.toy_accelerator import write_folder

TOML = """\
schema = 1
title = "convolution in C"
kind = "device"
headers = ["toy_add.h"]
sources = ["toy_add.c"]
start = 60

[memory]
alignment = 32

[[operator]]
chain = ["PAD?", "CONV_2D", "RELU6?"]
where = [
    "dilation_h == 1 and dilation_w == 1",
    "stride_h == stride_w",
    "input_channels == weights_channels",
]
call = "plain_conv"
arguments = [
    "input", "weights", "bias", "output", "multipliers", "shifts",
    "input_h", "input_w", "input_channels", "output_h", "output_w", "output_channels",
    "kernel_h", "kernel_w", "stride_h", "pad_top", "pad_left",
    "-input_zero_point", "output_zero_point", "activation_min", "activation_max", "scratch",
]
weights = "HWIO"
scratch = "4 * output_channels"
cycles = "output_elements * kernel_h * kernel_w * input_channels / 4"
awaited = "plain_wait"
"""
HEADER = """\
#include <stdint.h>
int32_t plain_conv(const int8_t *input, const int8_t *weights, const int32_t *bias, int8_t *output,
    const int32_t *multipliers, const int32_t *shifts,
    int32_t input_h, int32_t input_w, int32_t input_c, int32_t output_h, int32_t output_w,
    int32_t output_c, int32_t kernel_h, int32_t kernel_w, int32_t stride, int32_t pad_top,
    int32_t pad_left, int32_t input_offset, int32_t output_offset, int32_t low, int32_t high,
    void *scratch);
int32_t plain_wait(void);
"""
SOURCE = """\
static int32_t high_product(int32_t a, int32_t b)
{
    return (int32_t)(((int64_t)a * b + (1LL << 30)) >> 31);
}

static int32_t rescale(int32_t x, int32_t multiplier, int32_t shift)
{
    int32_t left = shift > 0 ? shift : 0, right = shift > 0 ? 0 : -shift;
    int32_t value = high_product((int32_t)((uint32_t)x << left), multiplier);
    int32_t mask = (int32_t)((1u << right) - 1u), rest = value & mask;
    return (value >> right) + (rest > (mask >> 1) + (value < 0));
}

int32_t plain_conv(const int8_t *input, const int8_t *weights, const int32_t *bias, int8_t *output,
    const int32_t *multipliers, const int32_t *shifts,
    int32_t input_h, int32_t input_w, int32_t input_c, int32_t output_h, int32_t output_w,
    int32_t output_c, int32_t kernel_h, int32_t kernel_w, int32_t stride, int32_t pad_top,
    int32_t pad_left, int32_t input_offset, int32_t output_offset, int32_t low, int32_t high,
    void *scratch)
{
    int32_t *sums = scratch;
    for (int32_t y = 0; y < output_h; y++) {
        for (int32_t x = 0; x < output_w; x++) {
            for (int32_t o = 0; o < output_c; o++) {
                sums[o] = bias ? bias[o] : 0;
            }
            for (int32_t ky = 0; ky < kernel_h; ky++) {
                for (int32_t kx = 0; kx < kernel_w; kx++) {
                    int32_t row = y * stride + ky - pad_top, column = x * stride + kx - pad_left;
                    if (row < 0 || row >= input_h || column < 0 || column >= input_w) {
                        continue;
                    }
                    const int8_t *from = &input[(row * input_w + column) * input_c];
                    const int8_t *by = &weights[(ky * kernel_w + kx) * input_c * output_c];
                    for (int32_t i = 0; i < input_c; i++) {
                        for (int32_t o = 0; o < output_c; o++) {
                            sums[o] += (from[i] + input_offset) * by[i * output_c + o];
                        }
                    }
                }
            }
            for (int32_t o = 0; o < output_c; o++) {
                int32_t value = rescale(sums[o], multipliers[o], shifts[o]) + output_offset;
                value = value < low ? low : value > high ? high : value;
                output[(y * output_w + x) * output_c + o] = (int8_t)value;
            }
        }
    }
    return 0;
}

int32_t plain_wait(void)
{
    return 0;
}
"""


def write_conv_folder(folder: Path, toml: str = TOML, source: str = SOURCE) -> Path:
    """Write the folder, or one with another declaration or source, and return it."""
    return write_folder(folder, toml, HEADER, source)
