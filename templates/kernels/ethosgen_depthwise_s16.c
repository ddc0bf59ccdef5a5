/*
 * Depthwise convolutions of int16, a pixel at a time. See ethosgen_kernels.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_wide.h"

enum { LANES = 8 };

/* The sums of 8 channels; lanes beyond the last channel are not used. */
#if ETHOSGEN_MVE
static inline int16x8_t pixels(const int16_t *from, int32_t left)
{
    return left >= LANES ? vldrhq_s16(from) : vldrhq_z_s16(from, vctp16q((uint32_t)left));
}

static inline int16x8_t widened(const int8_t *from, int32_t left)
{
    return left >= LANES ? vldrbq_s16(from) : vldrbq_z_s16(from, vctp16q((uint32_t)left));
}

static inline void add_up(const int16_t *input, const int8_t *weights, int32_t rows,
                          int32_t columns, const struct ethosgen_depthwise_s16 *layer,
                          int32_t left, int32_t totals[LANES])
{
    int32_t step = layer->tap_elements, channels = layer->channels;
    int32x4_t even = vdupq_n_s32(0), odd = even;

    for (int32_t y = rows; y > 0; y--) {
        const int16_t *pixel = input;
        const int8_t *weight = weights;

        for (int32_t x = columns; x > 0; x--) {
            int16x8_t a = pixels(pixel, left), b = widened(weight, left);

            even = vaddq_s32(even, vmullbq_int_s16(a, b));
            odd = vaddq_s32(odd, vmulltq_int_s16(a, b));
            pixel += step;
            weight += channels;
        }
        input += layer->row_elements;
        weights += layer->weight_row;
    }
    int32x4x2_t both = {{even, odd}};

    vst2q_s32(totals, both);
}

static inline void sums(const int16_t *input, const int8_t *weights, int32_t rows, int32_t columns,
                        const struct ethosgen_depthwise_s16 *layer, int32_t left,
                        int32_t totals[LANES])
{
    if (left >= LANES) {
        add_up(input, weights, rows, columns, layer, LANES, totals);
    } else {
        add_up(input, weights, rows, columns, layer, left, totals);
    }
}
#else
static inline void sums(const int16_t *input, const int8_t *weights, int32_t rows, int32_t columns,
                        const struct ethosgen_depthwise_s16 *layer, int32_t left,
                        int32_t totals[LANES])
{
    for (int32_t lane = 0; lane < LANES && lane < left; lane++) {
        int32_t sum = 0;

        for (int32_t tap = 0; tap < rows * columns; tap++) {
            int32_t y = tap / columns, x = tap % columns;

            sum += input[y * layer->row_elements + x * layer->tap_elements + lane]
                * weights[y * layer->weight_row + x * layer->channels + lane];
        }
        totals[lane] = sum;
    }
}
#endif

void ethosgen_depthwise_pixel_s16(int16_t *output, const int16_t *input, const int8_t *weights,
                                  int32_t rows, int32_t columns, const int32_t *scales,
                                  const int32_t *shape)
{
    const struct ethosgen_depthwise_s16 *layer = (const struct ethosgen_depthwise_s16 *)shape;
    int32_t low = layer->output.low, high = layer->output.high;

    for (int32_t left = layer->channels; left > 0; left -= LANES) {
        int32_t totals[LANES];

        sums(input, weights, rows, columns, layer, left, totals);
        for (int32_t lane = 0; lane < LANES && lane < left; lane++) {
            *output++ = ethosgen_wide_output(totals[lane], scales, low, high);
            scales += ETHOSGEN_WIDE_SCALES;
        }
        input += LANES;
        weights += LANES;
    }
}
