/*
 * {{ board.description }}: what the application needs to know of it.
 *
 * Generated once by ethosgen; yours from now on.
 */
#ifndef BOARD_H
#define BOARD_H

#include <stdbool.h>
#include <stdint.h>

{% for way in ways_facts %}
#{{ "if" if loop.first else "elif" }} defined(BOARD_ON_{{ way.id|upper }}) /* {{ way.comment }} */
{% if npu %}
#define BOARD_NPU_BASE 0x{{ "%08x"|format(way.npu_base_addr) }}u
{% endif %}
{% endfor %}
#else
#error "define BOARD_ON_{{ ways|map("upper")|join(" or BOARD_ON_") }}"
#endif
{% if npu %}
#define BOARD_NPU_SECURE {{ "true" if board.npu.secure else "false" }}
#define BOARD_NPU_PRIVILEGED {{ "true" if board.npu.privileged else "false" }}
{% endif %}

/* Rate of board_ticks(). */
#define BOARD_TICKS_HZ {{ board.counter.hz }}u

{% if board.cpu.icache or board.cpu.dcache %}
/* Turn the processor's caches on, where it has them. */
void board_enable_caches(void);

{% endif %}
/* Start the clock{{ " and let the NPU interrupt" if npu else "" }}. */
void board_init(void);

/* A free running counter; differences are good for {{ (4294967295 / board.counter.hz)|int }} seconds. */
uint32_t board_ticks(void);

/* Start the console: from here on received bytes go to frames_take(), from an interrupt. */
void console_init(void);

/* Send one byte. */
void console_put(uint8_t byte);

/* Sleep until *event is set by an interrupt. */
void board_wait(const volatile bool *event);

/* Leave, where there is somewhere to go: a simulator ends with this status. */
void board_exit(uint32_t status);

/* Bytes of stack that were used since the start, at most. */
uint32_t board_stack_bytes(void);

#endif /* BOARD_H */
