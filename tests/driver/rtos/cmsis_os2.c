/* CMSIS-RTOS2's functions by threads of this machine. A mutex here is not recursive. */
#include "cmsis_os2.h"

#include "threads.h"

static struct semaphore made[2];
static uint32_t count;

static struct semaphore *new_semaphore(uint32_t initial)
{
    make_semaphore(&made[count], initial);
    return &made[count++];
}

uint32_t osKernelGetTickCount(void)
{
    return tick_count();
}

uint32_t osKernelGetTickFreq(void)
{
    return TICKS_PER_S;
}

osSemaphoreId_t osSemaphoreNew(uint32_t most, uint32_t initial, const osSemaphoreAttr_t *attributes)
{
    return most == 1 && attributes == NULL ? new_semaphore(initial) : NULL;
}

osStatus_t osSemaphoreAcquire(osSemaphoreId_t semaphore, uint32_t ticks)
{
    return take(semaphore, ticks) ? osOK : osErrorTimeout;
}

osStatus_t osSemaphoreRelease(osSemaphoreId_t semaphore)
{
    return give(semaphore) ? osOK : osErrorResource;
}

osMutexId_t osMutexNew(const osMutexAttr_t *attributes)
{
    return attributes->attr_bits & osMutexRecursive ? new_semaphore(1) : NULL;
}

osStatus_t osMutexAcquire(osMutexId_t mutex, uint32_t ticks)
{
    return take(mutex, ticks) ? osOK : osErrorTimeout;
}

osStatus_t osMutexRelease(osMutexId_t mutex)
{
    return give(mutex) ? osOK : osErrorResource;
}
