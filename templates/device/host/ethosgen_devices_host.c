/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices on the machine that ethosgen runs on: an accelerator's driver with the device's model, or with
 * software instead. `backend/wrapped/host_device.py` compiles this file with the driver.
 */
#include "ethosgen_devices.h"

#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { SPINS = 2000, NAP_US = 20 };

int ethosgen_host_map(int handle, uintptr_t start, size_t registers, size_t bytes);
void ethosgen_host_loaded(void);

static int map_at(uintptr_t start, size_t bytes, int flags, int handle)
{
    void *wanted = (void *)start;

    return mmap(wanted, bytes, PROT_READ | PROT_WRITE, flags | MAP_FIXED_NOREPLACE, handle, 0) != wanted;
}

#ifndef ETHOSGEN_HOST_CACHE

/* Map a file at a fixed address, so that addresses fit into 32 bits. Registers come first. */
int ethosgen_host_map(int handle, uintptr_t start, size_t registers, size_t bytes)
{
    (void)registers;
    return map_at(start, bytes, MAP_SHARED, handle);
}

void ethosgen_host_loaded(void)
{
}

static void evict(void)
{
}

void ethosgen_device_flush(const void *start, uint32_t bytes)
{
    (void)start;
    (void)bytes;
}

#else

/*
 * A write-back cache between the driver and the device, as large as the memory: a line moves when the
 * driver flushes it and, since caches may do so at any time, while the driver waits. The file is main
 * memory; the driver sees its own copy at the same addresses. A line is dirty if it differs from its
 * content when it was last read.
 */
enum { LINE_BYTES = 32, LINE_WORDS = LINE_BYTES / sizeof(uint64_t) };
static unsigned char *seen, *was_read, *main_memory;

/* A cache sees no guards: the address sanitizer must not watch it. */
#ifdef __SANITIZE_ADDRESS__
#define UNWATCHED __attribute__((no_sanitize_address))
#else
#define UNWATCHED
#endif

UNWATCHED static void copy_line(unsigned char *to, const unsigned char *from)
{
    for (int i = 0; i < LINE_WORDS; i++) {
        ((volatile uint64_t *)to)[i] = ((const volatile uint64_t *)from)[i];
    }
}

UNWATCHED static bool is_same_line(const unsigned char *one, const unsigned char *other)
{
    for (int i = 0; i < LINE_WORDS; i++) {
        if (((const volatile uint64_t *)one)[i] != ((const volatile uint64_t *)other)[i]) {
            return false;
        }
    }
    return true;
}

static uintptr_t seen_start;
static size_t seen_bytes;

int ethosgen_host_map(int handle, uintptr_t start, size_t registers, size_t bytes)
{
    unsigned char *whole = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, handle, 0);

    seen_start = start + registers;
    seen_bytes = bytes - registers;
    was_read = calloc(seen_bytes, 1);
    if (whole == MAP_FAILED || was_read == NULL || map_at(start, registers, MAP_SHARED, handle) ||
        map_at(seen_start, seen_bytes, MAP_PRIVATE | MAP_ANONYMOUS, -1)) {
        return 1;
    }
    seen = (unsigned char *)seen_start;
    main_memory = whole + registers;
    return 0;
}

/* Constants are in main memory before the program starts. */
void ethosgen_host_loaded(void)
{
    for (size_t at = 0; at < seen_bytes; at += LINE_BYTES) {
        copy_line(&main_memory[at], &seen[at]);
        copy_line(&was_read[at], &seen[at]);
    }
}

static void flush_line(size_t at)
{
    if (!is_same_line(&seen[at], &was_read[at])) {
        copy_line(&main_memory[at], &seen[at]);
    }
    copy_line(&seen[at], &main_memory[at]);
    copy_line(&was_read[at], &seen[at]); /* not main memory: the device may write it now */
}

/* Evict about half of the lines. */
static void evict(void)
{
    static uint32_t random = 1;

    for (size_t at = 0; at < seen_bytes; at += LINE_BYTES) {
        random = random * 1664525u + 1013904223u;
        if (random >> 31 != 0) {
            flush_line(at);
        }
    }
}

void ethosgen_device_flush(const void *start, uint32_t bytes)
{
    uintptr_t end = (uintptr_t)start + bytes;

    for (uintptr_t line = (uintptr_t)start & ~(uintptr_t)(LINE_BYTES - 1); line < end;
         line += LINE_BYTES) {
        if (line >= seen_start && line - seen_start < seen_bytes) {
            flush_line(line - seen_start);
        }
    }
}

#endif

void ethosgen_device_init(struct ethosgen_device *device, uintptr_t base_addr)
{
    device->base_addr = base_addr;
}

void ethosgen_device_irq_handler(const struct ethosgen_device *device)
{
    (void)device;
}

static uint32_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint32_t)(now.tv_sec * 1000 + now.tv_nsec / 1000000);
}

int32_t ethosgen_device_await(const struct ethosgen_device *device, uint32_t offset, uint32_t mask,
                              uint32_t value)
{
    if (device->base_addr == 0) {
        return ETHOSGEN_NOT_INITIALIZED;
    }
    uint32_t since = now_ms();
    evict();
    for (int i = 0; (*ethosgen_device_register(device, offset) & mask) != value; i++) {
        if (i < SPINS) {
            sched_yield();
        } else if (now_ms() - since < ETHOSGEN_DEVICE_TIMEOUT_MS) {
            usleep(NAP_US);
        } else {
            return ETHOSGEN_DEVICE_TIMEOUT;
        }
    }
    __sync_synchronize();
    evict();
    return ETHOSGEN_OK;
}
