/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Serves inferences over the console: each request is a frame (frames.h), and so is each answer.
 *
 * The other side sends a request, waits for the answer, and repeats the request if none comes. So
 * every request can be served twice without harm: reads and writes contain their offset, and a run
 * contains its number.
 *
 * Generated once by ethosgen; yours from now on.
 */
#ifndef SERVER_H
#define SERVER_H

#include "ethosgen_networks.h"

#include <stdint.h>

#define SERVER_PROTOCOL 3u
#define SERVER_NPU_EVENTS 4

/* The result and the cost of one inference. */
struct server_run {
    uint32_t status;      /* an ethosgen_status; 0: success */
    uint32_t npu_status;  /* the NPU's STATUS and QREAD at the end */
    uint32_t npu_qread;
    uint32_t cpu_ticks;   /* outside the wait for the NPU */
    uint32_t stack_bytes; /* the largest use since the start */
    uint32_t run_stack_bytes; /* the use of this inference; 0: unknown */
    uint32_t npu_cycles[2];                /* counted by the NPU's PMU: low word, high word */
    uint32_t npu_event[SERVER_NPU_EVENTS]; /* the events that were counted; 0: none */
    uint32_t npu_count[SERVER_NPU_EVENTS];
};

struct server_firmware {
    uint32_t init_status; /* 0: ready */
    uint32_t init_ticks;
    uint32_t ticks_hz;
    void (*run)(const struct ethosgen_network *network, struct server_run *result);
};

/* Serve the networks of ethosgen_networks.h until the other side says goodbye; return the number of
 * runs that failed. */
uint32_t server_run(const struct server_firmware *firmware);

/* A processor fault. A stack that is used up has overflowed. */
struct server_fault {
    uint32_t cfsr; /* the fault status register */
    uint32_t pc;   /* the program counter, 0: unknown */
    uint32_t stack_bytes;
    uint32_t stack_used;
};

/* Report it to the other side. */
void server_fault(const struct server_fault *fault);

#endif /* SERVER_H */
