/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The settings of the application. "ethosgen run" reads them here too, to compute what to expect: keep
 * them plain numbers.
 *
 * Generated once by ethosgen; yours from now on.
 */
#ifndef SETTINGS_H
#define SETTINGS_H

/* The time between two rounds. */
#define PERIOD_MS 1000

/* {{ names[1] }} runs only if the best class of {{ names[0] }} is this one; -1: in each round. */
#define WAKING_CLASS -1

#endif /* SETTINGS_H */
