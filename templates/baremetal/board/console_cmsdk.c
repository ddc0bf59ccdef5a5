/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * {{ board.description }}: the console, a CMSDK UART.
 *
 * Generated once by ethosgen; yours from now on.
 */
#include "cmsdk_uart.h"
{% if handover %}
#include "element.h"
{% endif %}
#include "frames.h"
#include "services.h"
#include "startup.h"

#define CONSOLE_BASE 0x{{ "%08x"|format(board.console.base_addr) }}u
#define CONSOLE_CLOCK_HZ {{ board.console.clock_hz }}u
#define CONSOLE_BAUD {{ board.console.baud }}u

void console_init(void)
{
{% include "board/console_setup.c" %}
    uart_init(CONSOLE_BASE, CONSOLE_CLOCK_HZ / CONSOLE_BAUD, IRQ_CONSOLE_RX);
}

void console_put(uint8_t byte)
{
    while ((UART_STATE(CONSOLE_BASE) & UART_STATE_TX_FULL) != 0) {
    }
    UART_DATA(CONSOLE_BASE) = byte;
}

void Console_RX_Handler(void)
{
    /* Acknowledge first: a byte that arrives after DATA was read must raise its own interrupt. */
    UART_INTCLEAR(CONSOLE_BASE) = UART_INT_RX;
    frames_take((uint8_t)UART_DATA(CONSOLE_BASE));
{% if handover %}
    element_event = true;
{% endif %}
}
