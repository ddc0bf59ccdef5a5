/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides from the scores of a stream of inferences when a word was spoken, like RecognizeCommands in
 * TensorFlow Lite Micro's micro_speech: it averages, compares with a threshold, and does not report the
 * same word again at once. settings.h has its parameters. It is plain C, independent of network and
 * board: you can test it on any machine.
 *
 * Generated once by ethosgen; yours from now on.
 */
#ifndef RECOGNIZER_H
#define RECOGNIZER_H

#include "labels.h"
#include "settings.h"

#include <stdbool.h>
#include <stdint.h>

/* All zero at the start of a stream. */
struct recognizer {
    uint8_t scores[AVERAGE_INFERENCES][LABELS];
    uint32_t sums[LABELS]; /* of these scores */
    uint32_t inferences;   /* up to AVERAGE_INFERENCES */
    uint32_t oldest;
    bool has_last;
    uint32_t last; /* the last reported label above the threshold, word or not */
    uint64_t last_ms;
};

struct detection {
    uint32_t label;
    uint32_t score; /* the average of 255, rounded down */
};

/* Take the scores of the next inference, 0 to 255; return true if they begin the detection of a word. */
bool recognizer_step(struct recognizer *recognizer, const uint8_t scores[LABELS], uint64_t time_ms,
                     struct detection *detection);

#endif /* RECOGNIZER_H */
