/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures time for the runner's timestamps.
 *
 * On a board this is the board's clock. QEMU executes instructions without counting cycles, and the
 * NPU model's speed is this machine's. There the time is an estimate: one cycle for each
 * instruction of the processor, and the model's estimate for the NPU, at the board's clock rates.
 * The processor's waits for the NPU do not count.
 *
 * Generated once by ethosgen; yours from now on.
 */
#ifndef STOPWATCH_H
#define STOPWATCH_H

#include <stdint.h>

/* Count the time until now. Call this after each inference: if board_ticks() wraps more than once
 * between two calls, the count is too small. */
void stopwatch_advance(void);

/* Return the microseconds since the start. */
uint64_t stopwatch_us(void);

#endif /* STOPWATCH_H */
