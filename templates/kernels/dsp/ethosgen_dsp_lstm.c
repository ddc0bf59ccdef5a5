/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UNIDIRECTIONAL_SEQUENCE_LSTM of int8 with a cell state of int16. See ethosgen_dsp.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#define SIGMOID ethosgen_dsp_lstm_sigmoid
#define TANH ethosgen_dsp_lstm_tanh

#include "ethosgen_dsp_cell.h"
#include "ethosgen_dsp_sums.h"

/* Units whose gates are computed at a time. */
enum { BLOCK = 8 };

/* Rescale sums to the units of a gate. */
static inline void rescale(int32_t *sums, int32_t count, const struct ethosgen_dsp_multiplier *by)
{
    struct ethosgen_dsp_multiplier one = *by;

    for (; count > 0; count--) {
        *sums = ethosgen_dsp_saturate_16(ethosgen_dsp_rescale(*sums, &one));
        sums++;
    }
}

/* Replace a gate's sums with the input by the gate's values. */
static inline void bend(int32_t *forward, const int32_t *back, int32_t count, const int16_t *lines,
                        const int32_t *curve)
{
    for (; count > 0; count--) {
        *forward = bent_gate(*forward + *back++, lines, curve);
        forward++;
    }
}

/* Compute the new states of some units from their gates, and their outputs. */
static void update(int8_t *output, int16_t *cell, const int32_t *gates, int32_t count,
                   const int16_t *lines, const struct ethosgen_dsp_cell *shape)
{
    for (int32_t unit = 0; unit < count; unit++) {
        const int32_t *gate = gates + unit;
        int32_t made = updated(cell + unit, gate[INPUT * count], gate[FORGET * count],
                               gate[CELL * count], gate[OUTPUT * count], lines, shape);

        output[unit] = (int8_t)ethosgen_dsp_saturate(made);
    }
}

/* Compute all units of a time step from the old hidden state. */
static void advance(int8_t *output, const struct ethosgen_dsp_row *input,
                    const struct ethosgen_dsp_row *hidden, int16_t *cell, const int8_t *weights,
                    const int32_t *biases, const int16_t *lines,
                    const struct ethosgen_dsp_lstm *lstm)
{
    for (int32_t left = lstm->units; left > 0; left -= BLOCK) {
        int32_t count = left < BLOCK ? left : BLOCK, sums = GATES * count;
        int32_t gates[GATES * BLOCK];
        int32_t back[GATES * BLOCK];

        weights = ethosgen_dsp_sums(gates, biases, sums / 2, input, weights);
        weights = ethosgen_dsp_sums(back, biases + sums, sums / 2, hidden, weights);
        biases += 2 * sums;
        for (int32_t gate = 0; gate < GATES; gate++) {
            int32_t *forward = gates + gate * count;

            rescale(forward, count, &lstm->forward[gate]);
            rescale(back + gate * count, count, &lstm->back[gate]);
            bend(forward, back + gate * count, count, lines, gate == CELL ? TANH : SIGMOID);
        }
        update(output, cell, gates, count, lines, &lstm->cell);
        output = &output[count];
        cell = &cell[count];
    }
}

void ethosgen_dsp_lstm_s8(int8_t *output, const int8_t *input, int8_t *hidden, int16_t *cell,
                          void *room, const int8_t *weights, const int32_t *biases,
                          const int16_t *lines, const struct ethosgen_dsp_lstm *lstm)
{
    int32_t *wide = room, *behind = wide + ethosgen_dsp_row_words(lstm->features);

    for (int32_t step = 0; step < lstm->steps; step++) {
        struct ethosgen_dsp_row row = ethosgen_dsp_row_of(wide, input, lstm->features);
        struct ethosgen_dsp_row old = ethosgen_dsp_row_of(behind, hidden, lstm->units);

        advance(output, &row, &old, cell, weights, biases, lines, lstm);
        (void)memcpy(hidden, output, (size_t)lstm->units);
        input += lstm->row_step * lstm->features;
        output += lstm->row_step * lstm->units;
    }
}
