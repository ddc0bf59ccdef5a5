/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
{% set front = networks[front_index] %}
{% set words = networks[words_index] %}
{% set audio = front.inputs[0] %}
{% set made = front.outputs[0] %}
{% set given = words.inputs[0] %}
{% set found = words.outputs[0] %}
/*
 * Spots keywords in a stream of sound. The front end turns each window of sound into features; the
 * network for words takes the features of the last hops, and scores each label.
 *
 *     microphone (audio.h) -> window -> {{ front.name }}_run() -> ring of features -> {{ words.name }}_run()
 *         -> recognizer (recognizer.h) -> report
 *
 * The window, the ring and the recognizer keep their state from hop to hop, and {{ front.name }} its
 * estimate of the noise.
 *
 * Generated once by ethosgen; yours from now on.
 */
#include "application.h"

#include "audio.h"
#include "labels.h"
#include "recognizer.h"
#include "report.h"
#include "services.h"
#include "settings.h"

#include "{{ front.name }}.h"
#include "{{ words.name }}.h"

#include <assert.h>
#include <string.h>

#define WINDOW_SAMPLES {{ audio.MACRO }}_ELEMENTS
#define FEATURES {{ made.MACRO }}_ELEMENTS             /* of one hop */
#define HOPS ({{ given.MACRO }}_ELEMENTS / FEATURES) /* that the network for words takes */

#define TIME_WIDTH 10u
#define CRC_POLYNOMIAL 0xEDB88320u /* CRC-32 of IEEE 802.3, as in zlib */
#define THOUSAND 1000u
#define HIGHEST_SCORE 255u

static_assert(HOP_SAMPLES > 0 && HOP_SAMPLES <= WINDOW_SAMPLES, "windows do not leave out samples");
static_assert(INFERENCE_HOPS > 0, "the network for words runs");
static_assert({{ given.MACRO }}_ELEMENTS % FEATURES == 0, "the network takes whole hops");
static_assert({{ found.MACRO }}_ELEMENTS == LABELS, "each score has a label");

static int16_t window[WINDOW_SAMPLES];
static int8_t ring[HOPS][FEATURES]; /* the oldest hop is the next to be replaced */

static struct {
    uint32_t hops; /* since the start */
    uint32_t oldest;
    uint32_t unchecked; /* hops since the last line of check_report() */
    uint32_t features_crc;
    uint32_t scores_crc;
    struct recognizer recognizer;
} state;

static uint32_t crc32(uint32_t crc, const void *data, uint32_t bytes)
{
    const uint8_t *byte = data;

    crc = ~crc;
    while (bytes-- > 0u) {
        crc ^= *byte++;
        for (uint32_t bit = 0; bit < 8u; bit++) {
            crc = (crc >> 1) ^ (CRC_POLYNOMIAL & (0u - (crc & 1u)));
        }
    }
    return ~crc;
}

static uint64_t now_ms(void)
{
    uint64_t samples = WINDOW_SAMPLES + (uint64_t)(state.hops - 1u) * HOP_SAMPLES;

    return samples * THOUSAND / AUDIO_RATE;
}

static void report_crc(uint32_t crc)
{
    for (uint32_t shift = 32u; shift > 0u; shift -= 8u) {
        report_hex((uint8_t)(crc >> (shift - 8u)));
    }
}

static void report_check(void)
{
    report_thousandths(now_ms(), TIME_WIDTH);
    report_text(" s  check: features ");
    report_crc(state.features_crc);
    report_text(", scores ");
    report_crc(state.scores_crc);
    report_line();
    state.unchecked = 0;
    state.features_crc = 0;
    state.scores_crc = 0;
}

static void report_word(const struct detection *detection)
{
    report_thousandths(now_ms(), TIME_WIDTH);
    report_text(" s  ");
    report_text(label_names[detection->label]);
    for (size_t width = strlen(label_names[detection->label]); width < LABEL_WIDTH; width++) {
        report_text(" ");
    }
    report_thousandths(detection->score * THOUSAND / HIGHEST_SCORE, TIME_WIDTH);
    report_line();
}

static ethosgen_status hear(void)
{
    memcpy({{ audio.buffer }}, window, sizeof window);
    ethosgen_status status = {{ front.name }}_run();

    if (status == ETHOSGEN_OK) {
        memcpy(ring[state.oldest], {{ made.buffer }}, FEATURES);
        if (CHECK_HOPS > 0) {
            state.features_crc = crc32(state.features_crc, ring[state.oldest], FEATURES);
        }
        state.oldest = (state.oldest + 1u) % HOPS;
    }
    return status;
}

static ethosgen_status spot(void)
{
    uint32_t newer = HOPS - state.oldest;
    uint8_t scores[LABELS];
    struct detection detection;

    memcpy({{ given.buffer }}, ring[state.oldest], newer * FEATURES);
    memcpy(&{{ given.buffer }}[newer * FEATURES], ring[0], state.oldest * FEATURES);
    ethosgen_status status = {{ words.name }}_run();

    if (status != ETHOSGEN_OK) {
        return status;
    }
    for (uint32_t label = 0; label < LABELS; label++) {
        scores[label] = (uint8_t)({{ found.buffer }}[label] - INT8_MIN);
    }
    if (CHECK_HOPS > 0) {
        state.scores_crc = crc32(state.scores_crc, scores, sizeof scores);
    }
    if (recognizer_step(&state.recognizer, scores, now_ms(), &detection)) {
        report_word(&detection);
    }
    return status;
}

static void work(void)
{
    ethosgen_status status = hear();

    if (status != ETHOSGEN_OK) {
        report_failure("{{ front.name }}", (uint32_t)status);
    }
    state.hops++;
    if (state.hops >= HOPS && (state.hops - HOPS) % INFERENCE_HOPS == 0) {
        status = spot();
        if (status != ETHOSGEN_OK) {
            report_failure("{{ words.name }}", (uint32_t)status);
        }
    }
}

static void listen(void)
{
    uint32_t missing = WINDOW_SAMPLES; /* later windows begin with the end of the one before */

    memset(&state, 0, sizeof state);
{% if front.variables %}
    {{ front.name }}_reset();
{% endif %}
{% if words.variables %}
    {{ words.name }}_reset();
{% endif %}
    while (audio_read(&window[WINDOW_SAMPLES - missing], missing)) {
        work();
        if (CHECK_HOPS > 0 && ++state.unchecked == CHECK_HOPS) {
            report_check();
        }
        missing = HOP_SAMPLES;
        memmove(window, &window[HOP_SAMPLES], (WINDOW_SAMPLES - HOP_SAMPLES) * sizeof *window);
    }
    if (state.unchecked > 0u) {
        report_check();
    }
}

void application_run(void)
{
    while (audio_start()) {
        listen();
    }
}
