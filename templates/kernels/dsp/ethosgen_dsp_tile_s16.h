/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * int16 rows times int8 weights, 4 rows at a time: what dense layers and convolutions share.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#ifndef ETHOSGEN_DSP_TILE_S16_H
#define ETHOSGEN_DSP_TILE_S16_H

#include "ethosgen_dsp.h"
#include "ethosgen_dsp_math.h"

enum { ETHOSGEN_DSP_TILE_ROWS = 4, ETHOSGEN_DSP_PAIR = 2 };

/* Words of a row, two values each; with an odd depth the last one is half empty. */
static inline int32_t ethosgen_dsp_words(int32_t depth)
{
    return (depth + ETHOSGEN_DSP_PAIR - 1) / ETHOSGEN_DSP_PAIR;
}

/* How many of `left` rows to compute together; a fourth may be missing. */
static inline int32_t ethosgen_dsp_some(int32_t left)
{
    return left >= ETHOSGEN_DSP_TILE_ROWS ? ETHOSGEN_DSP_TILE_ROWS : left == 3 ? 3 : 1;
}

/* A row under construction, two values in a word, `step` words apart. */
struct ethosgen_dsp_writer {
    int32_t *to;
    int32_t step;
    int32_t is_half; /* the word has its first value */
};

/* Append values to a row; zeros if `from` is null. */
void ethosgen_dsp_append(struct ethosgen_dsp_writer *writer, const int16_t *from, int32_t count);

/* End a row: complete its last word with zero. */
static inline void ethosgen_dsp_end(struct ethosgen_dsp_writer *writer)
{
    ethosgen_dsp_append(writer, NULL, writer->is_half);
}

/* Copy the third of 4 interleaved rows to the fourth. */
void ethosgen_dsp_repeat(int32_t *rows, int32_t words);

/* Compute all channels of a row, or of 3 or 4 interleaved ones; of 3, the third is stored twice. */
void ethosgen_dsp_finish_s16(int16_t *output, const int32_t *rows, int32_t count,
                             const int8_t *weights, const int32_t *scales,
                             const struct ethosgen_dsp_matrix_s16 *matrix);

#endif /* ETHOSGEN_DSP_TILE_S16_H */
