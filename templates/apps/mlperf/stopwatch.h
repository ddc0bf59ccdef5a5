/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures time for the runner's timestamps.
 *
 * On a board this is the board's clock. QEMU executes instructions, but knows no cycles, and the NPU's
 * model takes as long as this machine needs: there the time is an estimate, of one cycle for each
 * instruction of the processor, and the model's estimate for the NPU, at the board's clock rates. The
 * processor's waits for the NPU do not count.
 *
 * Generated once by ethosgen; yours from now on.
 */
#ifndef STOPWATCH_H
#define STOPWATCH_H

#include <stdint.h>

/* Count the time until now. Of a longer time than board_ticks() takes to wrap, whole wraps are lost: call
 * this after each inference. */
void stopwatch_advance(void);

/* Return the microseconds since the start. */
uint64_t stopwatch_us(void);

#endif /* STOPWATCH_H */
