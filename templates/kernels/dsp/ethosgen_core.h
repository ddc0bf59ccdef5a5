/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shapes, PAD, SVDF and LSTM for processors without Helium, with or without DSP instructions.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#ifndef ETHOSGEN_CORE_H
#define ETHOSGEN_CORE_H

#include <stdint.h>

/* @struct ethosgen_core_scale */

/* @struct ethosgen_core_window */

/* @struct ethosgen_core_pool */

/* @struct ethosgen_dsp_pad */

/* Copy the rows, and fill the padding. */
void ethosgen_dsp_pad_s8(void *output, const void *input, const struct ethosgen_dsp_pad *pad);

/* @struct ethosgen_dsp_rows */

/* Copy each row of the input to its place in the output. */
void ethosgen_dsp_copy_rows(void *output, const void *input, const struct ethosgen_dsp_rows *block);

/* @struct ethosgen_dsp_multiplier */

/* @struct ethosgen_dsp_svdf */

/*
 * Compute all units of one row of features, and move the state on by a time step.
 *
 * weights: for every 8 filters (the last may be fewer), those of a matrix with filters as channels,
 * separately for every 508 places of depth. biases: the initial sums, padded to 8. time: `memory`
 * weights of each filter. units: the units' biases. room: 2 bytes for each place of depth, rounded
 * up to 4.
 */
void ethosgen_dsp_svdf_s8(int8_t *output, const int8_t *input, int16_t *state, void *room,
                          const int8_t *weights, const int32_t *biases, const int16_t *time,
                          const int32_t *units, const struct ethosgen_dsp_svdf *svdf);

/* @struct ethosgen_dsp_cell */

/* @struct ethosgen_dsp_lstm */

/*
 * Compute all time steps of one batch, and leave both states as they are after the last one.
 *
 * weights: for every 8 units (the last may be fewer), those of the input and those of the hidden state,
 * each packed as an SVDF's, gate by gate, with the gate's units as filters. biases: the initial sums in
 * the same order. lines: the curve 32768 * (2 * sigmoid(x / 24)
 * - 1) from each of 256 whole numbers to the next, as 256 heights at 0 and 256 slopes. room: 2 bytes
 * for each feature and unit, both rounded up to 4.
 */
void ethosgen_dsp_lstm_s8(int8_t *output, const int8_t *input, int8_t *hidden, int16_t *cell,
                          void *room, const int8_t *weights, const int32_t *biases,
                          const int16_t *lines, const struct ethosgen_dsp_lstm *lstm);

#endif /* ETHOSGEN_CORE_H */
