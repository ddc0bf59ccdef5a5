/*
 * Runs the network for whoever asks over the console: see server.h.
 *
 * An application of your own needs what main() does before server_run(), and the network's header.
 */
#include <ethosgen/network.h>
#include <ethosgen_npu.h>

#include "board.h"
#include "server.h"

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
    result->status = (uint32_t)ethosgen_network.run();
    result->cpu_ticks = board_ticks() - started - wait_ticks;

    struct ethosgen_npu_registers npu = ethosgen_npu_last();
    result->npu_status = npu.status;
    result->npu_qread = npu.qread;
    result->stack_bytes = board_stack_bytes();
}

int main(void)
{
    board_init();

    uint32_t started = board_ticks();
    ethosgen_status status = ethosgen_npu_init(0, false, false); /* all of it is the devicetree's */
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
