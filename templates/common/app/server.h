/*
 * Serves inferences over the console: requests come in frames (frames.h), each is answered by one.
 *
 * The other side sends a request, waits for the answer, and repeats the request if none comes. So
 * every request may be served twice without harm: writing and reading name their offset, and a run
 * names its number.
 *
 * Generated once by ethosgen; yours from now on.
 */
#ifndef SERVER_H
#define SERVER_H

#include "ethosgen_networks.h"

#include <stdint.h>

#define SERVER_PROTOCOL 2u
#define SERVER_NPU_EVENTS 4

/* What one inference cost and how it ended. */
struct server_run {
    uint32_t status;      /* 0: it worked */
    uint32_t npu_status;  /* the NPU's STATUS and QREAD at the end */
    uint32_t npu_qread;
    uint32_t cpu_ticks;   /* outside the wait for the NPU */
    uint32_t stack_bytes; /* used since the start, at most */
    uint32_t npu_cycles[2];                /* as the NPU's PMU counts them: low word, high word */
    uint32_t npu_event[SERVER_NPU_EVENTS]; /* what its event counters count; 0: nothing */
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

/* Tell the other side of a processor fault: the fault status register, and where it happened. */
void server_fault(uint32_t cfsr, uint32_t pc);

#endif /* SERVER_H */
