/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the server needs from Zephyr: a console, a clock and an exit.
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

/* The NPU's address and access level come from the devicetree. */
#define BOARD_NPU_BASE 0
#define BOARD_NPU_SECURE false
#define BOARD_NPU_PRIVILEGED false

#endif /* ETHOSGEN_SERVER_BOARD_H */
