/*
 * TFLite's way from a sum and a 64-bit bias to an int16 value: a mantissa of 15 bits, rounded once.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#ifndef ETHOSGEN_WIDE_H
#define ETHOSGEN_WIDE_H

#include "ethosgen_requantize.h"

/*
 * Words for each channel: the lower and the upper half of what is added to sum * mantissa, which is
 * bias * mantissa and the half that rounds; mantissa; shift to the right.
 */
enum { ETHOSGEN_WIDE_SCALES = 4 };

static inline int16_t ethosgen_wide_output(int32_t sum, const int32_t *scale, int32_t low,
                                           int32_t high)
{
    int64_t rest = (int64_t)((uint64_t)(uint32_t)scale[1] << 32 | (uint32_t)scale[0]);
    int32_t value = (int32_t)(((int64_t)sum * scale[2] + rest) >> scale[3]);

    value = value < low ? low : value;
    return (int16_t)(value > high ? high : value);
}

#endif /* ETHOSGEN_WIDE_H */
