/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gates and states of an LSTM, several units at once.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#ifndef ETHOSGEN_LSTM_H
#define ETHOSGEN_LSTM_H

#include "ethosgen_bytes.h"
#include "ethosgen_curve.h"
#include "ethosgen_sums.h"

enum { INPUT, FORGET, CELL, OUTPUT, GATES };

/* The curves take units of 1 / (3 * 4096); a gate is in units of 1 / 4096. */
enum { GATE_FACTOR = 3 };

#if ETHOSGEN_MVE
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

/* `count` is the number of valid units. */
static inline values load(const int16_t *from, int32_t count)
{
    return vldrhq_z_s32(from, vctp32q((uint32_t)count));
}

static inline void store(int16_t *to, values x, int32_t count)
{
    vstrhq_p_s32(to, x, vctp32q((uint32_t)count));
}
#else
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

static inline values load(const int16_t *from, int32_t count)
{
    (void)count;
    return from[0];
}

static inline void store(int16_t *to, values x, int32_t count)
{
    (void)count;
    to[0] = (int16_t)x;
}
#endif

/* Return a gate's value, its curve at a 16-bit argument. */
static inline values opened(values x, int32_t gate, const int16_t *lines)
{
    return bent(x * GATE_FACTOR, lines, gate == CELL ? TANH : SIGMOID);
}

/* Compute the new state of some units from their gates, and return their output. */
static inline values updated(int16_t *cell, const values gates[GATES], int32_t count,
                             const int16_t *lines, const struct ethosgen_lstm *lstm)
{
    const struct ethosgen_output *to = &lstm->output;
    values kept = gates[FORGET] * load(cell, count), added = gates[INPUT] * gates[CELL];
    values state = rescaled_sum(kept, &lstm->kept, added, &lstm->added), made;

    state = bounded(state, lstm->cell_low, lstm->cell_high);
    store(cell, state, count);
    made = bent(shifted(state * lstm->cell_factor, lstm->cell_shift), lines, TANH);
    made = rescaled(made * gates[OUTPUT], &lstm->hidden) + to->zero_point;
    return bounded(made, to->low, to->high);
}

#endif /* ETHOSGEN_LSTM_H */
