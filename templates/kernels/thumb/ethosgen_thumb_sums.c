/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of a row times weights, called by the SVDF and LSTM kernels for DSP instructions; see
 * ethosgen_dsp_sums.h. Weights are packed as for this library's matrices.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_dsp_sums.h"
#include "ethosgen_thumb_tile.h"

int32_t ethosgen_dsp_row_words(int32_t depth)
{
    return ethosgen_thumb_row_words(depth);
}

struct ethosgen_dsp_row ethosgen_dsp_row_of(void *to, const int8_t *values, int32_t depth)
{
    return (struct ethosgen_dsp_row){to, depth, ethosgen_thumb_row(to, values, depth)};
}

const int8_t *ethosgen_dsp_sums(int32_t *sums, const int32_t *biases, int32_t pairs,
                                const struct ethosgen_dsp_row *row, const int8_t *weights)
{
    weights = ethosgen_thumb_sums(sums, biases, 2 * pairs, row->values, row->depth, weights);
    if (row->excess != 0) {
        for (int32_t channel = 0; channel < 2 * pairs; channel++) {
            /* Sums of raised values may wrap; subtracting the excess corrects them. */
            sums[channel] = (int32_t)((uint32_t)sums[channel] - (uint32_t)row->excess);
        }
    }
    return weights;
}
