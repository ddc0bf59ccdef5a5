/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * {{ board.description }}: the console, a UART of Nordic's nRF51 and nRF52.
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

#define UART_TASKS_STARTRX REGISTER(CONSOLE_BASE + 0x000u)
#define UART_TASKS_STARTTX REGISTER(CONSOLE_BASE + 0x008u)
#define UART_EVENTS_RXDRDY REGISTER(CONSOLE_BASE + 0x108u)
#define UART_EVENTS_TXDRDY REGISTER(CONSOLE_BASE + 0x11Cu)
#define UART_INTENSET REGISTER(CONSOLE_BASE + 0x304u)
#define UART_ENABLE REGISTER(CONSOLE_BASE + 0x500u)
#define UART_RXD REGISTER(CONSOLE_BASE + 0x518u)
#define UART_TXD REGISTER(CONSOLE_BASE + 0x51Cu)
#define UART_BAUDRATE REGISTER(CONSOLE_BASE + 0x524u)
#define UART_CONFIG REGISTER(CONSOLE_BASE + 0x56Cu)
enum { UART_INT_RXDRDY = 1u << 2, UART_ENABLED = 4, UART_CONFIG_8N1 = 0 };
/* The baud rate as a fraction of the clock, in 32 bits, of which the lower 12 are unused. */
#define UART_BAUDRATE_VALUE \
    ((uint32_t)((((uint64_t)CONSOLE_BAUD << 32) / CONSOLE_CLOCK_HZ + 0x800u) & 0xFFFFF000u))

void console_init(void)
{
{% include "board/console_setup.c" %}
    UART_BAUDRATE = UART_BAUDRATE_VALUE;
    UART_CONFIG = UART_CONFIG_8N1;
    UART_ENABLE = UART_ENABLED;
    UART_EVENTS_RXDRDY = 0;
    UART_EVENTS_TXDRDY = 0;
    UART_TASKS_STARTTX = 1;
    UART_TASKS_STARTRX = 1;
    UART_INTENSET = UART_INT_RXDRDY;
    NVIC_ISER(IRQ_CONSOLE_RX) = NVIC_BIT(IRQ_CONSOLE_RX);
}

void console_put(uint8_t byte)
{
    UART_TXD = byte;
    while (UART_EVENTS_TXDRDY == 0) {
    }
    UART_EVENTS_TXDRDY = 0;
}

void Console_RX_Handler(void)
{
    while (UART_EVENTS_RXDRDY != 0) {
        /* Acknowledge first: reading a byte lets the next one raise its own event. */
        UART_EVENTS_RXDRDY = 0;
        frames_take((uint8_t)UART_RXD);
    }
{% if handover %}
    element_event = true;
{% endif %}
}
