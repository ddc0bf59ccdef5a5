/*
 * Arm Corstone-300 (MPS3 AN547): console, clock, interrupts.
 *
 * Generated once by ethosgen; yours from now on.
 */
#include "board.h"

#include "ethosgen_npu.h"
#include "frames.h"
#include "startup.h"

#define REGISTER(addr) (*(volatile uint32_t *)(uintptr_t)(addr))

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

#define CONSOLE_BASE 0x59303000u
#define CONSOLE_CLOCK_HZ 25000000u
#define CONSOLE_BAUD 115200u

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

#define NVIC_ISER(irq) REGISTER(0xE000E100u + (irq) / 32u * 4u)
#define NVIC_ISPR(irq) REGISTER(0xE000E200u + (irq) / 32u * 4u)
#define NVIC_BIT(irq) (1u << (irq) % 32u)

#ifdef BOARD_ON_QEMU
/* QEMU has no NPU: its model runs in another process, and rings by a byte on this UART. */
#define BELL_BASE 0x59304000u
#endif

static void uart_init(uint32_t base, uint32_t divider, uint32_t irq)
{
    UART_BAUDDIV(base) = divider < UART_BAUDDIV_MIN ? UART_BAUDDIV_MIN : divider;
    UART_CTRL(base) = UART_CTRL_TX_ENABLE | UART_CTRL_RX_ENABLE | UART_CTRL_RX_IRQ;
    NVIC_ISER(irq) = NVIC_BIT(irq);
}

void board_init(void)
{
    COUNTER_CNTCR |= COUNTER_CNTCR_EN;
#ifdef BOARD_ON_QEMU
    uart_init(BELL_BASE, UART_BAUDDIV_MIN, IRQ_BELL);
#endif
    NVIC_ISER(IRQ_NPU) = NVIC_BIT(IRQ_NPU);
}

void board_enable_caches(void)
{
#ifndef BOARD_ON_QEMU /* has none */
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

void console_init(void)
{
    uart_init(CONSOLE_BASE, CONSOLE_CLOCK_HZ / CONSOLE_BAUD, IRQ_CONSOLE_RX);
}

uint32_t board_ticks(void)
{
    return COUNTER_CNTCV_LOW;
}

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
    /* With the mask, no interrupt is lost between test and WFI. */
    __asm volatile("cpsid i" ::: "memory");
    while (!*event) {
        __asm volatile("dsb\n\twfi\n\tcpsie i\n\tisb\n\tcpsid i" ::: "memory");
    }
    __asm volatile("cpsie i" ::: "memory");
}

void board_exit(uint32_t status)
{
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
    for (;;) {
        __asm volatile("wfi");
    }
}
