/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arm Corstone-300 (MPS3 AN547): clock, caches, interrupts.
 *
 * Generated once by ethosgen; yours from now on.
 */
#include "board.h"

#include "ethosgen_npu.h"
#include "registers.h"
#include "semihosting.h"
#include "startup.h"

#ifdef BOARD_ON_QEMU
#include "cmsdk_uart.h"

/* QEMU has no NPU: the NPU model runs in another process, and signals with a byte on this UART. */
#define BELL_BASE 0x59304000u
#endif

/* System counter of the SSE-300. */
#define COUNTER_CNTCR REGISTER(0x58100000u)
#define COUNTER_CNTCV_LOW REGISTER(0x58100008u)
enum { COUNTER_CNTCR_EN = 1u << 0 };

/* Caches, in the System Control Space. */
#define CCR REGISTER(0xE000ED14u)
#define CLIDR REGISTER(0xE000ED78u)
#define ICIALLU REGISTER(0xE000EF50u)
enum { CCR_DC = 1u << 16, CCR_IC = 1u << 17 };
enum { CLIDR_CTYPE1_INSTRUCTION = 1u << 0, CLIDR_CTYPE1_DATA = 1u << 1, CLIDR_CTYPE1_BOTH = 1u << 2 };
#define CCSIDR REGISTER(0xE000ED80u)
#define CSSELR REGISTER(0xE000ED84u)
#define DCISW REGISTER(0xE000EF60u)
#define CACHE_LINE_BYTES 32u

#ifdef BOARD_ON_QEMU
static uint32_t clock_cost; /* the instructions that a call of board_ticks() takes */
#endif

void board_init(void)
{
    COUNTER_CNTCR |= COUNTER_CNTCR_EN;
#ifdef BOARD_ON_QEMU
    uart_init(BELL_BASE, UART_BAUDDIV_MIN, IRQ_BELL);
#endif
    NVIC_ISER(IRQ_NPU) = NVIC_BIT(IRQ_NPU);
#ifdef BOARD_ON_QEMU
    uint32_t before = board_ticks();
    clock_cost = board_ticks() - before;
#endif
}

void board_enable_caches(void)
{
#ifndef BOARD_ON_QEMU /* which has no caches */
    uint32_t present = CLIDR;

    if ((present & (CLIDR_CTYPE1_INSTRUCTION | CLIDR_CTYPE1_BOTH)) != 0) {
        ICIALLU = 0;
        __asm volatile("dsb\n\tisb" ::: "memory");
        CCR |= CCR_IC;
        __asm volatile("dsb\n\tisb" ::: "memory");
    }
    if ((present & (CLIDR_CTYPE1_DATA | CLIDR_CTYPE1_BOTH)) != 0) {
        CSSELR = 0;
        __asm volatile("dsb" ::: "memory");
        uint32_t sets = (CCSIDR >> 13 & 0x7FFFu) + 1u;
        uint32_t last_way = CCSIDR >> 3 & 0x3FFu;
        uint32_t way_shift = last_way != 0 ? (uint32_t)__builtin_clz(last_way) : 0;
        for (uint32_t set = 0; set < sets; set++) {
            for (uint32_t way = 0; way <= last_way; way++) {
                DCISW = way << way_shift | set * CACHE_LINE_BYTES;
            }
        }
        __asm volatile("dsb" ::: "memory");
        CCR |= CCR_DC;
        __asm volatile("dsb\n\tisb" ::: "memory");
    }
#endif
}

static inline uint32_t read_counter(void)
{
    return COUNTER_CNTCV_LOW;
}

#ifdef BOARD_ON_QEMU
/* Exactly the instructions outside this function: those between two reads of the counter, rounded
 * to the nearest whole number. Ticks alone would depend on an instruction's position within a tick,
 * since QEMU's time follows real time during WFI. */
__attribute__((noinline)) uint32_t board_ticks(void)
{
    static uint32_t last;
    static uint32_t instructions;
    uint32_t primask;

    __asm volatile("mrs %0, primask\n\tcpsid i" : "=r"(primask)::"memory");
    uint32_t passed = read_counter() - last;
    /* passed * 125 / 256, rounded, in two parts that fit 32 bits */
    uint32_t whole = passed / 256u * 125u;
    uint32_t rest = passed % 256u * 125u;
    instructions += whole + (rest + 128u) / 256u - clock_cost;
    last = read_counter();
    __asm volatile("msr primask, %0" ::"r"(primask) : "memory");
    return instructions;
}
#else
uint32_t board_ticks(void)
{
    return read_counter();
}
#endif

void NPU_Handler(void)
{
    ethosgen_npu_irq_handler();
}

#ifdef BOARD_ON_QEMU
void Bell_Handler(void)
{
    UART_INTCLEAR(BELL_BASE) = UART_INT_RX;
    (void)UART_DATA(BELL_BASE);
    NVIC_ISPR(IRQ_NPU) = NVIC_BIT(IRQ_NPU);
}
#endif

void board_wait(const volatile bool *event)
{
    /* With interrupts masked, none is lost between the test and WFI. */
    __asm volatile("cpsid i" ::: "memory");
    while (!*event) {
        __asm volatile("dsb\n\twfi\n\tcpsie i\n\tisb\n\tcpsid i" ::: "memory");
    }
    __asm volatile("cpsie i" ::: "memory");
}

void board_exit(uint32_t status)
{
#ifdef BOARD_ON_QEMU
    semihosting_exit(status);
#else
    (void)status;
    console_put(0x04); /* EOT: an FVP with shutdown_on_eot ends here */
#endif
    for (;;) {
        __asm volatile("wfi");
    }
}
