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

#endif /* REGISTERS_H */
