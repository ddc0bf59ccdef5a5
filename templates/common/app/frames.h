/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames on a serial line: each is COBS-encoded, ends with a zero byte, and carries a CRC-32.
 *
 *     type (1) | sequence number (1) | body | CRC-32 of the bytes before (4, little endian)
 *
 * Generated once by ethosgen; yours from now on.
 */
#ifndef FRAMES_H
#define FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#define FRAME_BODY_MAX 1024u

struct frame {
    uint8_t type;
    uint8_t sequence;
    uint32_t body_bytes;
    const uint8_t *body;
};

/* Set this to take received bytes yourself, for a console that speaks another protocol. It returns
 * true when something is ready to fetch; set frames_waiting to false then, to receive more. */
extern bool (*frames_reader)(uint8_t byte);

/* Receive one byte; may be called from an interrupt. Bytes that arrive while a complete frame waits
 * are dropped: the other side sends one request at a time, and repeats it if it is lost. */
void frames_take(uint8_t byte);

/* True while a possible frame waits to be fetched. */
extern volatile bool frames_waiting;

/* Fetch the waiting frame; return false and drop it if it is damaged. A fetched frame is valid until
 * frames_release(). Call that before you send the answer: the next request may follow at once. */
bool frames_fetch(struct frame *frame);
void frames_release(void);

/* Send a frame. Its body is in two parts; the second may be empty and NULL. */
void frames_send(uint8_t type, uint8_t sequence, const void *head, uint32_t head_bytes,
                 const void *tail, uint32_t tail_bytes);

#endif /* FRAMES_H */
