/*
 * The application's main() serves the networks, while a thread with a higher priority counts its
 * turns. With OWN_HOOKS the application waits with its own semaphore and its own timeout.
 */
#include "board.h"
#include "marked_run.h"
#include "server.h"

#include <zephyr/kernel.h>

#define COUNTER_PRIORITY (CONFIG_MAIN_THREAD_PRIORITY - 1)
#define COUNTER_STACK_BYTES 512

static volatile uint32_t turns; /* of the other thread */

K_TIMER_DEFINE(ticks, NULL, NULL);

#ifdef OWN_HOOKS
#define OWN_TIMEOUT_MS 100

K_SEM_DEFINE(npu_ended, 0, 1);

void ethosgen_npu_wait_end(void)
{
    k_sem_give(&npu_ended);
}

bool ethosgen_npu_wait(const volatile bool *finished)
{
    ARG_UNUSED(finished);
    (void)k_sem_take(&npu_ended, K_MSEC(OWN_TIMEOUT_MS));
    return true; /* check again until the library's time is up */
}
#endif

static void count(void *unused, void *unused_too, void *unused_as_well)
{
    ARG_UNUSED(unused);
    ARG_UNUSED(unused_too);
    ARG_UNUSED(unused_as_well);
    k_timer_start(&ticks, K_TICKS(1), K_TICKS(1));
    for (;;) {
        turns++;
        (void)k_timer_status_sync(&ticks);
    }
}

K_THREAD_DEFINE(counter, COUNTER_STACK_BYTES, count, NULL, NULL, NULL, COUNTER_PRIORITY, 0, 0);

/* Report, in place of ticks, the other thread's turns and the run's time in milliseconds. */
static void run(const struct ethosgen_network *network, struct server_run *result)
{
    uint32_t turns_before = turns;
    uint32_t started = k_uptime_get_32();

    run_marked(network, result);
    result->cpu_ticks = turns - turns_before;
    result->stack_bytes = k_uptime_get_32() - started;
}

int main(void)
{
    board_init();
    serve_marked(run);
    return 0;
}
