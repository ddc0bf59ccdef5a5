/* Our declarations of the part of CMSIS-RTOS2 that the hooks use, for threads of this machine. */
#ifndef CMSIS_OS2_H
#define CMSIS_OS2_H

#include <stdint.h>

#define osWaitForever 0xFFFFFFFFu
#define osMutexRecursive 0x00000001u
#define osMutexPrioInherit 0x00000002u

typedef enum { osOK = 0, osError = -1, osErrorTimeout = -2, osErrorResource = -3 } osStatus_t;
typedef void *osSemaphoreId_t;
typedef void *osMutexId_t;
typedef struct {
    const char *name;
    uint32_t attr_bits;
    void *cb_mem;
    uint32_t cb_size;
} osMutexAttr_t;
typedef struct osSemaphoreAttr osSemaphoreAttr_t;

uint32_t osKernelGetTickCount(void);
uint32_t osKernelGetTickFreq(void);
osSemaphoreId_t osSemaphoreNew(uint32_t most, uint32_t initial, const osSemaphoreAttr_t *attributes);
osStatus_t osSemaphoreAcquire(osSemaphoreId_t semaphore, uint32_t ticks);
osStatus_t osSemaphoreRelease(osSemaphoreId_t semaphore);
osMutexId_t osMutexNew(const osMutexAttr_t *attributes);
osStatus_t osMutexAcquire(osMutexId_t mutex, uint32_t ticks);
osStatus_t osMutexRelease(osMutexId_t mutex);

#endif /* CMSIS_OS2_H */
