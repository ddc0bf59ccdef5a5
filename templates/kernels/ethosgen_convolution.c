/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions, a row of outputs at a time. See ethosgen_kernels.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_strips.h"

void ethosgen_convolution_s8(int8_t *output, const int8_t *input, int8_t *strip,
                             const int8_t *weights, const int32_t *scales,
                             const struct ethosgen_convolution *shape)
{
    const struct products products = {weights, scales, ethosgen_rows_s8};

    run_strips(output, input, strip, &products, shape);
}

void ethosgen_convolution_short_s8(int8_t *output, const int8_t *input, int8_t *strip,
                                   const int8_t *weights, const int32_t *scales,
                                   const struct ethosgen_convolution *shape)
{
    const struct products products = {weights, scales, ethosgen_rows_short_s8};

    run_strips(output, input, strip, &products, shape);
}

void ethosgen_convolution_in_place_s8(int8_t *output, const int8_t *input, const int8_t *weights,
                                      const int32_t *scales,
                                      const struct ethosgen_convolution *shape)
{
    const struct products products = {weights, scales, ethosgen_rows_s8};

    run_in_place(output, input, &products, shape);
}

void ethosgen_convolution_in_place_short_s8(int8_t *output, const int8_t *input,
                                            const int8_t *weights, const int32_t *scales,
                                            const struct ethosgen_convolution *shape)
{
    const struct products products = {weights, scales, ethosgen_rows_short_s8};

    run_in_place(output, input, &products, shape);
}
