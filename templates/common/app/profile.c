/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts each step of a network; see profile.h.
 *
 * Generated once by ethosgen; yours from now on.
 */
#include "profile.h"

#ifdef ETHOSGEN_PROFILE
#include <string.h>

static struct {
    struct profile_count counts[PROFILE_PLACES];
    struct profile_count since; /* when the step began */
    uint32_t step;
} profile;

static struct profile_hook hook;

void profile_clear(void)
{
    memset(&profile, 0, sizeof profile);
}

void profile_begin(uint32_t ticks)
{
    profile.since.ticks = ticks;
}

/* No branch: each call costs the same, so that its cost can be subtracted. */
void profile_next(uint32_t step, uint32_t ticks, uint32_t npu_cycles)
{
    struct profile_count *count = &profile.counts[profile.step];

    count->ticks += ticks - profile.since.ticks;
    count->npu_cycles += npu_cycles - profile.since.npu_cycles;
    profile.since.ticks = ticks;
    profile.since.npu_cycles = npu_cycles;
    profile.counts[step].entries++;
    profile.step = step;
}

#define FOUR_CALLS           \
    ethosgen_profile_step(1); \
    ethosgen_profile_step(1); \
    ethosgen_profile_step(1); \
    ethosgen_profile_step(1)

void profile_measure_hook(uint32_t (*ticks)(void))
{
    /* From one call's reading of the clock to the next one's: a call's whole cost, and nothing else. */
    profile_begin(ticks());
    ethosgen_profile_step(1);
    FOUR_CALLS;
    FOUR_CALLS;
    FOUR_CALLS;
    FOUR_CALLS;
    hook = (struct profile_hook){.calls = 16, .ticks = profile.counts[1].ticks};
}

const struct profile_hook *profile_hook(void)
{
    return &hook;
}

const struct profile_count *profile_counts(void)
{
    return profile.counts;
}
#endif
