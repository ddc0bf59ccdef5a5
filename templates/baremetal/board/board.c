/*
 * {{ board.description }}: console, clock, interrupts.
 *
 * Generated once by ethosgen; yours from now on.
 */
#include "board.h"

{% if npu %}
#include "ethosgen_npu.h"
{% endif %}
#include "frames.h"
#include "startup.h"

#define REGISTER(addr) (*(volatile uint32_t *)(uintptr_t)(addr))

{% set needs_cmsdk = board.console.uart == "cmsdk" or bell %}
{% if needs_cmsdk %}
/* CMSDK UART, by its offsets from the base. */
#define UART_DATA(base) REGISTER((base) + 0x00u)
#define UART_STATE(base) REGISTER((base) + 0x04u)
#define UART_CTRL(base) REGISTER((base) + 0x08u)
#define UART_INTCLEAR(base) REGISTER((base) + 0x0Cu)
#define UART_BAUDDIV(base) REGISTER((base) + 0x10u)
enum { UART_STATE_TX_FULL = 1u << 0 };
enum { UART_CTRL_TX_ENABLE = 1u << 0, UART_CTRL_RX_ENABLE = 1u << 1, UART_CTRL_RX_IRQ = 1u << 3 };
enum { UART_INT_RX = 1u << 1 };
#define UART_BAUDDIV_MIN 16u

{% endif %}
{% if board.console.uart == "dw" %}
/* DesignWare UART, a 16550 with 32-bit registers. */
#define DW_RBR_THR_DLL REGISTER(CONSOLE_BASE + 0x00u)
#define DW_IER_DLH REGISTER(CONSOLE_BASE + 0x04u)
#define DW_IIR_FCR REGISTER(CONSOLE_BASE + 0x08u)
#define DW_LCR REGISTER(CONSOLE_BASE + 0x0Cu)
#define DW_LSR REGISTER(CONSOLE_BASE + 0x14u)
#define DW_USR REGISTER(CONSOLE_BASE + 0x7Cu)
enum { DW_IER_ERBFI = 1u << 0 };
enum { DW_FCR_FIFOE = 1u << 0, DW_FCR_RFIFOR = 1u << 1, DW_FCR_XFIFOR = 1u << 2 };
enum { DW_LCR_8N1 = 3u, DW_LCR_DLAB = 1u << 7 };
enum { DW_LSR_DR = 1u << 0, DW_LSR_THRE = 1u << 5 };
enum { DW_IIR_BUSY_DETECT = 7u };

{% endif %}
#define CONSOLE_BASE 0x{{ "%08x"|format(board.console.base_addr) }}u
#define CONSOLE_CLOCK_HZ {{ board.console.clock_hz }}u
#define CONSOLE_BAUD {{ board.console.baud }}u

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

#define NVIC_ISER(irq) REGISTER(0xE000E100u + (irq) / 32u * 4u)
{% if npu %}
#define NVIC_ISPR(irq) REGISTER(0xE000E200u + (irq) / 32u * 4u)
{% endif %}
#define NVIC_BIT(irq) (1u << (irq) % 32u)
{% if bell %}

#ifdef BOARD_ON_QEMU
/* QEMU has no NPU: its model runs in another process, and rings by a byte on this UART. */
#define BELL_BASE 0x{{ "%08x"|format(bell.base_addr) }}u
#endif
{% endif %}

{% if needs_cmsdk %}
static void uart_init(uint32_t base, uint32_t divider, uint32_t irq)
{
    UART_BAUDDIV(base) = divider < UART_BAUDDIV_MIN ? UART_BAUDDIV_MIN : divider;
    UART_CTRL(base) = UART_CTRL_TX_ENABLE | UART_CTRL_RX_ENABLE | UART_CTRL_RX_IRQ;
    NVIC_ISER(irq) = NVIC_BIT(irq);
}

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
#ifndef BOARD_ON_QEMU /* has none */
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
void console_init(void)
{
{% for write in board.console.setup %}
    /* {{ write.why }} */
    REGISTER(0x{{ "%08x"|format(write.addr) }}u) =
        (REGISTER(0x{{ "%08x"|format(write.addr) }}u) & ~0x{{ "%08x"|format(write.clear) }}u) | 0x{{ "%08x"|format(write.set) }}u;
{% endfor %}
{% if board.console.uart == "cmsdk" %}
    uart_init(CONSOLE_BASE, CONSOLE_CLOCK_HZ / CONSOLE_BAUD, IRQ_CONSOLE_RX);
{% else %}
    uint32_t divider = (CONSOLE_CLOCK_HZ + 8u * CONSOLE_BAUD) / (16u * CONSOLE_BAUD);

    DW_IER_DLH = 0;
    DW_LCR = DW_LCR_8N1 | DW_LCR_DLAB;
    DW_RBR_THR_DLL = divider & 0xFFu;
    DW_IER_DLH = divider >> 8;
    DW_LCR = DW_LCR_8N1;
    DW_IIR_FCR = DW_FCR_FIFOE | DW_FCR_RFIFOR | DW_FCR_XFIFOR;
    DW_IER_DLH = DW_IER_ERBFI;
    NVIC_ISER(IRQ_CONSOLE_RX) = NVIC_BIT(IRQ_CONSOLE_RX);
{% endif %}
}

uint32_t board_ticks(void)
{
{% if board.counter.kind == "sse300" %}
    return COUNTER_CNTCV_LOW;
{% else %}
    return DWT_CYCCNT;
{% endif %}
}

{% if board.console.uart == "dw" %}
void console_put(uint8_t byte)
{
    while ((DW_LSR & DW_LSR_THRE) == 0) {
    }
    DW_RBR_THR_DLL = byte;
}

void Console_RX_Handler(void)
{
    if ((DW_IIR_FCR & 0xFu) == DW_IIR_BUSY_DETECT) {
        (void)DW_USR; /* LCR was written while a byte came in; reading USR acknowledges it */
    }
    while ((DW_LSR & DW_LSR_DR) != 0) {
        frames_take((uint8_t)DW_RBR_THR_DLL);
    }
}
{% else %}
void console_put(uint8_t byte)
{
    while ((UART_STATE(CONSOLE_BASE) & UART_STATE_TX_FULL) != 0) {
    }
    UART_DATA(CONSOLE_BASE) = byte;
}

void Console_RX_Handler(void)
{
    /* Acknowledge first: a byte that comes after DATA was read must raise its own interrupt. */
    UART_INTCLEAR(CONSOLE_BASE) = UART_INT_RX;
    frames_take((uint8_t)UART_DATA(CONSOLE_BASE));
}
{% endif %}
{% if npu %}

void NPU_Handler(void)
{
    ethosgen_npu_irq_handler();
}
{% endif %}
{% if bell %}

#ifdef BOARD_ON_QEMU
void Bell_Handler(void)
{
    UART_INTCLEAR(BELL_BASE) = UART_INT_RX;
    (void)UART_DATA(BELL_BASE);
    NVIC_ISPR(IRQ_NPU) = NVIC_BIT(IRQ_NPU);
}
#endif
{% endif %}

void board_wait(const volatile bool *event)
{
    /* With the mask, no interrupt is lost between test and WFI. */
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
    /* Semihosting SYS_EXIT_EXTENDED: QEMU ends, and `status` is its exit status. */
    uint32_t reason[2] = {0x20026u, status}; /* ADP_Stopped_ApplicationExit */
    register uint32_t operation __asm("r0") = 0x20u;
    register const uint32_t *parameters __asm("r1") = reason;
    __asm volatile("bkpt 0xab" ::"r"(operation), "r"(parameters) : "memory");
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
