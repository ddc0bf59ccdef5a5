/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Depthwise convolutions of int16, a pixel at a time, 4 channels together. See ethosgen_dsp_s16.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_dsp.h"
#include "ethosgen_dsp_math.h"

enum { LANES = 4 };

typedef struct ethosgen_dsp_depthwise_s16 LayerS16;
typedef struct ethosgen_dsp_scale_s16 LayerScale;

#if ETHOSGEN_DSP
/* The product of two halves, each the lower or the upper one, added to a sum. */
#define ADD(name, sum, a, b) __asm(name " %0, %1, %2, %0" : "+r"(sum) : "r"(a), "r"(b))
#define ADD_LOW_LOW(sum, a, b) ADD("smlabb", sum, a, b)
#define ADD_LOW_HIGH(sum, a, b) ADD("smlabt", sum, a, b)
#define ADD_HIGH_LOW(sum, a, b) ADD("smlatb", sum, a, b)
#define ADD_HIGH_HIGH(sum, a, b) ADD("smlatt", sum, a, b)

/* The upper word of a sum times a mantissa, plus the addend. */
static inline int32_t scaled(int32_t sum, const LayerScale *scale)
{
    uint32_t low = scale->low;
    int32_t high = scale->high;

    __asm("smlal %0, %1, %2, %3" : "+r"(low), "+r"(high) : "r"(sum), "r"(scale->mantissa));
    return high;
}
#else
#define LOW(pair) ((int32_t)(int16_t)(pair))
#define HIGH(pair) ((int32_t)(int16_t)((pair) >> 16))
#define ADD_LOW_LOW(sum, a, b) (sum) += LOW(a) * LOW(b)
#define ADD_LOW_HIGH(sum, a, b) (sum) += LOW(a) * HIGH(b)
#define ADD_HIGH_LOW(sum, a, b) (sum) += HIGH(a) * LOW(b)
#define ADD_HIGH_HIGH(sum, a, b) (sum) += HIGH(a) * HIGH(b)

static inline int32_t scaled(int32_t sum, const LayerScale *scale)
{
    int64_t addend = (int64_t)(((uint64_t)(uint32_t)scale->high << 32) | scale->low);

    return (int32_t)(((int64_t)sum * scale->mantissa + addend) >> 32);
}
#endif

/* The taps of a window that are inside the input. */
struct window {
    int32_t rows;
    int32_t columns;
};

static inline int16_t output_of(int32_t sum, const LayerScale *scale)
{
    return (int16_t)ethosgen_dsp_saturate_16(scaled(sum, scale) >> scale->shift);
}

/* Compute 4 channels with one input each. */
static void compute_four(int16_t *output, const int16_t *input, const int8_t *weights,
                         struct window window, const LayerScale *scales, const LayerS16 *layer)
{
    int32_t tap = layer->tap, channels = layer->channels;
    int32_t sum0 = 0, sum1 = 0, sum2 = 0, sum3 = 0;

    for (; window.rows > 0; window.rows--) {
        const int16_t *pixel = input;
        const int8_t *weight = weights;

        for (int32_t left = window.columns; left > 0; left--) {
            uint32_t word = ethosgen_dsp_word(weight);
            uint32_t even = ethosgen_dsp_even(word), odd = ethosgen_dsp_odd(word);
            uint32_t first = ethosgen_dsp_word(pixel), second = ethosgen_dsp_word(pixel + 2);

            ADD_LOW_LOW(sum0, first, even);
            ADD_HIGH_LOW(sum1, first, odd);
            ADD_LOW_HIGH(sum2, second, even);
            ADD_HIGH_HIGH(sum3, second, odd);
            pixel = &pixel[tap];
            weight = &weight[channels];
        }
        input += layer->row;
        weights += layer->weight_row;
    }
    output[0] = output_of(sum0, scales);
    output[1] = output_of(sum1, scales + 1);
    output[2] = output_of(sum2, scales + 2);
    output[3] = output_of(sum3, scales + 3);
}

static int16_t compute_one(const int16_t *input, const int8_t *weights, struct window window,
                           const LayerScale *scale, const LayerS16 *layer)
{
    int32_t tap = layer->tap, channels = layer->channels, sum = 0;

    for (; window.rows > 0; window.rows--) {
        const int16_t *pixel = input;
        const int8_t *weight = weights;

        for (int32_t left = window.columns; left > 0; left--) {
            sum += *pixel * *weight;
            pixel = &pixel[tap];
            weight = &weight[channels];
        }
        input += layer->row;
        weights += layer->weight_row;
    }
    return output_of(sum, scale);
}

void ethosgen_dsp_depthwise_s16(int16_t *output, const int16_t *input, const int8_t *weights,
                                int32_t rows, int32_t columns, const int32_t *scales,
                                const LayerS16 *layer)
{
    const LayerScale *scale = (const LayerScale *)scales;
    struct window window = {rows, columns};
    int32_t channels = layer->channels;

    if (layer->copies == 1 && channels >= LANES) {
        for (int32_t channel = 0; channel < channels; channel += LANES) {
            /* The last four are complete. */
            int32_t start = channel + LANES > channels ? channels - LANES : channel;

            compute_four(output + start, input + start, weights + start, window, scale + start,
                         layer);
        }
    } else {
        int32_t copy = 0;

        for (int32_t channel = 0; channel < channels; channel++) {
            output[channel] = compute_one(input, weights + channel, window, scale + channel, layer);
            if (++copy == layer->copies) {
                copy = 0;
                input++;
            }
        }
    }
    ethosgen_dsp_bound_s16(output, channels, layer->low, layer->high);
}
