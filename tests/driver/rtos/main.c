/*
 * Call an RTOS's hooks as the driver and the NPU's interrupt do, by threads of this machine. Prints one
 * line for each step.
 */
#include "ethosgen_npu.h"
#include "ethosgen_rtos.h"

#include "threads.h"

#include <sched.h>
#include <stdio.h>
#include <unistd.h>

enum { INTERRUPT_US = 50000, TURNS = 2000 };

static uint64_t started_ns;
static volatile int turns;

static void report(const char *step, bool result)
{
    printf("%s %d %u\n", step, result, (unsigned)((now_ns() - started_ns) / 1000000u));
    started_ns = now_ns();
}

static void *interrupt_later(void *unused)
{
    usleep(INTERRUPT_US);
    ethosgen_npu_wait_end();
    return unused;
}

static void *turn(void *unused)
{
    for (int i = 0; i < TURNS; i++) {
        ethosgen_rtos_lock();
        int seen = turns;
        sched_yield();
        turns = seen + 1;
        ethosgen_rtos_unlock();
    }
    return unused;
}

static void test_lock(void)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        pthread_create(&threads[i], NULL, turn, NULL);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
    }
    report("lock", turns == 2 * TURNS);
}

static void test_clock(void)
{
    uint32_t per_ms = 0;
    uint32_t before = ethosgen_npu_clock(&per_ms);
    usleep(INTERRUPT_US);
    uint32_t elapsed_ms = (ethosgen_npu_clock(&per_ms) - before) / per_ms;
    printf("clock %u %u\n", (unsigned)per_ms, (unsigned)elapsed_ms);
    started_ns = now_ns();
}

int main(void)
{
    const volatile bool finished = false;
    pthread_t interrupt;

    started_ns = now_ns();
    report("init", ethosgen_rtos_init());
    pthread_create(&interrupt, NULL, interrupt_later, NULL);
    report("waited", ethosgen_npu_wait(&finished));
    pthread_join(interrupt, NULL);
    ethosgen_npu_wait_end();
    ethosgen_npu_wait_end();
    report("stale", ethosgen_npu_wait(&finished));
    report("timeout", ethosgen_npu_wait(&finished));
    test_clock();
    test_lock();
    return 0;
}
