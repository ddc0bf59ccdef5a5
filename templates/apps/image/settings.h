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

/* The number of classes in each line, the best first. */
#define TOP {{ top }}

#endif /* SETTINGS_H */
