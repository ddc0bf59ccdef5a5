/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Depthwise convolutions of int16, a pixel at a time. See ethosgen_kernels.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_sums_s16.h"
#include "ethosgen_wide.h"

enum { LANES = 8, HALF = LANES / 2, SCALES = 3 * LANES };

#if ETHOSGEN_MVE
/* Sums of 8 channels; those beyond the last channel mean nothing. */
struct sums {
    int32x4_t even;
    int32x4_t odd;
};

static inline int16x8_t pixels(const int16_t *from, int32_t left)
{
    return left >= LANES ? vldrhq_s16(from) : vldrhq_z_s16(from, vctp16q((uint32_t)left));
}

static inline int16x8_t widened(const int8_t *from, int32_t left)
{
    return left >= LANES ? vldrbq_s16(from) : vldrbq_z_s16(from, vctp16q((uint32_t)left));
}

static inline struct sums add_up(const int16_t *input, const int8_t *weights, int32_t rows,
                                 int32_t columns, const struct ethosgen_depthwise_s16 *layer,
                                 int32_t left)
{
    int32_t step = layer->tap_elements, channels = layer->channels;
    struct sums sums = {vdupq_n_s32(0), vdupq_n_s32(0)};

    for (int32_t y = rows; y > 0; y--) {
        const int16_t *pixel = input;
        const int8_t *weight = weights;

        for (int32_t x = columns; x > 0; x--) {
            int16x8_t a = pixels(pixel, left), b = widened(weight, left);

            sums.even = vaddq_s32(sums.even, vmullbq_int_s16(a, b));
            sums.odd = vaddq_s32(sums.odd, vmulltq_int_s16(a, b));
            pixel = &pixel[step];
            weight = &weight[channels];
        }
        input += layer->row_elements;
        weights += layer->weight_row;
    }
    return sums;
}

static inline int16x8_t rounded(struct sums sums, const int32_t *scales, int16x8_t low,
                                int16x8_t high)
{
    int32x4_t even = vaddq_s32(sums.even, vldrwq_s32(scales));
    int32x4_t odd = vaddq_s32(sums.odd, vldrwq_s32(scales + HALF));
    int16x8_t both;

    scales += LANES;
    even = ethosgen_rescale_once_x4(even, vldrwq_s32(scales), vldrwq_s32(scales + LANES));
    scales += HALF;
    odd = ethosgen_rescale_once_x4(odd, vldrwq_s32(scales), vldrwq_s32(scales + LANES));
    both = vqmovntq_s32(vqmovnbq_s32(vdupq_n_s16(0), even), odd);
    return vminq_s16(vmaxq_s16(both, low), high);
}

void ethosgen_depthwise_pixel_s16(int16_t *output, const int16_t *input, const int8_t *weights,
                                  int32_t rows, int32_t columns, const int32_t *scales,
                                  const struct ethosgen_depthwise_s16 *layer)
{
    int16x8_t low = vdupq_n_s16((int16_t)layer->output.low);
    int16x8_t high = vdupq_n_s16((int16_t)layer->output.high);
    int32_t left = layer->channels;

    for (; left >= LANES; left -= LANES) {
        struct sums sums = add_up(input, weights, rows, columns, layer, LANES);

        vstrhq_s16(output, rounded(sums, scales, low, high));
        output += LANES;
        input += LANES;
        weights += LANES;
        scales += SCALES;
    }
    if (left > 0) {
        struct sums sums = add_up(input, weights, rows, columns, layer, left);

        vstrhq_p_s16(output, rounded(sums, scales, low, high), vctp16q((uint32_t)left));
    }
}

static inline void totals_of(const int16_t *input, const int8_t *weights, int32_t rows,
                             int32_t columns, const struct ethosgen_depthwise_s16 *layer,
                             int32_t left, int32_t totals[LANES])
{
    struct sums sums = add_up(input, weights, rows, columns, layer, left);
    int32x4x2_t both = {{sums.even, sums.odd}};

    vst2q_s32(totals, both);
}
#else
static inline void totals_of(const int16_t *input, const int8_t *weights, int32_t rows,
                             int32_t columns, const struct ethosgen_depthwise_s16 *layer,
                             int32_t left, int32_t totals[LANES])
{
    for (int32_t lane = 0; lane < LANES && lane < left; lane++) {
        int32_t sum = 0;

        for (int32_t y = 0; y < rows; y++) {
            for (int32_t x = 0; x < columns; x++) {
                sum += input[y * layer->row_elements + x * layer->tap_elements + lane]
                    * weights[y * layer->weight_row + x * layer->channels + lane];
            }
        }
        totals[lane] = sum;
    }
}

void ethosgen_depthwise_pixel_s16(int16_t *output, const int16_t *input, const int8_t *weights,
                                  int32_t rows, int32_t columns, const int32_t *scales,
                                  const struct ethosgen_depthwise_s16 *layer)
{
    int32_t low = layer->output.low, high = layer->output.high;

    for (int32_t channel = 0; channel < layer->channels; channel += LANES) {
        int32_t totals[LANES], left = layer->channels - channel;

        totals_of(input + channel, weights + channel, rows, columns, layer, left, totals);
        for (int32_t lane = 0; lane < LANES && lane < left; lane++) {
            const int32_t *scale = scales + lane % 2 * HALF + lane / 2;
            int32_t value = ethosgen_rescale_once(totals[lane] + scale[0], scale[LANES],
                                                  scale[2 * LANES]);

            value = value < low ? low : value;
            output[channel + lane] = (int16_t)(value > high ? high : value);
        }
        scales += SCALES;
    }
}
#endif

void ethosgen_depthwise_pixel_wide_s16(int16_t *output, const int16_t *input, const int8_t *weights,
                                       int32_t rows, int32_t columns, const int32_t *scales,
                                       const struct ethosgen_depthwise_s16 *layer)
{
    int32_t low = layer->output.low, high = layer->output.high;

    for (int32_t left = layer->channels; left > 0; left -= LANES) {
        int32_t totals[LANES];

        totals_of(input, weights, rows, columns, layer, left, totals);
        for (int32_t lane = 0; lane < LANES && lane < left; lane++) {
            *output++ = ethosgen_wide_output(totals[lane], scales, low, high);
            scales += ETHOSGEN_WIDE_SCALES;
        }
        input += LANES;
        weights += LANES;
    }
}
