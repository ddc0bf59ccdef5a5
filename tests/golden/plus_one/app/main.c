/*
 * Runs plus_one for whoever asks over the console: see server.h.
 *
 * Generated once by ethosgen; yours from now on. An application of your own needs what main() does
 * before server_run(), and plus_one_run().
 */
#include "board.h"
#include "ethosgen_npu.h"
#include "plus_one.h"
#include "server.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

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

static void run(struct server_run *result)
{
    wait_ticks = 0;
    pmu = (struct ethosgen_npu_pmu){0};
    uint32_t started = board_ticks();
    result->status = (uint32_t)plus_one_run();
    result->cpu_ticks = board_ticks() - started - wait_ticks;

    struct ethosgen_npu_registers npu = ethosgen_npu_last();
    result->npu_status = npu.status;
    result->npu_qread = npu.qread;
    tell_pmu(result);
    result->stack_bytes = board_stack_bytes();
}

int main(void)
{
    board_init();

    wait_ticks = 0;
    uint32_t started = board_ticks();
    ethosgen_status status =
        ethosgen_npu_init(BOARD_NPU_BASE, BOARD_NPU_SECURE, BOARD_NPU_PRIVILEGED);
    if (status == ETHOSGEN_OK) {
        status = plus_one_init();
    }
    uint32_t init_ticks = board_ticks() - started - wait_ticks;

    const struct server_port inputs[] = {
        {plus_one_input(), PLUS_ONE_INPUT_BYTES},
    };
    const struct server_port outputs[] = {
        {plus_one_output(), PLUS_ONE_OUTPUT_BYTES},
    };
    const struct server_network network = {
        .name = "plus_one",
        .digest = PLUS_ONE_DIGEST,
        .init_status = (uint32_t)status,
        .init_ticks = init_ticks,
        .ticks_hz = BOARD_TICKS_HZ,
        .inputs = inputs,
        .outputs = outputs,
        .input_count = COUNT(inputs),
        .output_count = COUNT(outputs),
        .run = run,
    };
    console_init(); /* not before: its interrupts would count as the network's start */
    board_exit(server_run(&network));
}
