/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions to one or two channels, without copies. See ethosgen_kernels.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_requantize.h"

enum { LANES = 16, CHANNELS = 2, LANES_OF_SUMS = 4 };
/* The lanes of the first channel, a bit for each byte. */
enum { ONE_CHANNEL = 0x0f0f };

#if ETHOSGEN_MVE
/*
 * The sums of two windows for two channels: 64 products in 9 instructions. In assembly, since the
 * compiler generates neither tail-predicated loops nor moves of two lanes.
 */
static inline int32x4_t sums(const int8_t *first, const int8_t *second, const int8_t *weights,
                             const int32_t *bias, const struct ethosgen_two *layer)
{
    int32_t sum0 = bias[0], sum1 = bias[1], sum2 = bias[0], sum3 = bias[1];
    int32x4_t all;

    for (int32_t left = layer->taps; left > 0; left--) {
        const int8_t *row0 = first, *row1 = second;

        /* q0, q3: vectors of both windows. q1, q2: weights of both channels. lr: bytes left. */
        __asm volatile("dlstp.8 lr, %[bytes]\n"
                       "1:\n\t"
                       "vldrb.8 q0, [%[row0]], #16\n\t"
                       "vldrb.8 q1, [%[weights]], #16\n\t"
                       "vmladava.s8 %[sum0], q0, q1\n\t"
                       "vldrb.8 q2, [%[weights]], #16\n\t"
                       "vmladava.s8 %[sum1], q0, q2\n\t"
                       "vldrb.8 q3, [%[row1]], #16\n\t"
                       "vmladava.s8 %[sum2], q3, q1\n\t"
                       "vmladava.s8 %[sum3], q3, q2\n\t"
                       "letp lr, 1b"
                       : [row0] "+r"(row0), [row1] "+r"(row1), [weights] "+r"(weights),
                         [sum0] "+Te"(sum0), [sum1] "+Te"(sum1), [sum2] "+Te"(sum2),
                         [sum3] "+Te"(sum3)
                       : [bytes] "r"(layer->tap_bytes)
                       : "q0", "q1", "q2", "q3", "lr", "memory");
        first += layer->tap_step;
        second += layer->tap_step;
    }
    __asm("vmov %q[all][2], %q[all][0], %[sum0], %[sum2]\n\t"
          "vmov %q[all][3], %q[all][1], %[sum1], %[sum3]"
          : [all] "=&w"(all)
          : [sum0] "r"(sum0), [sum1] "r"(sum1), [sum2] "r"(sum2), [sum3] "r"(sum3));
    return all;
}

/* Requantization of sums to outputs: 4 lanes are two channels of two outputs. */
struct lanes {
    int32x4_t mantissa, shift, low, high;
};

static inline struct lanes lanes_of(const int32_t *scales, const struct ethosgen_output *output)
{
    return (struct lanes){vldrwq_s32(scales + LANES_OF_SUMS), vldrwq_s32(scales + 2 * LANES_OF_SUMS),
                          vdupq_n_s32(output->low), vdupq_n_s32(output->high)};
}

/* Compute one or two outputs. */
static inline void compute(int8_t *output, const int8_t *input, int32_t count,
                           const int8_t *weights, const int32_t *scales,
                           const struct ethosgen_two *layer, struct lanes lanes)
{
    mve_pred16_t inside = count > 1 ? 0xffffu : 0x00ffu;
    const int8_t *second = count > 1 ? input + layer->pixel_step : input;
    int32x4_t all = sums(input, second, weights, scales, layer);

    all = ethosgen_requantize_x4(all, lanes.mantissa, lanes.shift);
    all = vaddq_n_s32(all, layer->output.zero_point);
    all = vminq_s32(vmaxq_s32(all, lanes.low), lanes.high);
    if (layer->channels == CHANNELS) {
        vstrbq_p_s32(output, all, inside);
    } else {
        vstrbq_scatter_offset_p_s32(output, vshrq_n_u32(vidupq_n_u32(0, 1), 1), all,
                                    (mve_pred16_t)(inside & ONE_CHANNEL));
    }
}
#else
struct lanes {
    const int32_t *mantissa, *shift;
};

static inline struct lanes lanes_of(const int32_t *scales, const struct ethosgen_output *output)
{
    (void)output;
    return (struct lanes){scales + LANES_OF_SUMS, scales + 2 * LANES_OF_SUMS};
}

static inline void compute(int8_t *output, const int8_t *input, int32_t count,
                           const int8_t *weights, const int32_t *scales,
                           const struct ethosgen_two *layer, struct lanes lanes)
{
    int32_t tap_weights = (layer->tap_bytes + LANES - 1) / LANES * LANES * CHANNELS;

    for (int32_t i = 0; i < count * layer->channels; i++) {
        int32_t channel = i % layer->channels, sum = scales[channel];
        const int8_t *from = input + i / layer->channels * layer->pixel_step;

        for (int32_t tap = 0; tap < layer->taps; tap++) {
            const int8_t *row = from + tap * layer->tap_step;
            const int8_t *weight = weights + tap * tap_weights + channel * LANES;

            for (int32_t k = 0; k < layer->tap_bytes; k++) {
                sum += row[k] * weight[k / LANES * LANES * CHANNELS + k % LANES];
            }
        }
        sum = ethosgen_requantize(sum, lanes.mantissa[channel], lanes.shift[channel]);
        output[i] = ethosgen_clamp(sum, &layer->output);
    }
}
#endif

void ethosgen_convolution_two_s8(int8_t *output, const int8_t *input, const int8_t *weights,
                                 const int32_t *scales, const struct ethosgen_two *layer)
{
    struct lanes lanes = lanes_of(scales, &layer->output);

    for (int32_t row = 0; row < layer->rows; row++) {
        const int8_t *from = input;

        for (int32_t left = layer->pixels; left > 0; left -= 2) {
            int32_t count = left > 1 ? 2 : 1;

            compute(output, from, count, weights, scales, layer, lanes);
            output += count * layer->channels;
            from += 2 * layer->pixel_step;
        }
        input += layer->row_step;
    }
}
