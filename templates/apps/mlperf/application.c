/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
{% set network = networks[0] %}
{% set input = network.inputs[0] %}
{% set output = network.outputs[0] %}
/*
 * Speaks the protocol of the benchmark MLPerf Tiny: the benchmark's runner sends commands over the
 * console, this firmware runs the network and answers in lines of text, the last of them "m-ready".
 *
 *     name%  profile%  timestamp%  help%       identity and time
 *     db load N%  db HEX%  db print%           the input, {{ benchmark.what }}
{% if benchmark.is_stream %}
 *     db setptr N%                             load from byte N on again
 *     extract_uart_stream%                     take the frame: its features, and the scores of the last second
{% endif %}
 *     infer N [W]%                             W runs to warm up (10), then N runs between two timestamps
 *     results%                                 {{ benchmark.results }}
 *
 * Generated once by ethosgen; yours from now on.
 */
#include "application.h"

#include "commands.h"
{% if benchmark.is_stream %}
#include "features.h"
{% endif %}
#include "report.h"
#include "settings.h"
#include "stopwatch.h"

#include "ethosgen_networks.h"
#include "ethosgen_quantization.h"
#include "{{ names[0] }}.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define MODEL "{{ benchmark.model }}"
#define FIRMWARE "ULPMark for tinyML Firmware V0.0.1" /* the version of the protocol */
#ifdef BOARD_ON_QEMU
#define DEVICE "ethosgen on QEMU, times are estimates"
#else
#define DEVICE "ethosgen on {{ board.name }}"
#endif

#define VALUES {{ input.MACRO }}_ELEMENTS
{% if benchmark.is_error %}
#define LOAD_BYTES (VALUES * sizeof(float))
{% elif benchmark.is_stream %}
#define LOAD_BYTES (FRAME_SAMPLES * sizeof(int16_t))
{% else %}
#define LOAD_BYTES VALUES
{% endif %}
{% if benchmark.is_image %}
#define FLIP 0x80u /* an image has 0 ... 255, the network takes 128 less: flip the highest bit */
{% else %}
#define FLIP 0u
{% endif %}
#define LINE_BYTES 8u /* that "db print" writes per line */

/* The input is kept here: a run may overwrite it in the arena. */
static struct {
    union {
        uint8_t bytes[LOAD_BYTES];
{% if benchmark.is_error %}
        float real[VALUES];
{% elif benchmark.is_stream %}
        int16_t samples[FRAME_SAMPLES];
{% endif %}
    } data;
    size_t wanted; /* bytes, by "db load" */
    size_t count;
} loaded;
{% if benchmark.is_error %}
static {{ input.ctype }} quantized[VALUES];
{% elif benchmark.is_stream %}

/* The features of the last frames; 0 before the first. */
static {{ input.ctype }} window[VALUES];
{% endif %}

static void report_error(const char *what)
{
    report_text("e-[");
    report_text(what);
    report_text("]");
    report_line();
}

static void report_timestamp(void)
{
    report_text("m-lap-us-");
    report_count(stopwatch_us());
    report_line();
}

static void tell_name(struct command *command)
{
    (void)command;
    report_text("m-name-dut-[" DEVICE "]");
    report_line();
}

static void tell_profile(struct command *command)
{
    (void)command;
    report_text("m-profile-[" FIRMWARE "]");
    report_line();
    report_text("m-model-[" MODEL "]");
    report_line();
    report_text("m-digest-[" ETHOSGEN_DIGEST "]"); /* for ethosgen run, which compares it */
    report_line();
}

static void tell_time(struct command *command)
{
    (void)command;
    report_timestamp();
}

static void begin_load(struct command *command)
{
    uint32_t bytes;

    if (!command_number(command, &bytes) || bytes == 0u) {
        report_error("Command 'db load' must be >0 bytes");
        return;
    }
    if (bytes > LOAD_BYTES) {
        report_error("Command 'db load' exceeds the network's input");
        return;
    }
    loaded.wanted = bytes;
    loaded.count = 0u;
    report_text("m-[Expecting ");
    report_count(bytes);
    report_text(" bytes]");
    report_line();
}

static void print_load(void)
{
    for (size_t i = 0u; i < loaded.count; i++) {
        report_text(i % LINE_BYTES == 0u ? "m-buffer-" : "-");
        report_hex((uint8_t)(loaded.data.bytes[i] ^ FLIP));
        if (i % LINE_BYTES == LINE_BYTES - 1u || i == loaded.count - 1u) {
            report_line();
        }
    }
}

static void load(const char *digits)
{
    if (strlen(digits) % 2u != 0u) {
        report_error("Insufficient number of hex digits");
        return;
    }
    for (; *digits != '\0' && loaded.count < loaded.wanted; digits += 2) {
        uint8_t byte;

        if (!command_hex(digits, &byte)) {
            report_error("Invalid hex digit");
            return;
        }
        loaded.data.bytes[loaded.count++] = (uint8_t)(byte ^ FLIP);
        if (loaded.count == loaded.wanted) {
            report_text("m-load-done");
            report_line();
{% if benchmark.is_stream %}
            return;
{% endif %}
        }
    }
{% if benchmark.is_stream %}
    report_count(loaded.count);
    report_text(" bytes received");
    report_line();
{% endif %}
}
{% if benchmark.is_stream %}

/* Continue at an earlier byte, which has arrived damaged. */
static void return_to(struct command *command)
{
    uint32_t bytes;

    if (!command_number(command, &bytes) || bytes > loaded.wanted) {
        report_error("Command 'db setptr' needs a byte of the input");
        return;
    }
    loaded.count = bytes;
}
{% endif %}

static void change_load(struct command *command)
{
    const char *word = command_word(command);

    if (word == NULL) {
        report_error("Command 'db' requires a subcommand");
    } else if (strcmp(word, "load") == 0) {
        begin_load(command);
    } else if (strcmp(word, "print") == 0) {
        print_load();
{% if benchmark.is_stream %}
    } else if (strcmp(word, "setptr") == 0) {
        return_to(command);
{% endif %}
    } else {
        load(word);
    }
}

{% if benchmark.is_error %}
/* Prepare the input for the runs. */
static void prepare(void)
{
    ethosgen_quantize_all_s8(quantized, loaded.data.real, VALUES, {{ input.MACRO }}_SCALE,
                             {{ input.MACRO }}_ZERO_POINT);
}

{% endif %}
static ethosgen_status run(uint32_t times)
{
    ethosgen_status status = ETHOSGEN_OK;

    while (times-- > 0u && status == ETHOSGEN_OK) {
{% if benchmark.is_error %}
        memcpy({{ input.buffer }}, quantized, sizeof quantized);
{% elif benchmark.is_stream %}
        memcpy({{ input.buffer }}, window, sizeof window);
{% else %}
        memcpy({{ input.buffer }}, loaded.data.bytes, LOAD_BYTES);
{% endif %}
        status = {{ names[0] }}_run();
        stopwatch_advance();
    }
    return status;
}
{% if benchmark.is_error %}

/* Return the mean squared difference between the input and the output, in floats, like the reference. */
static float mean_squared_error(const {{ output.ctype }} *values)
{
    float sum = 0.0f;

    for (size_t i = 0u; i < VALUES; i++) {
        float value = ethosgen_dequantize(values[i], {{ output.MACRO }}_SCALE,
                                          {{ output.MACRO }}_ZERO_POINT);
        float difference = value - loaded.data.real[i];
        float square = difference * difference;

        sum += square;
    }
    return sum / (float)VALUES;
}

static void report_results(void)
{
    report_text("m-results-[");
    report_real(mean_squared_error({{ output.buffer }}));
    report_text("]");
    report_line();
}
{% else %}

static void report_results(void)
{
    const {{ output.ctype }} *scores = {{ output.buffer }};

    for (size_t i = 0u; i < {{ output.MACRO }}_ELEMENTS; i++) {
        report_text(i == 0u ? "m-results-[" : ",");
        report_real(ethosgen_dequantize(scores[i], {{ output.MACRO }}_SCALE,
                                        {{ output.MACRO }}_ZERO_POINT));
    }
    report_text("]");
    report_line();
}
{% endif %}

static void tell_results(struct command *command)
{
    (void)command;
    report_results();
}

static void report_step(const char *step, uint32_t times)
{
    report_text(step);
    report_count(times);
    report_line();
}

static void infer(struct command *command)
{
    uint32_t times = 1u;
    uint32_t warmups = WARMUPS;

    if (command_number(command, &times) && times == 0u) {
        report_error("Inference iterations must be >0");
        return;
    }
    (void)command_number(command, &warmups);
{% if not benchmark.is_stream %}
    if (loaded.count != LOAD_BYTES) {
        report_error("The input is not loaded");
        return;
    }
{% endif %}
{% if benchmark.is_error %}
    prepare();
{% endif %}
    report_step("m-warmup-start-", warmups);
    ethosgen_status status = run(warmups);

    report_text("m-warmup-done");
    report_line();
    report_step("m-infer-start-", times);
    report_timestamp();
    if (status == ETHOSGEN_OK) {
        status = run(times);
    }
    report_timestamp();
    report_text("m-infer-done");
    report_line();
    if (status == ETHOSGEN_OK) {
        report_results();
    } else {
        report_failure("{{ names[0] }}", (uint32_t)status);
    }
}

{% if benchmark.is_stream %}
/* Report integers as printf() does with "%+3d". */
static void report_integers(const char *title, const int8_t *values, size_t count)
{
    report_text(title);
    for (size_t i = 0u; i < count; i++) {
        if (i > 0u) {
            report_text(", ");
        }
        if (values[i] < 0) {
            report_number(values[i], 3u);
        } else {
            report_text(values[i] < 10 ? " +" : "+");
            report_count((uint64_t)values[i]);
        }
    }
    report_text("]");
    report_line();
}

/* Take the loaded frame; a short one, the last of a stream, leaves the rest of the frame before. */
static void extract(struct command *command)
{
    {{ input.ctype }} *latest = window + VALUES - FEATURES;

    (void)command;
    if (loaded.wanted == 0u || loaded.count != loaded.wanted) {
        report_error("The sound is not loaded");
        return;
    }
    memmove(window, window + FEATURES, sizeof window - FEATURES);
    features_take(loaded.data.samples, latest);
    ethosgen_status status = run(1u);

    if (status != ETHOSGEN_OK) {
        report_failure("{{ names[0] }}", (uint32_t)status);
        return;
    }
    report_integers("m-features-[", latest, FEATURES);
    report_integers("m-activations-[", {{ output.buffer }}, {{ output.MACRO }}_ELEMENTS);
}

{% endif %}
static void help(struct command *command);

static const struct {
    const char *name;
    void (*obey)(struct command *command);
    const char *help;
} commands[] = {
    {"help", help, "Print this information"},
    {"name", tell_name, "Print the name of the device"},
    {"profile", tell_profile, "Print the protocol's version and the benchmark"},
    {"timestamp", tell_time, "Print a timestamp, in microseconds"},
    {"db", change_load, "load N: expect N bytes; HH[HH]*: load bytes; print: print them"},
    {"infer", infer, "N [W=10]: load the input, execute N inferences after W warmup loops"},
    {"results", tell_results, "Print the results of the last inference"},
{% if benchmark.is_stream %}
    {"extract_uart_stream", extract, "Take the loaded frame of sound; print its features and scores"},
{% endif %}
};

#define COMMANDS (sizeof commands / sizeof commands[0])

static void help(struct command *command)
{
    (void)command;
    report_text(FIRMWARE);
    report_line();
    for (size_t i = 0u; i < COMMANDS; i++) {
        report_text(commands[i].name);
        report_text(" : ");
        report_text(commands[i].help);
        report_line();
    }
}

static void obey(struct command *command)
{
{% if benchmark.is_stream %}
    report_text("Received command: "); /* the host repeats one that has arrived damaged */
    report_text(command->text);
    report_line();
{% endif %}
    const char *word = command_word(command);

    for (size_t i = 0u; i < COMMANDS && word != NULL; i++) {
        if (strcmp(word, commands[i].name) == 0) {
            commands[i].obey(command);
            return;
        }
    }
    report_text("e-[Unknown command: ");
    report_text(word != NULL ? word : "");
    report_text("]");
    report_line();
}

static void report_ready(void)
{
    report_text("m-ready");
    report_line();
}

void application_run(void)
{
    commands_start();
    report_text("m-timestamp-mode-performance");
    report_line();
    report_timestamp();
    report_text("m-init-done");
    report_line();
    for (;;) {
        struct command command;

        report_ready();
        commands_wait(&command);
        stopwatch_advance();
        obey(&command);
    }
}
