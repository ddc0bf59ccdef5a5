/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host side's functions for the simulated side of native_sim.
 */
#ifndef ETHOSGEN_NATIVE_HOST_H
#define ETHOSGEN_NATIVE_HOST_H

#include <stdint.h>

#define ETHOSGEN_HOST_RANGES 8u

/* Memory of the application that the NPU accesses. */
struct ethosgen_host_range {
    uint64_t addr;
    uint64_t bytes;
};

/* One run of the NPU. The NPU model answers with STATUS and QREAD at the end. */
struct ethosgen_host_run {
    uint32_t config; /* CONFIG of the NPU to model */
    uint32_t command_bytes;
    uint32_t range_count;
    uint32_t reserved;
    uint64_t base[8];
    struct ethosgen_host_range ranges[ETHOSGEN_HOST_RANGES];
};

struct ethosgen_host_result {
    uint32_t status;
    uint32_t qread;
};

/* Start the NPU model in another process; return 0 or -1. */
int ethosgen_host_start(void);

/* Run commands on the ranges' contents in the NPU model; return 0, or -1 if the model has gone. */
int ethosgen_host_run(const struct ethosgen_host_run *run, const void *commands,
                      struct ethosgen_host_result *result);

/* Make sure that ethosgen is at the other end of stdin and stdout: if the program was started by hand,
 * by "west build -t run" or by twister, replace it with ethosgen, which runs it and checks outputs. */
void ethosgen_host_attend(const char *project, const char *build);

/* Read a byte from stdin; return 1, 0 if there is none, or -1 at the end. */
int ethosgen_host_read(uint8_t *byte);
void ethosgen_host_write(uint8_t byte);

#endif /* ETHOSGEN_NATIVE_HOST_H */
