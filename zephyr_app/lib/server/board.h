/*
 * What the server needs of Zephyr: a console, a clock, a way out.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef ETHOSGEN_SERVER_BOARD_H
#define ETHOSGEN_SERVER_BOARD_H

#include <stdbool.h>
#include <stdint.h>

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

/* Start the clock. */
void board_init(void);

/* A free running counter; differences are good for two minutes. */
uint32_t board_ticks(void);

/* Start the console: from here on received bytes go to frames_take(). */
void console_init(void);

/* Send one byte. */
void console_put(uint8_t byte);

/* Sleep until *event is set by frames_take(). */
void board_wait(const volatile bool *event);

/* Leave, where there is somewhere to go: a simulator ends with this status. */
void board_exit(uint32_t status);

/* Bytes of the main thread's stack that were used since the start, at most. */
uint32_t board_stack_bytes(void);

#endif /* ETHOSGEN_SERVER_BOARD_H */
