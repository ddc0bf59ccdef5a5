/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs this element's part of a network on the frames from the elements before.
 *
 * Generated once by ethosgen; yours from now on.
 */
#include "element.h"

#include "board.h"
#include "ethosgen_handover.h"
#include "frames.h"
#include "link.h"

#include <stddef.h>

volatile bool element_event;
volatile uint32_t element_interrupts;
volatile uint32_t element_interrupt_ticks;
uint32_t element_wait_ticks;

static struct element_report report;
static struct ethosgen_handover_header *pending; /* its results wait for room behind */
static bool is_stopped;                         /* a frame was wrong: no more answers */

uint32_t element_elapsed(void)
{
    uint32_t interrupted;
    uint32_t now;

    do { /* again if an interrupt came between the two */
        interrupted = element_interrupt_ticks;
        now = board_ticks();
    } while (interrupted != element_interrupt_ticks);
    return now - interrupted;
}

uint32_t element_ticks(void)
{
    static uint32_t last;
    uint32_t now = element_elapsed() - element_wait_ticks;

    /* The ticks of an interrupt's entry are an estimate, which must not turn time back. */
    if (now - last <= UINT32_MAX / 2) {
        last = now;
    }
    return last;
}

void element_reset(void)
{
    report = (struct element_report){0};
    pending = NULL;
    is_stopped = false;
    ethosgen_handover_reset();
    link_init();
}

static void add(uint32_t *total, uint32_t more)
{
    total[0] += more;
    total[1] += total[0] < more;
}

const struct element_report *element_report(void)
{
    static uint32_t before;
    uint32_t ticks = element_interrupt_ticks;

    add(report.interrupt_ticks, ticks - before);
    before = ticks;
    report.interrupts = element_interrupts;
    report.waiting = ethosgen_handover_waiting();
    return &report;
}

static void compute(const struct server_firmware *firmware, struct ethosgen_handover_header *frame)
{
    struct server_run result = {0};

    ethosgen_handover_load();
    server_run_network(firmware, &ethosgen_networks[0], &result);
    frame->status = result.status;
    if (result.status != 0) {
        frame->origin = ETHOSGEN_HANDOVER_ELEMENT;
    }
    add(report.run_ticks, result.cpu_ticks);
    add(report.npu_cycles, result.npu_cycles[0]);
    if (result.cpu_ticks > report.most_run_ticks) {
        report.most_run_ticks = result.cpu_ticks;
    }
    if (result.npu_cycles[0] > report.most_npu_cycles) {
        report.most_npu_cycles = result.npu_cycles[0];
    }
    report.stack_bytes = result.stack_bytes;
    if (result.run_stack_bytes > report.run_stack_bytes) {
        report.run_stack_bytes = result.run_stack_bytes;
    }
}

static void receive(const struct server_firmware *firmware)
{
    uint32_t started = element_ticks();
    struct ethosgen_handover_header *frame = ethosgen_handover_received();

    if (frame == NULL) {
        return;
    }
    add(report.receive_ticks, element_ticks() - started);
    report.received++;
    if (frame->status == 0) {
        compute(firmware, frame);
    } else if (frame->status > ETHOSGEN_HANDOVER_DAMAGED - 1u) {
        is_stopped = true;
    }
    pending = frame;
}

static void hand_on(void)
{
    uint32_t started = element_ticks();

    ethosgen_handover_send(pending);
    report.status = pending->status;
    pending = NULL;
    report.sent++;
    ethosgen_handover_release();
    add(report.send_ticks, element_ticks() - started);
}

uint32_t element_run(const struct server_firmware *firmware)
{
    server_begin(firmware);
    element_reset();
    for (;;) {
        board_wait(&element_event);
        element_event = false;
        if (frames_waiting && !server_serve()) {
            return server_failed();
        }
        if (pending == NULL && !is_stopped) {
            receive(firmware);
        }
        if (pending != NULL && ethosgen_handover_can_send()) {
            hand_on();
            element_event = true; /* other frames may wait already */
        }
    }
}
