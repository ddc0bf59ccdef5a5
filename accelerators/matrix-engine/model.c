/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The matrix engine's functional model in C; model.py is the same in Python, and quicker. To use this one
 * write model = "model.c" in accelerator.toml.
 */
#include "ethosgen_model.h"
#include "matrix_engine.h"

#include <stddef.h>

enum { ID = 0x00, COMMAND = 0x04, DONE = 0x08, STATUS = 0x0C };
enum { A = 0x10, OUTERS = 0x14, A_OUTER_STEP = 0x18, ROWS = 0x1C, A_ROW_STEP = 0x20 };
enum { CHUNKS = 0x24, A_CHUNK_STEP = 0x28, CHUNK_BYTES = 0x2C };
enum { B = 0x30, COLUMNS = 0x34, B_COLUMN_STEP = 0x38, B_CHUNK_STEP = 0x3C };
enum { C = 0x40, C_OUTER_STEP = 0x44, C_ROW_STEP = 0x48 };
enum { BIAS = 0x4C, MULTIPLIERS = 0x50, SHIFTS = 0x54 };
enum { A_OFFSET = 0x58, C_OFFSET = 0x5C, C_MIN = 0x60, C_MAX = 0x64 };
enum { OK = 0, BAD_SIZE = 1 };

void ethosgen_model_reset(void)
{
    ethosgen_model_set(ID, MATRIX_ENGINE_ID);
    ethosgen_model_set(COMMAND, 0);
    ethosgen_model_set(DONE, 0);
    ethosgen_model_set(STATUS, OK);
}

static int32_t get_signed(uint32_t offset)
{
    return (int32_t)ethosgen_model_get(offset);
}

/* A high multiplication and a shift to the right, each with its own rounding, as in TensorFlow Lite. */
static int32_t rescale(int32_t sum, int32_t multiplier, int32_t shift)
{
    uint32_t left = shift > 0 ? (uint32_t)shift : 0;
    uint32_t right = shift < 0 ? (uint32_t)-shift : 0;
    int64_t product = (int64_t)(int32_t)((uint32_t)sum << left) * multiplier;
    int64_t nudge = product >= 0 ? 1 << 30 : 1 - (1 << 30);
    int64_t high = (product + nudge) / ((int64_t)1 << 31);
    if (high > INT32_MAX) {
        high = INT32_MAX;
    }
    int64_t mask = ((int64_t)1 << right) - 1;
    int64_t threshold = (mask >> 1) + (high < 0);
    return (int32_t)((high >> right) + ((high & mask) > threshold));
}

/* Return the sum of products of a row of A and a column of B, whose first bytes have these addresses. */
static int32_t multiply(uint32_t a, uint32_t b, int32_t a_offset)
{
    uint32_t chunks = ethosgen_model_get(CHUNKS);
    uint32_t bytes = ethosgen_model_get(CHUNK_BYTES);
    uint32_t a_step = ethosgen_model_get(A_CHUNK_STEP);
    uint32_t b_step = ethosgen_model_get(B_CHUNK_STEP);
    uint32_t sum = 0; /* wraps, as the engine's does */

    for (uint32_t i = 0; i < chunks && bytes != 0; i++) {
        const int8_t *left = ethosgen_model_read(a + i * a_step, bytes);
        const int8_t *right = ethosgen_model_read(b + i * b_step, bytes);
        for (uint32_t k = 0; k < bytes; k++) {
            sum += (uint32_t)((left[k] + a_offset) * right[k]);
        }
    }
    return (int32_t)sum;
}

static void compute_row(uint32_t a, uint32_t c)
{
    uint32_t columns = ethosgen_model_get(COLUMNS);
    const int32_t *multipliers = ethosgen_model_read(ethosgen_model_get(MULTIPLIERS), 4 * columns);
    const int32_t *shifts = ethosgen_model_read(ethosgen_model_get(SHIFTS), 4 * columns);
    uint32_t bias_address = ethosgen_model_get(BIAS);
    const int32_t *bias = bias_address != 0 ? ethosgen_model_read(bias_address, 4 * columns) : NULL;
    int8_t *to = ethosgen_model_write(c, columns);
    uint32_t b = ethosgen_model_get(B);

    for (uint32_t n = 0; n < columns; n++, b += ethosgen_model_get(B_COLUMN_STEP)) {
        uint32_t sum = (uint32_t)multiply(a, b, get_signed(A_OFFSET));
        sum += bias != NULL ? (uint32_t)bias[n] : 0;
        int32_t value = rescale((int32_t)sum, multipliers[n], shifts[n]) + get_signed(C_OFFSET);
        int32_t low = get_signed(C_MIN), high = get_signed(C_MAX);
        to[n] = (int8_t)(value < low ? low : value > high ? high : value);
    }
}

static uint32_t run(void)
{
    uint64_t outers = ethosgen_model_get(OUTERS);
    uint64_t rows = ethosgen_model_get(ROWS);
    uint64_t columns = ethosgen_model_get(COLUMNS);
    uint64_t depth = (uint64_t)ethosgen_model_get(CHUNKS) * ethosgen_model_get(CHUNK_BYTES);

    if (outers == 0 || rows == 0 || columns == 0 || outers > INT32_MAX / rows ||
        columns > INT32_MAX / (outers * rows) ||
        depth > INT32_MAX) {
        return BAD_SIZE;
    }
    ethosgen_model_spend((uint32_t)((outers * rows + 15) / 16 * ((columns + 15) / 16) * (depth + 16)));
    for (uint32_t y = 0; y < outers; y++) {
        uint32_t a = ethosgen_model_get(A) + y * ethosgen_model_get(A_OUTER_STEP);
        uint32_t c = ethosgen_model_get(C) + y * ethosgen_model_get(C_OUTER_STEP);
        for (uint32_t x = 0; x < rows; x++) {
            compute_row(a, c);
            a += ethosgen_model_get(A_ROW_STEP);
            c += ethosgen_model_get(C_ROW_STEP);
        }
    }
    return OK;
}

bool ethosgen_model_poll(void)
{
    uint32_t number = ethosgen_model_get(COMMAND);

    if (number == ethosgen_model_get(DONE)) {
        return false;
    }
    ethosgen_model_set(STATUS, run());
    ethosgen_model_set(DONE, number);
    ethosgen_model_interrupt();
    return true;
}
