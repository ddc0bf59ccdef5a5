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
IO_BUFFER static {{ port.ctype }} {{ port.buffer }}[{{ port.MACRO }}_BUFFER_BYTES / sizeof({{ port.ctype }})];
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

static struct ethosgen_npu_pmu pmu;
static uint32_t runs;

/* What the PMU counts, by the numbers of Arm's enum pmu_event. It has four counters, so that runs
 * take turns: NPU_ACTIVE and MAC_ACTIVE, and data beats read (130, 386) or written (135, 391) at AXI
 * port 0 and 1. */
static const uint16_t events[][ETHOSGEN_NPU_EVENTS] = {
    {35, 48, 130, 386},
    {35, 48, 135, 391},
};

/* Measuring is not the network's own work: its time counts as waiting. */
void ethosgen_npu_begin(uintptr_t base_addr)
{
    ethosgen_npu_wait_begin();
    ethosgen_npu_pmu_start(base_addr, events[runs % COUNT(events)]);
    ethosgen_npu_wait_end();
}

void ethosgen_npu_end(uintptr_t base_addr)
{
    ethosgen_npu_pmu_add(base_addr, &pmu);
}

static void tell_pmu(struct server_run *result)
{
    result->npu_cycles[0] = (uint32_t)pmu.cycles;
    result->npu_cycles[1] = (uint32_t)(pmu.cycles >> 32);
    for (uint32_t i = 0; i < ETHOSGEN_NPU_EVENTS; i++) {
        result->npu_event[i] = events[runs % COUNT(events)][i];
        result->npu_count[i] = pmu.count[i];
    }
    runs++;
}
{% endif %}

static void run(struct server_run *result)
{
{% if npu %}
    wait_ticks = 0;
    pmu = (struct ethosgen_npu_pmu){0};
{% endif %}
    uint32_t started = board_ticks();
    result->status = (uint32_t){{ name }}_run({% if io == "caller" %}{{ (inputs + outputs)|map(attribute="buffer")|join(", ") }}{% endif %});
    result->cpu_ticks = board_ticks() - started{{ " - wait_ticks" if npu else "" }};
{% if npu %}

    struct ethosgen_npu_registers npu = ethosgen_npu_last();
    result->npu_status = npu.status;
    result->npu_qread = npu.qread;
    tell_pmu(result);
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
