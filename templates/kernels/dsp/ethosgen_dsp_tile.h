/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows times weights, 4 rows at a time: what dense layers and convolutions share.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#ifndef ETHOSGEN_DSP_TILE_H
#define ETHOSGEN_DSP_TILE_H

#include "ethosgen_dsp.h"
#include "ethosgen_dsp_math.h"

enum { ETHOSGEN_DSP_ROWS = 4, ETHOSGEN_DSP_STEP = 4 };

/* Some pairs of channels of 4 rows, or of one, in the order in which the assembly loads its fields. */
struct ethosgen_dsp_tile {
    const int32_t *rows;
    const int32_t *part_end; /* the end of the first part of the depth */
    const int8_t *weights;
    const struct ethosgen_core_scale *scales;
    int32_t part; /* bytes of rows in each other part, 0 if there is none */
    int8_t *output;
    int32_t stride;
    int32_t pairs;
    int32_t steps;                     /* of the first part */
    int32_t excess[ETHOSGEN_DSP_ROWS]; /* 256 times the sum of each row */
    const int32_t *end;
    int32_t second[ETHOSGEN_DSP_ROWS]; /* twice the second channel's sums of the parts before */
    int8_t *outputs[ETHOSGEN_DSP_ROWS]; /* of each row; the assembly reads `output` and `stride` */
};

static inline int32_t ethosgen_dsp_steps(int32_t depth)
{
    return (depth + ETHOSGEN_DSP_STEP - 1) / ETHOSGEN_DSP_STEP;
}

/* How many of `left` rows to compute next: 4, or one, which is cheaper for up to 3 rows. */
static inline int32_t ethosgen_dsp_rows(int32_t left)
{
    return left < ETHOSGEN_DSP_ROWS ? 1 : ETHOSGEN_DSP_ROWS;
}

/* Write one of `count` rows (4 or 1) as pairs of 16 bits; return 256 times its sum. */
int32_t ethosgen_dsp_widen(int32_t *to, const int8_t *row, int32_t depth, int32_t count);

/*
 * Compute all channels of `count` rows (4 or 1); 4 are interleaved.
 * `second` is 0 before and after. Rows whose outputs are a stride apart are written together.
 */
void ethosgen_dsp_finish(const int32_t *rows, struct ethosgen_dsp_tile *tile, int32_t count,
                         const int8_t *weights, const int32_t *scales,
                         const struct ethosgen_dsp_matrix *matrix);

#endif /* ETHOSGEN_DSP_TILE_H */
