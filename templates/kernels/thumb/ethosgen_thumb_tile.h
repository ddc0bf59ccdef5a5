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
 * Compute all channels of 1 or 2 rows, which are `depth` bytes each; `outputs` are where those of
 * each row go. There are two versions, for Armv7-M and Armv6-M; the latter needs a word for each of
 * the depth, in `words`.
 */
void ethosgen_thumb_multiply(int8_t *const outputs[ETHOSGEN_THUMB_ROWS], const int8_t *rows,
                             int32_t count, int32_t *words, const int8_t *weights,
                             const int32_t *scales, const struct ethosgen_thumb_matrix *matrix);

#endif /* ETHOSGEN_THUMB_TILE_H */
