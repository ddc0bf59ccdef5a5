/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions of float32, from strips. See ethosgen_floats.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_floats_math.h"

/* A window's columns inside the input: from `first` to before `end`, the first one at `x`. */
struct columns {
    int32_t first;
    int32_t end;
    int32_t x;
};

static struct columns columns_of(const struct ethosgen_windows_f32 *across, int32_t output)
{
    int32_t start = output * across->stride - across->padding;
    struct columns inside = {0, across->taps, start};

    while (inside.x < 0 && inside.first < across->taps) {
        inside.first++;
        inside.x += across->dilation;
    }
    while (inside.end > inside.first
           && start + (inside.end - 1) * across->dilation >= across->source) {
        inside.end--;
    }
    return inside;
}

/* Copy a row of the input below a window, and return its end. */
static float *copy_row(float *to, const float *input, int32_t y, const struct columns *inside,
                       const struct ethosgen_convolution_f32 *layer)
{
    const struct ethosgen_windows_f32 *across = &layer->horizontal;
    int32_t depth = layer->depth, width = across->taps * depth;
    int32_t step = across->dilation * across->source_step;
    int32_t count = inside->end - inside->first;
    const float *from = input + y * layer->vertical.source_step + inside->x * across->source_step;

    if (y < 0 || y >= layer->vertical.source || count <= 0) {
        ethosgen_zero_f32(to, width);
        return to + width;
    }
    if (count < across->taps) {
        ethosgen_zero_f32(to, inside->first * depth);
        ethosgen_zero_f32(to + inside->end * depth, (across->taps - inside->end) * depth);
    }
    if (step == depth) {
        ethosgen_copy_f32(to + inside->first * depth, from, count * depth);
    } else {
        for (int32_t tap = inside->first; tap < inside->end; tap++) {
            ethosgen_copy_f32(to + tap * depth, from, depth);
            from = &from[step];
        }
    }
    return to + width;
}

/* Fill a strip for `count` outputs from `output`. */
static void fill(float *strip, const float *input, int32_t output, int32_t count,
                 const struct columns *inside, const struct ethosgen_convolution_f32 *layer)
{
    const struct ethosgen_windows_f32 *along = &layer->vertical;
    int32_t y = output * along->stride - along->padding;

    if (layer->is_shared != 0) {
        for (int32_t rows = (count - 1) * along->stride + along->taps; rows > 0; rows--) {
            strip = copy_row(strip, input, y++, inside, layer);
        }
        return;
    }
    for (; count > 0; count--) {
        for (int32_t tap = 0; tap < along->taps; tap++) {
            strip = copy_row(strip, input, y + tap * along->dilation, inside, layer);
        }
        y += along->stride;
    }
}

/* Compute a column of outputs. */
static void column(float *output, const float *input, float *strip, const float *weights,
                   const struct columns *inside, const struct ethosgen_convolution_f32 *layer)
{
    const struct ethosgen_windows_f32 *along = &layer->vertical;
    int32_t row = layer->horizontal.taps * layer->depth;
    struct ethosgen_matrix_f32 matrix = {
        .depth = along->taps * row,
        .channels = layer->channels,
        .input_step = (layer->is_shared != 0 ? along->stride : along->taps) * row,
        .output_step = along->target_step,
    };

    for (int32_t y = 0; y < along->target; y += matrix.rows) {
        int32_t rest = along->target - y;

        matrix.rows = rest < layer->outputs ? rest : layer->outputs;
        fill(strip, input, y, matrix.rows, inside, layer);
        ethosgen_matrix_f32(output + y * along->target_step, strip, weights,
                            &matrix);
    }
}

void ethosgen_convolution_f32(float *output, const float *input, float *strip, const float *weights,
                              const struct ethosgen_convolution_f32 *layer)
{
    const struct ethosgen_windows_f32 *across = &layer->horizontal;

    for (int32_t group = 0; group < layer->groups; group++) {
        for (int32_t x = 0; x < across->target; x++) {
            struct columns inside = columns_of(across, x);

            column(output + x * across->target_step, input, strip, weights, &inside, layer);
        }
        output += layer->channels;
        input += layer->depth;
        weights += layer->group_weights;
    }
}
