/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides from the errors of a stream of vectors when an anomaly begins and ends; settings.h has its
 * parameters. It is plain C, independent of network and board: you can test it on any machine.
 *
 * Generated once by ethosgen; yours from now on.
 */
#ifndef DETECTOR_H
#define DETECTOR_H

#include <stdbool.h>
#include <stdint.h>

enum detector_event {
    DETECTOR_LEARNING, /* the vector counts as normal */
    DETECTOR_NORMAL,
    DETECTOR_BEGINS,
    DETECTOR_GOES_ON,
    DETECTOR_ENDS,
};

/* All zero at the start of a stream. */
struct detector {
    uint64_t threshold;
    uint32_t learned;  /* vectors */
    uint32_t streak;   /* consecutive vectors that suggest a change */
    bool is_anomalous;
};

/* Take the error of the next vector, in thousandths. */
enum detector_event detector_step(struct detector *detector, uint64_t error);

#endif /* DETECTOR_H */
