/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides when a word was spoken; see recognizer.h.
 *
 * Generated once by ethosgen; yours from now on.
 */
#include "recognizer.h"

#include <assert.h>
#include <string.h>

static_assert(AVERAGE_INFERENCES > 0 && LEAST_INFERENCES <= AVERAGE_INFERENCES,
              "as many inferences as are judged are kept");

static void average(struct recognizer *recognizer, const uint8_t scores[LABELS])
{
    uint8_t *place = recognizer->scores[recognizer->oldest]; /* zeros at first */

    for (uint32_t label = 0; label < LABELS; label++) {
        recognizer->sums[label] += (uint32_t)scores[label] - place[label];
        place[label] = scores[label];
    }
    recognizer->oldest = (recognizer->oldest + 1u) % AVERAGE_INFERENCES;
    if (recognizer->inferences < AVERAGE_INFERENCES) {
        recognizer->inferences++;
    }
}

static struct detection best(const struct recognizer *recognizer)
{
    struct detection top = {0, 0};

    for (uint32_t label = 0; label < LABELS; label++) {
        uint32_t score = recognizer->sums[label] / recognizer->inferences;

        if (score > top.score) {
            top.score = score;
            top.label = label;
        }
    }
    return top;
}

bool recognizer_step(struct recognizer *recognizer, const uint8_t scores[LABELS], uint64_t time_ms,
                     struct detection *detection)
{
    average(recognizer, scores);
    *detection = best(recognizer);
    if (recognizer->inferences < LEAST_INFERENCES || detection->score <= THRESHOLD) {
        return false;
    }
    bool is_same = recognizer->has_last && recognizer->last == detection->label;

    if (is_same && time_ms - recognizer->last_ms <= SUPPRESSION_MS) {
        return false;
    }
    recognizer->has_last = true;
    recognizer->last = detection->label;
    recognizer->last_ms = time_ms;
    return label_is_word[detection->label];
}
