/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * {{ board.description }}: the console, a UARTE, Nordic's UART with DMA.
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

#define UARTE_TASKS_STARTRX REGISTER(CONSOLE_BASE + 0x000u)
#define UARTE_TASKS_STARTTX REGISTER(CONSOLE_BASE + 0x008u)
#define UARTE_EVENTS_ENDRX REGISTER(CONSOLE_BASE + 0x110u)
#define UARTE_EVENTS_ENDTX REGISTER(CONSOLE_BASE + 0x120u)
#define UARTE_INTENSET REGISTER(CONSOLE_BASE + 0x304u)
#define UARTE_ENABLE REGISTER(CONSOLE_BASE + 0x500u)
#define UARTE_BAUDRATE REGISTER(CONSOLE_BASE + 0x524u)
#define UARTE_RXD_PTR REGISTER(CONSOLE_BASE + 0x534u)
#define UARTE_RXD_MAXCNT REGISTER(CONSOLE_BASE + 0x538u)
#define UARTE_TXD_PTR REGISTER(CONSOLE_BASE + 0x544u)
#define UARTE_TXD_MAXCNT REGISTER(CONSOLE_BASE + 0x548u)
#define UARTE_CONFIG REGISTER(CONSOLE_BASE + 0x56Cu)
enum { UARTE_INT_ENDRX = 1u << 4, UARTE_ENABLED = 8, UARTE_CONFIG_8N1 = 0 };
/* The baud rate as a fraction of the clock, in 32 bits, of which the lower 12 are unused. */
#define UARTE_BAUDRATE_VALUE \
    ((uint32_t)((((uint64_t)CONSOLE_BAUD << 32) / CONSOLE_CLOCK_HZ + 0x800u) & 0xFFFFF000u))

/* The DMA moves one byte each time: a frame's length is not known in advance. */
static volatile uint8_t received;
static volatile uint8_t sent;

void console_init(void)
{
{% include "board/console_setup.c" %}
    UARTE_BAUDRATE = UARTE_BAUDRATE_VALUE;
    UARTE_CONFIG = UARTE_CONFIG_8N1;
    UARTE_ENABLE = UARTE_ENABLED;
    UARTE_RXD_PTR = (uint32_t)(uintptr_t)&received;
    UARTE_RXD_MAXCNT = sizeof received;
    UARTE_EVENTS_ENDRX = 0;
    UARTE_INTENSET = UARTE_INT_ENDRX;
    UARTE_TASKS_STARTRX = 1;
    NVIC_ISER(IRQ_CONSOLE_RX) = NVIC_BIT(IRQ_CONSOLE_RX);
}

void console_put(uint8_t byte)
{
    sent = byte;
    UARTE_TXD_PTR = (uint32_t)(uintptr_t)&sent;
    UARTE_TXD_MAXCNT = sizeof sent;
    UARTE_EVENTS_ENDTX = 0;
    __asm volatile("dsb" ::: "memory");
    UARTE_TASKS_STARTTX = 1;
    while (UARTE_EVENTS_ENDTX == 0) {
    }
}

void Console_RX_Handler(void)
{
    if (UARTE_EVENTS_ENDRX != 0) {
        UARTE_EVENTS_ENDRX = 0;
        uint8_t byte = received;
        UARTE_TASKS_STARTRX = 1; /* the UARTE holds back up to four bytes until it starts again */
        frames_take(byte);
    }
{% if handover %}
    element_event = true;
{% endif %}
}
