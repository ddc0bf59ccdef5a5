/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * {{ board.description }}: a router in a mesh of elements, on the lines to its neighbours, CMSDK UARTs.
 *
 * Frames travel in packets, first along the row and then along the column. A packet is stored, checked
 * and then passed on. A byte back to the neighbour returns the room of a packet, so a packet is never
 * sent without room. Packets that wait for each other form no circle, and an element always takes those
 * for itself, because the frames have room in it already: no packet waits forever.
 *
 * The UARTs hold one byte. The longest interrupt unpacks a whole packet, and must end before another line
 * has received two bytes: on QEMU it always does; on a board, choose the baud rate accordingly.
 *
 * Generated once by ethosgen; yours from now on.
 */
#include "link.h"

#include "board.h"
#include "cmsdk_uart.h"
#include "element.h"
#include "ethosgen_handover.h"
#include "startup.h"

#include <stddef.h>

/* The ports: north, east, south, west, and this element itself. */
enum { SIDES = 4, OWN = SIDES, PORTS };
enum { NODES = {{ handover.mesh.ports|length }} }; /* the elements, and then the host */

/* A packet: start, receiver, its line, the bytes of the payload, the payload, and a CRC-16 of all
 * after the start, low byte first. */
enum { AT_NODE = 1, AT_LINE, AT_COUNT, HEADER_BYTES, MOST_BYTES = {{ handover.mesh.packet_bytes }}, CRC_BYTES = 2 };
enum { ROOM = 2 }; /* packets at each port */
#define START 0xA5u
#define CREDIT 0x5Au /* instead of a packet's start: room for one more */
#define BACK 0x80u   /* in a packet's line: the payload gives room of frames back */
#define CRC_START 0xFFFFu

static const struct {
    uint32_t base;
    uint32_t divider;
    uint32_t irq;
    uint32_t tx_irq; /* which may be the same */
    bool is_used;
} sides[SIDES] = {
{% for uart in handover.links %}
    {{ '{' }}0x{{ "%08x"|format(uart.base_addr) }}u, {{ uart.clock_hz }}u / {{ uart.baud }}u, IRQ_LINK_{{ loop.index0 }}, IRQ_LINK_{{ loop.index0 }}{{ "_TX" if uart.tx_irq is not none }}, {{ "true" if handover.mesh.sides[loop.index0] else "false" }}},
{% endfor %}
};

/* The port to each node. */
static const uint8_t port_to[NODES] = {
    {{ handover.mesh.ports|join(", ") }},
};

/* The other end of each line: a node, and the line's number there. */
struct end {
    uint8_t node;
    uint8_t line;
};
static const struct end ends_before[ETHOSGEN_HANDOVER_LINES_BEFORE] = {
{% for node, line in handover.mesh.ends_before %}
    {{ '{' }}{{ node }}u, {{ line }}u | BACK},
{% endfor %}
};
static const struct end ends_behind[ETHOSGEN_HANDOVER_LINES_BEHIND] = {
{% for node, line in handover.mesh.ends_behind %}
    {{ '{' }}{{ node }}u, {{ line }}u},
{% endfor %}
};

struct packet {
    uint8_t bytes[HEADER_BYTES + MOST_BYTES + CRC_BYTES];
};

/* The packets that have arrived at each port and wait, from the oldest on. */
static struct packet packets[PORTS][ROOM];
static volatile uint32_t first[PORTS];
static volatile uint32_t held[PORTS];

static struct {
    uint32_t count; /* bytes of the arriving packet */
    uint16_t crc;
} arriving[SIDES];

static struct {
    bool is_busy;     /* a byte is on its way */
    uint32_t source;  /* the port whose oldest packet is being sent, PORTS: none */
    uint32_t sent;    /* bytes of it */
    uint32_t last;    /* the port that sent before, for turns */
    uint32_t credits; /* packets for which the neighbour has room */
    uint32_t owed;    /* credits for the neighbour */
} leaving[SIDES];

static struct packet *filling; /* the packet that this element is writing */
static uint32_t filled;        /* its bytes */

volatile uint32_t link_damaged;

static uint16_t crc16(uint16_t crc, uint8_t byte)
{
    uint32_t value = ((uint32_t)crc >> 8 | (uint32_t)crc << 8) & 0xFFFFu;

    value ^= byte;
    value ^= (value & 0xFFu) >> 4;
    value ^= value << 12 & 0xFFFFu;
    value ^= (value & 0xFFu) << 5;
    return (uint16_t)value;
}

static struct packet *oldest(uint32_t port)
{
    return &packets[port][first[port] % ROOM];
}

static struct packet *free_room(uint32_t port)
{
    return &packets[port][(first[port] + held[port]) % ROOM];
}

static uint32_t size_of(const struct packet *packet)
{
    return HEADER_BYTES + packet->bytes[AT_COUNT] + CRC_BYTES;
}

void link_init(void)
{
    for (uint32_t port = 0; port < PORTS; port++) {
        first[port] = 0;
        held[port] = 0;
    }
    filling = NULL;
    link_damaged = 0;
    for (uint32_t side = 0; side < SIDES; side++) {
        arriving[side].count = 0;
        leaving[side].is_busy = false;
        leaving[side].source = PORTS;
        leaving[side].last = 0;
        leaving[side].credits = ROOM;
        leaving[side].owed = 0;
        if (sides[side].is_used) {
            uart_init(sides[side].base, sides[side].divider, sides[side].irq);
            UART_CTRL(sides[side].base) |= UART_CTRL_TX_IRQ;
            NVIC_ISER(sides[side].tx_irq) = NVIC_BIT(sides[side].tx_irq);
        }
    }
}

static void deliver(const struct packet *packet)
{
    uint32_t line = packet->bytes[AT_LINE];

    for (uint32_t i = 0; i < packet->bytes[AT_COUNT]; i++) {
        uint8_t byte = packet->bytes[HEADER_BYTES + i];

        if ((line & BACK) != 0) {
            ethosgen_handover_take_back(line & ~BACK, byte);
        } else {
            ethosgen_handover_take(line, byte);
        }
    }
}

/* Return the port whose oldest packet leaves by a side next, in turns; PORTS if there is none. */
static uint32_t next_source(uint32_t side)
{
    for (uint32_t i = 1; i <= PORTS; i++) {
        uint32_t port = (leaving[side].last + i) % PORTS;

        if (held[port] != 0 && port_to[oldest(port)->bytes[AT_NODE]] == side) {
            return port;
        }
    }
    return PORTS;
}

static void send_byte(uint32_t side, uint8_t byte)
{
    leaving[side].is_busy = true;
    UART_DATA(sides[side].base) = byte;
}

/* Send the next byte of a side, if there is one and none is on its way. */
static void advance(uint32_t side)
{
    if (leaving[side].is_busy) {
        return;
    }
    if (leaving[side].source == PORTS) {
        if (leaving[side].owed != 0) {
            leaving[side].owed--;
            send_byte(side, CREDIT);
            return;
        }
        uint32_t source = leaving[side].credits == 0 ? PORTS : next_source(side);
        if (source == PORTS) {
            return;
        }
        leaving[side].credits--;
        leaving[side].source = source;
        leaving[side].last = source;
        leaving[side].sent = 0;
    }
    send_byte(side, oldest(leaving[side].source)->bytes[leaving[side].sent]);
    leaving[side].sent++;
}

/* Pass on what a port holds: packets for this element at once, the oldest other one to its side. */
static void serve(uint32_t port)
{
    while (held[port] != 0) {
        uint32_t to = port_to[oldest(port)->bytes[AT_NODE]];

        if (to != OWN) {
            advance(to);
            return;
        }
        deliver(oldest(port));
        first[port]++;
        held[port]--;
        leaving[port].owed++;
        advance(port);
    }
}

static void sent(uint32_t side)
{
    uint32_t source = leaving[side].source;

    leaving[side].is_busy = false;
    if (source != PORTS && leaving[side].sent == size_of(oldest(source))) {
        leaving[side].source = PORTS;
        first[source]++;
        held[source]--;
        if (source < SIDES) {
            leaving[source].owed++;
            advance(source);
        }
        serve(source);
    }
    advance(side);
}

/* Take the last byte of a packet. */
static void complete(uint32_t side)
{
    uint32_t end = arriving[side].count - CRC_BYTES;
    const uint8_t *bytes = free_room(side)->bytes;

    arriving[side].count = 0;
    if ((bytes[end] | (uint32_t)bytes[end + 1] << 8) != arriving[side].crc || bytes[AT_NODE] >= NODES) {
        link_damaged++;
        leaving[side].owed++;
        advance(side);
        return;
    }
    held[side]++;
    serve(side);
}

static void arrive(uint32_t side, uint8_t byte)
{
    uint32_t count = arriving[side].count;

    if (count == 0 && byte == CREDIT) {
        leaving[side].credits++;
        advance(side);
        return;
    }
    if (count == 0 && (byte != START || held[side] == ROOM)) {
        link_damaged++;
        return;
    }
    uint8_t *bytes = free_room(side)->bytes;
    bytes[count] = byte;
    if (count == 0) {
        arriving[side].crc = CRC_START;
    } else if (count < HEADER_BYTES || count < (uint32_t)HEADER_BYTES + bytes[AT_COUNT]) {
        arriving[side].crc = crc16(arriving[side].crc, byte);
    }
    count++;
    arriving[side].count = count;
    if (count == HEADER_BYTES && bytes[AT_COUNT] > MOST_BYTES) {
        bytes[AT_COUNT] = 0; /* damaged: the CRC will not fit */
    }
    if (count >= HEADER_BYTES && count == (uint32_t)HEADER_BYTES + bytes[AT_COUNT] + CRC_BYTES) {
        complete(side);
    }
}

/* The packet of this element is complete: interrupts carry it on. */
static void flush(void)
{
    if (filling == NULL) {
        return;
    }
    uint16_t crc = CRC_START;
    filling->bytes[AT_COUNT] = (uint8_t)(filled - HEADER_BYTES);
    for (uint32_t i = AT_NODE; i < filled; i++) {
        crc = crc16(crc, filling->bytes[i]);
    }
    filling->bytes[filled] = (uint8_t)crc;
    filling->bytes[filled + 1] = (uint8_t)(crc >> 8);
    filling = NULL;

    __asm volatile("cpsid i" ::: "memory");
    held[OWN]++;
    serve(OWN);
    __asm volatile("cpsie i" ::: "memory");
}

static void put(struct end end, uint8_t byte)
{
    if (filling != NULL && (filling->bytes[AT_NODE] != end.node || filling->bytes[AT_LINE] != end.line)) {
        flush();
    }
    if (filling == NULL) {
        uint32_t started = element_elapsed();

        while (held[OWN] == ROOM) {
        }
        element_wait_ticks += element_elapsed() - started;
        __asm volatile("cpsid i" ::: "memory"); /* an interrupt may take the oldest packet meanwhile */
        filling = free_room(OWN);
        __asm volatile("cpsie i" ::: "memory");
        filling->bytes[0] = START;
        filling->bytes[AT_NODE] = end.node;
        filling->bytes[AT_LINE] = end.line;
        filled = HEADER_BYTES;
    }
    filling->bytes[filled] = byte;
    filled++;
    if (filled == HEADER_BYTES + MOST_BYTES) {
        flush();
    }
}

void ethosgen_handover_put(uint32_t line, uint8_t byte)
{
    put(ends_behind[line], byte);
}

void ethosgen_handover_put_back(uint32_t line, uint8_t byte)
{
    put(ends_before[line], byte);
    flush();
}

void ethosgen_handover_flush(void)
{
    flush();
}

/* The time before and after the measurement below: about twelve instructions. */
#define ENTRY_TICKS (BOARD_TICKS_HZ / 1000000u * 3u / 4u)

static void answer(uint32_t side)
{
    uint32_t started = board_ticks();
    uint32_t reasons = UART_INTSTATUS(sides[side].base);

    /* Acknowledge first: a byte that arrives after DATA was read must raise its own interrupt. */
    UART_INTCLEAR(sides[side].base) = reasons;
    if ((reasons & UART_INT_RX) != 0) {
        arrive(side, (uint8_t)UART_DATA(sides[side].base));
    }
    if ((reasons & UART_INT_TX) != 0) {
        sent(side);
    }
    element_event = true;
    element_interrupts++;
    element_interrupt_ticks += board_ticks() - started + ENTRY_TICKS;
}
{% for _ in handover.links %}

void Link_{{ loop.index0 }}_Handler(void)
{
    answer({{ loop.index0 }}u);
}
{% endfor %}
