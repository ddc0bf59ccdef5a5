/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bounds of outputs. See ethosgen_kernels.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_requantize.h"

void ethosgen_limit_s8(int8_t *output, int32_t bytes, int32_t low, int32_t high)
{
#if ETHOSGEN_MVE
    if (low <= INT8_MIN && high >= INT8_MAX) {
        return;
    }
    ethosgen_bound(output, bytes, vdupq_n_s8((int8_t)low), vdupq_n_s8((int8_t)high));
#else
    /* The C loops have already limited them. */
    (void)output, (void)bytes, (void)low, (void)high;
#endif
}
