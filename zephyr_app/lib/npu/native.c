/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The NPU interface on native_sim: ethosgen's NPU model, in a separate process.
 */
#include <ethosgen_npu.h>
#include <zephyr/kernel.h>

#include "native_host.h"

#define STATUS_BUS_STATUS BIT(2)
#define STATUS_CMD_PARSE_ERROR BIT(4)
#define STATUS_CMD_END_REACHED BIT(5)
#define STATUS_WD_FAULT BIT(7)
#define HEADER_WORDS 8u

/* The threads share one NPU: only one at a time uses it. */
K_SEM_DEFINE(npu_is_free, 1, 1);

volatile uint8_t ethosgen_npu_is_taken;

static struct ethosgen_npu_registers last;
static bool is_initialized;

ethosgen_status ethosgen_npu_init(uintptr_t base_addr, bool secure, bool privileged)
{
    ARG_UNUSED(base_addr);
    ARG_UNUSED(secure);
    ARG_UNUSED(privileged);
    is_initialized = ethosgen_host_start() == 0;
    return is_initialized ? ETHOSGEN_OK : ETHOSGEN_NPU_NO_RESET;
}

/* The model acts as the NPU that each stream was compiled for, which the stream's header names. */
ethosgen_status ethosgen_npu_check(uint32_t config, uint32_t id)
{
    ARG_UNUSED(config);
    ARG_UNUSED(id);
    return is_initialized ? ETHOSGEN_OK : ETHOSGEN_NOT_INITIALIZED;
}

/* Base pointers may have overlapping memory: merge it into one range. */
static void add_range(struct ethosgen_host_run *run, uint64_t addr, uint64_t bytes)
{
    uint64_t end = addr + bytes;

    uint32_t i = 0;
    while (i < run->range_count) {
        struct ethosgen_host_range *old = &run->ranges[i];
        if (addr > old->addr + old->bytes || end < old->addr) {
            i++;
            continue;
        }
        addr = MIN(addr, old->addr);
        end = MAX(end, old->addr + old->bytes);
        *old = run->ranges[--run->range_count];
        i = 0; /* the larger range may touch ranges that were checked before */
    }
    run->ranges[run->range_count].addr = addr;
    run->ranges[run->range_count++].bytes = end - addr;
}

static ethosgen_status verdict(uint32_t command_bytes)
{
    uint32_t status = last.status;

    if ((status & STATUS_BUS_STATUS) != 0) {
        return ETHOSGEN_NPU_BUS_FAULT;
    }
    if ((status & STATUS_CMD_PARSE_ERROR) != 0) {
        return ETHOSGEN_NPU_PARSE_FAULT;
    }
    if ((status & STATUS_WD_FAULT) != 0) {
        return ETHOSGEN_NPU_WEIGHT_FAULT;
    }
    return (status & STATUS_CMD_END_REACHED) != 0 && last.qread == command_bytes
               ? ETHOSGEN_OK
               : ETHOSGEN_NPU_STOPPED;
}

ethosgen_status ethosgen_npu_run(const struct ethosgen_npu_stream *stream,
                                 const uintptr_t base[ETHOSGEN_NPU_BASES])
{
    /* The header for Arm's driver: COP1, OPTIMIZER_CONFIG, then CONFIG. */
    struct ethosgen_host_run run = {
        .config = stream->words[2],
        .command_bytes = stream->bytes - HEADER_WORDS * (uint32_t)sizeof(uint32_t),
    };
    struct ethosgen_host_result result;

    if (!is_initialized) {
        return ETHOSGEN_NOT_INITIALIZED;
    }
    for (uint32_t i = 0; i < (uint32_t)ETHOSGEN_NPU_BASES; i++) {
        run.base[i] = base[i];
        if (stream->base_bytes[i] != 0u) {
            add_range(&run, base[i], stream->base_bytes[i]);
        }
    }
    k_sem_take(&npu_is_free, K_FOREVER);
    ethosgen_npu_wait_begin();
    int gone = ethosgen_host_run(&run, &stream->words[HEADER_WORDS], &result);
    ethosgen_npu_wait_end();
    ethosgen_npu_end(0);
    ethosgen_npu_resume();
    ethosgen_status status = ETHOSGEN_NPU_DRIVER;
    if (gone == 0) {
        last.status = result.status;
        last.qread = result.qread;
        status = verdict(run.command_bytes);
    }
    k_sem_give(&npu_is_free);
    return status;
}

struct ethosgen_npu_registers ethosgen_npu_last(void)
{
    return last;
}
