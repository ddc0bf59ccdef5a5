/* FreeRTOS's functions by threads of this machine. */
#include "FreeRTOS.h"

#include "threads.h"

static struct semaphore made[2];

TickType_t xTaskGetTickCount(void)
{
    return tick_count();
}

SemaphoreHandle_t xSemaphoreCreateBinary(void)
{
    make_semaphore(&made[0], 0);
    return &made[0];
}

SemaphoreHandle_t xSemaphoreCreateMutex(void)
{
    make_semaphore(&made[1], 1);
    return &made[1];
}

_Static_assert(sizeof(StaticSemaphore_t) >= sizeof(struct semaphore), "make it larger");

SemaphoreHandle_t xSemaphoreCreateBinaryStatic(StaticSemaphore_t *memory)
{
    make_semaphore((struct semaphore *)(void *)memory, 0);
    return (struct semaphore *)(void *)memory;
}

SemaphoreHandle_t xSemaphoreCreateMutexStatic(StaticSemaphore_t *memory)
{
    make_semaphore((struct semaphore *)(void *)memory, 1);
    return (struct semaphore *)(void *)memory;
}

BaseType_t xSemaphoreGiveFromISR(SemaphoreHandle_t semaphore, BaseType_t *woken)
{
    *woken = pdTRUE;
    return give(semaphore) ? pdTRUE : pdFALSE;
}

BaseType_t xSemaphoreGive(SemaphoreHandle_t semaphore)
{
    return give(semaphore) ? pdTRUE : pdFALSE;
}

BaseType_t xSemaphoreTake(SemaphoreHandle_t semaphore, TickType_t ticks)
{
    return take(semaphore, ticks) ? pdTRUE : pdFALSE;
}
