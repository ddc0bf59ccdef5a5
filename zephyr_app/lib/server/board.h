/*
 * What the server needs of Zephyr: a console, a clock, a way out.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef ETHOSGEN_SERVER_BOARD_H
#define ETHOSGEN_SERVER_BOARD_H

#include "services.h"

#include <zephyr/devicetree.h>
#include <zephyr/kernel.h>

#if DT_HAS_COMPAT_STATUS_OKAY(ethosgen_counter)
#define BOARD_TICKS_HZ DT_PROP(DT_COMPAT_GET_ANY_STATUS_OKAY(ethosgen_counter), clock_frequency)
#else
#define BOARD_TICKS_HZ sys_clock_hw_cycles_per_sec()
#endif

/* Where the NPU is and what it may do is the devicetree's. */
#define BOARD_NPU_BASE 0
#define BOARD_NPU_SECURE false
#define BOARD_NPU_PRIVILEGED false

#endif /* ETHOSGEN_SERVER_BOARD_H */
