/*
 * UNIDIRECTIONAL_SEQUENCE_LSTM of int8 with a cell state of int16. See ethosgen_dsp.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_dsp_sums.h"

enum { INPUT, FORGET, CELL, OUTPUT, GATES };

/* Units whose gates are computed at a time. */
enum { BLOCK = 8 };

/* The curves take units of 1 / (3 * 4096); a gate is in units of 1 / 4096. */
enum { GATE_FACTOR = 3, LINES = 256 };

/*
 * Both curves are read in one table of lines, since tanh(x) is 2 * sigmoid(2x) - 1. A line covers
 * 2^bits units, and a right shift converts its height to units of 2^-15; there 0 is at `middle`.
 */
struct curve {
    int32_t bits;
    int32_t shift;
    int32_t middle;
};

static const struct curve SIGMOID = {9, 10, 1 << 14}, TANH = {8, 8, 0};

/* Return the curve at x. Below 0 it is mirrored: the complement rounds halves down. */
static inline int32_t bent(int32_t x, const int16_t *lines, const struct curve *curve)
{
    int32_t sign = x >> 31, distance = (x ^ sign) - sign, most = (LINES - 1) << curve->bits;
    int32_t within = distance < most ? distance : most;
    const int16_t *line = lines + (within >> curve->bits);
    int32_t height = line[0] * (1 << curve->bits) + within * line[LINES];

    return (((height ^ sign) + (1 << curve->shift >> 1)) >> curve->shift) + curve->middle;
}

/* Rescale sums to the units of a gate. */
static inline void rescale(int32_t *sums, int32_t count, const struct ethosgen_dsp_multiplier *by)
{
    struct ethosgen_dsp_multiplier one = *by;

    for (; count > 0; count--) {
        *sums = ethosgen_dsp_saturate_16(ethosgen_dsp_rescale(*sums, &one));
        sums++;
    }
}

/* Replace the sums of a gate with the input by the gate. */
static inline void bend(int32_t *forward, const int32_t *back, int32_t count, const int16_t *lines,
                        const struct curve *curve)
{
    for (; count > 0; count--) {
        int32_t gate = ethosgen_dsp_saturate_16(*forward + *back++);

        *forward++ = bent(gate * GATE_FACTOR, lines, curve);
    }
}

/* Compute the new states of some units from their gates, and their outputs. */
static void update(int8_t *output, int16_t *cell, const int32_t *gates, int32_t count,
                   const int16_t *lines, const struct ethosgen_dsp_lstm *lstm)
{
    int32_t low = lstm->cell_low, high = lstm->cell_high;

    for (int32_t unit = 0; unit < count; unit++) {
        const int32_t *gate = gates + unit;
        int32_t kept = ethosgen_dsp_rescale(gate[FORGET * count] * cell[unit], &lstm->kept);
        int32_t added = ethosgen_dsp_rescale(gate[0] * gate[CELL * count], &lstm->added);
        int32_t state = ethosgen_dsp_saturate_16(kept) + ethosgen_dsp_saturate_16(added), made;

        state = state < low ? low : state;
        state = state > high ? high : state;
        cell[unit] = (int16_t)state;
        made = (state * lstm->cell_factor + lstm->cell_half) >> lstm->cell_shift;
        made = bent(made, lines, &TANH);
        made = ethosgen_dsp_rescale(made * gate[OUTPUT * count], &lstm->made);
        output[unit] = (int8_t)ethosgen_dsp_saturate(made + lstm->zero_point);
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
        int32_t gates[GATES * BLOCK], back[GATES * BLOCK];

        weights = ethosgen_dsp_sums(gates, biases, sums / 2, input, weights);
        weights = ethosgen_dsp_sums(back, biases + sums, sums / 2, hidden, weights);
        biases += 2 * sums;
        for (int32_t gate = 0; gate < GATES; gate++) {
            int32_t *forward = gates + gate * count;

            rescale(forward, count, &lstm->forward[gate]);
            rescale(back + gate * count, count, &lstm->back[gate]);
            bend(forward, back + gate * count, count, lines, gate == CELL ? &TANH : &SIGMOID);
        }
        update(output, cell, gates, count, lines, lstm);
        output += count;
        cell += count;
    }
}

void ethosgen_dsp_lstm_s8(int8_t *output, const int8_t *input, int8_t *hidden, int16_t *cell,
                          void *room, const int8_t *weights, const int32_t *biases,
                          const int16_t *lines, const int32_t *shape)
{
    const struct ethosgen_dsp_lstm *lstm = (const struct ethosgen_dsp_lstm *)shape;
    int32_t *wide = room, *behind = wide + 2 * ethosgen_dsp_steps(lstm->features);

    for (int32_t step = 0; step < lstm->steps; step++) {
        struct ethosgen_dsp_row row = ethosgen_dsp_row_of(wide, input, lstm->features);
        struct ethosgen_dsp_row old = ethosgen_dsp_row_of(behind, hidden, lstm->units);

        advance(output, &row, &old, cell, weights, biases, lines, lstm);
        memcpy(hidden, output, (size_t)lstm->units);
        input += lstm->row_step * lstm->features;
        output += lstm->row_step * lstm->units;
    }
}
