/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
{% set ticks = "element_ticks" if handover else "board_ticks" %}
/*
 * Runs the firmware's networks on request over the console: see server.h.
 *
 * Generated once by ethosgen; yours from now on. Your own application needs the steps of main() before
 * server_run(), and the networks' functions, which their headers document.
 */
#include "board.h"
{% if apart %}
#include "board_weights.h"
{% endif %}
{% if handover %}
#include "element.h"
{% endif %}
#include "ethosgen_networks.h"
#include "profile.h"
#include "server.h"
{% if secure %}
#include "veneers.h"
{% endif %}

{% if devices %}
#include "ethosgen_devices.h"
{% endif %}
#if ETHOSGEN_HAS_NPU
#include "ethosgen_npu.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
{% if devices %}
#endif
{% endif %}

static uint32_t wait_started;
static uint32_t wait_ticks;
static volatile bool is_waiting; /* the interrupt of the NPU reads it too */

static void stop_counting(void)
{
    if (!is_waiting) {
        wait_started = {{ ticks }}();
        is_waiting = true;
    }
}

static void go_on_counting(void)
{
    if (is_waiting) {
        is_waiting = false;
        wait_ticks += {{ ticks }}() - wait_started;
    }
}

{% if devices %}
void ethosgen_device_wait_begin(void)
{
    stop_counting();
}

void ethosgen_device_wait_end(void)
{
    go_on_counting();
}

#if ETHOSGEN_HAS_NPU
{% endif %}
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
{% if platform.has_npu_drivers %}
    if (base_addr != 0) { /* native_sim's NPU has no registers */
        ethosgen_npu_pmu_add(base_addr, &pmu);
    }
{% else %}
    ethosgen_npu_pmu_add(base_addr, &pmu);
{% endif %}
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

{% if devices %}
#endif

{% endif %}
static uint32_t ticks_since(uint32_t started)
{
    uint32_t ticks = {{ ticks }}() - started - wait_ticks;

    wait_ticks = 0;
    return ticks;
}
{% if not devices %}
#else
static uint32_t ticks_since(uint32_t started)
{
    return {{ ticks }}() - started;
}
#endif
{% endif %}

#ifdef ETHOSGEN_PROFILE
/* The library calls this where a step begins. */
void ethosgen_profile_step(uint32_t step)
{
#if ETHOSGEN_HAS_NPU
    profile_next(step, {{ ticks }}() - wait_ticks, (uint32_t)pmu.cycles);
#else
    profile_next(step, {{ ticks }}(){{ " - wait_ticks" if devices }}, 0);
#endif
}
#endif

{% set is_sliced = networks[0].is_sliced %}
{% set feed = networks[0].feed %}
{% if is_sliced %}
/* The inference's time is the sum of its slices; the time between them belongs to the application. */
static uint32_t slices_ticks;
static uint32_t slice_ticks;

static void count_slice(uint32_t started)
{
    uint32_t ticks = ticks_since(started);

    slices_ticks += ticks;
    slice_ticks = ticks > slice_ticks ? ticks : slice_ticks;
}

static ethosgen_status run_slices(const struct ethosgen_network *network)
{
    ethosgen_status status;

    board_stack_mark();
    do {
        uint32_t started = {{ ticks }}();

        status = network->step();
        count_slice(started);
    } while (status == ETHOSGEN_MORE); /* here a super loop does its other work */
    return status;
}

{% endif %}
{% if feed %}
static uint32_t feed_stack_bytes; /* the most that a call for rows of this input used */

static ethosgen_status give_rows(const void *rows, uint32_t first, uint32_t count)
{
    if (first == 0) {
        slices_ticks = 0;
        slice_ticks = 0;
        feed_stack_bytes = 0;
    }
    board_stack_mark();
    uint32_t started = {{ ticks }}();
    ethosgen_status status = ethosgen_networks[0].feed(rows, first, count);

    count_slice(started);
    uint32_t stack_bytes = board_stack_since_mark();

    feed_stack_bytes = stack_bytes > feed_stack_bytes ? stack_bytes : feed_stack_bytes;
    return status;
}

{% endif %}
static void run(const struct ethosgen_network *network, struct server_run *result)
{
#if ETHOSGEN_HAS_NPU
    counted = events[runs[network - ethosgen_networks]++ % COUNT(events)];
#endif
#ifdef ETHOSGEN_PROFILE
    profile_clear();
#endif
{% if is_sliced and not feed %}
    slices_ticks = 0;
    slice_ticks = 0;
{% endif %}
{% if is_sliced %}
#ifdef ETHOSGEN_PROFILE
    profile_begin({{ ticks }}());
#endif
    result->status = (uint32_t)run_slices(network);
#ifdef ETHOSGEN_PROFILE
    ethosgen_profile_step(0); /* a run that failed has not */
#endif
    result->cpu_ticks = slices_ticks;
    result->slice_ticks = slice_ticks;
{% else %}
    board_stack_mark();
    uint32_t started = {{ ticks }}();
#ifdef ETHOSGEN_PROFILE
    profile_begin(started);
#endif
    result->status = (uint32_t)network->run();
#ifdef ETHOSGEN_PROFILE
    ethosgen_profile_step(0); /* a run that failed has not */
#endif
    result->cpu_ticks = ticks_since(started);
{% endif %}
#if ETHOSGEN_HAS_NPU
    tell_npu(result);
#endif
    result->run_stack_bytes = board_stack_since_mark();
{% if feed %}
    if (feed_stack_bytes > result->run_stack_bytes) {
        result->run_stack_bytes = feed_stack_bytes;
    }
{% endif %}
    result->stack_bytes = board_stack_bytes();
}

static ethosgen_status init(void)
{
    ethosgen_status status = ETHOSGEN_OK;

#if ETHOSGEN_HAS_NPU
    status = ethosgen_npu_init(BOARD_NPU_BASE, BOARD_NPU_SECURE, BOARD_NPU_PRIVILEGED);
#endif
{% for device in devices if not platform.starts_devices %}
    ethosgen_device_init(&{{ device.symbol }}, BOARD_{{ device.c_name|upper }}_BASE);
{% endfor %}
    for (uint32_t i = 0; i < ETHOSGEN_NETWORKS && status == ETHOSGEN_OK; i++) {
{% if apart %}
        const struct board_weights *slot = &board_weights[i];

        status = ethosgen_networks[i].init(slot->start, (uint32_t)(slot->end - slot->start));
{% else %}
        status = ethosgen_networks[i].init();
{% endif %}
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

    uint32_t started = {{ ticks }}();
    ethosgen_status status = init();
    const struct server_firmware firmware = {
        .init_status = (uint32_t)status,
        .init_ticks = ticks_since(started),
        .ticks_hz = BOARD_TICKS_HZ,
{% if secure %}
        .security = secure_evidence(),
{% endif %}
        .run = run,
{% if feed %}
        .feed = give_rows,
{% endif %}
    };
#ifdef ETHOSGEN_PROFILE
    profile_measure_hook({{ ticks }});
#endif
    console_init(); /* not earlier: its interrupts would count as initialization time */
    board_exit({{ "element_run" if handover else "server_run" }}(&firmware));
    return 0;
}
