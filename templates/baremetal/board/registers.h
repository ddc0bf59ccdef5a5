/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Registers of the processor and the board by address. Generated once by ethosgen; yours from now on.
 */
#ifndef REGISTERS_H
#define REGISTERS_H

#include <stdint.h>

#define REGISTER(addr) (*(volatile uint32_t *)(uintptr_t)(addr))

#define NVIC_ISER(irq) REGISTER(0xE000E100u + (irq) / 32u * 4u)
#define NVIC_ISPR(irq) REGISTER(0xE000E200u + (irq) / 32u * 4u)
#define NVIC_BIT(irq) (1u << (irq) % 32u)

/* How often await_register() reads: some hundred milliseconds, even on a fast processor. */
#define REGISTER_LOOKS 10000000u

/* Read a register until it has these bits. A clock that never starts ends in the fault handler. */
static inline void await_register(uintptr_t addr, uint32_t mask, uint32_t bits)
{
    uint32_t looks = REGISTER_LOOKS;

    while ((REGISTER(addr) & mask) != bits) {
        if (looks-- == 0) {
            __builtin_trap();
        }
    }
}

#endif /* REGISTERS_H */
