/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bounds of the outputs of depthwise convolutions. See ethosgen_kernels.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_requantize.h"

void ethosgen_limit_s8(int8_t *output, int32_t bytes, int32_t low, int32_t high)
{
#if ETHOSGEN_MVE
    int8x16_t least = vdupq_n_s8((int8_t)low), most = vdupq_n_s8((int8_t)high);

    for (; bytes > 0; bytes -= 16) {
        mve_pred16_t inside = vctp8q((uint32_t)bytes);
        int8x16_t values = vldrbq_z_s8(output, inside);

        vstrbq_p_s8(output, vminq_s8(vmaxq_s8(values, least), most), inside);
        output += 16;
    }
#else
    /* The C loops have already limited them. */
    (void)output, (void)bytes, (void)low, (void)high;
#endif
}
