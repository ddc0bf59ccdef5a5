/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface of a device's functional model in C. ethosgen compiles the model for this machine, and
 * runs it in its own process.
 */
#ifndef ETHOSGEN_MODEL_H
#define ETHOSGEN_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Your model defines these two functions. */

/* Set the registers' values after power-on. */
void ethosgen_model_reset(void);

/* Read the registers and do what they request; return whether there was anything to do. Called
 * repeatedly. */
bool ethosgen_model_poll(void);

/* Registers, by their offsets in bytes. An offset outside the registers ends the model with an error. */
uint32_t ethosgen_model_get(uint32_t offset);
void ethosgen_model_set(uint32_t offset, uint32_t value);

/* The address on this machine of bytes of the processor's memory. Bytes that the device may not
 * read, or write, end the model with an error. */
const void *ethosgen_model_read(uint32_t address, uint32_t bytes);
void *ethosgen_model_write(uint32_t address, uint32_t bytes);

/* Raise the device's interrupt. */
void ethosgen_model_interrupt(void);

/* Count cycles that the device takes, if you know them: `ethosgen accelerators measure` uses them. */
void ethosgen_model_spend(uint32_t cycles);

/* End the model with an error: a sentence that says what is wrong, without a full stop. */
__attribute__((noreturn)) void ethosgen_model_fail(const char *why);

#ifdef __cplusplus
}
#endif

#endif /* ETHOSGEN_MODEL_H */
