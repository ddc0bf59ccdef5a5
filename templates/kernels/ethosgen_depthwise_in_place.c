/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Depthwise convolutions with few windows, read directly from the input. See ethosgen_kernels.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_requantize.h"

/* Channels of a group, as 16-bit numbers; their sums are two vectors, of the even and of the odd ones. */
enum { GROUP = 8, HALF = 4, SCALES = 3 * HALF };

#if ETHOSGEN_MVE
struct sums {
    int32x4_t even, odd;
};

/*
 * Add the products of a window's taps to the sums of 8 channels. A tap is loaded while the one before
 * is multiplied. In assembly, since the compiler does not overlap them.
 */
static inline struct sums products(struct sums sums, const int8_t *from, const int8_t *weights,
                                   int32_t tap_step, int32_t taps, mve_pred16_t inside)
{
    /* q0: values of a tap. q1: its weights. q2, q3: products. lr: taps left. */
    __asm volatile("vmsr p0, %[inside]\n\t"
                   "vldrb.s16 q1, [%[weights]], #8\n\t"
                   "vpst\n\t"
                   "vldrbt.s16 q0, [%[from]]\n\t"
                   "wls lr, %[more], 2f\n"
                   "1:\n\t"
                   "vmullb.s16 q2, q0, q1\n\t"
                   "add %[from], %[step]\n\t"
                   "vmullt.s16 q3, q0, q1\n\t"
                   "vldrb.s16 q1, [%[weights]], #8\n\t"
                   "vadd.i32 %q[even], %q[even], q2\n\t"
                   "vpst\n\t"
                   "vldrbt.s16 q0, [%[from]]\n\t"
                   "vadd.i32 %q[odd], %q[odd], q3\n\t"
                   "le lr, 1b\n"
                   "2:\n\t"
                   "vmullb.s16 q2, q0, q1\n\t"
                   "vmullt.s16 q3, q0, q1\n\t"
                   "vadd.i32 %q[even], %q[even], q2\n\t"
                   "vadd.i32 %q[odd], %q[odd], q3"
                   : [even] "+w"(sums.even), [odd] "+w"(sums.odd), [from] "+l"(from),
                     [weights] "+l"(weights)
                   : [step] "r"(tap_step), [more] "r"(taps - 1), [inside] "r"((uint32_t)inside)
                   : "q0", "q1", "q2", "q3", "lr", "memory" ETHOSGEN_P0);
    return sums;
}

/* Requantize the sums of 4 channels. */
static inline int32x4_t outputs_of(int32x4_t sums, const int32_t *scales, int32_t zero_point)
{
    int32x4_t values = ethosgen_requantize_x4(sums, vldrwq_s32(scales + HALF),
                                              vldrwq_s32(scales + 2 * HALF));

    return vaddq_n_s32(values, zero_point);
}

/* Compute all channels of a pixel, 8 at a time. */
static inline void run_pixel(int8_t *output, const int8_t *input, const int8_t *weights,
                             const int32_t *scales, const struct ethosgen_depthwise *layer)
{
    const int32_t tap_step = layer->along.dilation * layer->along.input_step;
    int32_t zero_point = layer->output.zero_point;
    int16x8_t low = vdupq_n_s16((int16_t)layer->output.low);
    int16x8_t high = vdupq_n_s16((int16_t)layer->output.high);

    for (int32_t left = layer->channels; left > 0; left -= GROUP) {
        mve_pred16_t inside = vctp16q((uint32_t)left);
        struct sums sums = {vldrwq_s32(scales), vldrwq_s32(scales + SCALES)};

        sums = products(sums, input, weights, tap_step, layer->taps, inside);
        sums.even = outputs_of(sums.even, scales, zero_point);
        sums.odd = outputs_of(sums.odd, scales + SCALES, zero_point);
        int16x8_t values = vqmovnbq_s32(vreinterpretq_s16_s32(sums.even), sums.even);
        values = vqmovntq_s32(values, sums.odd);
        vstrbq_p_s16(output, vminq_s16(vmaxq_s16(values, low), high), inside);
        output += GROUP;
        input += GROUP;
        weights += GROUP * layer->taps;
        scales += 2 * SCALES;
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
        const int32_t *scale = scales + (2 * group + lane % 2) * SCALES + lane / 2;
        int32_t sum = scale[0];

        for (int32_t tap = 0; tap < layer->taps; tap++) {
            sum += input[channel + tap * tap_step] * weight[tap * GROUP];
        }
        output[channel] = ethosgen_clamp(
            ethosgen_requantize(sum, scale[HALF], scale[2 * HALF]), &layer->output);
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
