/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
{% set input = networks[0].inputs[0] %}
{% set output = networks[0].outputs[0] %}
/*
 * Detects anomalies in a stream of vectors. The network was trained to reproduce normal vectors, so a
 * large error of its output shows that a vector is not normal.
 *
 *     sensor (sensor.h) -> quantize -> {{ names[0] }}_run() -> error -> detector (detector.h) -> report
 *
 * Generated once by ethosgen; yours from now on.
 */
#include "application.h"

#include "detector.h"
#include "report.h"
#include "sensor.h"
#include "settings.h"

#include "ethosgen_quantization.h"
#include "{{ names[0] }}.h"

#include <assert.h>

#define VALUES {{ input.MACRO }}_ELEMENTS
#define TIME_WIDTH 10u
#define ERROR_WIDTH 12u
#define THOUSAND 1000u

/* The output's scale differs from the input's: differences are counted in this fraction of the
 * input's step. */
#define PART_OF_STEP 256
#define OUTPUT_PARTS ((int32_t){{ output_parts }}) /* a step of the output, {{ output.scale_text }} / {{ input.scale_text }} of one of the input */

static_assert(VALUES == {{ output.MACRO }}_ELEMENTS, "the network reproduces its input");

static float vector[VALUES];
static {{ input.ctype }} given[VALUES]; /* the output may overwrite the input in the arena */

/* Return the mean squared error of the output, in thousandths of the input's step squared. */
static uint64_t mean_squared_error(const {{ input.ctype }} *wanted, const {{ output.ctype }} *found)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < VALUES; i++) {
        int64_t difference = (wanted[i] - {{ input.MACRO }}_ZERO_POINT) * (int64_t)PART_OF_STEP -
                             (found[i] - {{ output.MACRO }}_ZERO_POINT) * (int64_t)OUTPUT_PARTS;

        sum += (uint64_t)(difference * difference);
    }
    return sum / VALUES * THOUSAND / (PART_OF_STEP * PART_OF_STEP);
}

static ethosgen_status judge(uint64_t *error)
{
    for (uint32_t i = 0; i < VALUES; i++) {
        given[i] = ethosgen_quantize_{{ short_type }}(vector[i], {{ input.MACRO }}_SCALE, {{ input.MACRO }}_ZERO_POINT);
        {{ input.buffer }}[i] = given[i];
    }
    ethosgen_status status = {{ names[0] }}_run();

    if (status == ETHOSGEN_OK) {
        *error = mean_squared_error(given, {{ output.buffer }});
    }
    return status;
}

static void report(uint64_t time_ms, uint64_t error, enum detector_event event,
                   uint64_t threshold)
{
    static const char *const words[] = {
        [DETECTOR_LEARNING] = "learning",
        [DETECTOR_NORMAL] = "normal",
        [DETECTOR_BEGINS] = "ANOMALY BEGINS",
        [DETECTOR_GOES_ON] = "anomaly",
        [DETECTOR_ENDS] = "ANOMALY ENDS",
    };

    report_thousandths(time_ms, TIME_WIDTH);
    report_text(" s  error");
    report_thousandths(error, ERROR_WIDTH);
    report_text(" of");
    report_thousandths(threshold, ERROR_WIDTH);
    report_text("  ");
    report_text(words[event]);
    report_line();
}

void application_run(void)
{
    while (sensor_start()) {
        struct detector detector = {0};
        uint64_t time_ms = 0;

{% if networks[0].variables %}
        {{ names[0] }}_reset();
{% endif %}
        while (sensor_read(vector)) {
            uint64_t error = 0;
            ethosgen_status status = judge(&error);

            if (status == ETHOSGEN_OK) {
                enum detector_event event = detector_step(&detector, error);
                report(time_ms, error, event, detector.threshold);
            } else {
                report_failure("{{ names[0] }}", (uint32_t)status);
            }
            time_ms += SENSOR_PERIOD_MS;
        }
    }
}
