/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CMSDK UART. Generated once by ethosgen; yours from now on.
 */
#ifndef CMSDK_UART_H
#define CMSDK_UART_H

#include "registers.h"

/* Registers, by their offsets from the base. */
#define UART_DATA(base) REGISTER((base) + 0x00u)
#define UART_STATE(base) REGISTER((base) + 0x04u)
#define UART_CTRL(base) REGISTER((base) + 0x08u)
#define UART_INTSTATUS(base) REGISTER((base) + 0x0Cu)
#define UART_INTCLEAR(base) REGISTER((base) + 0x0Cu)
#define UART_BAUDDIV(base) REGISTER((base) + 0x10u)
enum { UART_STATE_TX_FULL = 1u << 0 };
enum {
    UART_CTRL_TX_ENABLE = 1u << 0,
    UART_CTRL_RX_ENABLE = 1u << 1,
    UART_CTRL_TX_IRQ = 1u << 2,
    UART_CTRL_RX_IRQ = 1u << 3
};
enum { UART_INT_TX = 1u << 0, UART_INT_RX = 1u << 1 };
#define UART_BAUDDIV_MIN 16u

static inline void uart_init(uint32_t base, uint32_t divider, uint32_t irq)
{
    UART_BAUDDIV(base) = divider < UART_BAUDDIV_MIN ? UART_BAUDDIV_MIN : divider;
    UART_CTRL(base) = UART_CTRL_TX_ENABLE | UART_CTRL_RX_ENABLE | UART_CTRL_RX_IRQ;
    NVIC_ISER(irq) = NVIC_BIT(irq);
}

#endif /* CMSDK_UART_H */
