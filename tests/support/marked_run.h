/*
 * Serves the networks, and marks the outputs before each run to detect a success that wrote nothing.
 */
#ifndef MARKED_RUN_H
#define MARKED_RUN_H

#include "board.h"
#include "ethosgen_networks.h"
#include "ethosgen_npu.h"
#include "server.h"

#include <string.h>

enum { UNTOUCHED = 99 };

static inline void run_marked(const struct ethosgen_network *network, struct server_run *result)
{
    for (uint32_t i = 0; i < network->output_count; i++) {
        memset(network->outputs[i].buffer, UNTOUCHED, network->outputs[i].bytes);
    }
    result->status = (uint32_t)network->run();
    result->npu_status = ethosgen_npu_last().status;
    result->npu_qread = ethosgen_npu_last().qread;
}

/* Initialise the NPU and the first network, then serve requests until the host ends it. */
static inline void serve_marked(
    void (*run)(const struct ethosgen_network *network, struct server_run *result))
{
    ethosgen_status status =
        ethosgen_npu_init(BOARD_NPU_BASE, BOARD_NPU_SECURE, BOARD_NPU_PRIVILEGED);
    if (status == ETHOSGEN_OK) {
        status = ethosgen_networks[0].init();
    }
    const struct server_firmware firmware = {
        .init_status = (uint32_t)status,
        .ticks_hz = BOARD_TICKS_HZ,
        .run = run,
    };
    console_init();
    (void)server_run(&firmware); /* the test provokes failed runs */
    board_exit(0);
}

#endif /* MARKED_RUN_H */
