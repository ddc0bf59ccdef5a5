/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the constants of all calls once, then for each request a call's number and its inputs, and answers with
 * `struct answer` and the outputs.
 */
#include "ethosgen_calls_host.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define FORBID(start, bytes) ASAN_POISON_MEMORY_REGION(start, bytes)
#define UNWATCHED __attribute__((no_sanitize_address))
#else
#define FORBID(start, bytes) ((void)(start), (void)(bytes))
#define UNWATCHED
#endif

enum { UNTOUCHED = 0xA5, FRESH = 0x5A };
enum where { NOWHERE, BEFORE, BEHIND, INSIDE };

struct answer {
    int32_t status;
    int32_t step;   /* the function that returned it */
    int32_t damage; /* enum where: the place of a wrong write */
    int32_t memory; /* the number of the memory there */
};

static void take(void *to, size_t bytes)
{
    if (bytes && fread(to, 1, bytes, stdin) != bytes) {
        exit(0);
    }
}

static bool is_kept(const struct memory *m)
{
    return m->kind == INPUT || m->kind == CONSTANT;
}

static void keep(struct memory *m)
{
    memcpy(m->kept, m->start, m->bytes);
}

static void prepare(struct memory *m)
{
    if (m->start == NULL) {
        void *whole;
        size_t before = GUARD_BYTES > memory_alignment ? GUARD_BYTES : memory_alignment;
        if (posix_memalign(&whole, memory_alignment, before + m->bytes + GUARD_BYTES)) {
            exit(1);
        }
        m->start = (unsigned char *)whole + before;
    }
    memset(m->start - GUARD_BYTES, UNTOUCHED, GUARD_BYTES);
    memset(m->start + m->bytes, UNTOUCHED, GUARD_BYTES);
    FORBID(m->start - GUARD_BYTES, GUARD_BYTES);
    FORBID(m->start + m->bytes, GUARD_BYTES);
    m->kept = is_kept(m) ? malloc(m->bytes + 1) : NULL;
    if (m->kind == CONSTANT) {
        take(m->start, m->bytes);
        keep(m);
    }
}

UNWATCHED static bool is_touched(const unsigned char *guard)
{
    for (int i = 0; i < GUARD_BYTES; i++) {
        if (((const volatile unsigned char *)guard)[i] != UNTOUCHED) {
            return true;
        }
    }
    return false;
}

static enum where damage_of(const struct memory *m)
{
    if (is_touched(m->start - GUARD_BYTES)) {
        return BEFORE;
    }
    if (is_touched(m->start + m->bytes)) {
        return BEHIND;
    }
    return is_kept(m) && memcmp(m->kept, m->start, m->bytes) != 0 ? INSIDE : NOWHERE;
}

static void serve(const struct part *part, FILE *answers)
{
    struct answer answer = { 0, 0, NOWHERE, 0 };
    struct memory *end = part->memories + part->count;

    for (struct memory *m = part->memories; m < end; m++) {
        if (m->kind == INPUT || m->kind == STATE) {
            take(m->start, m->bytes);
        } else if (m->kind != CONSTANT) {
            memset(m->start, FRESH, m->bytes);
        }
        if (m->kind == INPUT) {
            keep(m);
        }
    }
    answer.status = part->call(part->memories, &answer.step);
    fflush(stdout);
    for (struct memory *m = part->memories; m < end && answer.damage == NOWHERE; m++) {
        answer.damage = damage_of(m);
        answer.memory = (int32_t)(m - part->memories);
    }
    fwrite(&answer, sizeof answer, 1, answers);
    for (struct memory *m = part->memories; m < end; m++) {
        if (m->kind == OUTPUT || m->kind == STATE) {
            fwrite(m->start, 1, m->bytes, answers);
        }
    }
    fflush(answers);
}

int main(void)
{
    FILE *answers = fdopen(dup(1), "wb");

    dup2(2, 1);
    begin_devices();
    for (size_t i = 0; i < part_count; i++) {
        for (size_t j = 0; j < parts[i].count; j++) {
            prepare(&parts[i].memories[j]);
        }
    }
    end_of_loading();
    for (;;) {
        uint32_t number;
        take(&number, sizeof number);
        serve(&parts[number], answers);
    }
}
