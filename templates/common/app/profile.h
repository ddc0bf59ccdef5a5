/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts each step of a network, in a build with ETHOSGEN_PROFILE: see ethosgen_profile.h.
 *
 * Generated once by ethosgen; yours from now on.
 */
#ifndef PROFILE_H
#define PROFILE_H

#ifdef ETHOSGEN_PROFILE
#include "ethosgen_profile.h"

#include <stdint.h>

/* Place 0 counts the time outside all steps, place N that of step N. */
#define PROFILE_PLACES (ETHOSGEN_PROFILE_STEPS + 1u)

struct profile_count {
    uint32_t ticks;      /* of the processor, without waits */
    uint32_t npu_cycles; /* by the NPU's PMU; 0 without an NPU */
    uint32_t entries;    /* hooks that began it: one per iteration of a loop, and after its subgraphs */
};

/* The cost of the hook, which a place contains once per entry: the ticks of this many calls. */
struct profile_hook {
    uint32_t calls;
    uint32_t ticks;
};

/* Forget the last run. */
void profile_clear(void);

/* Begin a run, outside all steps. */
void profile_begin(uint32_t ticks);

/* From now on, count for a step; or for 0, outside all steps. */
void profile_next(uint32_t step, uint32_t ticks, uint32_t npu_cycles);

/* Measure the cost of the hook; call it before the first run. */
void profile_measure_hook(uint32_t (*ticks)(void));

const struct profile_hook *profile_hook(void);

/* Return the last run's counts, PROFILE_PLACES of them. */
const struct profile_count *profile_counts(void);
#endif

#endif /* PROFILE_H */
