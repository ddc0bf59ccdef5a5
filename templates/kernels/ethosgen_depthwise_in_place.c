/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Depthwise convolutions with few windows, read directly from the input. See ethosgen_kernels.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_requantize.h"

enum { GROUP = 4, SCALES = 3 * GROUP };

#if ETHOSGEN_MVE
/*
 * Add the products of a window's taps to the sums of 4 channels. A tap is loaded while the one before
 * is multiplied. In assembly, since the compiler does not overlap them.
 */
static inline int32x4_t products(int32x4_t sums, const int8_t *from, const int8_t *weights,
                                 int32_t tap_step, int32_t taps, mve_pred16_t inside)
{
    /* q0: values of a tap. q1: its weights. q2: products. lr: taps left. */
    __asm volatile("vmsr p0, %[inside]\n\t"
                   "vldrb.s32 q1, [%[weights]], #4\n\t"
                   "vpst\n\t"
                   "vldrbt.s32 q0, [%[from]]\n\t"
                   "wls lr, %[more], 2f\n"
                   "1:\n\t"
                   "vmul.i32 q2, q0, q1\n\t"
                   "add %[from], %[step]\n\t"
                   "vldrb.s32 q1, [%[weights]], #4\n\t"
                   "vadd.i32 %q[sums], %q[sums], q2\n\t"
                   "vpst\n\t"
                   "vldrbt.s32 q0, [%[from]]\n\t"
                   "le lr, 1b\n"
                   "2:\n\t"
                   "vmul.i32 q2, q0, q1\n\t"
                   "vadd.i32 %q[sums], %q[sums], q2"
                   : [sums] "+w"(sums), [from] "+l"(from), [weights] "+l"(weights)
                   : [step] "r"(tap_step), [more] "r"(taps - 1), [inside] "r"((uint32_t)inside)
                   : "q0", "q1", "q2", "lr", "memory" ETHOSGEN_P0);
    return sums;
}

/* Compute all channels of a pixel, 4 at a time. */
static inline void run_pixel(int8_t *output, const int8_t *input, const int8_t *weights,
                             const int32_t *scales, const struct ethosgen_depthwise *layer)
{
    const int32_t tap_step = layer->along.dilation * layer->along.input_step;
    int32x4_t low = vdupq_n_s32(layer->output.low), high = vdupq_n_s32(layer->output.high);

    for (int32_t left = layer->channels; left > 0; left -= GROUP) {
        mve_pred16_t inside = vctp32q((uint32_t)left);
        int32x4_t sums = products(vldrwq_s32(scales), input, weights, tap_step, layer->taps, inside);
        int32x4_t values = ethosgen_requantize_x4(sums, vldrwq_s32(scales + GROUP),
                                                  vldrwq_s32(scales + 2 * GROUP));

        values = vaddq_n_s32(values, layer->output.zero_point);
        vstrbq_p_s32(output, vminq_s32(vmaxq_s32(values, low), high), inside);
        output += GROUP;
        input += GROUP;
        weights += GROUP * layer->taps;
        scales += SCALES;
    }
}
#else
static void run_pixel(int8_t *output, const int8_t *input, const int8_t *weights,
                      const int32_t *scales, const struct ethosgen_depthwise *layer)
{
    const int32_t tap_step = layer->along.dilation * layer->along.input_step;

    for (int32_t channel = 0; channel < layer->channels; channel++) {
        int32_t group = channel / GROUP, lane = channel % GROUP;
        const int8_t *weight = weights + group * GROUP * layer->taps + lane;
        const int32_t *scale = scales + group * SCALES + lane;
        int32_t sum = scale[0];

        for (int32_t tap = 0; tap < layer->taps; tap++) {
            sum += input[channel + tap * tap_step] * weight[tap * GROUP];
        }
        output[channel] = ethosgen_clamp(
            ethosgen_requantize(sum, scale[GROUP], scale[2 * GROUP]), &layer->output);
    }
}
#endif

void ethosgen_depthwise_in_place_s8(int8_t *output, const int8_t *input, const int8_t *weights,
                                    const int32_t *scales, const struct ethosgen_depthwise *layer)
{
    const struct ethosgen_axis *along = &layer->along, *across = &layer->across;

    for (int32_t y = 0; y < across->outputs; y++) {
        for (int32_t x = 0; x < along->outputs; x++) {
            run_pixel(output + y * across->output_step + x * along->output_step,
                      input + y * across->stride * across->input_step
                          + x * along->stride * along->input_step,
                      weights, scales, layer);
        }
    }
}
