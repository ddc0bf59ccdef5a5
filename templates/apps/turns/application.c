/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two networks take turns in one arena: {{ names[0] }} in each round, then {{ names[1] }}, in each round or only
 * if the first one's best class wakes it (settings.h).
 *
 *     inputs (inputs.h) -> {{ names[0] }}_run() -> best class -> {{ names[1] }}_run() -> best class -> report
 *
 * Generated once by ethosgen; yours from now on.
 */
#include "application.h"

#include "inputs.h"
#include "report.h"
#include "settings.h"

#include <assert.h>
#include <string.h>

#define TIME_WIDTH 10u

struct result {
    ethosgen_status status;
    int32_t best;
    int32_t score; /* quantized */
};

static struct inputs inputs;
{% for network in networks %}
{% set input = network.inputs[0] %}
{% set output = network.outputs[0] %}

/* Inputs and outputs are in the arena, which the other network uses, too: write the input before
 * each run, and read the output before the other one's input is written. */
static struct result run_{{ network.name }}(void)
{
    const {{ output.ctype }} *scores = {{ output.buffer }};
    struct result result = {0};

    memcpy({{ input.buffer }}, inputs.{{ network.name }}, sizeof inputs.{{ network.name }});
    result.status = {{ network.name }}_run();
    for (int32_t i = 1; i < {{ output.MACRO }}_ELEMENTS; i++) {
        if (scores[i] > scores[result.best]) {
            result.best = i;
        }
    }
    result.score = scores[result.best];
    return result;
}
{% endfor %}

static void report_result(const char *network, const struct result *result)
{
    report_text(network);
    report_text(": class ");
    report_number(result->best, 0);
    report_text(", score ");
    report_number(result->score, 0);
}

static void report_round(uint64_t time_ms, const struct result *first, const struct result *second)
{
    report_thousandths(time_ms, TIME_WIDTH);
    report_text(" s  ");
    report_result("{{ names[0] }}", first);
    report_text("  ");
    if (second != NULL) {
        report_result("{{ names[1] }}", second);
    } else {
        report_text("{{ names[1] }}: asleep");
    }
    report_line();
}

static void work(uint64_t time_ms)
{
    struct result first = run_{{ names[0] }}();

    if (first.status != ETHOSGEN_OK) {
        report_failure("{{ names[0] }}", (uint32_t)first.status);
        return;
    }
    if (WAKING_CLASS >= 0 && first.best != WAKING_CLASS) {
        report_round(time_ms, &first, NULL);
        return;
    }
    struct result second = run_{{ names[1] }}();

    if (second.status != ETHOSGEN_OK) {
        report_failure("{{ names[1] }}", (uint32_t)second.status);
        return;
    }
    report_round(time_ms, &first, &second);
}

void application_run(void)
{
    while (inputs_start()) {
{% for network in networks if network.variables %}
        {{ network.name }}_reset();
{% endfor %}
        for (uint64_t time_ms = 0; inputs_read(&inputs); time_ms += PERIOD_MS) {
            work(time_ms);
        }
    }
}
