/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs this element's part of a network on the frames from the elements before.
 *
 * Generated once by ethosgen; yours from now on.
 */
#ifndef ELEMENT_H
#define ELEMENT_H

#include "server.h"

#include <stdbool.h>

/* Set by interrupts: there may be something to do. */
extern volatile bool element_event;

/* The links' interrupts: their number, and their ticks. */
extern volatile uint32_t element_interrupts;
extern volatile uint32_t element_interrupt_ticks;

/* The ticks of waits until a link accepted more. */
extern uint32_t element_wait_ticks;

/* Return board_ticks() without the ticks of the links' interrupts, which have their own figure. */
uint32_t element_elapsed(void);

/* Return the ticks of this element's own work: neither interrupts of the links nor waits for them. */
uint32_t element_ticks(void);

/* What this element has done since HELLO; the host asks for it. */
struct element_report {
    uint32_t received; /* frames */
    uint32_t sent;
    uint32_t status;             /* of the last frame handed on */
    uint32_t interrupts;         /* of the links */
    uint32_t interrupt_ticks[2]; /* low word, high word, as all below */
    uint32_t receive_ticks[2];
    uint32_t run_ticks[2];
    uint32_t send_ticks[2];
    uint32_t npu_cycles[2];
    uint32_t most_run_ticks;
    uint32_t most_npu_cycles;
    uint32_t stack_bytes;
    uint32_t run_stack_bytes; /* the most of one run */
    uint32_t waiting;         /* a bit for each hand-over by which the next frame has arrived */
};

/* Forget all frames: a session begins. */
void element_reset(void);

const struct element_report *element_report(void);

/* Serve the links and the console until the host says goodbye; return the number of failed runs. */
uint32_t element_run(const struct server_firmware *firmware);

#endif /* ELEMENT_H */
