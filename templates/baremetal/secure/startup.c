/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Vectors, start-up and faults of the secure image.
 *
 * Generated once by ethosgen; yours from now on.
 */
#include "startup.h"

#include "frames.h"
#include "partition.h"
#include "registers.h"
{% if board.run.qemu %}
#include "semihosting.h"
{% endif %}
#include "services.h"
#include "trustzone.h"

#include <arm_cmse.h>
#include <stddef.h>

extern uint32_t __data_start[], __data_end[], __data_load[];
extern uint32_t __bss_start[], __bss_end[];
extern uint32_t __stack_limit[], __stack_top[];

typedef void (*function)(void);

#define CPACR REGISTER(0xE000ED88u)
#define CPACR_CP10_CP11_FULL (0xFu << 20)
#define CFSR REGISTER(0xE000ED28u)
#define CFSR_NS REGISTER(0xE002ED28u)
#define BFAR REGISTER(0xE000ED38u)
#define SFSR REGISTER(0xE000EDE4u)
#define SFAR REGISTER(0xE000EDE8u)

/* Bits of EXC_RETURN: the stack and the state that hold the stopped code's registers. */
enum { EXC_RETURN_SPSEL = 1u << 2, EXC_RETURN_SECURE_STACK = 1u << 6 };
/* Registers that the processor stacks: r0 to r3, r12, lr, pc, xpsr. */
enum { FRAME_PC = 6, FRAME_WORDS = 8 };

/* The frame in which server.c, too, reports a fault. */
enum { FRAME_TYPE_FAULT = 0xFF, FAULT_REPORTS = 8 };
/* Iterations of an empty loop between two reports: the other side may be busy. */
#define FAULT_PAUSE 2000000u

#define FAULT_KEPT 0x5EC0FA17u

/* Neither an address nor a frame's mark: a forged return that pops it ends in a fault. See Arm's
 * "Armv8-M secure stack sealing" (CVE-2020-16273). */
#define STACK_SEAL 0xFEF5EDA5u

/* Neither cleared nor loaded at start, so it survives a reset. */
__attribute__((section(".noinit"))) static struct {
    uint32_t mark;
    struct secure_fault fault;
} kept;
static struct secure_fault last;
static bool has_last;

const struct secure_fault *trustzone_last_fault(void)
{
    return has_last ? &last : NULL;
}

__attribute__((noreturn)) static void report(const struct secure_fault *fault)
{
    kept.fault = *fault;
    kept.mark = FAULT_KEPT;
    console_init();
    for (int i = 0; i < FAULT_REPORTS; i++) {
        frames_send(FRAME_TYPE_FAULT, 0, fault, sizeof *fault, NULL, 0);
        for (volatile uint32_t pass = 0; pass < FAULT_PAUSE; pass++) {
        }
    }
{% if board.run.qemu %}
#ifdef BOARD_ON_QEMU
    semihosting_exit(1);
#endif
{% endif %}
    for (;;) {
        __asm volatile("wfi");
    }
}

/* Return the program counter of the stopped code, 0 if its stack cannot be read. */
static uint32_t stopped_pc(uint32_t exc_return, uint32_t secure_pc)
{
    const uint32_t *frame;

    if ((exc_return & EXC_RETURN_SECURE_STACK) != 0) {
        return secure_pc;
    }
    if ((exc_return & EXC_RETURN_SPSEL) != 0) {
        __asm volatile("mrs %0, psp_ns" : "=r"(frame));
    } else {
        __asm volatile("mrs %0, msp_ns" : "=r"(frame));
    }
    frame = cmse_check_address_range((void *)(uintptr_t)frame, FRAME_WORDS * sizeof *frame,
                                     CMSE_NONSECURE | CMSE_MPU_READ);
    return frame != NULL ? frame[FRAME_PC] : 0;
}

__attribute__((used)) static void report_fault(uint32_t exc_return, uint32_t secure_pc)
{
    const struct secure_fault fault = {
        .cfsr = CFSR,
        .pc = stopped_pc(exc_return, secure_pc),
        .cause = SECURE_FAULT,
        .is_non_secure = (exc_return & EXC_RETURN_SECURE_STACK) == 0,
        .sfsr = SFSR,
        .sfar = SFAR,
        .bfar = BFAR,
        .cfsr_ns = CFSR_NS,
    };

    report(&fault);
}

/* Nothing returns from here, so the report may use all of the stack; too little may be left of it. */
__attribute__((naked)) static void Fault_Handler(void)
{
    __asm volatile("mov r0, lr\n\tldr r1, [sp, #24]\n\tldr r2, =__stack_top\n\tmov sp, r2\n\t"
                   "b report_fault\n\t.ltorg");
}

/* Seal the end of the stack; the unused process stack contains only the seal. */
static void seal_stacks(void)
{
    __stack_top[0] = STACK_SEAL;
    __stack_top[1] = STACK_SEAL;
    __asm volatile("msr psplim, %0\n\tmsr psp, %0" ::"r"(__stack_top));
}

void Reset_Handler(void)
{
    __asm volatile("msr msplim, %0" ::"r"(__stack_limit));
    seal_stacks();
{% if board.cpu.has_fpu or board.cpu.has_mve %}
    CPACR |= CPACR_CP10_CP11_FULL;
    __asm volatile("dsb\n\tisb" ::: "memory");
{% endif %}
    for (uint32_t *to = __data_start, *from = __data_load; to < __data_end;) {
        *to++ = *from++;
    }
    for (uint32_t *to = __bss_start; to < __bss_end;) {
        *to++ = 0;
    }
    if (kept.mark == FAULT_KEPT) {
        last = kept.fault;
        has_last = true;
    }
    kept.mark = 0;
{% if board.cpu.setup or board.console.setup %}
{% if board.run.qemu %}
#ifndef BOARD_ON_QEMU
{% endif %}
{% set writes = board.cpu.setup + board.console.setup %}
{% include "board/setup.c" %}
{% if board.run.qemu %}
#endif
{% endif %}
{% endif %}
    enum secure_cause cause = trustzone_init();
    if (cause == SECURE_FAULT) {
        cause = trustzone_start();
    }
    const struct secure_fault stop = {.cause = cause};
    report(&stop);
}

__attribute__((section(".vectors"), used)) static const function vectors[] = {
    [0] = (function)(uintptr_t)__stack_top,
    [1] = Reset_Handler,
    [2] = Fault_Handler, /* NMI */
    [3] = Fault_Handler, /* HardFault */
    [4] = Fault_Handler, /* MemManage */
    [5] = Fault_Handler, /* BusFault */
    [6] = Fault_Handler, /* UsageFault */
    [7] = Fault_Handler, /* SecureFault */
};
