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

static void run(struct server_run *result)
{
    wait_ticks = 0;
    uint32_t started = board_ticks();
    result->status = (uint32_t)plus_one_run();
    result->cpu_ticks = board_ticks() - started - wait_ticks;

    struct ethosgen_npu_registers npu = ethosgen_npu_last();
    result->npu_status = npu.status;
    result->npu_qread = npu.qread;
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
