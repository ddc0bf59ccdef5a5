/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of a row times weights.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#ifndef ETHOSGEN_DSP_SUMS_H
#define ETHOSGEN_DSP_SUMS_H

#include "ethosgen_dsp_math.h"

/* A channel's sum over this many places of a row fits in 24 bits for any weights. */
enum { ETHOSGEN_DSP_MOST_PLACES = 508 };

/* A row of 16 bits, as ethosgen_dsp_widen writes it. */
struct ethosgen_dsp_row {
    const int32_t *values;
    int32_t depth;
    int32_t excess; /* 128 times the sum of the values */
};

/* The words of a row. */
int32_t ethosgen_dsp_row_words(int32_t depth);

/* Widen a row of int8; `to` has 2 bytes for each value, rounded up to 4 values. */
struct ethosgen_dsp_row ethosgen_dsp_row_of(void *to, const int8_t *values, int32_t depth);

/*
 * Compute the sums of 2 * `pairs` channels, which start with biases. Return the next weights. The
 * weights are those of a matrix for every 508 places of the row.
 */
const int8_t *ethosgen_dsp_sums(int32_t *sums, const int32_t *biases, int32_t pairs,
                                const struct ethosgen_dsp_row *row, const int8_t *weights);

#endif /* ETHOSGEN_DSP_SUMS_H */
