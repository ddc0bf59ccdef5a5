/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the firmware's networks on request over the console: see server.h.
 *
 * Generated once by ethosgen; yours from now on. Your own application needs the steps of main() before
 * server_run(), and the networks' functions, which their headers document.
 */
#include "board.h"
#include "ethosgen_networks.h"
#include "profile.h"
#include "server.h"

#if ETHOSGEN_HAS_NPU
#include "ethosgen_npu.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static uint32_t wait_started;
static uint32_t wait_ticks;
static volatile bool is_waiting; /* the interrupt of the NPU reads it too */

static void stop_counting(void)
{
    if (!is_waiting) {
        wait_started = board_ticks();
        is_waiting = true;
    }
}

static void go_on_counting(void)
{
    if (is_waiting) {
        is_waiting = false;
        wait_ticks += board_ticks() - wait_started;
    }
}

void ethosgen_npu_wait_begin(void)
{
    stop_counting();
}

void ethosgen_npu_reset_begin(void)
{
    stop_counting();
}

void ethosgen_npu_reset_end(void)
{
    go_on_counting();
}

static struct ethosgen_npu_pmu pmu;

/* The events that the PMU counts, as numbers of Arm's enum pmu_event. It has four counters, so runs
 * alternate: NPU_ACTIVE, MAC_ACTIVE, and data beats read (130, 386) or written (135, 391) at AXI port
 * 0 and 1. */
static const uint16_t events[][ETHOSGEN_NPU_EVENTS] = {
    {35, 48, 130, 386},
    {35, 48, 135, 391},
};
static uint32_t runs[ETHOSGEN_NETWORKS];
static const uint16_t *counted = events[0];

/* Time spent measuring counts as waiting, not as the network's own work. */
void ethosgen_npu_begin(uintptr_t base_addr)
{
    stop_counting();
    ethosgen_npu_pmu_start(base_addr, counted);
    go_on_counting();
}

/* The rest of the NPU's interrupt, until ethosgen_npu_wait_end(), counts as the network's own work
 * again. */
void ethosgen_npu_end(uintptr_t base_addr)
{
    ethosgen_npu_pmu_add(base_addr, &pmu);
    go_on_counting();
}

void ethosgen_npu_wait_end(void)
{
    stop_counting();
}

/* The thread's work in the meantime depends on when the interrupt came: it counts as waiting. */
void ethosgen_npu_resume(void)
{
    go_on_counting();
}

static void tell_npu(struct server_run *result)
{
    struct ethosgen_npu_registers npu = ethosgen_npu_last();

    result->npu_status = npu.status;
    result->npu_qread = npu.qread;
    result->npu_cycles[0] = (uint32_t)pmu.cycles;
    result->npu_cycles[1] = (uint32_t)(pmu.cycles >> 32);
    for (uint32_t i = 0; i < ETHOSGEN_NPU_EVENTS; i++) {
        result->npu_event[i] = counted[i];
        result->npu_count[i] = pmu.count[i];
    }
    pmu = (struct ethosgen_npu_pmu){0};
}

static uint32_t ticks_since(uint32_t started)
{
    uint32_t ticks = board_ticks() - started - wait_ticks;

    wait_ticks = 0;
    return ticks;
}
#else
static uint32_t ticks_since(uint32_t started)
{
    return board_ticks() - started;
}
#endif

#ifdef ETHOSGEN_PROFILE
/* The library calls this where a step begins. */
void ethosgen_profile_step(uint32_t step)
{
#if ETHOSGEN_HAS_NPU
    profile_next(step, board_ticks() - wait_ticks, (uint32_t)pmu.cycles);
#else
    profile_next(step, board_ticks(), 0);
#endif
}
#endif

static void run(const struct ethosgen_network *network, struct server_run *result)
{
#if ETHOSGEN_HAS_NPU
    counted = events[runs[network - ethosgen_networks]++ % COUNT(events)];
#endif
#ifdef ETHOSGEN_PROFILE
    profile_clear();
#endif
    board_stack_mark();
    uint32_t started = board_ticks();
#ifdef ETHOSGEN_PROFILE
    profile_begin(started);
#endif
    result->status = (uint32_t)network->run();
#ifdef ETHOSGEN_PROFILE
    ethosgen_profile_step(0); /* a run that failed has not */
#endif
    result->cpu_ticks = ticks_since(started);
#if ETHOSGEN_HAS_NPU
    tell_npu(result);
#endif
    result->run_stack_bytes = board_stack_since_mark();
    result->stack_bytes = board_stack_bytes();
}

static ethosgen_status init(void)
{
    ethosgen_status status = ETHOSGEN_OK;

#if ETHOSGEN_HAS_NPU
    status = ethosgen_npu_init(BOARD_NPU_BASE, BOARD_NPU_SECURE, BOARD_NPU_PRIVILEGED);
#endif
    for (uint32_t i = 0; i < ETHOSGEN_NETWORKS && status == ETHOSGEN_OK; i++) {
        status = ethosgen_networks[i].init();
    }
#ifdef ETHOSGEN_SELF_TEST
    if (status == ETHOSGEN_OK) {
        status = ethosgen_networks_self_test();
#if ETHOSGEN_HAS_NPU
        pmu = (struct ethosgen_npu_pmu){0}; /* it counts only requested inferences */
#endif
    }
#endif
    return status;
}

int main(void)
{
    board_init();

    uint32_t started = board_ticks();
    ethosgen_status status = init();
    const struct server_firmware firmware = {
        .init_status = (uint32_t)status,
        .init_ticks = ticks_since(started),
        .ticks_hz = BOARD_TICKS_HZ,
        .run = run,
    };
#ifdef ETHOSGEN_PROFILE
    profile_measure_hook(board_ticks);
#endif
    console_init(); /* not earlier: its interrupts would count as initialization time */
    board_exit(server_run(&firmware));
    return 0;
}
