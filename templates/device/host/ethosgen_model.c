/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* ethosgen's side of ethosgen_model.h; ethosgen/device/loading.py calls it. */
#include "ethosgen_model.h"

#include <setjmp.h>
#include <stddef.h>
#include <stdio.h>

struct segment {
    uint32_t start_addr;
    uint32_t bytes;
    uint8_t *memory;
    uint32_t writable;
};

enum { IDLE = 0, WORKED = 1, BAD_REGISTER = 2, BAD_READ = 3, BAD_WRITE = 4, FAILED = 5 };

int ethosgen_model_start(uint32_t *words, uint32_t count, const struct segment *parts, uint32_t number);
int ethosgen_model_step(void);
uint32_t ethosgen_model_take_interrupts(void);
uint32_t ethosgen_model_fault_address(void);
uint32_t ethosgen_model_fault_bytes(void);
uint64_t ethosgen_model_cycles(void);
const char *ethosgen_model_why(void);
uint8_t *ethosgen_model_find(uint32_t address, uint32_t bytes, bool writes);
bool ethosgen_model_replace(uint32_t offset, uint32_t expected, uint32_t value);

static uint32_t *registers;
static uint32_t register_count;
static const struct segment *segments;
static uint32_t segment_count;
static uint32_t interrupts;
static uint64_t spent_cycles;
static uint32_t fault_address;
static uint32_t fault_bytes;
static char fault_text[512];
static jmp_buf out;

static void fail(int how, uint32_t address, uint32_t bytes)
{
    fault_address = address;
    fault_bytes = bytes;
    longjmp(out, how);
}

static uint32_t *find_register(uint32_t offset)
{
    if (offset % sizeof(uint32_t) != 0 || offset / sizeof(uint32_t) >= register_count) {
        fail(BAD_REGISTER, offset, sizeof(uint32_t));
    }
    return &registers[offset / sizeof(uint32_t)];
}

uint32_t ethosgen_model_get(uint32_t offset)
{
    return __atomic_load_n(find_register(offset), __ATOMIC_SEQ_CST);
}

void ethosgen_model_set(uint32_t offset, uint32_t value)
{
    __atomic_store_n(find_register(offset), value, __ATOMIC_SEQ_CST);
}

/* Set a register to a value only if it still has the expected one; return whether it had. */
bool ethosgen_model_replace(uint32_t offset, uint32_t expected, uint32_t value)
{
    return __atomic_compare_exchange_n(find_register(offset), &expected, value, false, __ATOMIC_SEQ_CST,
                                       __ATOMIC_SEQ_CST);
}

/* Return the address on this machine of bytes that the device may read, or write, else NULL. */
uint8_t *ethosgen_model_find(uint32_t address, uint32_t bytes, bool writes)
{
    for (uint32_t i = 0; i < segment_count; i++) {
        const struct segment *one = &segments[i];
        if (address >= one->start_addr && address - one->start_addr <= one->bytes &&
            bytes <= one->bytes - (address - one->start_addr) &&
            (!writes || one->writable != 0)) {
            return one->memory + (address - one->start_addr);
        }
    }
    return NULL;
}

static uint8_t *find(uint32_t address, uint32_t bytes, int how)
{
    uint8_t *memory = ethosgen_model_find(address, bytes, how == BAD_WRITE);

    if (memory == NULL) {
        fail(how, address, bytes);
    }
    return memory;
}

const void *ethosgen_model_read(uint32_t address, uint32_t bytes)
{
    return find(address, bytes, BAD_READ);
}

void *ethosgen_model_write(uint32_t address, uint32_t bytes)
{
    return find(address, bytes, BAD_WRITE);
}

void ethosgen_model_interrupt(void)
{
    interrupts++;
}

void ethosgen_model_fail(const char *why)
{
    snprintf(fault_text, sizeof fault_text, "%s", why);
    longjmp(out, FAILED);
}

const char *ethosgen_model_why(void)
{
    return fault_text;
}

void ethosgen_model_spend(uint32_t cycles)
{
    spent_cycles += cycles;
}

uint64_t ethosgen_model_cycles(void)
{
    return spent_cycles;
}

int ethosgen_model_start(uint32_t *words, uint32_t count, const struct segment *parts, uint32_t number)
{
    registers = words;
    register_count = count;
    segments = parts;
    segment_count = number;
    int how = setjmp(out);
    if (how == 0) {
        ethosgen_model_reset();
    }
    return how;
}

int ethosgen_model_step(void)
{
    int how = setjmp(out);
    return how != 0 ? how : ethosgen_model_poll() ? WORKED : IDLE;
}

uint32_t ethosgen_model_take_interrupts(void)
{
    uint32_t count = interrupts;

    interrupts = 0;
    return count;
}

uint32_t ethosgen_model_fault_address(void)
{
    return fault_address;
}

uint32_t ethosgen_model_fault_bytes(void)
{
    return fault_bytes;
}
