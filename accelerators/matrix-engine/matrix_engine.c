/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* The driver of the matrix engine: see matrix_engine.h. */
#include "matrix_engine.h"

#include "ethosgen_devices.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    COMMAND = 0x04,
    DONE = 0x08,
    STATUS = 0x0C,
    A = 0x10,
    OUTERS = 0x14,
    A_OUTER_STEP = 0x18,
    ROWS = 0x1C,
    A_ROW_STEP = 0x20,
    CHUNKS = 0x24,
    A_CHUNK_STEP = 0x28,
    CHUNK_BYTES = 0x2C,
    B = 0x30,
    COLUMNS = 0x34,
    B_COLUMN_STEP = 0x38,
    B_CHUNK_STEP = 0x3C,
    C = 0x40,
    C_OUTER_STEP = 0x44,
    C_ROW_STEP = 0x48,
    BIAS = 0x4C,
    MULTIPLIERS = 0x50,
    SHIFTS = 0x54,
    A_OFFSET = 0x58,
    C_OFFSET = 0x5C,
    C_MIN = 0x60,
    C_MAX = 0x64
};

static const struct ethosgen_device *const engine = &ethosgen_device_matrix_engine;

static void put(uint32_t offset, uint32_t value)
{
    *ethosgen_device_register(engine, offset) = value;
}

static void put_signed(uint32_t offset, int32_t value)
{
    put(offset, (uint32_t)value);
}

static void put_address(uint32_t offset, const void *address)
{
    put(offset, ETHOSGEN_DEVICE_ADDRESS(address));
}

/* Outputs along one axis whose windows overlap the input in the same way: their windows begin at the same
 * element of the kernel, and have as many. */
struct span {
    int32_t first, count;
    int32_t kernel_first, kernel_count;
};

struct axis {
    int32_t inputs, outputs, kernel, stride, pad;
};

static void clip(const struct axis *axis, struct span *span)
{
    int32_t start = span->first * axis->stride - axis->pad;
    int32_t end = axis->inputs - start < axis->kernel ? axis->inputs - start : axis->kernel;

    span->kernel_first = start < 0 ? -start : 0;
    span->kernel_count = end > span->kernel_first ? end - span->kernel_first : 0;
}

/* Return the span that begins at an output. */
static struct span find_span(const struct axis *axis, int32_t first)
{
    struct span found = { .first = first, .count = 1 };

    clip(axis, &found);
    if (found.kernel_count == axis->kernel) { /* nothing is padding up to the last such window */
        int32_t last = (axis->inputs + axis->pad - axis->kernel) / axis->stride;
        found.count = (last < axis->outputs ? last + 1 : axis->outputs) - first;
        return found;
    }
    while (first + found.count < axis->outputs) {
        struct span next = { .first = first + found.count };
        clip(axis, &next);
        if (next.kernel_first != found.kernel_first || next.kernel_count != found.kernel_count) {
            break;
        }
        found.count++;
    }
    return found;
}

/* Set the registers that all commands of a layer have in common. */
static void begin(const struct matrix_engine_layer *layer, const int32_t *bias,
                  const int32_t *multipliers, const int32_t *shifts)
{
    int32_t row = layer->input_w * layer->input_channels;
    int32_t kernel_row = layer->kernel_w * layer->input_channels;

    put_signed(A_OUTER_STEP, layer->stride_h * row);
    put_signed(A_ROW_STEP, layer->stride_w * layer->input_channels);
    put_signed(A_CHUNK_STEP, row);
    put_signed(COLUMNS, layer->output_channels);
    put_signed(B_COLUMN_STEP, layer->kernel_h * kernel_row);
    put_signed(B_CHUNK_STEP, kernel_row);
    put_signed(C_OUTER_STEP, layer->output_w * layer->output_channels);
    put_signed(C_ROW_STEP, layer->output_channels);
    put_address(BIAS, bias);
    put_address(MULTIPLIERS, multipliers);
    put_address(SHIFTS, shifts);
    put_signed(A_OFFSET, layer->input_offset);
    put_signed(C_OFFSET, layer->output_offset);
    put_signed(C_MIN, layer->activation_min);
    put_signed(C_MAX, layer->activation_max);
}

/* Run a command with the registers as they are, and wait for its end. */
static int32_t run(void)
{
    uint32_t number = *ethosgen_device_register(engine, DONE) + 1u;

    ETHOSGEN_DEVICE_BARRIER(); /* the engine must see what the processor has written */
    put(COMMAND, number);
    int32_t status = ethosgen_device_await(engine, DONE, 0xFFFFFFFFu, number);
    if (status == 0 && *ethosgen_device_register(engine, STATUS) != 0) {
        status = MATRIX_ENGINE_REFUSED;
    }
    return status;
}

/* Compute the outputs of two spans: nothing of their windows is padding. */
static int32_t run_spans(const struct matrix_engine_layer *layer, const int8_t *input,
                         const int8_t *weights, int8_t *output, const struct span *down,
                         const struct span *across)
{
    int32_t channels = layer->input_channels;
    int32_t top = down->first * layer->stride_h - layer->pad_top + down->kernel_first;
    int32_t left = across->first * layer->stride_w - layer->pad_left + across->kernel_first;
    int32_t kernel = down->kernel_first * layer->kernel_w + across->kernel_first;
    int32_t pixel = down->first * layer->output_w + across->first;

    put_address(A, &input[(top * layer->input_w + left) * channels]);
    put_signed(OUTERS, down->count);
    put_signed(ROWS, across->count);
    put_signed(CHUNKS, down->kernel_count);
    put_signed(CHUNK_BYTES, across->kernel_count * channels);
    put_address(B, &weights[kernel * channels]);
    put_address(C, &output[pixel * layer->output_channels]);
    return run();
}

static int32_t run_image(const struct matrix_engine_layer *layer, const int8_t *input,
                         const int8_t *weights, int8_t *output)
{
    struct axis down = { layer->input_h, layer->output_h, layer->kernel_h, layer->stride_h,
                         layer->pad_top };
    struct axis across = { layer->input_w, layer->output_w, layer->kernel_w, layer->stride_w,
                           layer->pad_left };
    int32_t status = 0;

    for (int32_t y = 0; y < layer->output_h && status == 0;) {
        struct span rows = find_span(&down, y);
        for (int32_t x = 0; x < layer->output_w && status == 0;) {
            struct span columns = find_span(&across, x);
            status = run_spans(layer, input, weights, output, &rows, &columns);
            x += columns.count;
        }
        y += rows.count;
    }
    return status;
}

/* Write cached data back and drop it: the engine reads and writes memory. */
static void flush(const struct matrix_engine_layer *layer, const int8_t *input,
                  const int8_t *weights, const int32_t *const columns[3], int8_t *output)
{
    int32_t input_bytes = layer->input_h * layer->input_w * layer->input_channels;
    int32_t output_bytes = layer->output_h * layer->output_w * layer->output_channels;
    int32_t kernel_bytes = layer->kernel_h * layer->kernel_w * layer->input_channels;

    ethosgen_device_flush(input, (uint32_t)(layer->batches * input_bytes));
    ethosgen_device_flush(weights, (uint32_t)(layer->output_channels * kernel_bytes));
    for (int i = 0; i < 3; i++) {
        if (columns[i] != NULL) {
            ethosgen_device_flush(columns[i], (uint32_t)layer->output_channels * sizeof(int32_t));
        }
    }
    ethosgen_device_flush(output, (uint32_t)(layer->batches * output_bytes));
}

int32_t matrix_engine_conv(const int8_t *input, const int8_t *weights, const int32_t *bias,
                           int8_t *output, const int32_t *multipliers, const int32_t *shifts,
                           const int32_t *sizes)
{
    const struct matrix_engine_layer *layer = (const struct matrix_engine_layer *)(const void *)sizes;
    const int32_t *const columns[3] = { bias, multipliers, shifts };
    int32_t input_bytes = layer->input_h * layer->input_w * layer->input_channels;
    int32_t output_bytes = layer->output_h * layer->output_w * layer->output_channels;
    int32_t status = ETHOSGEN_OK;

    if (engine->base_addr == 0) {
        return ETHOSGEN_NOT_INITIALIZED;
    }
    flush(layer, input, weights, columns, output);
    begin(layer, bias, multipliers, shifts);
    for (int32_t i = 0; i < layer->batches && status == ETHOSGEN_OK; i++) {
        status = run_image(layer, &input[i * input_bytes], weights, &output[i * output_bytes]);
    }
    /* A cache may have read a line of the output again while the engine was writing. */
    ethosgen_device_flush(output, (uint32_t)(layer->batches * output_bytes));
    return status;
}
