/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UNIDIRECTIONAL_SEQUENCE_LSTM of int16 with int8 weights. See ethosgen_kernels_s16.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#define SIGMOID ethosgen_lstm_s16_sigmoid
#define TANH ethosgen_lstm_s16_tanh

#include "ethosgen_lstm.h"
#include "ethosgen_sums_s16.h"

/*
 * Return sums of products plus biases, rescaled and rounded once. A value that saturates in the left
 * shift would also saturate later.
 */
#if ETHOSGEN_MVE
static inline values rescaled_sums(const int16_t *row, const int8_t *weights,
                                   const int32_t *biases, int32_t depth,
                                   const struct ethosgen_multiplier *by)
{
    values sums = vaddq_s32(ethosgen_sums_s16_x4(row, &weights, depth), vldrwq_s32(biases));

    sums = vqshlq_r_s32(sums, by->left);
    return ethosgen_rescale_once_x4(sums, vdupq_n_s32(by->mantissa), vdupq_n_s32(by->right));
}

/* Saturate both and their sum to 16 bits. */
static inline values narrow_sum(values x, values y)
{
    return vmovlbq_s16(vqaddq_s16(ethosgen_narrow_x4(x), ethosgen_narrow_x4(y)));
}
#else
static inline values rescaled_sums(const int16_t *row, const int8_t *weights,
                                   const int32_t *biases, int32_t depth,
                                   const struct ethosgen_multiplier *by)
{
    int64_t sum = ((int64_t)ethosgen_sum_s16(row, weights, depth) + biases[0])
        * ((int64_t)1 << by->left);

    sum = sum < INT32_MIN ? INT32_MIN : sum;
    return ethosgen_rescale_once((int32_t)(sum > INT32_MAX ? INT32_MAX : sum), by->mantissa,
                                 by->right);
}

static inline values narrow_sum(values x, values y)
{
    return ethosgen_narrow(ethosgen_narrow(x) + ethosgen_narrow(y));
}
#endif

/* Compute all units of a time step from the old hidden state. */
static void advance(int16_t *output, const int16_t *input, const int16_t *hidden, int16_t *cell,
                    const int8_t *weights, const int32_t *biases, const int16_t *lines,
                    const struct ethosgen_lstm *lstm)
{
    int32_t input_bytes = ethosgen_block_bytes_s16(lstm->features);
    int32_t hidden_bytes = ethosgen_block_bytes_s16(lstm->units);

    for (int32_t unit = 0; unit < lstm->units; unit += UNITS) {
        int32_t block = unit / ETHOSGEN_BLOCK_S16, lane = unit % ETHOSGEN_BLOCK_S16;
        const int8_t *place = weights + block * GATES * (input_bytes + hidden_bytes);
        const int32_t *bias = biases + block * GATES * 2 * ETHOSGEN_BLOCK_S16 + lane;
        values gates[GATES];

        place += lane * ETHOSGEN_LANES_S16;
        for (int32_t gate = 0; gate < GATES; gate++) {
            values forward = rescaled_sums(input, place, bias, lstm->features,
                                           &lstm->forward[gate]), back;

            place = &place[input_bytes];
            bias += ETHOSGEN_BLOCK_S16;
            back = rescaled_sums(hidden, place, bias, lstm->units, &lstm->back[gate]);
            place = &place[hidden_bytes];
            bias += ETHOSGEN_BLOCK_S16;
            gates[gate] = opened(narrow_sum(forward, back), gate, lines);
        }
        store(output + unit, updated(cell + unit, gates, lstm->units - unit, lines, lstm),
              lstm->units - unit);
    }
}

void ethosgen_lstm_s16(int16_t *output, const int16_t *input, int16_t *hidden, int16_t *cell,
                       const int8_t *weights, const int32_t *biases, const int16_t *lines,
                       const struct ethosgen_lstm *lstm)
{
    for (int32_t step = 0; step < lstm->steps; step++) {
        advance(output, input, hidden, cell, weights, biases, lines, lstm);
        ethosgen_copy((int8_t *)hidden, (const int8_t *)output,
                      lstm->units * (int32_t)sizeof(int16_t));
        input += lstm->row_step * lstm->features;
        output += lstm->row_step * lstm->units;
    }
}
