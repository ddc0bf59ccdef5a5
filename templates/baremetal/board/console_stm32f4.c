/*
 * {{ board.description }}: the console, a USART of the older STM32 families (F1, F2, F4, L1).
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

#define USART_SR REGISTER(CONSOLE_BASE + 0x00u)
#define USART_DR REGISTER(CONSOLE_BASE + 0x04u)
#define USART_BRR REGISTER(CONSOLE_BASE + 0x08u)
#define USART_CR1 REGISTER(CONSOLE_BASE + 0x0Cu)
#define USART_CR2 REGISTER(CONSOLE_BASE + 0x10u)
#define USART_CR3 REGISTER(CONSOLE_BASE + 0x14u)
enum { USART_SR_ORE = 1u << 3, USART_SR_RXNE = 1u << 5, USART_SR_TXE = 1u << 7 };
enum {
    USART_CR1_RE = 1u << 2,
    USART_CR1_TE = 1u << 3,
    USART_CR1_RXNEIE = 1u << 5,
    USART_CR1_UE = 1u << 13
};

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
    while ((USART_SR & USART_SR_TXE) == 0) {
    }
    USART_DR = byte;
}

void Console_RX_Handler(void)
{
    /* Reading SR, then DR acknowledges a byte, and an overrun too. */
    while ((USART_SR & (USART_SR_RXNE | USART_SR_ORE)) != 0) {
        frames_take((uint8_t)USART_DR);
    }
{% if handover %}
    element_event = true;
{% endif %}
}
