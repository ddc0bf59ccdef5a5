/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts how long the application works, without waits for its input and for the NPU.
 *
 * Generated once by ethosgen; yours from now on.
 */
#ifndef BUSY_H
#define BUSY_H

#include <stdint.h>

/* Forget the count. */
void busy_restart(void);

/* Work begins, as input has come; and ends, to wait for the next. */
void busy_begin(void);
void busy_end(void);

/* Return the ticks of board_ticks() that were work. */
uint64_t busy_ticks(void);

#endif /* BUSY_H */
