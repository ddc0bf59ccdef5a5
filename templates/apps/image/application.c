/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
{% set input = networks[0].inputs[0] %}
{% set output = networks[0].outputs[0] %}
/*
 * Classifies what a camera sees, and reports the best classes of each frame.
 *
{% if networks[0].feed %}
 *     camera (camera.h) -> {{ names[0] }}_feed(), line by line -> {{ names[0] }}_run()
 *         -> the best classes (labels.h) -> report
{% else %}
 *     camera (camera.h) -> {{ names[0] }}_run() -> the best classes (labels.h) -> report
{% endif %}
 *
 * Generated once by ethosgen; yours from now on.
 */
#include "application.h"

#include "camera.h"
#include "labels.h"
#include "report.h"
#include "settings.h"

#include "{{ names[0] }}.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

#define CLASSES {{ output.MACRO }}_ELEMENTS
#define FRAME_WIDTH 5u

/* A step of the output, in thousandths of 1/{{ part_of_score }}. */
#define SCORE_PARTS INT64_C({{ score_parts }})
#define SCORE_PART INT64_C({{ part_of_score }})

{% if networks[0].feed %}
static_assert({{ input.MACRO }}_ROW_ELEMENTS == CAMERA_BUFFER_BYTES, "a line has the network's size");
static_assert({{ input.MACRO }}_ROWS == CAMERA_HEIGHT, "a frame has the network's size");
{% else %}
static_assert({{ input.MACRO }}_ELEMENTS == CAMERA_BUFFER_BYTES, "a frame has the network's size");
{% endif %}
static_assert(sizeof labels / sizeof labels[0] == CLASSES, "each class has a label");
static_assert(TOP >= 1 && TOP <= CLASSES, "no more classes are shown than the network has");

/* A pixel's 0 ... 255 become the input's lowest ... highest value, as in training. */
{% if networks[0].feed %}
static ethosgen_status take(const uint8_t *pixels, uint32_t line)
{
    static {{ input.ctype }} to[CAMERA_BUFFER_BYTES];

{% else %}
static void take(const uint8_t *pixels)
{
    {{ input.ctype }} *to = {{ input.buffer }};

{% endif %}
    for (uint32_t i = 0; i < CAMERA_BUFFER_BYTES; i++) {
        to[i] = ({{ input.ctype }})({{ "pixels[i]" if input.ctype == "uint8_t" else "pixels[i] + INT8_MIN" }});
    }
{% if networks[0].feed %}
    return {{ names[0] }}_feed(to, line, 1);
{% endif %}
}

/* Return the best class that was not shown yet; among equals, the first. */
static uint32_t best(const {{ output.ctype }} *scores, const bool *is_shown)
{
    uint32_t found = CLASSES;

    for (uint32_t i = 0; i < CLASSES; i++) {
        if (!is_shown[i] && (found == CLASSES || scores[i] > scores[found])) {
            found = i;
        }
    }
    return found;
}

static void report_score(int32_t score)
{
    int64_t parts = (score - {{ output.MACRO }}_ZERO_POINT) * SCORE_PARTS;
    bool is_negative = parts < 0;

    report_text(is_negative ? " -" : "  ");
    report_thousandths((uint64_t)((is_negative ? -parts : parts) / SCORE_PART), 0);
}

static void report_best(uint32_t frame, const {{ output.ctype }} *scores)
{
    static bool is_shown[CLASSES];

    for (uint32_t i = 0; i < CLASSES; i++) {
        is_shown[i] = false;
    }
    report_text("frame");
    report_number((int32_t)frame, FRAME_WIDTH);
    for (uint32_t i = 0; i < TOP; i++) {
        uint32_t one = best(scores, is_shown);

        is_shown[one] = true;
        report_score(scores[one]);
        report_text(" ");
        report_text(labels[one]);
    }
    report_line();
}

void application_run(void)
{
    while (camera_start()) {
{% if networks[0].feed %}
        const uint8_t *pixels;
        uint32_t frame = 0;
        uint32_t line = 0;

        while ((pixels = camera_next()) != NULL) {
            ethosgen_status status = take(pixels, line); /* the camera fills the other buffer */

            line = (line + 1u) % CAMERA_HEIGHT;
            if (status == ETHOSGEN_OK && line == 0) {
                status = {{ names[0] }}_run();
                if (status == ETHOSGEN_OK) {
                    report_best(frame, {{ output.buffer }});
                }
                frame++;
            }
            if (status != ETHOSGEN_OK) {
                report_failure("{{ names[0] }}", (uint32_t)status);
            }
        }
{% else %}
        const uint8_t *frame;

{% if networks[0].variables %}
        {{ names[0] }}_reset();
{% endif %}
        for (uint32_t number = 0; (frame = camera_next()) != NULL; number++) {
            take(frame);
            ethosgen_status status = {{ names[0] }}_run(); /* the camera fills the other buffer */

            if (status == ETHOSGEN_OK) {
                report_best(number, {{ output.buffer }});
            } else {
                report_failure("{{ names[0] }}", (uint32_t)status);
            }
        }
{% endif %}
    }
}
