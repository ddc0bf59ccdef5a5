/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UNIDIRECTIONAL_SEQUENCE_LSTM of int16. See ethosgen_dsp_s16.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#define SIGMOID ethosgen_dsp_lstm_s16_sigmoid
#define TANH ethosgen_dsp_lstm_s16_tanh

#include "ethosgen_dsp_cell.h"
#include "ethosgen_dsp_tile_s16.h"

enum { SCALE_WORDS = sizeof(struct ethosgen_dsp_scale_s16) / sizeof(int32_t) };

/* Add the hidden state's sums to the input's, and apply the curves. */
static void bend(int16_t *forward, const int16_t *back, int32_t units, const int16_t *lines)
{
    for (int32_t gate = 0; gate < GATES; gate++) {
        for (int32_t unit = 0; unit < units; unit++) {
            *forward = (int16_t)bent_gate(*forward + *back++, lines, gate == CELL ? TANH : SIGMOID);
            forward++;
        }
    }
}

static void update(int16_t *output, int16_t *cell, const int16_t *gates, int32_t units,
                   const int16_t *lines, const struct ethosgen_dsp_cell *shape)
{
    for (int32_t unit = 0; unit < units; unit++) {
        const int16_t *gate = gates + unit;
        int32_t made = updated(cell + unit, gate[INPUT * units], gate[FORGET * units],
                               gate[CELL * units], gate[OUTPUT * units], lines, shape);

        output[unit] = (int16_t)ethosgen_dsp_saturate_16(made);
    }
}

void ethosgen_dsp_lstm_s16(int16_t *output, const int16_t *input, int16_t *hidden, int16_t *cell,
                           void *room, const int8_t *weights, const int32_t *scales,
                           const int16_t *lines, const struct ethosgen_dsp_lstm_s16 *lstm)
{
    int32_t features = lstm->forward.depth, units = lstm->back.depth, gates = GATES * units;
    const int8_t *back_weights = weights + 2 * gates * ethosgen_dsp_words(features);
    int16_t *forward = room, *back = forward + gates, *row = back + gates;

    for (int32_t step = 0; step < lstm->steps; step++) {
        ethosgen_dsp_matrix_s16(forward, input, 1, row, weights, scales,
                                &lstm->forward);
        ethosgen_dsp_matrix_s16(back, hidden, 1, row, back_weights, scales + gates * SCALE_WORDS,
                                &lstm->back);
        bend(forward, back, units, lines);
        update(output, cell, forward, units, lines, &lstm->cell);
        (void)memcpy(hidden, output, (size_t)units * sizeof *hidden);
        input += lstm->row_step * features;
        output += lstm->row_step * units;
    }
}
