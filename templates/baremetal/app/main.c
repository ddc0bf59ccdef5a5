/*
 * Runs {{ name }} for whoever asks over the console: see server.h.
 *
 * Generated once by ethosgen; yours from now on. An application of your own needs what main() does
 * before server_run(), and {{ name }}_run().
 */
#include "board.h"
{% if npu %}
#include "ethosgen_npu.h"
{% endif %}
#include "{{ name }}.h"
#include "server.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
{% if io == "caller" %}

/* The linker script places this section{{ " where the NPU reaches it" if npu else "" }}. */
#define IO_BUFFER \
    __attribute__((section(".ethosgen_io.application"), aligned({{ buffer_alignment if board.cpu.dcache else alignment_macro }})))

{% for port in inputs + outputs %}
IO_BUFFER static {{ port.ctype }} {{ port.buffer }}[{{ port.MACRO }}_ELEMENTS];
{% endfor %}
{% endif %}
{% if npu %}

static uint32_t wait_started;
static uint32_t wait_ticks;

void ethosgen_npu_wait_begin(void)
{
    wait_started = board_ticks();
}

void ethosgen_npu_wait_end(void)
{
    wait_ticks += board_ticks() - wait_started;
}
{% endif %}

static void run(struct server_run *result)
{
{% if npu %}
    wait_ticks = 0;
{% endif %}
    uint32_t started = board_ticks();
    result->status = (uint32_t){{ name }}_run({% if io == "caller" %}{{ (inputs + outputs)|map(attribute="buffer")|join(", ") }}{% endif %});
    result->cpu_ticks = board_ticks() - started{{ " - wait_ticks" if npu else "" }};
{% if npu %}

    struct ethosgen_npu_registers npu = ethosgen_npu_last();
    result->npu_status = npu.status;
    result->npu_qread = npu.qread;
{% endif %}
    result->stack_bytes = board_stack_bytes();
}

int main(void)
{
    board_init();

{% if npu %}
    wait_ticks = 0;
    uint32_t started = board_ticks();
    ethosgen_status status =
        ethosgen_npu_init(BOARD_NPU_BASE, BOARD_NPU_SECURE, BOARD_NPU_PRIVILEGED);
    if (status == ETHOSGEN_OK) {
        status = {{ name }}_init();
    }
    uint32_t init_ticks = board_ticks() - started - wait_ticks;
{% else %}
    uint32_t started = board_ticks();
    ethosgen_status status = {{ name }}_init();
    uint32_t init_ticks = board_ticks() - started;
{% endif %}

    const struct server_port inputs[] = {
{% for port in inputs %}
        {{ "{" }}{{ port.buffer }}, {{ port.MACRO }}_BYTES},
{% endfor %}
    };
    const struct server_port outputs[] = {
{% for port in outputs %}
        {{ "{" }}{{ port.buffer }}, {{ port.MACRO }}_BYTES},
{% endfor %}
    };
    const struct server_network network = {
        .name = "{{ name }}",
        .digest = {{ NAME }}_DIGEST,
        .init_status = (uint32_t)status,
        .init_ticks = init_ticks,
        .ticks_hz = BOARD_TICKS_HZ,
        .inputs = inputs,
        .outputs = outputs,
        .input_count = COUNT(inputs),
        .output_count = COUNT(outputs),
        .run = run,
{% if variables %}
        .reset = {{ name }}_reset,
{% endif %}
    };
    console_init(); /* not before: its interrupts would count as the network's start */
    board_exit(server_run(&network));
}
