/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes the application's input from the host, in place of a sensor: "ethosgen run" sends items, such
 * as frames of a camera, over the console.
 *
 * Only drivers use it (their names end in _host.c), not the application. A product contains neither.
 *
 * Generated once by ethosgen; yours from now on.
 */
#ifndef FEED_H
#define FEED_H

#include <stdbool.h>
#include <stdint.h>

/* Wait until a host begins to send items of this size; return false if no host is left: the program
 * ends. */
bool feed_start(uint32_t item_bytes);

/* Wait for the next item, and copy it; return false when the host ends its input, or starts again. */
bool feed_receive(void *item);

#endif /* FEED_H */
