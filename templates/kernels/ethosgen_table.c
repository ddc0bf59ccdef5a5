/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lookups in a table of 256 bytes. See ethosgen_kernels.h.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#include "ethosgen_requantize.h"

void ethosgen_table_8(void *output, const void *input, const void *table, int32_t count)
{
#if ETHOSGEN_MVE
    /* q0: places in the table. q1: their contents. lr: bytes left. */
    __asm volatile("wlstp.8 lr, %[count], 2f\n"
                   "1:\n\t"
                   "vldrb.u8 q0, [%[input]], #16\n\t"
                   "vldrb.u8 q1, [%[table], q0]\n\t"
                   "vstrb.8 q1, [%[output]], #16\n\t"
                   "letp lr, 1b\n"
                   "2:"
                   : [output] "+r"(output), [input] "+r"(input)
                   : [table] "r"(table), [count] "r"(count)
                   : "q0", "q1", "lr", "memory");
#else
    const uint8_t *from = (const uint8_t *)input;
    const uint8_t *values = (const uint8_t *)table;
    uint8_t *to = (uint8_t *)output;
    for (int32_t i = 0; i < count; i++) {
        to[i] = values[from[i]];
    }
#endif
}
