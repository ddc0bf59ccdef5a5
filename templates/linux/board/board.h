/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * {{ board.description }}: the facts that the application needs.
 *
 * Generated once by ethosgen; yours from now on.
 */
#ifndef BOARD_H
#define BOARD_H

#include "services.h"

/* The rate of board_ticks(). It wraps after {{ (4294967296 * linux_tick_ns / 1000000000)|int|counted("second") }}. */
#define BOARD_TICK_NS {{ linux_tick_ns }}u
#define BOARD_TICKS_HZ (1000000000u / BOARD_TICK_NS)

#endif /* BOARD_H */
