/*
 * Runs the network for whoever asks over the console: see server.h.
 *
 * An application of your own needs what main() does before server_run(), and the network's header.
 */
#include <ethosgen/network.h>
#include <zephyr/sys/util.h>
#ifdef CONFIG_ETHOSGEN_NPU
#include <ethosgen_npu.h>
#endif

#include "board.h"
#include "server.h"

static uint32_t wait_ticks; /* not the processor's own work */

#ifdef CONFIG_ETHOSGEN_NPU
static uint32_t wait_started;

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
    ethosgen_npu_pmu_start(base_addr, events[runs % ARRAY_SIZE(events)]);
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
        result->npu_event[i] = events[runs % ARRAY_SIZE(events)][i];
        result->npu_count[i] = pmu.count[i];
    }
    runs++;
}
#endif

static void run(struct server_run *result)
{
    wait_ticks = 0;
#ifdef CONFIG_ETHOSGEN_NPU
    pmu = (struct ethosgen_npu_pmu){0};
#endif
    uint32_t started = board_ticks();
    result->status = (uint32_t)ethosgen_network.run();
    result->cpu_ticks = board_ticks() - started - wait_ticks;
#ifdef CONFIG_ETHOSGEN_NPU
    struct ethosgen_npu_registers npu = ethosgen_npu_last();
    result->npu_status = npu.status;
    result->npu_qread = npu.qread;
    tell_pmu(result);
#endif
    result->stack_bytes = board_stack_bytes();
}

int main(void)
{
    board_init();

    uint32_t started = board_ticks();
    ethosgen_status status = ETHOSGEN_OK;
#ifdef CONFIG_ETHOSGEN_NPU
    status = ethosgen_npu_init(0, false, false); /* all of it is the devicetree's */
#endif
    if (status == ETHOSGEN_OK) {
        status = ethosgen_network.init();
    }
    const struct server_network network = {
        .name = ethosgen_network.name,
        .digest = ethosgen_network.digest,
        .init_status = (uint32_t)status,
        .init_ticks = board_ticks() - started,
        .ticks_hz = BOARD_TICKS_HZ,
        .inputs = ethosgen_network.inputs,
        .outputs = ethosgen_network.outputs,
        .input_count = ethosgen_network.input_count,
        .output_count = ethosgen_network.output_count,
        .run = run,
        .reset = ethosgen_network.reset,
    };
    console_init();
    board_exit(server_run(&network));
    return 0;
}
