/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows times weights, two rows at a time: what dense layers and convolutions share.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#ifndef ETHOSGEN_THUMB_TILE_H
#define ETHOSGEN_THUMB_TILE_H

#include "ethosgen_thumb_math.h"

enum { ETHOSGEN_THUMB_ROWS = 2, ETHOSGEN_THUMB_CHANNELS = 4 };

/*
 * Compute all channels of 1 or 2 rows, which are `depth` bytes each; `outputs` has the address of each
 * row's outputs. There are two versions, for Armv7-M and Armv6-M; the latter needs a word for each place
 * of the depth, in `words`.
 */
void ethosgen_thumb_multiply(int8_t *const outputs[ETHOSGEN_THUMB_ROWS], const int8_t *rows,
                             int32_t count, int32_t *words, const int8_t *weights,
                             const int32_t *scales, const struct ethosgen_thumb_matrix *matrix);

/* The words of temporary memory for a single row. */
int32_t ethosgen_thumb_row_words(int32_t depth);

/* Copy a row in the form that the sums read; return the amount that they subtract. */
int32_t ethosgen_thumb_row(int32_t *to, const int8_t *values, int32_t depth);

/* Sum the products of such a row and some channels; return the next weights. */
const int8_t *ethosgen_thumb_sums(int32_t *sums, const int32_t *biases, int32_t channels,
                                  const int32_t *row, int32_t depth, const int8_t *weights);

#endif /* ETHOSGEN_THUMB_TILE_H */
