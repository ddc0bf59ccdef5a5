/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The settings of the benchmark. "ethosgen run" reads them here too: keep them plain numbers.
 *
 * Generated once by ethosgen; yours from now on.
 */
#ifndef SETTINGS_H
#define SETTINGS_H

/* Runs of "infer" to warm up, unless the command names another number. */
#define WARMUPS 10

#endif /* SETTINGS_H */
