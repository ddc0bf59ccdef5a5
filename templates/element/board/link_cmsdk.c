/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * {{ board.description }}: the lines to other elements, CMSDK UARTs{{ "" if handover.is_serial else " as doorbells" }}.
 *
 * Generated once by ethosgen; yours from now on.
 */
#include "link.h"

#include "board.h"
#include "cmsdk_uart.h"
#include "element.h"
#include "ethosgen_handover.h"
#include "startup.h"

{% for name, uart in (("BEFORE", handover.before), ("BEHIND", handover.behind)) %}
#define {{ name }}_BASE 0x{{ "%08x"|format(uart.base_addr) }}u
#define {{ name }}_DIVIDER ({{ uart.clock_hz }}u / {{ uart.baud }}u)
{% endfor %}

void link_init(void)
{
    uart_init(BEFORE_BASE, BEFORE_DIVIDER, IRQ_LINK_BEFORE);
    uart_init(BEHIND_BASE, BEHIND_DIVIDER, IRQ_LINK_BEHIND);
}

static void put(uint32_t base, uint8_t byte)
{
    if ((UART_STATE(base) & UART_STATE_TX_FULL) != 0) {
        uint32_t started = element_elapsed();

        while ((UART_STATE(base) & UART_STATE_TX_FULL) != 0) {
        }
        element_wait_ticks += element_elapsed() - started;
    }
    UART_DATA(base) = byte;
}

void ethosgen_handover_put(uint8_t byte)
{
    put(BEHIND_BASE, byte);
}

void ethosgen_handover_put_back(uint8_t byte)
{
    put(BEFORE_BASE, byte);
}

/* The time before and after count()'s measurement: about twelve instructions. */
#define ENTRY_TICKS (BOARD_TICKS_HZ / 1000000u * 3u / 4u)

static void count(uint32_t started)
{
    element_event = true;
    element_interrupts++;
    element_interrupt_ticks += board_ticks() - started + ENTRY_TICKS;
}

void Link_Before_Handler(void)
{
    uint32_t started = board_ticks();

    /* Acknowledge first: a byte that arrives after DATA was read must raise its own interrupt. */
    UART_INTCLEAR(BEFORE_BASE) = UART_INT_RX;
    ethosgen_handover_take((uint8_t)UART_DATA(BEFORE_BASE));
    count(started);
}

void Link_Behind_Handler(void)
{
    uint32_t started = board_ticks();

    UART_INTCLEAR(BEHIND_BASE) = UART_INT_RX;
    ethosgen_handover_take_back((uint8_t)UART_DATA(BEHIND_BASE));
    count(started);
}
