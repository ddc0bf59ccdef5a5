/*
 * Frames on a serial line: each is COBS-encoded, ends with a zero byte, and carries a CRC-32.
 *
 *     type (1) | sequence number (1) | body | CRC-32 of all before (4, little endian)
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

/* Receive one byte; may be called from an interrupt. Bytes that come while a whole frame waits are
 * dropped: the other side sends one request at a time and repeats what gets lost. */
void frames_take(uint8_t byte);

/* True while something that ends like a frame waits to be fetched. */
extern volatile bool frames_waiting;

/* Fetch the frame that waits; false if it is damaged, and then it is gone. A fetched frame is valid
 * until frames_release(), which must come before its answer is sent: the next one may follow at
 * once. */
bool frames_fetch(struct frame *frame);
void frames_release(void);

/* Send a frame whose body is in two parts, the second may be NULL and empty. */
void frames_send(uint8_t type, uint8_t sequence, const void *head, uint32_t head_bytes,
                 const void *tail, uint32_t tail_bytes);

#endif /* FRAMES_H */
