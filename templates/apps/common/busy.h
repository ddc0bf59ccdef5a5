/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures how long the application works, without its waits for input and for the NPU.
 *
 * Generated once by ethosgen; yours from now on.
 */
#ifndef BUSY_H
#define BUSY_H

#include <stdint.h>

/* Forget the count. */
void busy_restart(void);

/* Work begins because input has arrived; it ends to wait for the next input. */
void busy_begin(void);
void busy_end(void);

/* Return the time spent working, in ticks of board_ticks(). */
uint64_t busy_ticks(void);

#endif /* BUSY_H */
