/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
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
{% for device in devices if device.irq is not none %}
#define IRQ_{{ device.c_name|upper }} {{ device.irq }}u
{% endfor %}
{% if bell %}
#define IRQ_BELL {{ bell.rx_irq }}u
{% endif %}
{% if handover %}
{% for link in handover.links %}
#define IRQ_LINK_{{ loop.index0 }} {{ link.rx_irq }}u
{% if link.tx_irq is not none %}
#define IRQ_LINK_{{ loop.index0 }}_TX {{ link.tx_irq }}u
{% endif %}
{% endfor %}
{% endif %}

/* The highest of them plus one: the length of the vector table for interrupts. */
#define IRQ_COUNT {{ irq_count }}u

void Reset_Handler(void);
void Console_RX_Handler(void);
{% if board.counter.kind == "systick" %}
void SysTick_Handler(void);
{% endif %}
{% if npu %}
void NPU_Handler(void);
{% endif %}
{% for device in devices if device.irq is not none %}
void {{ device.c_name }}_Handler(void);
{% endfor %}
{% if bell %}
void Bell_Handler(void);
{% endif %}
{% if handover %}
{% for _ in handover.links %}
void Link_{{ loop.index0 }}_Handler(void);
{% endfor %}
{% endif %}

#endif /* STARTUP_H */
