/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UNIDIRECTIONAL_SEQUENCE_LSTM of int8 with a cell state of int16. See ethosgen_kernels.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#define SIGMOID ethosgen_lstm_sigmoid
#define TANH ethosgen_lstm_tanh

#include "ethosgen_lstm.h"

#if ETHOSGEN_MVE
static inline values sums(const int8_t *row, const int8_t *weights, const int32_t *biases,
                          int32_t depth)
{
    return ethosgen_sums_x4(row, &weights, biases, depth);
}

static inline void store_output(int8_t *to, values x, int32_t count)
{
    vstrbq_p_s32(to, x, vctp32q((uint32_t)count));
}
#else
static inline values sums(const int8_t *row, const int8_t *weights, const int32_t *biases,
                          int32_t depth)
{
    return ethosgen_sum(row, weights, biases[0], depth);
}

static inline void store_output(int8_t *to, values x, int32_t count)
{
    (void)count;
    to[0] = (int8_t)x;
}
#endif

/* Compute all units of a time step from the old hidden state. */
static void advance(int8_t *output, const int8_t *input, const int8_t *hidden, int16_t *cell,
                    const int8_t *weights, const int32_t *biases, const int16_t *lines,
                    const struct ethosgen_lstm *lstm)
{
    int32_t input_bytes = ethosgen_block_bytes(lstm->features);
    int32_t hidden_bytes = ethosgen_block_bytes(lstm->units);

    for (int32_t unit = 0; unit < lstm->units; unit += UNITS) {
        int32_t block = unit / ETHOSGEN_BLOCK, lane = unit % ETHOSGEN_BLOCK;
        const int8_t *place = weights + block * GATES * (input_bytes + hidden_bytes);
        const int32_t *bias = biases + block * GATES * 2 * ETHOSGEN_BLOCK + lane;
        values gates[GATES];

        place += lane * ETHOSGEN_LANES;
        for (int32_t gate = 0; gate < GATES; gate++) {
            values forward = sums(input, place, bias, lstm->features), back;

            place = &place[input_bytes];
            bias += ETHOSGEN_BLOCK;
            back = sums(hidden, place, bias, lstm->units);
            place = &place[hidden_bytes];
            bias += ETHOSGEN_BLOCK;
            forward = rescaled_sum(forward, &lstm->forward[gate], back, &lstm->back[gate]);
            gates[gate] = opened(forward, gate, lines);
        }
        store_output(output + unit, updated(cell + unit, gates, lstm->units - unit, lines, lstm),
                     lstm->units - unit);
    }
}

void ethosgen_lstm_s8(int8_t *output, const int8_t *input, int8_t *hidden, int16_t *cell,
                      const int8_t *weights, const int32_t *biases, const int16_t *lines,
                      const struct ethosgen_lstm *lstm)
{
    for (int32_t step = 0; step < lstm->steps; step++) {
        advance(output, input, hidden, cell, weights, biases, lines, lstm);
        ethosgen_copy(hidden, output, lstm->units);
        input += lstm->row_step * lstm->features;
        output += lstm->row_step * lstm->units;
    }
}
