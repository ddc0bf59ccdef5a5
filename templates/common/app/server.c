/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Serves inferences over the console; see server.h.
 *
 * All numbers are little endian, as on the processor.
 *
 * Generated once by ethosgen; yours from now on.
 */
#include "server.h"

#include "board.h"
{% if handover %}
#include "element.h"
{% endif %}
#include "frames.h"
#include "profile.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Requests; an answer has the request's type with the highest bit set. */
enum {
    HELLO = 1,  /*                            -> struct hello, the first network's name          */
    INPUT = 2,  /* struct place, bytes        ->                                                 */
    RUN = 3,    /* number of the run (4),
                   network (4)                -> number (4), struct server_run                   */
    OUTPUT = 4, /* struct place, count (4)    -> bytes                                           */
    END = 5,    /*                            -> runs (4), failed runs (4): the end marker       */
    BYE = 6,    /* end marker received        -> no answer                                       */
#ifdef ETHOSGEN_PROFILE
    PROFILE = 9, /* first place (4)           -> places (4), struct profile_hook, counts from there
                                                 on: as many struct profile_count as fit          */
#endif
{% if handover %}
    REPORT = 7, /*                            -> struct element_report                           */
{% endif %}
    ANSWER = 0x80,
    RESTARTED = 0xFD, /* answer to any other request before HELLO: no session is open */
    REFUSED = 0xFE, /* answer to an invalid request */
    FAULT = 0xFF    /* sent without a request: struct server_fault */
};

struct hello {
    uint32_t protocol;
    uint32_t body_max;
    uint32_t ticks_hz;
    uint32_t init_status;
    uint32_t init_ticks;
    char digest[16];
    uint8_t input_count; /* inputs and outputs of all networks together */
    uint8_t output_count;
    uint8_t network_count;
{% if secure %}
    uint8_t security; /* what the secure side confirms: see secure/veneers.h */
{% else %}
    uint8_t reserved;
{% endif %}
};

struct place {
    uint16_t port;
    uint16_t network;
    uint32_t offset;
};

static struct server_state {
    const struct server_firmware *firmware;
    bool is_greeted;
    uint32_t last_number;
    uint32_t runs;
    uint32_t failed;
    struct server_run last;
} server;

static uint32_t word(const struct frame *frame, uint32_t offset)
{
    uint32_t value = 0;
    (void)memcpy((uint8_t *)&value, frame->body + offset, sizeof value);
    return value;
}

static void answer(const struct frame *frame, const void *head, uint32_t head_bytes,
                   const void *tail, uint32_t tail_bytes)
{
    frames_release();
    frames_send((uint8_t)(frame->type | ANSWER), frame->sequence, head, head_bytes, tail,
                tail_bytes);
}

/* Begin a session, and forget the last one. */
static void say_hello(const struct frame *frame)
{
    const struct server_firmware *firmware = server.firmware;

    server.is_greeted = true;
    server.last_number = 0;
    server.runs = 0;
    server.failed = 0;
{% if handover %}
    element_reset();
{% endif %}
    struct hello hello = {
        .protocol = SERVER_PROTOCOL,
        .body_max = FRAME_BODY_MAX,
        .ticks_hz = firmware->ticks_hz,
        .init_status = firmware->init_status,
        .init_ticks = firmware->init_ticks,
        .network_count = ETHOSGEN_NETWORKS,
{% if secure %}
        .security = (uint8_t)firmware->security,
{% endif %}
    };
    for (uint32_t i = 0; i < (uint32_t)ETHOSGEN_NETWORKS; i++) {
        const struct ethosgen_network *network = &ethosgen_networks[i];

        if (network->reset != NULL) {
            network->reset();
        }
        hello.input_count = (uint8_t)(hello.input_count + network->input_count);
        hello.output_count = (uint8_t)(hello.output_count + network->output_count);
    }
    (void)memcpy(hello.digest, ETHOSGEN_DIGEST, sizeof hello.digest);
    const char *name = ethosgen_networks[0].name;
    answer(frame, &hello, sizeof hello, name, (uint32_t)strlen(name));
}

/* Return the address of `bytes` bytes at a request's place, or NULL if they are out of range. */
static uint8_t *find(const struct frame *frame, bool is_output, uint32_t bytes)
{
    struct place place;

    (void)memcpy((uint8_t *)&place, frame->body, sizeof place);
    if (place.network >= (uint32_t)ETHOSGEN_NETWORKS) {
        return NULL;
    }
    const struct ethosgen_network *network = &ethosgen_networks[place.network];
    if (place.port >= (is_output ? network->output_count : network->input_count)) {
        return NULL;
    }
    const struct ethosgen_port *port =
        is_output ? &network->outputs[place.port] : &network->inputs[place.port];
    if (place.offset > port->bytes || bytes > port->bytes - place.offset) {
        return NULL;
    }
    return (uint8_t *)port->buffer + place.offset;
}

{% if networks[0].feed %}
static struct input_state {
    uint8_t rows[SERVER_FEED_ROWS * {{ networks[0].inputs[0].bytes // networks[0].feed.rows }}];
    uint32_t bytes; /* of the input until now */
    uint32_t given;
} input;

/* Give the rows that have arrived, as many at a time as there is room for. */
static bool give_rows(const struct ethosgen_network *network)
{
    uint32_t first = input.given / network->row_bytes;
    uint32_t count = (input.bytes - input.given) / network->row_bytes;

    input.given = input.bytes;
    return server.firmware->feed(input.rows, first, count) == ETHOSGEN_OK;
}

static bool take_rows(const struct ethosgen_network *network, const uint8_t *from, uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes; i++) {
        input.rows[input.bytes - input.given] = from[i];
        input.bytes++;
        bool is_full = input.bytes - input.given == sizeof input.rows;
        bool is_last = input.bytes == network->inputs[0].bytes;
        if ((is_full || is_last) && !give_rows(network)) {
            return false;
        }
    }
    return true;
}

static bool take_input(const struct frame *frame)
{
    const struct ethosgen_network *network = &ethosgen_networks[0];
    struct place place;

    if (frame->body_bytes < sizeof place) {
        return false;
    }
    (void)memcpy((uint8_t *)&place, frame->body, sizeof place);
    uint32_t bytes = frame->body_bytes - (uint32_t)sizeof place;
    if (place.network != 0 || place.port != 0 || place.offset > network->inputs[0].bytes ||
        bytes > network->inputs[0].bytes - place.offset) {
        return false;
    }
    if (place.offset == 0) {
        input.bytes = 0;
        input.given = 0;
    }
    bool is_new = place.offset == input.bytes; /* the rows of a repeated request are already here */
    if (place.offset > input.bytes ||
        (is_new && !take_rows(network, frame->body + sizeof place, bytes))) {
        return false;
    }
    answer(frame, NULL, 0, NULL, 0);
    return true;
}
{% else %}
static bool take_input(const struct frame *frame)
{
    if (frame->body_bytes < sizeof(struct place)) {
        return false;
    }
    uint32_t bytes = frame->body_bytes - (uint32_t)sizeof(struct place);
    uint8_t *to = find(frame, false, bytes);
    if (to == NULL) {
        return false;
    }
    (void)memcpy(to, frame->body + sizeof(struct place), bytes);
    answer(frame, NULL, 0, NULL, 0);
    return true;
}
{% endif %}

{% if handover %}
void server_run_network(const struct server_firmware *firmware,
                        const struct ethosgen_network *network, struct server_run *result)
{
    firmware->run(network, result);
    server.runs++;
    server.failed += result->status != ETHOSGEN_OK && result->status != ETHOSGEN_NOT_READY;
}

{% endif %}
static bool run(const struct frame *frame)
{
    if (frame->body_bytes != 2u * sizeof(uint32_t)) {
        return false;
    }
    uint32_t number = word(frame, 0);
    uint32_t network = word(frame, sizeof number);
    if (network >= (uint32_t)ETHOSGEN_NETWORKS) {
        return false;
    }
    /* A repeated request gets the old answer: the inputs may have been overwritten. */
    if (number != server.last_number) {
{% if handover %}
        server_run_network(server.firmware, &ethosgen_networks[network], &server.last);
        server.last_number = number;
{% else %}
        server.firmware->run(&ethosgen_networks[network], &server.last);
        server.last_number = number;
        server.runs++;
        server.failed += server.last.status != ETHOSGEN_OK &&
                         server.last.status != ETHOSGEN_NOT_READY;
{% endif %}
    }
    answer(frame, &number, sizeof number, &server.last, sizeof server.last);
    return true;
}

static bool give_output(const struct frame *frame)
{
    if (frame->body_bytes != sizeof(struct place) + sizeof(uint32_t)) {
        return false;
    }
    uint32_t bytes = word(frame, sizeof(struct place));
    const uint8_t *from = find(frame, true, bytes);
    if (from == NULL || bytes > FRAME_BODY_MAX) {
        return false;
    }
    answer(frame, from, bytes, NULL, 0);
    return true;
}

#ifdef ETHOSGEN_PROFILE
struct profile_head {
    uint32_t places;
    struct profile_hook hook;
};

static bool give_profile(const struct frame *frame)
{
    const uint32_t most = (FRAME_BODY_MAX - sizeof(struct profile_head)) / sizeof(struct profile_count);
    const struct profile_head head = {PROFILE_PLACES, *profile_hook()};

    if (frame->body_bytes != sizeof(uint32_t) || word(frame, 0) >= head.places) {
        return false;
    }
    uint32_t first = word(frame, 0);
    uint32_t left = head.places - first;
    uint32_t count = left < most ? left : most;
    answer(frame, &head, sizeof head, &profile_counts()[first],
           count * (uint32_t)sizeof(struct profile_count));
    return true;
}

#endif
static bool serve(const struct frame *frame)
{
    switch (frame->type) {
    case HELLO:
        say_hello(frame);
        return true;
    case INPUT:
        return take_input(frame);
    case RUN:
        return run(frame);
    case OUTPUT:
        return give_output(frame);
    case END:
        answer(frame, &server.runs, sizeof server.runs, &server.failed, sizeof server.failed);
        return true;
#ifdef ETHOSGEN_PROFILE
    case PROFILE:
        return give_profile(frame);
#endif
{% if handover %}
    case REPORT:
        answer(frame, element_report(), sizeof(struct element_report), NULL, 0);
        return true;
{% endif %}
    default:
        return false;
    }
}

{% if handover %}
void server_begin(const struct server_firmware *firmware)
{
    server.firmware = firmware;
}

uint32_t server_failed(void)
{
    return server.failed;
}

bool server_serve(void)
{
    struct frame frame;

    if (!frames_fetch(&frame)) {
        return true;
    }
    if (frame.type != HELLO && !server.is_greeted) {
        frames_release();
        frames_send(RESTARTED, frame.sequence, NULL, 0, NULL, 0);
        return true;
    }
    if (frame.type == BYE) {
        return false;
    }
    if (!serve(&frame)) {
        frames_release();
        frames_send(REFUSED, frame.sequence, NULL, 0, NULL, 0);
    }
    return true;
}
{% else %}
uint32_t server_run(const struct server_firmware *firmware)
{
    server.firmware = firmware;
    for (;;) {
        struct frame frame;

        board_wait(&frames_waiting);
        if (!frames_fetch(&frame)) {
            continue;
        }
        if (frame.type != HELLO && !server.is_greeted) {
            frames_release();
            frames_send(RESTARTED, frame.sequence, NULL, 0, NULL, 0);
            continue;
        }
        if (frame.type == BYE) {
            return server.failed;
        }
        if (!serve(&frame)) {
            frames_release();
            frames_send(REFUSED, frame.sequence, NULL, 0, NULL, 0);
        }
    }
}
{% endif %}

void server_fault(const struct server_fault *fault)
{
    frames_send(FAULT, 0, fault, sizeof *fault, NULL, 0);
}
