/*
 * The application's main() as FreeRTOS tasks: one serves the networks, the other has a higher priority
 * and counts. With ethosgen_freertos.c, the first one holds its lock while it runs a network.
 */
#include "FreeRTOS.h"
#include "board.h"
#include "marked_run.h"
#include "server.h"
#include "startup.h"
#include "task.h"

#if __has_include("ethosgen_rtos.h")
#include "ethosgen_rtos.h"
#else
#define ethosgen_rtos_init() true
#define ethosgen_rtos_lock()
#define ethosgen_rtos_unlock()
#endif

#define NVIC_IPR ((volatile uint8_t *)0xE000E400u)
#define NPU_PRIORITY (configMAX_SYSCALL_INTERRUPT_PRIORITY + 0x20)

enum { SERVER_PRIORITY = 1, COUNTER_PRIORITY = 3 };

static volatile uint32_t turns; /* of the other task */

void assert_failed(unsigned int line)
{
    server_fault(&(struct server_fault){.pc = line});
    board_exit(1);
}

/* QEMU's clock counts instructions, and keeps to real time only while the processor sleeps. */
void vApplicationIdleHook(void)
{
    __asm volatile("dsb\n\twfi" ::: "memory");
}

static void count(void *unused)
{
    (void)unused;
    for (;;) {
        turns++;
        vTaskDelay(1);
    }
}

/* Report, in place of ticks, the other task's turns and the run's time in FreeRTOS ticks. */
static void run(const struct ethosgen_network *network, struct server_run *result)
{
    uint32_t turns_before = turns;
    TickType_t started = xTaskGetTickCount();

    ethosgen_rtos_lock();
    run_marked(network, result);
    ethosgen_rtos_unlock();
    result->cpu_ticks = turns - turns_before;
    result->stack_bytes = xTaskGetTickCount() - started;
}

static void serve(void *unused)
{
    (void)unused;
    serve_marked(run);
}

int main(void)
{
    NVIC_IPR[IRQ_NPU] = NPU_PRIORITY;
    board_init();
    configASSERT(ethosgen_rtos_init());
    configASSERT(xTaskCreate(serve, "serve", 2048, NULL, SERVER_PRIORITY, NULL) == pdPASS);
    configASSERT(xTaskCreate(count, "count", 256, NULL, COUNTER_PRIORITY, NULL) == pdPASS);
    vTaskStartScheduler();
    assert_failed(__LINE__);
    return 0;
}
