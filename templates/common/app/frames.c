/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames on a serial line; see frames.h.
 *
 * Generated once by ethosgen; yours from now on.
 */
#include "frames.h"

#include "board.h"

#include <stdatomic.h>
#include <stddef.h>

#define HEADER_BYTES 2u
#define CRC_BYTES 4u
#define FRAME_MAX (HEADER_BYTES + FRAME_BODY_MAX + CRC_BYTES)

/* A COBS group: a count, then count - 1 bytes that are not zero; a zero follows unless the count is
 * 255 or the frame ends. */
#define COBS_FULL 0xFFu

volatile bool frames_waiting;
bool (*frames_reader)(uint8_t byte);

static struct received_state {
    uint8_t bytes[FRAME_MAX];
    uint32_t count;
    uint8_t group_left; /* bytes still missing in this group */
    bool zero_due;      /* a zero follows this group, unless the frame ends */
    bool is_bad;
} received;

static void start_afresh(void)
{
    received.count = 0;
    received.group_left = 0;
    received.zero_due = false;
    received.is_bad = false;
}

static void append(uint8_t byte)
{
    if (received.count == FRAME_MAX) {
        received.is_bad = true;
        return;
    }
    received.bytes[received.count++] = byte;
}

void frames_take(uint8_t byte)
{
    if (frames_waiting) {
        return;
    }
    if (frames_reader != NULL) {
        frames_waiting = frames_reader(byte);
        return;
    }
    if (byte == 0u) {
        if (received.group_left != 0u || received.is_bad || received.count < HEADER_BYTES + CRC_BYTES) {
            start_afresh();
        } else {
            atomic_signal_fence(memory_order_seq_cst); /* write the frame before the flag */
            frames_waiting = true;
        }
        return;
    }
    if (received.group_left != 0u) {
        received.group_left--;
        append(byte);
        return;
    }
    if (received.zero_due) {
        append(0);
    }
    received.group_left = (uint8_t)(byte - 1u);
    received.zero_due = byte != COBS_FULL;
}

/* CRC-32 as in zlib and Ethernet: polynomial 0x04C11DB7, reflected. Computed bit by bit: small, and
 * faster than a serial line. */
static uint32_t crc32(uint32_t crc, const uint8_t *bytes, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ (0xEDB88320u & (0u - (crc & 1u)));
        }
    }
    return crc;
}

bool frames_fetch(struct frame *frame)
{
    uint32_t count = received.count - CRC_BYTES;
    const uint8_t *sum = &received.bytes[count];
    uint32_t wanted =
        sum[0] | (uint32_t)sum[1] << 8 | (uint32_t)sum[2] << 16 | (uint32_t)sum[3] << 24;

    if (~crc32(UINT32_MAX, received.bytes, count) != wanted) {
        frames_release();
        return false;
    }
    frame->type = received.bytes[0];
    frame->sequence = received.bytes[1];
    frame->body = &received.bytes[HEADER_BYTES];
    frame->body_bytes = count - HEADER_BYTES;
    return true;
}

void frames_release(void)
{
    start_afresh();
    atomic_signal_fence(memory_order_seq_cst);
    frames_waiting = false;
}

/* COBS needs the distance to the next zero, so bytes wait until it is known. */
static struct sending_state {
    uint8_t held[COBS_FULL - 1u];
    uint32_t count;
} sending;

static void end_group(void)
{
    console_put((uint8_t)(sending.count + 1u));
    for (uint32_t i = 0; i < sending.count; i++) {
        console_put(sending.held[i]);
    }
    sending.count = 0;
}

static void send(const uint8_t *bytes, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (bytes[i] == 0u) {
            end_group();
            continue;
        }
        sending.held[sending.count++] = bytes[i];
        if (sending.count == COBS_FULL - 1u) {
            end_group();
        }
    }
}

void frames_send(uint8_t type, uint8_t sequence, const void *head, uint32_t head_bytes,
                 const void *tail, uint32_t tail_bytes)
{
    const uint8_t header[HEADER_BYTES] = {type, sequence};
    uint32_t crc = crc32(UINT32_MAX, header, HEADER_BYTES);

    crc = crc32(crc, head, head_bytes);
    crc = ~crc32(crc, tail, tail_bytes);
    const uint8_t sum[CRC_BYTES] = {(uint8_t)crc, (uint8_t)(crc >> 8), (uint8_t)(crc >> 16),
                                    (uint8_t)(crc >> 24)};

    console_put(0); /* ends any noise that was received before */
    sending.count = 0;
    send(header, HEADER_BYTES);
    send(head, head_bytes);
    send(tail, tail_bytes);
    send(sum, CRC_BYTES);
    end_group();
    console_put(0);
}
