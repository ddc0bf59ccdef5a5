/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interrupts in use. Generated once by ethosgen; yours from now on.
 */
#ifndef STARTUP_H
#define STARTUP_H

#include <stdint.h>

#define IRQ_CONSOLE_RX 43u
#define IRQ_NPU 56u
#define IRQ_BELL 44u

/* The highest of them plus one: the length of the vector table for interrupts. */
#define IRQ_COUNT 57u

void Reset_Handler(void);
void Console_RX_Handler(void);
void NPU_Handler(void);
void Bell_Handler(void);

#endif /* STARTUP_H */
