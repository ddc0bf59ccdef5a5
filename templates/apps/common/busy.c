/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures how long the application works; see busy.h. The library calls the functions that begin
 * with "ethosgen_" around its waits.
 *
 * Generated once by ethosgen; yours from now on.
 */
#include "busy.h"

#include "services.h"

#include "ethosgen_networks.h"

{% if devices %}
#include "ethosgen_devices.h"
{% endif %}
#if ETHOSGEN_HAS_NPU
#include "ethosgen_npu.h"
#endif

#include <stdbool.h>

static uint64_t total;
static uint32_t since;
static volatile bool is_working; /* the interrupt of the NPU reads it too */
static volatile bool is_counting;

static void go_on(void)
{
    if (is_working && !is_counting) {
        since = board_ticks();
        is_counting = true;
    }
}

static void stop(void)
{
    if (is_counting) {
        total += (uint32_t)(board_ticks() - since);
        is_counting = false;
    }
}

void busy_restart(void)
{
    is_working = false;
    is_counting = false;
    total = 0;
}

void busy_begin(void)
{
    is_working = true;
    go_on();
}

void busy_end(void)
{
    stop();
    is_working = false;
}

uint64_t busy_ticks(void)
{
    return total;
}
{% if devices %}

void ethosgen_device_wait_begin(void)
{
    stop();
}

void ethosgen_device_wait_end(void)
{
    go_on();
}
{% endif %}

#if ETHOSGEN_HAS_NPU
void ethosgen_npu_wait_begin(void)
{
    stop();
}

void ethosgen_npu_reset_begin(void)
{
    stop();
}

void ethosgen_npu_reset_end(void)
{
    go_on();
}

/* The rest of the NPU's interrupt, until ethosgen_npu_wait_end(), counts as work again. */
void ethosgen_npu_end(uintptr_t base_addr)
{
    (void)base_addr;
    go_on();
}

void ethosgen_npu_wait_end(void)
{
    stop();
}

/* The thread's work in the meantime depends on when the interrupt came: it counts as waiting. */
void ethosgen_npu_resume(void)
{
    go_on();
}
#endif
