/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies and fills bytes: rows that are often too short for memcpy and memset to be worth a call.
 *
 * Part of ethosgen, copied into each library that calls it; change it there, not in a copy.
 */
#ifndef ETHOSGEN_BYTES_H
#define ETHOSGEN_BYTES_H

#include <stdint.h>

#include "ethosgen_requantize.h"

#include <string.h>

#if ETHOSGEN_MVE
/* In assembly, since the compiler does not generate tail-predicated loops. */
static inline void ethosgen_copy(int8_t *to, const int8_t *from, int32_t bytes)
{
    /* q0: a vector. lr: bytes left. */
    __asm volatile("wlstp.8 lr, %[bytes], 2f\n"
                   "1:\n\t"
                   "vldrb.8 q0, [%[from]], #16\n\t"
                   "vstrb.8 q0, [%[to]], #16\n\t"
                   "letp lr, 1b\n"
                   "2:"
                   : [to] "+r"(to), [from] "+r"(from)
                   : [bytes] "r"(bytes)
                   : "q0", "lr", "memory");
}

static inline void ethosgen_fill(int8_t *to, int32_t value, int32_t bytes)
{
    /* q0: the value. lr: bytes left. */
    __asm volatile("vdup.8 q0, %[value]\n\t"
                   "wlstp.8 lr, %[bytes], 2f\n"
                   "1:\n\t"
                   "vstrb.8 q0, [%[to]], #16\n\t"
                   "letp lr, 1b\n"
                   "2:"
                   : [to] "+r"(to)
                   : [value] "r"(value), [bytes] "r"(bytes)
                   : "q0", "lr", "memory");
}
#else
static inline void ethosgen_copy(int8_t *to, const int8_t *from, int32_t bytes)
{
    (void)memcpy(to, from, (size_t)bytes);
}

static inline void ethosgen_fill(int8_t *to, int32_t value, int32_t bytes)
{
    (void)memset(to, value, (size_t)bytes);
}
#endif

#endif
