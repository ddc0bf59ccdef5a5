/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * {{ board.description }}: clock, caches, interrupts.
 *
 * Generated once by ethosgen; yours from now on.
 */
#include "board.h"

{% if npu %}
#include "ethosgen_npu.h"
{% endif %}
{% if devices %}
#include "ethosgen_devices.h"
{% endif %}
#include "registers.h"
{% if board.run.qemu %}
#include "semihosting.h"
{% endif %}
#include "startup.h"
{% if bell %}

#ifdef BOARD_ON_QEMU
#include "cmsdk_uart.h"

{% if devices %}
/* QEMU lacks these devices: their models run in other processes, and signal with a byte on this UART. */
{% else %}
/* QEMU has no NPU: the NPU model runs in another process, and signals with a byte on this UART. */
{% endif %}
#define BELL_BASE 0x{{ "%08x"|format(bell.base_addr) }}u
#endif
{% endif %}

{% if board.counter.kind == "sse300" %}
/* System counter of the SSE-300.{{ " The secure side has started it." if board.is_non_secure }} */
{% if not board.is_non_secure %}
#define COUNTER_CNTCR REGISTER(0x{{ "%08x"|format(board.counter.control_addr) }}u)
{% endif %}
#define COUNTER_CNTCV_LOW REGISTER(0x{{ "%08x"|format(board.counter.value_addr) }}u)
{% if not board.is_non_secure %}
enum { COUNTER_CNTCR_EN = 1u << 0 };
{% endif %}
{% elif board.counter.kind == "cmsdk" %}
/* A CMSDK timer: it counts down, and starts again from RELOAD. */
#define TIMER_CTRL REGISTER(0x{{ "%08x"|format(board.counter.control_addr) }}u)
#define TIMER_VALUE REGISTER(0x{{ "%08x"|format(board.counter.value_addr) }}u)
#define TIMER_RELOAD REGISTER(0x{{ "%08x"|format(board.counter.value_addr + 4) }}u)
#define TIMER_MAX 0xFFFFFFFFu
enum { TIMER_CTRL_ENABLE = 1u << 0 };
{% elif board.counter.kind == "nrf" %}
/* A TIMER, which counts up; a task captures the count in CC[0]. */
#define TIMER_TASKS_START REGISTER(0x{{ "%08x"|format(board.counter.control_addr) }}u)
#define TIMER_TASKS_CAPTURE_0 REGISTER(0x{{ "%08x"|format(board.counter.control_addr + 0x40) }}u)
#define TIMER_BITMODE REGISTER(0x{{ "%08x"|format(board.counter.control_addr + 0x508) }}u)
#define TIMER_PRESCALER REGISTER(0x{{ "%08x"|format(board.counter.control_addr + 0x510) }}u)
#define TIMER_CC_0 REGISTER(0x{{ "%08x"|format(board.counter.value_addr) }}u)
enum { TIMER_BITMODE_32 = 3 };
{% elif board.counter.kind == "systick" %}
/* SysTick counts down from SYST_RVR to 0. Its interrupt counts the rounds. */
#define SYST_CSR REGISTER(0x{{ "%08x"|format(board.counter.control_addr) }}u)
#define SYST_RVR REGISTER(0xE000E014u)
#define SYST_CVR REGISTER(0x{{ "%08x"|format(board.counter.value_addr) }}u)
#define ICSR REGISTER(0xE000ED04u)
#define ROUND_TICKS 0x1000000u
enum { SYST_CSR_ENABLE = 1u << 0, SYST_CSR_TICKINT = 1u << 1, SYST_CSR_CLKSOURCE = 1u << 2 };
enum { ICSR_PENDSTSET = 1u << 26, ICSR_PENDSTCLR = 1u << 25 };

static volatile uint32_t rounds_ticks;
{% else %}
/* Cycle counter of the processor's DWT. */
#define DEMCR REGISTER(0xE000EDFCu)
{% if board.cpu.core == "cortex-m7" %}
#define DWT_LAR REGISTER(0xE0001FB0u)
#define DWT_LAR_KEY 0xC5ACCE55u
{% endif %}
#define DWT_CTRL REGISTER(0x{{ "%08x"|format(board.counter.control_addr) }}u)
#define DWT_CYCCNT REGISTER(0x{{ "%08x"|format(board.counter.value_addr) }}u)
enum { DEMCR_TRCENA = 1u << 24 };
enum { DWT_CTRL_CYCCNTENA = 1u << 0{{ ", DWT_CTRL_CYCDISS = 1u << 23" if board.cpu.has_stack_limit }} };
{% endif %}
{% if board.cpu.icache or board.cpu.dcache %}

/* Caches, in the System Control Space. */
#define CCR REGISTER(0xE000ED14u)
#define CLIDR REGISTER(0xE000ED78u)
#define ICIALLU REGISTER(0xE000EF50u)
enum { CCR_DC = 1u << 16, CCR_IC = 1u << 17 };
enum { CLIDR_CTYPE1_INSTRUCTION = 1u << 0, CLIDR_CTYPE1_DATA = 1u << 1, CLIDR_CTYPE1_BOTH = 1u << 2 };
{% if board.cpu.dcache %}
#define CCSIDR REGISTER(0xE000ED80u)
#define CSSELR REGISTER(0xE000ED84u)
#define DCISW REGISTER(0xE000EF60u)
#define CACHE_LINE_BYTES 32u
{% endif %}
{% endif %}
{% set instructions = bell and board.instructions_per_tick %}
{% if instructions %}

#ifdef BOARD_ON_QEMU
static uint32_t clock_cost; /* the instructions that a call of board_ticks() takes */
#endif
{% endif %}

void board_init(void)
{
{% if board.cpu.setup and not board.is_non_secure %}
{% if board.run.qemu %}
#ifndef BOARD_ON_QEMU
{% endif %}
{% set writes = board.cpu.setup %}
{% include "board/setup.c" %}
{% if board.run.qemu %}
#endif
{% endif %}

{% endif %}
{% if board.counter.kind == "sse300" %}
{% if not board.is_non_secure %}
    COUNTER_CNTCR |= COUNTER_CNTCR_EN;
{% endif %}
{% elif board.counter.kind == "cmsdk" %}
    TIMER_RELOAD = TIMER_MAX;
    TIMER_VALUE = TIMER_MAX;
    TIMER_CTRL = TIMER_CTRL_ENABLE;
{% elif board.counter.kind == "nrf" %}
    TIMER_BITMODE = TIMER_BITMODE_32;
    TIMER_PRESCALER = 0;
    TIMER_TASKS_START = 1;
{% elif board.counter.kind == "systick" %}
    SYST_RVR = ROUND_TICKS - 1u;
    SYST_CVR = 0;
    SYST_CSR = SYST_CSR_ENABLE | SYST_CSR_TICKINT | SYST_CSR_CLKSOURCE;
{% else %}
    DEMCR |= DEMCR_TRCENA;
{% if board.cpu.core == "cortex-m7" %}
    DWT_LAR = DWT_LAR_KEY; /* an M7 locks it */
{% endif %}
{% if board.cpu.has_stack_limit %}
    DWT_CTRL &= ~(uint32_t)DWT_CTRL_CYCDISS; /* a boot loader may have stopped it in secure state */
{% endif %}
    DWT_CTRL |= DWT_CTRL_CYCCNTENA;
{% endif %}
{% if bell %}
#ifdef BOARD_ON_QEMU
    uart_init(BELL_BASE, UART_BAUDDIV_MIN, IRQ_BELL);
#endif
{% endif %}
{% if npu %}
    NVIC_ISER(IRQ_NPU) = NVIC_BIT(IRQ_NPU);
{% endif %}
{% if instructions %}
#ifdef BOARD_ON_QEMU
    uint32_t before = board_ticks();
    clock_cost = board_ticks() - before;
#endif
{% endif %}
}

{% if board.cpu.icache or board.cpu.dcache %}
void board_enable_caches(void)
{
#ifndef BOARD_ON_QEMU /* which has no caches */
    uint32_t present = CLIDR;

{% if board.cpu.icache %}
    if ((present & (CLIDR_CTYPE1_INSTRUCTION | CLIDR_CTYPE1_BOTH)) != 0) {
        ICIALLU = 0;
        __asm volatile("dsb\n\tisb" ::: "memory");
        CCR |= CCR_IC;
        __asm volatile("dsb\n\tisb" ::: "memory");
    }
{% endif %}
{% if board.cpu.dcache %}
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
{% endif %}
#endif
}

{% endif %}
{% if instructions %}
static inline uint32_t read_counter(void)
{% else %}
uint32_t board_ticks(void)
{% endif %}
{
{% if board.counter.kind == "sse300" %}
    return COUNTER_CNTCV_LOW;
{% elif board.counter.kind == "cmsdk" %}
    return TIMER_MAX - TIMER_VALUE;
{% elif board.counter.kind == "nrf" %}
    TIMER_TASKS_CAPTURE_0 = 1;
    return TIMER_CC_0;
{% elif board.counter.kind == "systick" %}
    uint32_t primask;

    __asm volatile("mrs %0, primask\n\tcpsid i" : "=r"(primask)::"memory");
    uint32_t left = SYST_CVR;
    if ((ICSR & ICSR_PENDSTSET) != 0) { /* a round has ended, perhaps after the count was read */
        ICSR = ICSR_PENDSTCLR;
        rounds_ticks += ROUND_TICKS;
        left = SYST_CVR;
    }
    uint32_t ticks = rounds_ticks + (left == 0 ? 0 : ROUND_TICKS - left);
    __asm volatile("msr primask, %0" ::"r"(primask) : "memory");
    return ticks;
{% else %}
    return DWT_CYCCNT;
{% endif %}
}
{% if instructions %}

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
{% if instructions.denominator > 1 %}
    /* passed * {{ instructions.numerator }} / {{ instructions.denominator }}, rounded, in two parts that fit 32 bits */
    uint32_t whole = passed / {{ instructions.denominator }}u * {{ instructions.numerator }}u;
    uint32_t rest = passed % {{ instructions.denominator }}u * {{ instructions.numerator }}u;
    instructions += whole + (rest + {{ instructions.denominator // 2 }}u) / {{ instructions.denominator }}u - clock_cost;
{% else %}
    instructions += passed * {{ instructions.numerator }}u - clock_cost;
{% endif %}
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
{% endif %}
{% if board.counter.kind == "systick" %}

void SysTick_Handler(void)
{
    rounds_ticks += ROUND_TICKS;
}
{% endif %}
{% if npu %}

void NPU_Handler(void)
{
    ethosgen_npu_irq_handler();
}
{% endif %}
{% for device in devices if device.irq is not none %}

{% if device.handler %}
void {{ device.handler }}(void);

{% endif %}
void {{ device.c_name }}_Handler(void)
{
{% if device.handler %}
    {{ device.handler }}();
{% endif %}
    ethosgen_device_irq_handler(&{{ device.symbol }});
}
{% endfor %}
{% if bell %}

#ifdef BOARD_ON_QEMU
void Bell_Handler(void)
{
    UART_INTCLEAR(BELL_BASE) = UART_INT_RX;
{% if devices %}
    switch (UART_DATA(BELL_BASE)) { /* the byte identifies the device */
{% if npu %}
    case {{ npu_byte }}:
        NVIC_ISPR(IRQ_NPU) = NVIC_BIT(IRQ_NPU);
        break;
{% endif %}
{% for device in devices if device.irq is not none %}
    case {{ device.bell_byte }}:
        NVIC_ISPR(IRQ_{{ device.c_name|upper }}) = NVIC_BIT(IRQ_{{ device.c_name|upper }});
        break;
{% endfor %}
    default:
        break;
    }
{% else %}
    (void)UART_DATA(BELL_BASE);
    NVIC_ISPR(IRQ_NPU) = NVIC_BIT(IRQ_NPU);
{% endif %}
}
#endif
{% endif %}

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
{% if board.run.qemu %}
#ifdef BOARD_ON_QEMU
    semihosting_exit(status);
#else
    (void)status;
    console_put(0x04); /* EOT: an FVP with shutdown_on_eot ends here */
#endif
{% else %}
    (void)status;
    console_put(0x04); /* EOT: an FVP with shutdown_on_eot ends here */
{% endif %}
    for (;;) {
        __asm volatile("wfi");
    }
}
