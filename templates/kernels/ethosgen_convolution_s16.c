/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions of int16 with sums of 32 bits, a row of outputs at a time. See ethosgen_kernels_s16.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_strips.h"

void ethosgen_convolution_s16(int16_t *output, const int16_t *input, int8_t *strip,
                              const int8_t *weights, const int32_t *scales,
                              const struct ethosgen_convolution *shape)
{
    const struct products products = {weights, scales, ethosgen_rows_s16};

    run_strips((int8_t *)output, (const int8_t *)input, strip, &products,
               shape);
}

void ethosgen_convolution_in_place_s16(int16_t *output, const int16_t *input, const int8_t *weights,
                                       const int32_t *scales,
                                       const struct ethosgen_convolution *shape)
{
    const struct products products = {weights, scales, ethosgen_rows_s16};

    run_in_place((int8_t *)output, (const int8_t *)input, &products,
                 shape);
}
