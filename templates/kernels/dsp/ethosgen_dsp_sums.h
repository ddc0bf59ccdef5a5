/*
 * Sums of a row times weights, and their conversion by a common multiplier.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#ifndef ETHOSGEN_DSP_SUMS_H
#define ETHOSGEN_DSP_SUMS_H

#include "ethosgen_dsp_tile.h"

/* Places of a row of which a channel's sum fits in 24 bits, whatever the weights. */
enum { ETHOSGEN_DSP_MOST_PLACES = 508 };

/* A row of 16 bits, as ethosgen_dsp_widen writes a single one. */
struct ethosgen_dsp_row {
    const int32_t *values;
    int32_t depth;
    int32_t excess; /* 128 times the sum of the values */
};

/* Widen a row of int8; `to` has 2 bytes for each value, rounded up to 4 values. */
struct ethosgen_dsp_row ethosgen_dsp_row_of(void *to, const int8_t *values, int32_t depth);

/*
 * Compute the sums of 2 * `pairs` channels, which start with biases. Return the next weights: these
 * are those of a matrix for every 508 places of the row.
 */
const int8_t *ethosgen_dsp_sums(int32_t *sums, const int32_t *biases, int32_t pairs,
                                const struct ethosgen_dsp_row *row, const int8_t *weights);

static inline int32_t ethosgen_dsp_rescale(int32_t value, const struct ethosgen_dsp_multiplier *by)
{
    int32_t product = ethosgen_dsp_high((int32_t)((uint32_t)value << by->left), by->mantissa);

    /* The sign is added to round negative halves away from zero. */
    product += (product >> 31) & by->sign;
    return (product + by->half) >> by->right;
}

#if ETHOSGEN_DSP
static inline int32_t ethosgen_dsp_saturate_16(int32_t value)
{
    __asm("ssat %0, #16, %1" : "=r"(value) : "r"(value));
    return value;
}
#else
static inline int32_t ethosgen_dsp_saturate_16(int32_t value)
{
    value = value < INT16_MIN ? INT16_MIN : value;
    return value > INT16_MAX ? INT16_MAX : value;
}
#endif

#endif /* ETHOSGEN_DSP_SUMS_H */
