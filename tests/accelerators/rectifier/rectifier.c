/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rectifier.h"

#include "ethosgen_devices.h"

enum { CONTROL = 0x00, INPUT = 0x04, OUTPUT = 0x08, BYTES = 0x0C, BOUND = 0x10 };
#define START 1u
#define ENDED 2u

int32_t rectifier_run(const int8_t *input, int8_t *output, int32_t bytes, int32_t bound)
{
    const struct ethosgen_device *device = &ethosgen_device_rectifier;

    ethosgen_device_flush(input, (uint32_t)bytes);
    ethosgen_device_flush(output, (uint32_t)bytes);
    *ethosgen_device_register(device, INPUT) = ETHOSGEN_DEVICE_ADDRESS(input);
    *ethosgen_device_register(device, OUTPUT) = ETHOSGEN_DEVICE_ADDRESS(output);
    *ethosgen_device_register(device, BYTES) = (uint32_t)bytes;
    *ethosgen_device_register(device, BOUND) = (uint32_t)bound;
    ETHOSGEN_DEVICE_BARRIER();
    *ethosgen_device_register(device, CONTROL) = START;
    int32_t status = ethosgen_device_await(device, CONTROL, ENDED, ENDED);
    ethosgen_device_flush(output, (uint32_t)bytes);
    return status;
}
