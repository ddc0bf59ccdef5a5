/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the loops of depthwise convolutions share.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#ifndef ETHOSGEN_DSP_DEPTHWISE_H
#define ETHOSGEN_DSP_DEPTHWISE_H

#include "ethosgen_dsp.h"
#include "ethosgen_dsp_math.h"

/* A row of weights is padded to a multiple of this many taps. */
enum { ETHOSGEN_DSP_TAPS = 4 };

/* Pairs of outputs of some rows, in the order in which the assembly loads its fields. */
struct ethosgen_dsp_run {
    const int16_t *row; /* the window's first row */
    int32_t next;       /* bytes to that of the row of outputs below */
    int32_t down;       /* bytes to the window's next row */
    const int16_t *end; /* of the first row's pairs */
    int8_t *output;
    int32_t step;
    struct ethosgen_core_scale scale;
    uint32_t weights[6]; /* of each row the first and the second, the second and the third */
    int32_t pair_bytes;
    int32_t output_row;
    int32_t rows;
    int8_t *row_output;
    int32_t is_odd; /* whether a row's last pair has one output */
};

/* Compute 3 x 3 windows, one column apart or two. */
void ethosgen_dsp_run_3x3(struct ethosgen_dsp_run *run);
void ethosgen_dsp_run_3x3_by_2(struct ethosgen_dsp_run *run);

/* Compute a channel of `rows` rows of outputs of any windows; `pairs` has room for its weights. */
void ethosgen_dsp_run_channel(int8_t *output, const int16_t *plane, uint32_t *pairs, int32_t rows,
                              const int8_t *weights, const struct ethosgen_core_scale *scale,
                              const struct ethosgen_dsp_depthwise *layer);

#if ETHOSGEN_DSP
static inline uint32_t ethosgen_dsp_low_halves(uint32_t low, uint32_t high)
{
    uint32_t both;

    __asm("pkhbt %0, %1, %2, lsl #16" : "=r"(both) : "r"(low), "r"(high));
    return both;
}

static inline uint32_t ethosgen_dsp_high_halves(uint32_t low, uint32_t high)
{
    uint32_t both;

    __asm("pkhtb %0, %1, %2, asr #16" : "=r"(both) : "r"(high), "r"(low));
    return both;
}

static inline uint32_t ethosgen_dsp_low_and_high(uint32_t low, uint32_t high)
{
    uint32_t both;

    __asm("pkhbt %0, %1, %2" : "=r"(both) : "r"(low), "r"(high));
    return both;
}

static inline uint32_t ethosgen_dsp_twice(uint32_t halves)
{
    return (uint32_t)__sadd16((int16x2_t)halves, (int16x2_t)halves);
}

static inline int32_t ethosgen_dsp_add_products(uint32_t a, uint32_t b, int32_t sum)
{
    return __smlad((int16x2_t)a, (int16x2_t)b, sum);
}
#else
static inline int32_t ethosgen_dsp_half(uint32_t word, int32_t place)
{
    return (int16_t)(word >> ((uint32_t)place * 16u));
}

static inline uint32_t ethosgen_dsp_low_halves(uint32_t low, uint32_t high)
{
    return (low & UINT16_MAX) | high << 16;
}

static inline uint32_t ethosgen_dsp_high_halves(uint32_t low, uint32_t high)
{
    return low >> 16 | (high & ~(uint32_t)UINT16_MAX);
}

static inline uint32_t ethosgen_dsp_low_and_high(uint32_t low, uint32_t high)
{
    return (low & UINT16_MAX) | (high & ~(uint32_t)UINT16_MAX);
}

static inline uint32_t ethosgen_dsp_twice(uint32_t halves)
{
    return ethosgen_dsp_low_halves(halves * 2u, (halves >> 16) * 2u);
}

static inline int32_t ethosgen_dsp_add_products(uint32_t a, uint32_t b, int32_t sum)
{
    sum += ethosgen_dsp_half(a, 0) * ethosgen_dsp_half(b, 0);
    return sum + ethosgen_dsp_half(a, 1) * ethosgen_dsp_half(b, 1);
}
#endif

#endif /* ETHOSGEN_DSP_DEPTHWISE_H */
