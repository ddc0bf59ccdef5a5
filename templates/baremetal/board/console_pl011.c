/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * {{ board.description }}: the console, a PrimeCell UART (PL011).
 *
 * Generated once by ethosgen; yours from now on.
 */
{% if handover %}
#include "element.h"
{% endif %}
#include "frames.h"
#include "registers.h"
#include "services.h"
#include "startup.h"

#define CONSOLE_BASE 0x{{ "%08x"|format(board.console.base_addr) }}u
#define CONSOLE_CLOCK_HZ {{ board.console.clock_hz }}u
#define CONSOLE_BAUD {{ board.console.baud }}u

#define UART_DR REGISTER(CONSOLE_BASE + 0x00u)
#define UART_FR REGISTER(CONSOLE_BASE + 0x18u)
#define UART_IBRD REGISTER(CONSOLE_BASE + 0x24u)
#define UART_FBRD REGISTER(CONSOLE_BASE + 0x28u)
#define UART_LCR_H REGISTER(CONSOLE_BASE + 0x2Cu)
#define UART_CR REGISTER(CONSOLE_BASE + 0x30u)
#define UART_IFLS REGISTER(CONSOLE_BASE + 0x34u)
#define UART_IMSC REGISTER(CONSOLE_BASE + 0x38u)
#define UART_ICR REGISTER(CONSOLE_BASE + 0x44u)
enum { UART_FR_RXFE = 1u << 4, UART_FR_TXFF = 1u << 5 };
enum { UART_LCR_H_FEN = 1u << 4, UART_LCR_H_8N1 = 3u << 5 };
enum { UART_CR_UARTEN = 1u << 0, UART_CR_TXE = 1u << 8, UART_CR_RXE = 1u << 9 };
enum { UART_IFLS_RX_EIGHTH = 0u << 3 };
enum { UART_INT_RX = 1u << 4, UART_INT_RX_TIMEOUT = 1u << 6 };

void console_init(void)
{
{% include "board/console_setup.c" %}
    /* In 1/64 of 16 clocks, rounded. */
    uint32_t divider = (CONSOLE_CLOCK_HZ * 4u + CONSOLE_BAUD / 2u) / CONSOLE_BAUD;

    UART_CR = 0;
    UART_IBRD = divider / 64u;
    UART_FBRD = divider % 64u;
    UART_LCR_H = UART_LCR_H_8N1 | UART_LCR_H_FEN;
    UART_IFLS = UART_IFLS_RX_EIGHTH;
    UART_IMSC = UART_INT_RX | UART_INT_RX_TIMEOUT;
    UART_CR = UART_CR_UARTEN | UART_CR_TXE | UART_CR_RXE;
    NVIC_ISER(IRQ_CONSOLE_RX) = NVIC_BIT(IRQ_CONSOLE_RX);
}

void console_put(uint8_t byte)
{
    while ((UART_FR & UART_FR_TXFF) != 0) {
    }
    UART_DR = byte;
}

void Console_RX_Handler(void)
{
    /* Acknowledge first: a byte that arrives after the last one was read must raise its own interrupt. */
    UART_ICR = UART_INT_RX | UART_INT_RX_TIMEOUT;
    while ((UART_FR & UART_FR_RXFE) == 0) {
        frames_take((uint8_t)UART_DR);
    }
{% if handover %}
    element_event = true;
{% endif %}
}
