/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * {{ board.description }}: doorbells to the other core, Arm's message handling units (MHUv2).
 *
 * A doorbell is bit 0 or 1 of the first channel, for frames with an even or an odd number: at most two
 * are in transit.
 *
 * Generated once by ethosgen; yours from now on.
 */
#include "link.h"

#include "board.h"
#include "element.h"
#include "ethosgen_handover.h"
#include "registers.h"
#include "startup.h"

{% set is_first = handover.number == 0 %}
{% set is_last = handover.number + 1 == handover.elements %}
#define CH_SET(base) REGISTER((base) + 0x0Cu)
#define ACCESS_REQUEST(base) REGISTER((base) + 0xF88u)
#define ACCESS_READY(base) REGISTER((base) + 0xF8Cu)
#define CH_ST(base) REGISTER((base) + 0x00u)
#define CH_CLR(base) REGISTER((base) + 0x08u)
#define CH_MSK_CLR(base) REGISTER((base) + 0x18u)
#define INT_EN(base) REGISTER((base) + 0xF98u)
enum { INT_COMBINED = 1u << 2 };
#define BELLS 3u

{% for name, line, is_used in (("BEFORE", handover.before, not is_first), ("BEHIND", handover.behind, not is_last)) if is_used %}
#define {{ name }}_RECEIVE 0x{{ "%08x"|format(line.base_addr) }}u
#define {{ name }}_SEND 0x{{ "%08x"|format(line.send_addr) }}u
{% endfor %}

/* The time before and after count()'s measurement: about twelve instructions. */
#define ENTRY_TICKS (BOARD_TICKS_HZ / 1000000u * 3u / 4u)

static uint32_t next_before;
static uint32_t next_behind;

static void open_line(uint32_t receive, uint32_t send, uint32_t irq)
{
    CH_CLR(receive) = BELLS;
    CH_MSK_CLR(receive) = BELLS;
    INT_EN(receive) |= INT_COMBINED;
    NVIC_ISER(irq) = NVIC_BIT(irq);
    ACCESS_REQUEST(send) = 1; /* keeps the other core's unit powered */
}

static void ring(uint32_t send, uint8_t byte)
{
    uint32_t started = element_elapsed();

    while ((ACCESS_READY(send) & 1u) == 0) {
    }
    element_wait_ticks += element_elapsed() - started;
    CH_SET(send) = 1u << (byte & 1u);
}

void link_init(void)
{
    next_before = 0;
    next_behind = 0;
{% if not is_first %}
    open_line(BEFORE_RECEIVE, BEFORE_SEND, IRQ_LINK_BEFORE);
{% endif %}
{% if not is_last %}
    open_line(BEHIND_RECEIVE, BEHIND_SEND, IRQ_LINK_BEHIND);
{% endif %}
}

{% if is_last %}
/* The last element: your application takes the frame of that number from the shared memory, and then
 * calls ethosgen_handover_take_back(number). Define this function without `weak`. */
__attribute__((weak)) void ethosgen_handover_put(uint8_t byte)
{
    (void)byte;
}
{% else %}
void ethosgen_handover_put(uint8_t byte)
{
    ring(BEHIND_SEND, byte);
}
{% endif %}

{% if is_first %}
/* The first element: your application writes a frame to the shared memory, calls
 * ethosgen_handover_take(number) and sets element_event; this function gives the room back. Define
 * this function without `weak`. */
__attribute__((weak)) void ethosgen_handover_put_back(uint8_t byte)
{
    (void)byte;
}
{% else %}
void ethosgen_handover_put_back(uint8_t byte)
{
    ring(BEFORE_SEND, byte);
}
{% endif %}

static void count(uint32_t started)
{
    element_event = true;
    element_interrupts++;
    element_interrupt_ticks += board_ticks() - started + ENTRY_TICKS;
}

static uint32_t answer(uint32_t receive, uint32_t next, void (*take)(uint8_t))
{
    uint32_t bells = CH_ST(receive) & BELLS;

    CH_CLR(receive) = bells;
    while ((bells & 1u << (next & 1u)) != 0) {
        bells &= ~(1u << (next & 1u));
        take((uint8_t)next++);
    }
    return next;
}

void Link_Before_Handler(void)
{
    uint32_t started = board_ticks();

{% if not is_first %}
    next_before = answer(BEFORE_RECEIVE, next_before, ethosgen_handover_take);
{% endif %}
    count(started);
}

void Link_Behind_Handler(void)
{
    uint32_t started = board_ticks();

{% if not is_last %}
    next_behind = answer(BEHIND_RECEIVE, next_behind, ethosgen_handover_take_back);
{% endif %}
    count(started);
}
