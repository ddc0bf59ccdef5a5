/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * {{ board.description }}: doorbells to other cores, Arm's message handling units (MHUv2).
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

#define CH_SET(base) REGISTER((base) + 0x0Cu)
#define ACCESS_REQUEST(base) REGISTER((base) + 0xF88u)
#define ACCESS_READY(base) REGISTER((base) + 0xF8Cu)
#define CH_ST(base) REGISTER((base) + 0x00u)
#define CH_CLR(base) REGISTER((base) + 0x08u)
#define CH_MSK_CLR(base) REGISTER((base) + 0x18u)
#define INT_EN(base) REGISTER((base) + 0xF98u)
enum { INT_COMBINED = 1u << 2 };
#define BELLS 3u

/* The lines before this element, and then those behind it. */
enum { LINES = {{ handover.links|length }} };

static const struct {
    uint32_t receive;
    uint32_t send;
    uint32_t irq;
    bool is_application; /* the other end is your application, not another core */
} lines[LINES] = {
{% for mhu in handover.links %}
{% set line = (handover.before + handover.behind)[loop.index0] %}
    {{ '{' }}0x{{ "%08x"|format(mhu.base_addr) }}u, 0x{{ "%08x"|format(mhu.send_addr) }}u, IRQ_LINK_{{ loop.index0 }}, {{ "false" if line.peer else "true" }}},
{% endfor %}
};

/* The time before and after count()'s measurement: about twelve instructions. */
#define ENTRY_TICKS (BOARD_TICKS_HZ / 1000000u * 3u / 4u)

static uint32_t next[LINES]; /* the number of the next bell */

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
    for (uint32_t i = 0; i < LINES; i++) {
        next[i] = 0;
        if (!lines[i].is_application) {
            open_line(lines[i].receive, lines[i].send, lines[i].irq);
        }
    }
}

/* Your application supplies the frames of lines that come from no other core: it writes a frame to the
 * shared memory, calls ethosgen_handover_take(line, number) and sets element_event; then
 * link_give_back(line, number) gives the room back. It takes the frames of lines that lead to no other
 * core: link_give(line, number) announces one, which is in the shared memory until the application
 * calls ethosgen_handover_take_back(line, number). Define both functions without `weak`. */
__attribute__((weak)) void link_give(uint32_t line, uint8_t byte)
{
    (void)line;
    (void)byte;
}

__attribute__((weak)) void link_give_back(uint32_t line, uint8_t byte)
{
    (void)line;
    (void)byte;
}

void ethosgen_handover_put(uint32_t line, uint8_t byte)
{
    if (lines[ETHOSGEN_HANDOVER_LINES_BEFORE + line].is_application) {
        link_give(line, byte);
    } else {
        ring(lines[ETHOSGEN_HANDOVER_LINES_BEFORE + line].send, byte);
    }
}

void ethosgen_handover_put_back(uint32_t line, uint8_t byte)
{
    if (lines[line].is_application) {
        link_give_back(line, byte);
    } else {
        ring(lines[line].send, byte);
    }
}

void ethosgen_handover_flush(void)
{
    /* Bytes are sent at once. */
}

static void count(uint32_t started)
{
    element_event = true;
    element_interrupts++;
    element_interrupt_ticks += board_ticks() - started + ENTRY_TICKS;
}

static void answer(uint32_t i, uint32_t line, void (*take)(uint32_t line, uint8_t byte))
{
    uint32_t bells = CH_ST(lines[i].receive) & BELLS;

    CH_CLR(lines[i].receive) = bells;
    while ((bells & 1u << (next[i] & 1u)) != 0) {
        bells &= ~(1u << (next[i] & 1u));
        take(line, (uint8_t)next[i]);
        next[i]++;
    }
}
{% for mhu in handover.links %}

void Link_{{ loop.index0 }}_Handler(void)
{
    uint32_t started = board_ticks();

{% if loop.index0 < handover.before|length %}
    answer({{ loop.index0 }}u, {{ loop.index0 }}u, ethosgen_handover_take);
{% else %}
    answer({{ loop.index0 }}u, {{ loop.index0 - handover.before|length }}u, ethosgen_handover_take_back);
{% endif %}
    count(started);
}
{% endfor %}
