/*
 * What the application needs of a board: a clock, a console, a way out. board.h says the rest.
 *
 * Generated once by ethosgen; yours from now on.
 */
#ifndef SERVICES_H
#define SERVICES_H

#include <stdbool.h>
#include <stdint.h>

/* Start the clock, and whatever else comes before the networks. */
void board_init(void);

/* A free running counter of BOARD_TICKS_HZ; differences are good until it has gone round. */
uint32_t board_ticks(void);

/* Start the console: from here on received bytes go to frames_take(), from an interrupt. */
void console_init(void);

/* Send one byte. */
void console_put(uint8_t byte);

/* Sleep until *event is set by an interrupt. */
void board_wait(const volatile bool *event);

/* Leave, where there is somewhere to go: a simulator ends with this status. */
void board_exit(uint32_t status);

/* Bytes of the stack that main() runs on that were used since the start, at most. */
uint32_t board_stack_bytes(void);

#endif /* SERVICES_H */
