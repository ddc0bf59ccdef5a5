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
/* QEMU has no such devices: their models run in other processes, and signal with a byte on this UART. */
{% else %}
/* QEMU has no NPU: the NPU model runs in another process, and signals with a byte on this UART. */
{% endif %}
#define BELL_BASE 0x{{ "%08x"|format(bell.base_addr) }}u
#endif
{% endif %}

{% if board.counter.kind == "sse300" %}
/* System counter of the SSE-300. */
#define COUNTER_CNTCR REGISTER(0x{{ "%08x"|format(board.counter.control_addr) }}u)
#define COUNTER_CNTCV_LOW REGISTER(0x{{ "%08x"|format(board.counter.value_addr) }}u)
enum { COUNTER_CNTCR_EN = 1u << 0 };
{% else %}
/* Cycle counter of the processor's DWT. */
#define DEMCR REGISTER(0xE000EDFCu)
#define DWT_CTRL REGISTER(0x{{ "%08x"|format(board.counter.control_addr) }}u)
#define DWT_CYCCNT REGISTER(0x{{ "%08x"|format(board.counter.value_addr) }}u)
enum { DEMCR_TRCENA = 1u << 24 };
enum { DWT_CTRL_CYCCNTENA = 1u << 0 };
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

void board_init(void)
{
{% if board.counter.kind == "sse300" %}
    COUNTER_CNTCR |= COUNTER_CNTCR_EN;
{% else %}
    DEMCR |= DEMCR_TRCENA;
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
uint32_t board_ticks(void)
{
{% if board.counter.kind == "sse300" %}
    return COUNTER_CNTCV_LOW;
{% else %}
    return DWT_CYCCNT;
{% endif %}
}
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
    ethosgen_device_irq_handler(&ethosgen_device_{{ device.c_name }});
}
{% endfor %}
{% if bell %}

#ifdef BOARD_ON_QEMU
void Bell_Handler(void)
{
    UART_INTCLEAR(BELL_BASE) = UART_INT_RX;
{% if devices %}
    switch (UART_DATA(BELL_BASE)) { /* the byte names the device */
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
