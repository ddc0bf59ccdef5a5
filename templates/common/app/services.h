/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the application needs from a board: a clock, a console and an exit. board.h has the rest.
 *
 * Generated once by ethosgen; yours from now on.
 */
#ifndef SERVICES_H
#define SERVICES_H

#include <stdbool.h>
#include <stdint.h>

/* Start the clock, and prepare the board for the networks. */
void board_init(void);

/* Return a free-running counter of BOARD_TICKS_HZ. Differences are valid up to one wrap. */
uint32_t board_ticks(void);

/* Start the console: from now on an interrupt passes received bytes to frames_take(). */
void console_init(void);

/* Send one byte. */
void console_put(uint8_t byte);

/* Sleep until an interrupt sets *event. */
void board_wait(const volatile bool *event);

/* End the program: a simulator exits with this status, a board stops. */
void board_exit(uint32_t status);

/* Return the most bytes of main()'s stack that were in use since the start; 0: unknown. */
uint32_t board_stack_bytes(void);

/* Start a new count of the stack below the calling function; return the bytes that were in use
 * since then, 0: unknown. */
void board_stack_mark(void);
uint32_t board_stack_since_mark(void);

#endif /* SERVICES_H */
