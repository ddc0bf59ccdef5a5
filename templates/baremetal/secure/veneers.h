/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of the secure side that non-secure code may call, each through a veneer: an SG
 * instruction in non-secure callable memory.
 *
 * Generated once by ethosgen; yours from now on.
 */
#ifndef VENEERS_H
#define VENEERS_H

#include <stdbool.h>
#include <stdint.h>

#define SECURE_VERSION 1u

/* What secure_evidence() confirms. */
enum {
    SECURE_CALLED_BY_NON_SECURE = 1u << 0, /* the call came from non-secure state */
    SECURE_IMAGE_IS_NON_SECURE = 1u << 1,  /* so is the memory of the firmware's vectors */
    SECURE_IMAGE_IS_GUARDED = 1u << 2,     /* the secure image, at both of its aliases, is not */
{% if npu %}
    SECURE_NPU_IS_NON_SECURE = 1u << 3,    /* so are the NPU's registers and the NPU itself */
    SECURE_NPU_IRQ_IS_NON_SECURE = 1u << 4 /* so is the target of its interrupt */
{% endif %}
};

/* Why the secure side stopped the firmware. */
enum secure_cause {
    SECURE_FAULT = 0,          /* the processor took a fault */
    SECURE_FEW_SAU_REGIONS,    /* the SAU has fewer regions than partition.h needs */
    SECURE_GUARD_MISMATCH,     /* a block of an MPC or a TGU would be only partly secure */
    SECURE_NO_IMAGE,           /* there is no non-secure firmware: no vectors */
    SECURE_IMAGE_RETURNED      /* the non-secure firmware returned from its reset handler */
};

/* A fault that the secure side handled, with the fault status registers of both states. */
struct secure_fault {
    uint32_t cfsr;          /* of the secure state, which takes all bus faults */
    uint32_t pc;            /* the instruction; 0 if unknown */
    uint32_t cause;         /* an enum secure_cause */
    uint32_t is_non_secure; /* 1: non-secure code caused it */
    uint32_t sfsr;          /* the SecureFault status register */
    uint32_t sfar;          /* the address, if SFSR.SFARVALID */
    uint32_t bfar;          /* the address, if CFSR.BFARVALID */
    uint32_t cfsr_ns;       /* of the non-secure state */
};

/* Return SECURE_VERSION of the secure side. */
uint32_t secure_version(void);

/* Return the bits above that are true. */
uint32_t secure_evidence(void);

/* Copy the fault that ended the last run, if memory has kept it through the reset; false if there
 * is none, or if *to is misaligned or the caller may not write all of it. */
bool secure_last_fault(struct secure_fault *to);

#endif /* VENEERS_H */
