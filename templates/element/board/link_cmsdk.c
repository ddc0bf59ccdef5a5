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

/* The lines before this element, and then those behind it. */
enum { LINES = {{ handover.links|length }} };

static const struct {
    uint32_t base;
    uint32_t divider;
    uint32_t irq;
} lines[LINES] = {
{% for uart in handover.links %}
    {{ '{' }}0x{{ "%08x"|format(uart.base_addr) }}u, {{ uart.clock_hz }}u / {{ uart.baud }}u, IRQ_LINK_{{ loop.index0 }}},
{% endfor %}
};

void link_init(void)
{
    for (uint32_t i = 0; i < LINES; i++) {
        uart_init(lines[i].base, lines[i].divider, lines[i].irq);
    }
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

void ethosgen_handover_put(uint32_t line, uint8_t byte)
{
    put(lines[ETHOSGEN_HANDOVER_LINES_BEFORE + line].base, byte);
}

void ethosgen_handover_put_back(uint32_t line, uint8_t byte)
{
    put(lines[line].base, byte);
}

void ethosgen_handover_flush(void)
{
    /* Bytes are sent at once. */
}

/* The time before and after count()'s measurement: about twelve instructions. */
#define ENTRY_TICKS (BOARD_TICKS_HZ / 1000000u * 3u / 4u)

static void count(uint32_t started)
{
    element_event = true;
    element_interrupts++;
    element_interrupt_ticks += board_ticks() - started + ENTRY_TICKS;
}

{% for uart in handover.links %}
void Link_{{ loop.index0 }}_Handler(void)
{
    uint32_t started = board_ticks();

{% if loop.first %}
    /* Acknowledge first: a byte that arrives after DATA was read must raise its own interrupt. */
{% endif %}
    UART_INTCLEAR(lines[{{ loop.index0 }}].base) = UART_INT_RX;
{% set data = "(uint8_t)UART_DATA(lines[" ~ loop.index0 ~ "].base)" %}
{% if loop.index0 < handover.before|length %}
    ethosgen_handover_take({{ loop.index0 }}u, {{ data }});
{% else %}
    ethosgen_handover_take_back({{ loop.index0 - handover.before|length }}u, {{ data }});
{% endif %}
    count(started);
}
{% if not loop.last %}

{% endif %}
{% endfor %}
