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
    /* q0: outputs. lr: bytes left. */
    __asm volatile("wlstp.8 lr, %[bytes], 2f\n"
                   "1:\n\t"
                   "vldrb.8 q0, [%[output]]\n\t"
                   "vmax.s8 q0, q0, %q[low]\n\t"
                   "vmin.s8 q0, q0, %q[high]\n\t"
                   "vstrb.8 q0, [%[output]], #16\n\t"
                   "letp lr, 1b\n"
                   "2:"
                   : [output] "+r"(output)
                   : [bytes] "r"(bytes), [low] "w"(vdupq_n_s8((int8_t)low)),
                     [high] "w"(vdupq_n_s8((int8_t)high))
                   : "q0", "lr", "memory");
#else
    /* The C loops have already limited them. */
    (void)output, (void)bytes, (void)low, (void)high;
#endif
}
