/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The device's registers, and its driver's functions.
 *
 * The device multiplies vectors with a matrix: for each of VECTORS vectors of INPUTS bytes it computes OUTPUTS
 * bytes, then it sets DONE and pulses its interrupt.
 */
#ifndef ETHOSGEN_ACCELERATOR_new_accelerator_H
#define ETHOSGEN_ACCELERATOR_new_accelerator_H

#include <stdint.h>

#define NEW_ACCELERATOR_ID 0x4E450001u

/* Offsets in bytes. */
enum {
    NEW_ACCELERATOR_IDENTITY = 0x00,      /* NEW_ACCELERATOR_ID */
    NEW_ACCELERATOR_START = 0x04,         /* write the number of the next job to start it */
    NEW_ACCELERATOR_DONE = 0x08,          /* the number of the last job that has ended */
    NEW_ACCELERATOR_STATUS = 0x0C,        /* of that job: 0, or 1 for sizes that are not possible */
    NEW_ACCELERATOR_INPUT = 0x10,         /* address of the vectors, int8 */
    NEW_ACCELERATOR_WEIGHTS = 0x14,       /* address of the matrix, int8: a row for each output */
    NEW_ACCELERATOR_BIAS = 0x18,          /* address of an int32 for each output, 0 for none */
    NEW_ACCELERATOR_MULTIPLIERS = 0x1C,   /* address of an int32 for each output */
    NEW_ACCELERATOR_SHIFTS = 0x20,        /* address of an int32 for each output: left if positive */
    NEW_ACCELERATOR_OUTPUT = 0x24,        /* address of the results, int8 */
    NEW_ACCELERATOR_VECTORS = 0x28,
    NEW_ACCELERATOR_INPUTS = 0x2C,
    NEW_ACCELERATOR_OUTPUTS = 0x30,
    NEW_ACCELERATOR_INPUT_OFFSET = 0x34,  /* added to each input, signed */
    NEW_ACCELERATOR_OUTPUT_OFFSET = 0x38, /* added to each output, signed */
    NEW_ACCELERATOR_OUTPUT_MIN = 0x3C,    /* the smallest output, signed */
    NEW_ACCELERATOR_OUTPUT_MAX = 0x40     /* the largest output, signed */
};

/* The device refused a job: its STATUS was not 0. */
#define NEW_ACCELERATOR_REFUSED 100

/* Start a job; `bias` may be NULL. Returns 0, or a status; then nothing was started. */
int32_t new_accelerator_start(
    const int8_t *input, const int8_t *weights, const int32_t *bias, int8_t *output,
    const int32_t *multipliers, const int32_t *shifts, int32_t vectors, int32_t inputs,
    int32_t outputs, int32_t input_offset, int32_t output_offset, int32_t least, int32_t most);

/* Wait for its end. Returns 0, ETHOSGEN_DEVICE_TIMEOUT or NEW_ACCELERATOR_REFUSED. */
int32_t new_accelerator_wait(void);

#endif
