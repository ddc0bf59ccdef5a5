/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The secure functions that non-secure code may call; see veneers.h.
 *
 * Never trust an argument: a pointer from the other side must point to memory that the other side itself
 * may use; check it before each use.
 *
 * Generated once by ethosgen; yours from now on.
 */
#include "veneers.h"

#include "partition.h"
#include "trustzone.h"

#include <arm_cmse.h>
#include <string.h>

__attribute__((cmse_nonsecure_entry)) uint32_t secure_version(void)
{
    return SECURE_VERSION;
}

/* Return whether non-secure code may read from an address, according to the instruction TTA. */
static bool is_open(uint32_t addr)
{
    return cmse_TTA((void *)(uintptr_t)addr).flags.nonsecure_read_ok;
}

__attribute__((cmse_nonsecure_entry)) uint32_t secure_evidence(void)
{
    uint32_t found = 0;

    if (cmse_nonsecure_caller()) {
        found |= SECURE_CALLED_BY_NON_SECURE;
    }
    if (is_open(NON_SECURE_VECTORS)) {
        found |= SECURE_IMAGE_IS_NON_SECURE;
    }
    if (!is_open(SECURE_CODE_START) && !is_open(ALIAS(SECURE_CODE_START)) && !is_open(SECURE_DATA_START) &&
        !is_open(ALIAS(SECURE_DATA_START))) {
        found |= SECURE_IMAGE_IS_GUARDED;
    }
{% if npu %}
    if (trustzone_npu_is_open()) {
        found |= SECURE_NPU_IS_NON_SECURE;
    }
    if (trustzone_npu_irq_is_open()) {
        found |= SECURE_NPU_IRQ_IS_NON_SECURE;
    }
{% endif %}
    return found;
}

__attribute__((cmse_nonsecure_entry)) bool secure_last_fault(struct secure_fault *to)
{
    struct secure_fault *checked = cmse_check_pointed_object(to, CMSE_NONSECURE | CMSE_MPU_READWRITE);
    const struct secure_fault *last = trustzone_last_fault();

    if (checked == NULL || last == NULL || (uintptr_t)to % _Alignof(struct secure_fault) != 0) {
        return false;
    }
    memcpy(checked, last, sizeof *checked);
    return true;
}
