/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* The driver: one function starts the device, the other waits. Other operators run between the two. */
#include "new_accelerator.h"

#include "ethosgen_devices.h"

#include <stddef.h>

static const struct ethosgen_device *const device = &ethosgen_device_new_accelerator;

/* What the wait needs to know of the job that runs: it gets no arguments. */
static int8_t *running_output;
static uint32_t running_bytes, running_number;

static void put(uint32_t offset, int32_t value)
{
    *ethosgen_device_register(device, offset) = (uint32_t)value;
}

/* Pass the address of bytes that the device reads or writes. Without a flush it may see what was in memory
 * before the processor's cache has written it. */
static void pass(uint32_t offset, const void *start, int32_t bytes)
{
    if (start != NULL) {
        ethosgen_device_flush(start, (uint32_t)bytes);
    }
    *ethosgen_device_register(device, offset) = start != NULL ? ETHOSGEN_DEVICE_ADDRESS(start) : 0u;
}

int32_t new_accelerator_start(
    const int8_t *input, const int8_t *weights, const int32_t *bias, int8_t *output,
    const int32_t *multipliers, const int32_t *shifts, int32_t vectors, int32_t inputs,
    int32_t outputs, int32_t input_offset, int32_t output_offset, int32_t least, int32_t most)
{
    if (device->base_addr == 0) {
        return ETHOSGEN_NOT_INITIALIZED;
    }
    pass(NEW_ACCELERATOR_INPUT, input, vectors * inputs);
    pass(NEW_ACCELERATOR_WEIGHTS, weights, outputs * inputs);
    pass(NEW_ACCELERATOR_BIAS, bias, outputs * 4);
    pass(NEW_ACCELERATOR_MULTIPLIERS, multipliers, outputs * 4);
    pass(NEW_ACCELERATOR_SHIFTS, shifts, outputs * 4);
    pass(NEW_ACCELERATOR_OUTPUT, output, vectors * outputs);
    put(NEW_ACCELERATOR_VECTORS, vectors);
    put(NEW_ACCELERATOR_INPUTS, inputs);
    put(NEW_ACCELERATOR_OUTPUTS, outputs);
    put(NEW_ACCELERATOR_INPUT_OFFSET, input_offset);
    put(NEW_ACCELERATOR_OUTPUT_OFFSET, output_offset);
    put(NEW_ACCELERATOR_OUTPUT_MIN, least);
    put(NEW_ACCELERATOR_OUTPUT_MAX, most);

    running_output = output;
    running_bytes = (uint32_t)(vectors * outputs);
    running_number = *ethosgen_device_register(device, NEW_ACCELERATOR_DONE) + 1u;
    ETHOSGEN_DEVICE_BARRIER(); /* the device must see all that was written before it starts */
    put(NEW_ACCELERATOR_START, (int32_t)running_number);
    return ETHOSGEN_OK;
}

int32_t new_accelerator_wait(void)
{
    int32_t status =
        ethosgen_device_await(device, NEW_ACCELERATOR_DONE, 0xFFFFFFFFu, running_number);

    if (status == ETHOSGEN_OK && *ethosgen_device_register(device, NEW_ACCELERATOR_STATUS) != 0) {
        status = NEW_ACCELERATOR_REFUSED;
    }
    /* A cache may have read a line of the output again while the device was writing. */
    ethosgen_device_flush(running_output, running_bytes);
    return status;
}
