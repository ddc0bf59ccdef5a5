/*
 * UNIDIRECTIONAL_SEQUENCE_LSTM of int8 with a cell state of int16. See ethosgen_kernels.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_bytes.h"
#include "ethosgen_sums.h"

enum { INPUT, FORGET, CELL, OUTPUT, GATES };

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

/* What follows computes several units at once: `values` has one number for each. */
#if ETHOSGEN_MVE
enum { UNITS = 4 };
typedef int32x4_t values;

static inline values all(int32_t value)
{
    return vdupq_n_s32(value);
}

static inline values bounded(values x, int32_t low, int32_t high)
{
    return vminq_s32(vmaxq_s32(x, all(low)), all(high));
}

/* Rescale two values, saturate both and their sum to 16 bits. */
static inline values rescaled_sum(values x, const struct ethosgen_multiplier *by, values y,
                                  const struct ethosgen_multiplier *y_by)
{
    int16x8_t first = ethosgen_narrow_x4(ethosgen_rescale_x4(x, by));
    int16x8_t second = ethosgen_narrow_x4(ethosgen_rescale_x4(y, y_by));

    return vmovlbq_s16(vqaddq_s16(first, second));
}

static inline values rescaled(values x, const struct ethosgen_multiplier *by)
{
    return ethosgen_rescale_x4(x, by);
}

/* Divide by 2^shift, rounded to nearest, halves up. */
static inline values shifted(values x, int32_t shift)
{
    return vrshlq_n_s32(x, -shift);
}

/* Return the height of the curve at a distance from its middle. */
static inline values height(values distance, const int16_t *lines, int32_t bits)
{
    values within = vminq_s32(distance, all((LINES - 1) << bits));
    uint32x4_t line = vreinterpretq_u32_s32(vshlq_r_s32(within, -bits));
    values start = vldrhq_gather_shifted_offset_s32(lines, line);
    values slope = vldrhq_gather_shifted_offset_s32(lines + LINES, line);

    return vaddq_s32(vshlq_r_s32(start, bits), vmulq_s32(within, slope));
}

static inline values magnitude(values x)
{
    return vabsq_s32(x);
}

static inline values sums(const int8_t *row, const int8_t *weights, const int32_t *biases,
                          int32_t depth)
{
    return ethosgen_sums_x4(row, &weights, biases, depth);
}

/* `count` is the number of units that there are. */
static inline values load(const int16_t *from, int32_t count)
{
    return vldrhq_z_s32(from, vctp32q((uint32_t)count));
}

static inline void store_cell(int16_t *to, values x, int32_t count)
{
    vstrhq_p_s32(to, x, vctp32q((uint32_t)count));
}

static inline void store_output(int8_t *to, values x, int32_t count)
{
    vstrbq_p_s32(to, x, vctp32q((uint32_t)count));
}
#else
enum { UNITS = 1 };
typedef int32_t values;

static inline values bounded(values x, int32_t low, int32_t high)
{
    x = x < low ? low : x;
    return x > high ? high : x;
}

static inline values rescaled_sum(values x, const struct ethosgen_multiplier *by, values y,
                                  const struct ethosgen_multiplier *y_by)
{
    int32_t first = ethosgen_narrow(ethosgen_rescale(x, by));

    return ethosgen_narrow(first + ethosgen_narrow(ethosgen_rescale(y, y_by)));
}

static inline values rescaled(values x, const struct ethosgen_multiplier *by)
{
    return ethosgen_rescale(x, by);
}

static inline values shifted(values x, int32_t shift)
{
    return (x + (int32_t)(1u << shift >> 1)) >> shift;
}

static inline values height(values distance, const int16_t *lines, int32_t bits)
{
    values most = (LINES - 1) << bits, within = distance < most ? distance : most;
    const int16_t *line = lines + (within >> bits);

    return line[0] * (1 << bits) + within * line[LINES];
}

static inline values magnitude(values x)
{
    return x < 0 ? -x : x;
}

static inline values sums(const int8_t *row, const int8_t *weights, const int32_t *biases,
                          int32_t depth)
{
    return ethosgen_sum(row, weights, biases[0], depth);
}

static inline values load(const int16_t *from, int32_t count)
{
    (void)count;
    return from[0];
}

static inline void store_cell(int16_t *to, values x, int32_t count)
{
    (void)count;
    to[0] = (int16_t)x;
}

static inline void store_output(int8_t *to, values x, int32_t count)
{
    (void)count;
    to[0] = (int8_t)x;
}
#endif

/* Return the curve at x. Below 0 it is mirrored: the complement rounds halves down. */
static inline values bent(values x, const int16_t *lines, const struct curve *curve)
{
    values above = height(magnitude(x), lines, curve->bits);

    return shifted(above ^ (x >> 31), curve->shift) + curve->middle;
}

/* Compute the new state of some units from their gates, and their output. */
static inline void update(int8_t *output, int16_t *cell, const values gates[GATES], int32_t count,
                          const int16_t *lines, const struct ethosgen_lstm *lstm)
{
    const struct ethosgen_output *to = &lstm->output;
    values kept = gates[FORGET] * load(cell, count), added = gates[INPUT] * gates[CELL];
    values state = rescaled_sum(kept, &lstm->kept, added, &lstm->added), made;

    state = bounded(state, lstm->cell_low, lstm->cell_high);
    store_cell(cell, state, count);
    made = bent(shifted(state * lstm->cell_factor, lstm->cell_shift), lines, &TANH);
    made = rescaled(made * gates[OUTPUT], &lstm->made) + to->zero_point;
    store_output(output, bounded(made, to->low, to->high), count);
}

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

            place += input_bytes;
            bias += ETHOSGEN_BLOCK;
            back = sums(hidden, place, bias, lstm->units);
            place += hidden_bytes;
            bias += ETHOSGEN_BLOCK;
            forward = rescaled_sum(forward, &lstm->forward[gate], back, &lstm->back[gate]);
            gates[gate] = bent(forward * GATE_FACTOR, lines, gate == CELL ? &TANH : &SIGMOID);
        }
        update(output + unit, cell + unit, gates, lstm->units - unit, lines, lstm);
    }
}

void ethosgen_lstm_s8(int8_t *output, const int8_t *input, int8_t *hidden, int16_t *cell,
                      const int8_t *weights, const int32_t *biases, const int16_t *lines,
                      const int32_t *shape)
{
    const struct ethosgen_lstm *lstm = (const struct ethosgen_lstm *)shape;

    for (int32_t step = 0; step < lstm->steps; step++) {
        advance(output, input, hidden, cell, weights, biases, lines, lstm);
        ethosgen_copy(hidden, output, lstm->units);
        input += lstm->row_step * lstm->features;
        output += lstm->row_step * lstm->units;
    }
}
