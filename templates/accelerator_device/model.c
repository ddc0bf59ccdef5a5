/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* The device's functional model in C; model.py is the same in Python. ethosgen_model.h declares what it uses. */
#include "ethosgen_model.h"
#include "new_accelerator.h"

#include <stddef.h>

#define GET(name) ethosgen_model_get(NEW_ACCELERATOR_##name)
#define SIGNED(name) ((int32_t)GET(name))
#define SET(name, value) ethosgen_model_set(NEW_ACCELERATOR_##name, value)

enum { OK = 0, BAD_SIZE = 1 };

void ethosgen_model_reset(void)
{
    SET(IDENTITY, NEW_ACCELERATOR_ID);
    SET(START, 0);
    SET(DONE, 0);
    SET(STATUS, OK);
}

/* A high multiplication and a shift to the right, each with its own rounding, as in TensorFlow Lite. */
static int32_t rescale(int32_t sum, int32_t multiplier, int32_t shift)
{
    uint32_t left = shift > 0 ? (uint32_t)shift : 0, right = shift < 0 ? (uint32_t)-shift : 0;
    int64_t product = (int64_t)(int32_t)((uint32_t)sum << left) * multiplier;
    int64_t nudge = product >= 0 ? 1 << 30 : 1 - (1 << 30);
    int64_t high = (product + nudge) / ((int64_t)1 << 31);
    high = high > INT32_MAX ? INT32_MAX : high;
    int64_t mask = ((int64_t)1 << right) - 1;
    return (int32_t)((high >> right) + ((high & mask) > (mask >> 1) + (high < 0)));
}

static void multiply(const int8_t *vector, const int8_t *weights, int8_t *to)
{
    uint32_t inputs = GET(INPUTS), outputs = GET(OUTPUTS), bytes = 4 * outputs;
    const int32_t *bias = GET(BIAS) != 0 ? ethosgen_model_read(GET(BIAS), bytes) : NULL;
    const int32_t *multipliers = ethosgen_model_read(GET(MULTIPLIERS), bytes);
    const int32_t *shifts = ethosgen_model_read(GET(SHIFTS), bytes);
    int32_t offset = SIGNED(INPUT_OFFSET);

    for (uint32_t o = 0; o < outputs; o++) {
        uint32_t sum = bias != NULL ? (uint32_t)bias[o] : 0; /* wraps, as the device's does */
        for (uint32_t i = 0; i < inputs; i++) {
            sum += (uint32_t)((vector[i] + offset) * weights[o * inputs + i]);
        }
        int32_t value = rescale((int32_t)sum, multipliers[o], shifts[o]) + SIGNED(OUTPUT_OFFSET);
        int32_t least = SIGNED(OUTPUT_MIN), most = SIGNED(OUTPUT_MAX);
        to[o] = (int8_t)(value < least ? least : value > most ? most : value);
    }
}

static uint32_t run(void)
{
    uint32_t vectors = GET(VECTORS), inputs = GET(INPUTS), outputs = GET(OUTPUTS);

    if (vectors == 0 || inputs == 0 || outputs == 0) {
        return BAD_SIZE;
    }
    ethosgen_model_spend((uint32_t)(((uint64_t)vectors * outputs * inputs + 15) / 16 + 40));
    const int8_t *input = ethosgen_model_read(GET(INPUT), vectors * inputs);
    const int8_t *weights = ethosgen_model_read(GET(WEIGHTS), outputs * inputs);
    int8_t *output = ethosgen_model_write(GET(OUTPUT), vectors * outputs);
    for (uint32_t i = 0; i < vectors; i++) {
        multiply(&input[i * inputs], weights, &output[i * outputs]);
    }
    return OK;
}

bool ethosgen_model_poll(void)
{
    uint32_t number = GET(START);

    if (number == GET(DONE)) {
        return false;
    }
    SET(STATUS, run());
    SET(DONE, number); /* after the results are in memory */
    ethosgen_model_interrupt();
    return true;
}
