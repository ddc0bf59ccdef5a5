/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of an accelerator's functions on the machine that ethosgen runs on, and their memories.
 * `backend/wrapped/host_program.py` generates the tables.
 */
#ifndef ETHOSGEN_CALLS_HOST_H
#define ETHOSGEN_CALLS_HOST_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

enum kind { INPUT, OUTPUT, STATE, CONSTANT, SCRATCH };

/* Bytes of a call, between guards of GUARD_BYTES, a macro of the command line. `start` is NULL if any address
 * will do. */
struct memory {
    enum kind kind;
    size_t bytes;
    unsigned char *start;
    unsigned char *kept; /* of an input or a constant: its content */
};

/* A call of one or several functions; `*step` becomes the number of the last one that was called. */
struct part {
    int32_t (*call)(struct memory *memories, int32_t *step);
    struct memory *memories;
    size_t count;
};

extern struct part parts[];
extern const size_t part_count;
extern const size_t memory_alignment;

void begin_devices(void);
void end_of_loading(void);

#endif
