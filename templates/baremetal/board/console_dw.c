/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * {{ board.description }}: the console, a DesignWare UART.
 *
 * Generated once by ethosgen; yours from now on.
 */
{% if handover %}
#include "element.h"
{% endif %}
#include "frames.h"
#include "registers.h"
#include "services.h"
#include "startup.h"

#define CONSOLE_BASE 0x{{ "%08x"|format(board.console.base_addr) }}u
#define CONSOLE_CLOCK_HZ {{ board.console.clock_hz }}u
#define CONSOLE_BAUD {{ board.console.baud }}u

/* A 16550 with 32-bit registers. */
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

void console_init(void)
{
{% include "board/console_setup.c" %}
    uint32_t divider = (CONSOLE_CLOCK_HZ + 8u * CONSOLE_BAUD) / (16u * CONSOLE_BAUD);

    DW_IER_DLH = 0;
    DW_LCR = DW_LCR_8N1 | DW_LCR_DLAB;
    DW_RBR_THR_DLL = divider & 0xFFu;
    DW_IER_DLH = divider >> 8;
    DW_LCR = DW_LCR_8N1;
    DW_IIR_FCR = DW_FCR_FIFOE | DW_FCR_RFIFOR | DW_FCR_XFIFOR;
    DW_IER_DLH = DW_IER_ERBFI;
    NVIC_ISER(IRQ_CONSOLE_RX) = NVIC_BIT(IRQ_CONSOLE_RX);
}

void console_put(uint8_t byte)
{
    while ((DW_LSR & DW_LSR_THRE) == 0) {
    }
    DW_RBR_THR_DLL = byte;
}

void Console_RX_Handler(void)
{
    if ((DW_IIR_FCR & 0xFu) == DW_IIR_BUSY_DETECT) {
        (void)DW_USR; /* LCR was written while a byte arrived; reading USR acknowledges it */
    }
    while ((DW_LSR & DW_LSR_DR) != 0) {
        frames_take((uint8_t)DW_RBR_THR_DLL);
    }
{% if handover %}
    element_event = true;
{% endif %}
}
