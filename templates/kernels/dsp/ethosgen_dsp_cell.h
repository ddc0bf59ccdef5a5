/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The curves of an LSTM and its cell, which has a state of int16.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#ifndef ETHOSGEN_DSP_CELL_H
#define ETHOSGEN_DSP_CELL_H

#include "ethosgen_dsp_math.h"

enum { INPUT, FORGET, CELL, OUTPUT, GATES };

/* The curves take units of 1 / (3 * 4096); a gate is in units of 1 / 4096. */
enum { GATE_FACTOR = 3, LINES = 256 };

/*
 * One table of lines serves both curves, since tanh(x) is 2 * sigmoid(2x) - 1. A line covers 2^BITS
 * units, and a right SHIFT converts its height to units of 2^-15; MIDDLE is the curve's value at 0.
 */
enum { UNUSED, BITS, SHIFT, MIDDLE, NUMBERS };

/*
 * Each file names its own curves: its compiler knows the numbers, and the self-test reads them. GCC
 * selects a first number where it chooses a curve, with more instructions than it loads the others.
 */
extern const int32_t SIGMOID[NUMBERS], TANH[NUMBERS];
const int32_t SIGMOID[NUMBERS] = {0, 9, 10, 0x4000}, TANH[NUMBERS] = {0, 8, 8, 0};

/* Return the curve at x. Below 0 it is mirrored: the complement rounds halves down. */
static inline int32_t bent(int32_t x, const int16_t *lines, const int32_t *curve)
{
    int32_t sign = x >> 31, distance = (x ^ sign) - sign, most = (LINES - 1) << curve[BITS];
    int32_t within = distance < most ? distance : most;
    const int16_t *line = lines + (within >> curve[BITS]);
    int32_t height = line[0] * (1 << curve[BITS]) + within * line[LINES];

    return (((height ^ sign) + (1 << curve[SHIFT] >> 1)) >> curve[SHIFT]) + curve[MIDDLE];
}

/* A gate from the sum of its two parts, which saturates to 16 bits. */
static inline int32_t bent_gate(int32_t sum, const int16_t *lines, const int32_t *curve)
{
    return bent(ethosgen_dsp_saturate_16(sum) * GATE_FACTOR, lines, curve);
}

/* Compute the new state of a unit from its gates; return its output before saturation. */
static inline int32_t updated(int16_t *cell, int32_t input, int32_t forget, int32_t change,
                              int32_t output, const int16_t *lines,
                              const struct ethosgen_dsp_cell *shape)
{
    int32_t kept = ethosgen_dsp_rescale(forget * *cell, &shape->kept), made;
    int32_t added = ethosgen_dsp_rescale(input * change, &shape->added);
    int32_t state = ethosgen_dsp_saturate_16(kept) + ethosgen_dsp_saturate_16(added);

    state = state < shape->low ? shape->low : state;
    state = state > shape->high ? shape->high : state;
    *cell = (int16_t)state;
    made = bent((state * shape->factor + shape->half) >> shape->shift, lines, TANH);
    return ethosgen_dsp_rescale(made * output, &shape->hidden) + shape->zero_point;
}

#endif /* ETHOSGEN_DSP_CELL_H */
