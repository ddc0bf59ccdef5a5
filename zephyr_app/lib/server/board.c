/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server's console, clock and exit on Zephyr; see board.h.
 */
#include "board.h"

#include "frames.h"
#include "semihosting.h"
#include "server.h"

#include <zephyr/drivers/uart.h>
#include <zephyr/fatal.h>
#include <zephyr/sys/sys_io.h>

#define CONSOLE DEVICE_DT_GET(DT_CHOSEN(zephyr_console))

#define STACK_PAINT 0xAAu /* Zephyr's, with CONFIG_INIT_STACKS */

#define FRAME_FAULT 0xFFu /* see server.c; a third word is Zephyr's reason */
#define FAULT_REPETITIONS 8
#define FAULT_POLLS 0x01000000u

K_SEM_DEFINE(frame_ends, 0, 1);

#if DT_HAS_COMPAT_STATUS_OKAY(ethosgen_counter)
#define COUNTER DT_COMPAT_GET_ANY_STATUS_OKAY(ethosgen_counter)

void board_init(void)
{
    mem_addr_t control = DT_REG_ADDR_BY_NAME(COUNTER, control);

    sys_write32(sys_read32(control) | BIT(0), control);
}

uint32_t board_ticks(void)
{
    return sys_read32(DT_REG_ADDR_BY_NAME(COUNTER, value));
}
#else
void board_init(void)
{
}

uint32_t board_ticks(void)
{
    return k_cycle_get_32();
}
#endif

static void on_uart(const struct device *uart, void *unused)
{
    uint8_t byte;

    ARG_UNUSED(unused);
    while (uart_irq_update(uart) && uart_irq_rx_ready(uart)) {
        if (uart_fifo_read(uart, &byte, 1) == 1) {
            frames_take(byte);
        }
        if (frames_waiting) {
            k_sem_give(&frame_ends);
        }
    }
}

void console_init(void)
{
    uart_irq_callback_user_data_set(CONSOLE, on_uart, NULL);
    uart_irq_rx_enable(CONSOLE);
    /* An earlier byte raises no interrupt and blocks later ones. */
    while (uart_poll_in(CONSOLE, &(uint8_t){0}) == 0) {
    }
}

void board_wait(const volatile bool *event)
{
    while (!*event) {
        k_sem_take(&frame_ends, K_FOREVER);
    }
}

void console_put(uint8_t byte)
{
    uart_poll_out(CONSOLE, byte);
}

static uint32_t most_bytes; /* before the last mark */
static uintptr_t stack_mark;

static uintptr_t lowest_used(void)
{
    size_t unused = 0;

    (void)k_thread_stack_space_get(k_current_get(), &unused);
    return k_current_get()->stack_info.start + unused;
}

uint32_t board_stack_bytes(void)
{
    const struct k_thread *thread = k_current_get();
    uintptr_t top = thread->stack_info.start + thread->stack_info.size;

    return MAX(most_bytes, (uint32_t)(top - lowest_used()));
}

__noinline void board_stack_mark(void)
{
    uint8_t *stack_pointer;
    volatile uint8_t *to;

    most_bytes = board_stack_bytes();
    stack_mark = (uintptr_t)__builtin_dwarf_cfa(); /* the caller's stack pointer */
    __asm volatile("mov %0, sp" : "=r"(stack_pointer));
    to = (volatile uint8_t *)lowest_used();
    while (to < stack_pointer) {
        *to++ = STACK_PAINT;
    }
}

uint32_t board_stack_since_mark(void)
{
    return (uint32_t)(stack_mark - lowest_used());
}

void board_exit(uint32_t status)
{
#ifdef ETHOSGEN_ON_QEMU
    semihosting_exit(status);
#else
    ARG_UNUSED(status);
    console_put(0x04); /* EOT: an FVP with shutdown_on_eot ends here */
#endif
    if (!k_is_in_isr()) {
        k_sleep(K_FOREVER);
    }
    for (;;) {
    }
}

/* Processor faults, k_panic(), k_oops() and stack overflows all end here. The reason and the place are
 * reported to the other side, several times and slowly, since it may be busy. */
void k_sys_fatal_error_handler(unsigned int reason, const struct arch_esf *frame)
{
    const uint32_t where[] = {0, frame != NULL ? frame->basic.pc : 0}; /* Zephyr has cleared CFSR */
    const uint32_t why = reason;

    board_init(); /* the fault may have occurred before main() did this */
    for (int i = 0; i < FAULT_REPETITIONS; i++) {
        uint32_t polls = FAULT_POLLS; /* in case the clock has stopped */
        uint32_t since = board_ticks();

        frames_send(FRAME_FAULT, 0, where, sizeof where, &why, sizeof why);
        while (board_ticks() - since < BOARD_TICKS_HZ && polls != 0u) {
            polls--;
        }
    }
    board_exit(1);
}
