/*
 * Interrupts in use. Generated once by ethosgen; yours from now on.
 */
#ifndef STARTUP_H
#define STARTUP_H

#include <stdint.h>

#define IRQ_CONSOLE_RX {{ board.console.rx_irq }}u
{% if npu %}
#define IRQ_NPU {{ board.npu.irq }}u
{% endif %}
{% if bell %}
#define IRQ_BELL {{ bell.rx_irq }}u
{% endif %}

/* One more than the highest of them: the vector table ends there. */
#define IRQ_COUNT {{ irq_count }}u

void Reset_Handler(void);
void Console_RX_Handler(void);
{% if npu %}
void NPU_Handler(void);
{% endif %}
{% if bell %}
void Bell_Handler(void);
{% endif %}

#endif /* STARTUP_H */
