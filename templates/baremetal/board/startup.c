/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Vectors and start-up of a Cortex-M.
 *
 * Generated once by ethosgen; yours from now on.
 */
#include "startup.h"

#include "board.h"
#include "server.h"

extern uint32_t __data_start[], __data_end[], __data_load[];
extern uint32_t __bss_start[], __bss_end[];
extern uint32_t __stack_limit[], __stack_top[];
{% if copies %}
{% if has_commands %}
extern uint32_t __ethosgen_commands_start[], __ethosgen_commands_end[], __ethosgen_commands_load[];
{% endif %}
extern uint32_t __ethosgen_weights_start[], __ethosgen_weights_end[], __ethosgen_weights_load[];
{% endif %}

typedef void (*function)(void);
extern const function __preinit_array_start[], __preinit_array_end[];
extern const function __init_array_start[], __init_array_end[];
extern const function __fini_array_start[], __fini_array_end[];

int main(void);

{% if board.cpu.has_fpu or board.cpu.has_mve %}
#define CPACR (*(volatile uint32_t *)0xE000ED88u)
#define CPACR_CP10_CP11_FULL (0xFu << 20)
{% endif %}
{% if board.cpu.is_baseline %}
#define CFSR 0u /* an Armv6-M does not report the cause of a fault */
{% else %}
#define CFSR (*(volatile uint32_t *)0xE000ED28u)
{% endif %}

{% if not board.cpu.has_stack_limit %}
#define MPU_TYPE (*(volatile uint32_t *)0xE000ED90u)
#define MPU_CTRL (*(volatile uint32_t *)0xE000ED94u)
#define MPU_RBAR (*(volatile uint32_t *)0xE000ED9Cu)
#define MPU_RASR (*(volatile uint32_t *)0xE000EDA0u)

enum {
    MPU_CTRL_ENABLE = 1u << 0,
    MPU_CTRL_PRIVDEFENA = 1u << 2, /* the rest of the memory stays as it is */
    MPU_RBAR_VALID = 1u << 4,
    MPU_RASR_ENABLE = 1u << 0,
    MPU_RASR_SIZE_1_KB = 9u << 1,
};

/* The 1 KB below the stack that the linker script leaves empty; none if the stack is elsewhere. */
extern uint32_t __stack_guard[] __attribute__((weak));

{% endif %}
#define STACK_PAINT 0xDEADBEEFu

enum { FAULT_REPORTS = 8 };

static void copy(uint32_t *to, const uint32_t *end, const uint32_t *from)
{
    if (to == from) {
        return; /* the loader has already placed the data */
    }
    while (to < end) {
        *to++ = *from++;
    }
}

/* Separate functions: the registers that they save take no space on main()'s stack. */
__attribute__((noinline)) static void call_all(const function *each, const function *end)
{
    while (each < end) {
        (*each++)();
    }
}

__attribute__((noinline)) static void call_all_backwards(const function *start, const function *last)
{
    while (last > start) {
        (*--last)();
    }
}

{% if not board.cpu.has_stack_limit %}
/* Forbid access to the addresses below the stack: not every bus refuses addresses without memory. */
__attribute__((noinline)) static void guard_stack(void)
{
    if (__stack_guard == 0 || MPU_TYPE == 0) {
        return;
    }
    MPU_RBAR = (uint32_t)(uintptr_t)__stack_guard | MPU_RBAR_VALID; /* region 0 */
    MPU_RASR = MPU_RASR_SIZE_1_KB | MPU_RASR_ENABLE;
    MPU_CTRL = MPU_CTRL_ENABLE | MPU_CTRL_PRIVDEFENA;
    __asm volatile("dsb\n\tisb" ::: "memory");
}

{% endif %}
void Reset_Handler(void)
{
{% if board.cpu.has_stack_limit %}
    __asm volatile("msr msplim, %0" ::"r"(__stack_limit));
{% endif %}
{% if board.cpu.has_fpu or board.cpu.has_mve %}
    /* From here on the compiler may use floating-point{{ " and vector" if board.cpu.has_mve }} registers anywhere. */
    CPACR |= CPACR_CP10_CP11_FULL;
    __asm volatile("dsb\n\tisb" ::: "memory");
{% endif %}
{% if board.cpu.has_stack_limit or board.cpu.has_fpu or board.cpu.has_mve %}

{% endif %}
    copy(__data_start, __data_end, __data_load);
{% if copies %}
{% if has_commands %}
    copy(__ethosgen_commands_start, __ethosgen_commands_end, __ethosgen_commands_load);
{% endif %}
    copy(__ethosgen_weights_start, __ethosgen_weights_end, __ethosgen_weights_load);
{% endif %}
    for (uint32_t *to = __bss_start; to < __bss_end;) {
        *to++ = 0;
    }
    uint32_t *stack_pointer;
    __asm volatile("mov %0, sp" : "=r"(stack_pointer));
    for (volatile uint32_t *to = __stack_limit; to < stack_pointer;) {
        *to++ = STACK_PAINT;
    }
{% if board.cpu.icache or board.cpu.dcache %}
    board_enable_caches(); /* not earlier: the NPU must see the copied data in memory */
{% endif %}
{% if not board.cpu.has_stack_limit %}
    guard_stack();
{% endif %}
    call_all(__preinit_array_start, __preinit_array_end);
    call_all(__init_array_start, __init_array_end); /* constructors */
    main();
    call_all_backwards(__fini_array_start, __fini_array_end); /* destructors */
    board_exit(0);
}

static uint32_t most_bytes; /* before the last mark */
static uintptr_t stack_mark;

static uintptr_t lowest_used(void)
{
    const volatile uint32_t *lowest = __stack_limit;

    while (lowest < __stack_top && *lowest == STACK_PAINT) {
        lowest++;
    }
    return (uintptr_t)lowest;
}

uint32_t board_stack_bytes(void)
{
    uint32_t bytes = (uint32_t)((uintptr_t)__stack_top - lowest_used());

    return bytes > most_bytes ? bytes : most_bytes;
}

__attribute__((noinline)) void board_stack_mark(void)
{
    uint32_t *stack_pointer;

    most_bytes = board_stack_bytes();
    stack_mark = (uintptr_t)__builtin_dwarf_cfa(); /* the caller's stack pointer */
    __asm volatile("mov %0, sp" : "=r"(stack_pointer));
    for (volatile uint32_t *to = __stack_limit; to < stack_pointer;) {
        *to++ = STACK_PAINT;
    }
}

uint32_t board_stack_since_mark(void)
{
    return (uint32_t)(stack_mark - lowest_used());
}

/* Every fault ends here: faults that are not enabled escalate. `pc` is where the code was stopped,
 * 0 if there was no room on main()'s stack for the stacked registers. */
__attribute__((used)) static void report_fault(uint32_t pc, uint32_t has_overflowed)
{
    uint32_t stack_bytes = (uint32_t)((uintptr_t)__stack_top - (uintptr_t)__stack_limit);
    const struct server_fault fault = {
        .cfsr = CFSR,
        .pc = pc,
        .stack_bytes = stack_bytes,
        .stack_used = has_overflowed ? stack_bytes : board_stack_bytes(),
    };

    console_init(); /* the fault may have occurred before main() did this */
    /* Several times, slowly: the other side may be busy, and the connection ends afterwards. */
    for (int i = 0; i < FAULT_REPORTS; i++) {
        uint32_t since = board_ticks();
        server_fault(&fault);
        while (board_ticks() - since < BOARD_TICKS_HZ) {
        }
    }
    board_exit(1);
}

/* The processor has stacked r0 to r3, r12, lr, pc and xpsr: on main()'s stack, unless that has
 * overflowed, or on the process stack of an RTOS's thread. Nothing returns from here, so the report
 * may use all of main()'s stack; too little may be left of it. */
__attribute__((naked)) static void Fault_Handler(void)
{
    __asm volatile(".syntax unified\n\t"
                   "movs r0, #0\n\t"
                   "movs r1, #1\n\t"
                   "mov r2, lr\n\t"
                   "lsrs r2, r2, #3\n\t" /* carry: EXC_RETURN's bit 2, set for the process stack */
                   "mrs r2, psp\n\t"
                   "bcs 1f\n\t"
                   "mrs r2, msp\n\t"
                   "ldr r3, =__stack_limit\n\t"
                   "cmp r2, r3\n\t"
                   "bls 2f\n"
                   "1:\tldr r0, [r2, #24]\n\t"
                   "movs r1, #0\n"
                   "2:\tldr r2, =__stack_top\n\t"
                   "mov sp, r2\n\t"
                   "ldr r2, =report_fault\n\t"
                   "bx r2\n\t"
                   ".ltorg");
}

/* Unused interrupts have no vector: they are never enabled. */
__attribute__((section(".vectors"), used)) static const function vectors[16 + IRQ_COUNT] = {
    [0] = (function)(uintptr_t)__stack_top,
    [1] = Reset_Handler,
    [2] = Fault_Handler,  /* NMI */
    [3] = Fault_Handler,  /* HardFault */
{% if not board.cpu.is_baseline %}
    [4] = Fault_Handler,  /* MemManage */
    [5] = Fault_Handler,  /* BusFault */
    [6] = Fault_Handler,  /* UsageFault */
{% endif %}
{% if board.cpu.has_stack_limit %}
    [7] = Fault_Handler,  /* SecureFault */
{% endif %}
{% if board.counter.kind == "systick" %}
    [15] = SysTick_Handler,
{% endif %}
    [16 + IRQ_CONSOLE_RX] = Console_RX_Handler,
{% if npu %}
    [16 + IRQ_NPU] = NPU_Handler,
{% endif %}
{% for device in devices if device.irq is not none %}
    [16 + IRQ_{{ device.c_name|upper }}] = {{ device.c_name }}_Handler,
{% endfor %}
{% if bell %}
#ifdef BOARD_ON_QEMU
    [16 + IRQ_BELL] = Bell_Handler,
#endif
{% endif %}
{% if handover %}
{% for link in handover.links %}
    [16 + IRQ_LINK_{{ loop.index0 }}] = Link_{{ loop.index0 }}_Handler,
{% if link.tx_irq is not none %}
    [16 + IRQ_LINK_{{ loop.index0 }}_TX] = Link_{{ loop.index0 }}_Handler,
{% endif %}
{% endfor %}
{% endif %}
};
{% if board.cpu.boot %}

{% include "board/boot_" ~ board.cpu.boot ~ ".c" %}
{% endif %}
