/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TFLite's conversion of a sum with a 64-bit bias to an int16 value: a 15-bit mantissa, one rounding.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#ifndef ETHOSGEN_WIDE_H
#define ETHOSGEN_WIDE_H

#include "ethosgen_requantize.h"

/*
 * Words for each channel: the lower and the upper half of the value that is added to sum * mantissa
 * (bias * mantissa, plus a half to round); the mantissa; the right shift.
 */
enum { ETHOSGEN_WIDE_SCALES = 4 };

static inline int16_t ethosgen_wide_output(int64_t sum, const int32_t *scale, int32_t low,
                                           int32_t high)
{
    int64_t rest = (int64_t)(((uint64_t)(uint32_t)scale[1] << 32) | (uint32_t)scale[0]);
    int32_t value = (int32_t)((sum * scale[2] + rest) >> scale[3]);

    value = value < low ? low : value;
    return (int16_t)(value > high ? high : value);
}

#endif /* ETHOSGEN_WIDE_H */
