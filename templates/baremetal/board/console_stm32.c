/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
{# The registers of the older families (F1, F2, F4, L1) are in other places. #}
{% set is_older = board.console.uart == "stm32f4" %}
/*
 * {{ board.description }}: the console, a USART of {{ "the older" if is_older else "newer" }} STM32 families{{ " (F1, F2, F4, L1)" if is_older }}.
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

{% if is_older %}
#define USART_STATUS REGISTER(CONSOLE_BASE + 0x00u)   /* SR */
#define USART_RECEIVED REGISTER(CONSOLE_BASE + 0x04u) /* DR */
#define USART_SENT REGISTER(CONSOLE_BASE + 0x04u)     /* DR */
#define USART_BRR REGISTER(CONSOLE_BASE + 0x08u)
#define USART_CR1 REGISTER(CONSOLE_BASE + 0x0Cu)
#define USART_CR2 REGISTER(CONSOLE_BASE + 0x10u)
#define USART_CR3 REGISTER(CONSOLE_BASE + 0x14u)
enum { USART_CR1_UE = 1u << 13 };
{% else %}
#define USART_CR1 REGISTER(CONSOLE_BASE + 0x00u)
#define USART_CR2 REGISTER(CONSOLE_BASE + 0x04u)
#define USART_CR3 REGISTER(CONSOLE_BASE + 0x08u)
#define USART_BRR REGISTER(CONSOLE_BASE + 0x0Cu)
#define USART_STATUS REGISTER(CONSOLE_BASE + 0x1Cu) /* ISR */
#define USART_ICR REGISTER(CONSOLE_BASE + 0x20u)
#define USART_RECEIVED REGISTER(CONSOLE_BASE + 0x24u) /* RDR */
#define USART_SENT REGISTER(CONSOLE_BASE + 0x28u)     /* TDR */
enum { USART_CR1_UE = 1u << 0 };
enum { USART_ICR_PECF = 1u << 0, USART_ICR_FECF = 1u << 1, USART_ICR_NECF = 1u << 2, USART_ICR_ORECF = 1u << 3 };
{% endif %}
enum { USART_CR1_RE = 1u << 2, USART_CR1_TE = 1u << 3, USART_CR1_RXNEIE = 1u << 5 };
enum { USART_ORE = 1u << 3, USART_RXNE = 1u << 5, USART_TXE = 1u << 7 };

void console_init(void)
{
{% include "board/console_setup.c" %}
    USART_CR1 = 0;
    USART_CR2 = 0; /* one stop bit */
    USART_CR3 = 0;
    USART_BRR = (CONSOLE_CLOCK_HZ + CONSOLE_BAUD / 2u) / CONSOLE_BAUD;
    USART_CR1 = USART_CR1_UE | USART_CR1_TE | USART_CR1_RE | USART_CR1_RXNEIE;
    NVIC_ISER(IRQ_CONSOLE_RX) = NVIC_BIT(IRQ_CONSOLE_RX);
}

void console_put(uint8_t byte)
{
    while ((USART_STATUS & USART_TXE) == 0) {
    }
    USART_SENT = byte;
}

void Console_RX_Handler(void)
{
{% if is_older %}
    /* Reading the status and then the byte acknowledges the byte, and any overrun. */
    while ((USART_STATUS & (USART_RXNE | USART_ORE)) != 0) {
{% else %}
    /* An unacknowledged overrun would raise the interrupt forever; the protocol detects lost bytes. */
    USART_ICR = USART_ICR_PECF | USART_ICR_FECF | USART_ICR_NECF | USART_ICR_ORECF;
    while ((USART_STATUS & USART_RXNE) != 0) {
{% endif %}
        frames_take((uint8_t)USART_RECEIVED);
    }
{% if handover %}
    element_event = true;
{% endif %}
}
