/* SPDX-FileCopyrightText: The ethosgen authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * {{ board.description }}: the facts that the application needs.
 *
 * Generated once by ethosgen; yours from now on.
 */
#ifndef BOARD_H
#define BOARD_H

#include "services.h"

{% for way in ways_facts %}
#{{ "if" if loop.first else "elif" }} defined(BOARD_ON_{{ way.id|upper }}) /* {{ way.comment }} */
{% if npu %}
#define BOARD_NPU_BASE 0x{{ "%08x"|format(way.npu_base_addr) }}u
{% endif %}
{% for device in devices %}
{% if way.device_addrs[loop.index0] is none %}
#error "the address of {{ device.label }} on {{ board.name }} is unknown: add [device.boards.{{ board.name }}] to its accelerator.toml and create the project again"
{% else %}
#define BOARD_{{ device.c_name|upper }}_BASE 0x{{ "%08x"|format(way.device_addrs[loop.index0]) }}u
{% endif %}
{% endfor %}
{% endfor %}
#else
#error "define BOARD_ON_{{ ways|map("upper")|join(" or BOARD_ON_") }}"
#endif
{% if npu %}
#define BOARD_NPU_SECURE {{ "true" if board.npu.secure else "false" }}
#define BOARD_NPU_PRIVILEGED {{ "true" if board.npu.privileged else "false" }}
{% endif %}

{% set on_board %}
/* The rate of board_ticks(), which wraps after {{ (4294967295 / board.counter.hz)|int|counted("second") }}. */
#define BOARD_TICKS_HZ {{ board.counter.hz }}u
{% endset %}
{% if bell and board.instructions_per_tick %}
#ifdef BOARD_ON_QEMU
/* The rate of board_ticks(), which counts QEMU's instructions. */
#define BOARD_TICKS_HZ {{ 1000000000 // board.run.qemu.instruction_ns }}u
#else
{{ on_board|trim }}
#endif
{% else %}
{{ on_board|trim }}
{% endif %}

{% if board.cpu.icache or board.cpu.dcache %}
/* Turn on the processor's caches, if it has any. */
void board_enable_caches(void);

{% endif %}
#endif /* BOARD_H */
