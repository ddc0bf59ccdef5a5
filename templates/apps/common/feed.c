/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes the application's input from the host; see feed.h.
 *
 * The messages are frames (frames.h), like those of "ethosgen run --harness": the host sends a
 * request, waits for its answer, and repeats it if none comes. So each may arrive twice without harm.
 * The application's lines of text are between the frames.
 *
 * Generated once by ethosgen; yours from now on.
 */
#include "feed.h"

#include "board.h"
#include "busy.h"
#include "frames.h"
#include "report.h"

#include "ethosgen_networks.h"

#include <stddef.h>
#include <string.h>

#define FEED_PROTOCOL 258u /* other than SERVER_PROTOCOL of server.h */

/* Requests; an answer has the request's type with the highest bit set. */
enum {
    HELLO = 1, /*                                   -> struct hello: a new input begins          */
    DATA = 16, /* struct place, bytes of an item    ->                                           */
    END = 5,   /* items (4)                         -> struct ending: the input has ended        */
    BYE = 6,   /* ending received                   -> no answer                                 */
    ANSWER = 0x80,
    RESTARTED = 0xFD, /* answer to any other request before HELLO */
    REFUSED = 0xFE    /* answer to an invalid request */
};

struct hello {
    uint32_t protocol;
    uint32_t body_max;
    uint32_t item_bytes;
    char digest[16];
};

struct place {
    uint32_t item; /* counts from 0 */
    uint32_t offset;
};

struct ending {
    uint32_t items;
    uint32_t lines;
    uint32_t failures;
    uint32_t ticks_hz;
    uint32_t ticks[2]; /* of work, the lower half first */
};

static struct {
    uint32_t item_bytes;
    uint32_t items;    /* whole ones */
    uint32_t received; /* bytes of the next one */
    bool has_begun;    /* HELLO came while the application still worked on the last input */
    bool is_ending; /* END came; its answer follows when the application has reported everything */
    bool has_ended;
    struct frame ending;
} feed;

static void answer(const struct frame *frame, const void *body, uint32_t bytes)
{
    frames_release();
    frames_send((uint8_t)(frame->type | ANSWER), frame->sequence, body, bytes, NULL, 0);
}

static void decline(const struct frame *frame, uint8_t why)
{
    frames_release();
    frames_send(why, frame->sequence, NULL, 0, NULL, 0);
}

static void wait_for(struct frame *frame)
{
    do {
        board_wait(&frames_waiting);
    } while (!frames_fetch(frame));
}

static void say_hello(const struct frame *frame)
{
    struct hello hello = {
        .protocol = FEED_PROTOCOL,
        .body_max = FRAME_BODY_MAX,
        .item_bytes = feed.item_bytes,
    };

    memcpy(hello.digest, ETHOSGEN_DIGEST, sizeof hello.digest);
    feed.items = 0;
    feed.received = 0;
    feed.has_ended = false;
    report_restart();
    busy_restart();
    answer(frame, &hello, sizeof hello);
}

/* Copy a part of an item, unless it came before; return whether the item is whole. */
static bool take(const struct frame *frame, uint8_t *item)
{
    struct place place;
    uint32_t bytes = frame->body_bytes - (uint32_t)sizeof place;

    if (frame->body_bytes < sizeof place) {
        decline(frame, REFUSED);
        return false;
    }
    memcpy(&place, frame->body, sizeof place);
    if (place.item < feed.items || (place.item == feed.items && place.offset < feed.received)) {
        answer(frame, NULL, 0); /* a repetition */
        return false;
    }
    if (place.item != feed.items || place.offset != feed.received ||
        bytes > feed.item_bytes - feed.received) {
        decline(frame, REFUSED);
        return false;
    }
    memcpy(item + feed.received, frame->body + sizeof place, bytes);
    feed.received += bytes;
    bool is_whole = feed.received == feed.item_bytes;
    if (is_whole) {
        feed.items++;
        feed.received = 0;
    }
    answer(frame, NULL, 0);
    return is_whole;
}

static void tell_ending(const struct frame *frame)
{
    const uint64_t ticks = busy_ticks();
    const struct ending ending = {
        .items = feed.items,
        .lines = report_lines(),
        .failures = report_failures(),
        .ticks_hz = BOARD_TICKS_HZ,
        .ticks = {(uint32_t)ticks, (uint32_t)(ticks >> 32)},
    };

    feed.has_ended = true;
    answer(frame, &ending, sizeof ending);
}

bool feed_start(uint32_t item_bytes)
{
    feed.item_bytes = item_bytes;
    busy_end();
    if (feed.is_ending) {
        feed.is_ending = false;
        tell_ending(&feed.ending);
    }
    if (feed.has_begun) {
        feed.has_begun = false;
        return true;
    }
    for (;;) {
        struct frame frame;

        wait_for(&frame);
        if (frame.type == HELLO) {
            say_hello(&frame);
            return true;
        }
        if (frame.type == END && feed.has_ended) {
            tell_ending(&frame);
        } else if (frame.type == BYE) {
            frames_release();
            return false;
        } else {
            decline(&frame, RESTARTED);
        }
    }
}

bool feed_receive(void *item)
{
    busy_end();
    for (;;) {
        struct frame frame;

        wait_for(&frame);
        switch (frame.type) {
        case HELLO:
            say_hello(&frame);
            feed.has_begun = true;
            return false;
        case DATA:
            if (take(&frame, item)) {
                busy_begin();
                return true;
            }
            break;
        case END:
            feed.ending = frame;
            feed.is_ending = true;
            busy_begin();
            return false;
        default:
            decline(&frame, REFUSED);
            break;
        }
    }
}
