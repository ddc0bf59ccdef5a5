/*
 * The application's main() as FreeRTOS tasks: one serves requests, one runs the network on a stack
 * that it paints before, and the one with the highest priority interrupts both at each tick.
 */
#include "FreeRTOS.h"
#include "board.h"
#include "ethosgen_networks.h"
#include "server.h"
#include "startup.h"
#include "task.h"

enum { SERVER_PRIORITY = 1, RUNNER_PRIORITY = 2, COUNTER_PRIORITY = 3, WORDS = 1024 };

static const StackType_t paint_word = 0x5EAF00Du;
static StackType_t runner_stack[WORDS];
static StaticTask_t runner_task;
static TaskHandle_t runner, server;
static const struct ethosgen_network *volatile wanted;
static volatile uint32_t status, used, turns;
static uintptr_t mark;

void assert_failed(unsigned int line)
{
    server_fault(&(struct server_fault){.pc = line});
    board_exit(1);
}

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

/* No other task may run meanwhile: a switch pushes registers below the stack pointer. */
__attribute__((noinline)) static void paint(void)
{
    StackType_t *stack_pointer;

    taskENTER_CRITICAL();
    mark = (uintptr_t)__builtin_dwarf_cfa(); /* the caller's stack pointer */
    __asm volatile("mov %0, sp" : "=r"(stack_pointer));
    for (volatile StackType_t *to = runner_stack; to < stack_pointer;) {
        *to++ = paint_word;
    }
    taskEXIT_CRITICAL();
}

__attribute__((noinline)) static uint32_t painted_over(void)
{
    const volatile StackType_t *lowest = runner_stack;

    while (*lowest == paint_word) {
        lowest++;
    }
    configASSERT(lowest > runner_stack);
    return (uint32_t)(mark - (uintptr_t)lowest);
}

static void run_wanted(void *unused)
{
    (void)unused;
    for (;;) {
        (void)ulTaskNotifyTake(pdTRUE, portMAX_DELAY);
        const struct ethosgen_network *network = wanted;

        paint();
        status = (uint32_t)network->run();
        used = painted_over();
        (void)xTaskNotifyGive(server);
    }
}

/* Report the other task's turns in place of ticks. */
static void run(const struct ethosgen_network *network, struct server_run *result)
{
    uint32_t turns_before = turns;

    wanted = network;
    (void)xTaskNotifyGive(runner);
    (void)ulTaskNotifyTake(pdTRUE, portMAX_DELAY);
    result->status = status;
    result->cpu_ticks = turns - turns_before;
    result->run_stack_bytes = used;
    result->stack_bytes = used;
}

static void serve(void *unused)
{
    (void)unused;
    const struct server_firmware firmware = {
        .init_status = (uint32_t)ethosgen_networks[0].init(),
        .ticks_hz = BOARD_TICKS_HZ,
        .run = run,
    };
    console_init();
    board_exit(server_run(&firmware));
}

int main(void)
{
    board_init();
    runner = xTaskCreateStatic(run_wanted, "run", WORDS, NULL, RUNNER_PRIORITY, runner_stack,
                               &runner_task);
    configASSERT(runner != NULL);
    configASSERT(xTaskCreate(serve, "serve", 1024, NULL, SERVER_PRIORITY, &server) == pdPASS);
    configASSERT(xTaskCreate(count, "count", 256, NULL, COUNTER_PRIORITY, NULL) == pdPASS);
    vTaskStartScheduler();
    assert_failed(__LINE__);
    return 0;
}
