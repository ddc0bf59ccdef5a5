/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Semihosting: a request to the simulator or debugger that runs the firmware.
 *
 * Generated once by ethosgen; yours from now on.
 */
#ifndef SEMIHOSTING_H
#define SEMIHOSTING_H

#include <stdint.h>

/* SYS_EXIT_EXTENDED: QEMU ends, and `status` is its exit status. */
static inline void semihosting_exit(uint32_t status)
{
    uint32_t reason[2] = {0x20026u, status}; /* ADP_Stopped_ApplicationExit */
    register uint32_t operation __asm("r0") = 0x20u;
    register const uint32_t *parameters __asm("r1") = reason;
    __asm volatile("bkpt 0xab" ::"r"(operation), "r"(parameters) : "memory");
}

#endif /* SEMIHOSTING_H */
