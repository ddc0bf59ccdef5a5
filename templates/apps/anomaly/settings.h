/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The settings of the detector. "ethosgen run" reads them here too, to compute what to expect: keep
 * them plain numbers.
 *
 * Generated once by ethosgen; yours from now on.
 */
#ifndef SETTINGS_H
#define SETTINGS_H

/* The time between two vectors of the sensor. */
#define SENSOR_PERIOD_MS 1000

/* The first vectors show the normal state: the largest error among them, times this, is the
 * threshold. */
#define LEARNING_VECTORS 32
#define THRESHOLD_PERCENT 150

/* A known threshold in thousandths, as the lines show it; 0: learn it at each start. */
#define FIXED_THRESHOLD 0

/* An anomaly begins after this many consecutive vectors above the threshold, and ends after this
 * many below this fraction of it. So a single outlier is not an anomaly, and an error that hovers
 * around the threshold causes only one. */
#define BEGIN_VECTORS 2
#define END_VECTORS 3
#define RELEASE_PERCENT 80

#endif /* SETTINGS_H */
