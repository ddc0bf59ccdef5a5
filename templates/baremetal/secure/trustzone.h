/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The secure side's set-up: memories, peripherals, interrupts, faults.
 *
 * Generated once by ethosgen; yours from now on.
 */
#ifndef TRUSTZONE_H
#define TRUSTZONE_H

#include "veneers.h"

/* Hand over what partition.h names. Return SECURE_FAULT (0) if all is well, else the error. It
 * hands the console over in either case. */
enum secure_cause trustzone_init(void);

/* Start the non-secure firmware; return only if there is none or it ends. */
enum secure_cause trustzone_start(void);
{% if npu %}

/* Return whether non-secure code reaches the NPU, and the NPU itself is in non-secure state. */
bool trustzone_npu_is_open(void);

/* Return whether the NPU interrupts non-secure code. */
bool trustzone_npu_irq_is_open(void);
{% endif %}

/* Return the fault that ended the last run, NULL if there is none. */
const struct secure_fault *trustzone_last_fault(void);

#endif /* TRUSTZONE_H */
