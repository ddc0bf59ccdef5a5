/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides when an anomaly begins and ends; see detector.h.
 *
 * Generated once by ethosgen; yours from now on.
 */
#include "detector.h"

#include "settings.h"

#include <assert.h>

#define PERCENT 100u

static_assert(LEARNING_VECTORS > 0 || FIXED_THRESHOLD > 0, "without learning there is a threshold");

static bool learn(struct detector *detector, uint64_t error)
{
    if (FIXED_THRESHOLD > 0) {
        detector->threshold = FIXED_THRESHOLD;
        return false;
    }
    if (detector->learned == LEARNING_VECTORS) {
        return false;
    }
    uint64_t above = error * THRESHOLD_PERCENT / PERCENT;

    if (above > detector->threshold) {
        detector->threshold = above;
    }
    detector->learned++;
    return true;
}

enum detector_event detector_step(struct detector *detector, uint64_t error)
{
    if (learn(detector, error)) {
        return DETECTOR_LEARNING;
    }
    bool speaks_for_change = detector->is_anomalous
                                 ? error < detector->threshold * RELEASE_PERCENT / PERCENT
                                 : error > detector->threshold;
    uint32_t needed = detector->is_anomalous ? END_VECTORS : BEGIN_VECTORS;

    detector->streak = speaks_for_change ? detector->streak + 1u : 0u;
    if (detector->streak >= needed) {
        detector->streak = 0;
        detector->is_anomalous = !detector->is_anomalous;
        return detector->is_anomalous ? DETECTOR_BEGINS : DETECTOR_ENDS;
    }
    return detector->is_anomalous ? DETECTOR_GOES_ON : DETECTOR_NORMAL;
}
