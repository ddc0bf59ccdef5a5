/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
{% set emulated = stand_in or board %}
{% set cpu_hz = board.cpu.clock_hz or board.counter.hz %}
/*
 * Measures time; see stopwatch.h.
 *
 * Generated once by ethosgen; yours from now on.
 */
#include "stopwatch.h"

#include "board.h"

{% if devices %}
#include "ethosgen_devices.h"
{% endif %}
{% if npu %}
#include "ethosgen_npu.h"
{% endif %}

#include <stdbool.h>

#define MICROSECONDS 1000000u

static uint64_t ticks;
static uint32_t since;
static volatile bool is_waiting; /* the interrupt of the NPU reads it too */

void stopwatch_advance(void)
{
    uint32_t now = board_ticks();

    if (!is_waiting) {
        ticks += (uint32_t)(now - since);
    }
    since = now;
}

/* Convert a count of ticks from one rate to another. */
static uint64_t convert(uint64_t count, uint32_t from_hz, uint32_t to_hz)
{
    return count / from_hz * to_hz + count % from_hz * to_hz / from_hz;
}

#ifndef BOARD_ON_QEMU
uint64_t stopwatch_us(void)
{
    stopwatch_advance();
    return convert(ticks, BOARD_TICKS_HZ, MICROSECONDS);
}
{% if emulated.run.qemu %}
#else
#define QEMU_HZ {{ 1000000000 // emulated.run.qemu.instruction_ns }}u /* instructions in a second of QEMU's time */
#define CPU_HZ {{ cpu_hz }}u
{% if npu %}
#define NPU_HZ {{ board.npu.clock_hz or cpu_hz }}u

static struct ethosgen_npu_pmu pmu; /* the interrupt of the NPU adds to it */
{% endif %}

uint64_t stopwatch_us(void)
{
    stopwatch_advance();
    uint64_t instructions = convert(ticks, BOARD_TICKS_HZ, QEMU_HZ);
    uint64_t us = convert(instructions, CPU_HZ, MICROSECONDS);

{% if npu %}
    us += convert(pmu.cycles, NPU_HZ, MICROSECONDS);
{% endif %}
    return us;
}
{% if devices or npu %}

static void begin_wait(void)
{
    stopwatch_advance();
    is_waiting = true;
}

static void end_wait(void)
{
    stopwatch_advance();
    is_waiting = false;
}
{% endif %}
{% if devices %}

void ethosgen_device_wait_begin(void)
{
    begin_wait();
}

void ethosgen_device_wait_end(void)
{
    end_wait();
}
{% endif %}
{% if npu %}

void ethosgen_npu_wait_begin(void)
{
    begin_wait();
}

void ethosgen_npu_reset_begin(void)
{
    begin_wait();
}

void ethosgen_npu_reset_end(void)
{
    end_wait();
}

void ethosgen_npu_begin(uintptr_t base_addr)
{
    static const uint16_t events[ETHOSGEN_NPU_EVENTS]; /* only the cycles are read */

    ethosgen_npu_pmu_start(base_addr, events);
}

/* The rest of the NPU's interrupt, until ethosgen_npu_wait_end(), counts as work again. */
void ethosgen_npu_end(uintptr_t base_addr)
{
    ethosgen_npu_pmu_add(base_addr, &pmu);
    end_wait();
}

void ethosgen_npu_wait_end(void)
{
    begin_wait();
}

void ethosgen_npu_resume(void)
{
    end_wait();
}
{% endif %}
{% endif %}
#endif
