/*
 * Depthwise convolutions whose few windows are read in the input. See ethosgen_kernels.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_requantize.h"

enum { GROUP = 4, LANES = 16, SCALES = 3 * GROUP };

#if ETHOSGEN_MVE
/* Compute all channels of a pixel, 4 at a time. Their weights are gathered, tap by tap. */
static inline void run_pixel(int8_t *output, const int8_t *input, const int8_t *weights,
                             const int32_t *scales, const struct ethosgen_depthwise *layer)
{
    const int32_t tap_step = layer->along.dilation * layer->along.input_step;
    int32x4_t low = vdupq_n_s32(layer->output.low), high = vdupq_n_s32(layer->output.high);
    uint32x4_t lanes = vmulq_n_u32(vidupq_n_u32(0, 1), LANES);

    for (int32_t left = layer->channels; left > 0; left -= GROUP, scales += SCALES) {
        mve_pred16_t inside = vctp32q((uint32_t)left);
        const int8_t *from = input;
        int32x4_t sums = vldrwq_s32(scales);

        for (int32_t taps = layer->taps; taps > 0; weights += GROUP * LANES, taps -= LANES) {
            const int8_t *weight = weights;

            for (int32_t tap = taps < LANES ? taps : LANES; tap > 0; tap--) {
                int32x4_t values = vldrbq_z_s32(from, inside);

                sums = vaddq_s32(sums,
                                 vmulq_s32(values, vldrbq_gather_offset_s32(weight, lanes)));
                weight++;
                from += tap_step;
            }
        }
        int32x4_t values = ethosgen_requantize_x4(sums, vldrwq_s32(scales + GROUP),
                                                  vldrwq_s32(scales + 2 * GROUP));

        values = vaddq_n_s32(values, layer->output.zero_point);
        vstrbq_p_s32(output, vminq_s32(vmaxq_s32(values, low), high), inside);
        output += GROUP;
        input += GROUP;
    }
}
#else
static void run_pixel(int8_t *output, const int8_t *input, const int8_t *weights,
                      const int32_t *scales, const struct ethosgen_depthwise *layer)
{
    const int32_t tap_step = layer->along.dilation * layer->along.input_step;
    int32_t group_bytes = (layer->taps + LANES - 1) / LANES * LANES * GROUP;

    for (int32_t channel = 0; channel < layer->channels; channel++) {
        int32_t group = channel / GROUP, lane = channel % GROUP;
        const int8_t *weight = weights + group * group_bytes + lane * LANES;
        const int32_t *scale = scales + group * SCALES + lane;
        int32_t sum = scale[0];

        for (int32_t tap = 0; tap < layer->taps; tap++) {
            int32_t place = tap / LANES * LANES * GROUP + tap % LANES;

            sum += input[channel + tap * tap_step] * weight[place];
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
